"""Records what doctor sees of servers that can be run, under load, and what it says of that.

``python -m tests.real.record_doctor [NAME …]`` writes tests/fixtures/doctor/NAME.json from a real server, and
all NAME.txt from these; ``--texts`` writes the texts alone. ``make servers`` makes the servers.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import msgspec

from lab.servers.choose import server_named
from lab.servers.disk import DiskLimit
from lab.servers.spec import MEBIBYTE, ServerSpec
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.findings.recorded import FOLDER, evidence, names, text
from tuner.cli.doctor import watch
from tuner.servers.endpoint import Endpoint
from tuner.servers.server import RealServer
from tuner.system.clock import SystemClock

SETTLE, SECONDS = 150.0, 10.0


@dataclass(frozen=True, slots=True)
class Case:
    """One server: its name in ``make servers``, C and M, and what else it is started with."""

    name: str
    pair: tuple[int, int]
    pool: int = 512
    extra: tuple[str, ...] = ()


CASES = {
    "mysql-9.7": Case("mysql-9.7", (10_000, 20_000)),
    "mysql-8.0.31-binlog": Case("mysql-8.0.31", (200, 2000), 1024, ("--log-bin=binlog", "--server-id=1")),
    "mysql-5.7.22": Case("mysql-5.7.22", (200, 2000), 128),
    "mariadb-11.4.5": Case("mariadb-11.4.5", (200, 2000)),
}


def record(name: str) -> None:
    """Start the server of a case, load it, and write what doctor sees of it."""
    case = CASES[name]
    spec = ServerSpec(
        redo_capacity=100 * MEBIBYTE,
        buffer_pool=case.pool * MEBIBYTE,
        io_capacity=case.pair[0],
        io_capacity_max=case.pair[1],
        monitors=True,
        extra=case.extra,
    )
    load = Load(tables=4, rows=200_000, threads=8)
    with server_named(case.name, spec, pull=False) as server:
        prepare(server, load)
        server.limit_disk(DiskLimit(write_iops=1200))
        with SysbenchRun(server, load):
            time.sleep(SETTLE)  # InnoDB's averages, and an age that has settled
            account = server.daemon
            endpoint = Endpoint(
                user=account.user,
                password=account.password,
                host=server.host,
                port=server.port,
                socket=None if server.socket is None else str(server.socket),
            )
            clock = SystemClock()
            with_server = RealServer(endpoint, clock)
            try:
                seen = watch(with_server, clock, SECONDS)
            finally:
                with_server.close()
    (FOLDER / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(seen), indent=1) + b"\n")


def main(arguments: list[str]) -> None:
    """Record the cases of these names, or all."""
    asked = [one for one in arguments if one != "--texts"]
    if "--texts" not in arguments:
        for name in asked or CASES:
            record(name)
    for name in names():
        (FOLDER / f"{name}.txt").write_text(text(evidence(name)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
