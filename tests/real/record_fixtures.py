"""Records the fixtures of the servers that can be run, under load, with the command that users have.

``python -m tests.real.record_fixtures [NAME …]`` writes tests/fixtures/servers/NAME.json, in the place of one
that is there. ``make servers`` makes the servers.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from lab.bench.daemon import PROGRAM, environment
from lab.servers.base import LabServer
from lab.servers.choose import server_named
from lab.servers.disk import DiskLimit
from lab.servers.spec import MEBIBYTE, ServerSpec
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tests.real.support import until
from tuner.servers.fixture import encode, load

FOLDER = Path(__file__).parents[1] / "fixtures" / "servers"
REDO = 64 * MEBIBYTE
LOAD = Load(tables=1, rows=100_000, threads=8)
DISK = DiskLimit(write_iops=1200)
SECONDS = 6
AGE = 0.12
UPTIME = 45
"""What is waited for before anything is recorded: a checkpoint age, as a share of the redo log, and one and a
half of InnoDB's averages, seconds."""


@dataclass(frozen=True, slots=True)
class Case:
    """One fixture: which server, whether its counters are on, and what else it is started with."""

    name: str
    monitors: bool = True
    extra: tuple[str, ...] = ()
    note: str = ""


LWM = ("--innodb-max-dirty-pages-pct-lwm=0.001",)
BUILDS = ("mysql-5.6.24", "mysql-5.7.22", "mysql-8.0.12", "mysql-8.0.15", "mysql-8.0.31", "mariadb-11.4.5")
CASES = {
    **{name: Case(name) for name in BUILDS},
    "mysql-5.6.24-off": Case("mysql-5.6.24", monitors=False),
    "mysql-9.7.4": Case("mysql-9.7"),
    "mysql-9.7.4-off": Case("mysql-9.7", monitors=False),
    "mariadb-10.5.23": Case("mariadb-10.5"),
    "mariadb-10.11.18": Case("mariadb-10.11"),
    "mariadb-10.11.18-off": Case("mariadb-10.11", monitors=False),
    "mariadb-11.4.5-lwm": Case("mariadb-11.4.5", extra=LWM),
    "mariadb-11.8.6": Case("mariadb-11.8"),
    "mariadb-11.8.6-lwm": Case("mariadb-11.8", extra=LWM),
}


def main(names: list[str]) -> None:
    """Record the fixtures of these names, or all."""
    for name in names or CASES:
        case = CASES[name]
        spec = ServerSpec(
            redo_capacity=REDO,
            buffer_pool=256 * MEBIBYTE,
            io_capacity=200,
            io_capacity_max=400,
            monitors=case.monitors,
            extra=case.extra,
        )
        with server_named(case.name, spec, pull=False) as server:
            prepare(server, LOAD)
            refusals = server.limit_disk(DISK)
            with SysbenchRun(server, LOAD):
                until(lambda: ripe(server), 80.0, lambda: f"an age; it is {age(server)}")
                record(server, FOLDER / f"{name}.json")
        annotate(FOLDER / f"{name}.json", case, refusals)


def ripe(server: LabServer) -> bool:
    """Tell whether the server flushes by age, with averages of its own."""
    uptime = int(server.query("SHOW GLOBAL STATUS LIKE 'Uptime'")[0][1])
    return uptime > UPTIME and age(server) > AGE * REDO


def age(server: LabServer) -> int:
    """Return the checkpoint age, bytes, by SHOW ENGINE INNODB STATUS."""
    lines = str(server.query("SHOW ENGINE INNODB STATUS")[0][2]).splitlines()
    labels = ("Log sequence number", "Last checkpoint at")
    now, then = (next(int(line.split()[-1]) for line in lines if line.startswith(one)) for one in labels)
    return now - then


def record(server: LabServer, path: Path) -> None:
    """Run the command as a user would."""
    path.unlink(missing_ok=True)
    login = server.daemon
    tcp = ["--host", server.host, "--port", str(server.port)]
    where = [*(tcp if server.socket is None else ["--socket", str(server.socket)]), "--user", login.user]
    done = subprocess.run(  # noqa: S603 - our own program
        [PROGRAM, "record", "--fixture", str(path), "--for", f"{SECONDS}s", *where],
        env={**environment(), "INNOBRIM_PASSWORD": login.password},
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )
    print(done.stdout, done.stderr)  # noqa: T201 - whoever records wants to see it
    done.check_returncode()


def annotate(path: Path, case: Case, refusals: tuple[str, ...]) -> None:
    """Say in the file how it came about."""
    how = [
        f"under sysbench {LOAD.script}, {LOAD.threads} threads, {LOAD.rows} rows",
        f"at most {DISK.write_iops} writes/s" if not refusals else f"no disk limit: {'; '.join(refusals)}",
        "counters on" if case.monitors else "counters off",
        *case.extra,
    ]
    path.write_bytes(encode(replace(load(path), note=", ".join(how))))


if __name__ == "__main__":
    main(sys.argv[1:])
