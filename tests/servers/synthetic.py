"""Writes the fixtures of servers that cannot be run here, from what their sources and manuals say.

``python -m tests.servers.synthetic`` writes them to tests/fixtures/servers/. The names
are those of the sources, and not taken from the adapters; limits and percentages are those of
``tests.servers.arithmetic``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.arithmetic import (
    MEBIBYTE,
    Redo,
    capacity,
    files_5,
    files_80,
    high_checkpoint,
    legacy,
    mariadb,
)
from tests.servers.documents import (
    COMMON_STATUS,
    FLUSH_COUNTERS,
    HANDLERS,
    LOOKS,
    REDO_STATUS,
    ROWS,
    SOURCES,
)
from tuner.servers.fixture import Answer, Fixture, Metric, Reading, encode

FOLDER = Path(__file__).parents[1] / "fixtures" / "servers"
AGE = 0.607
"""Modified age over the flush limit: here a percentage cut to a whole number gives another result."""

RATE = 1_000_000
"""Redo written between two readings, bytes."""


@dataclass(frozen=True)
class Server:
    """One server to write down."""

    family: str
    version: str
    comment: str
    redo: Redo
    sources: tuple[str, ...]
    capacity: tuple[int, int] = (200, 2000)
    variables: dict[str, str] = field(default_factory=dict)
    on: bool = True
    note: str = ""


_FACTOR = "innodb_cleaner_lsn_age_factor"
_LWM = "innodb_max_dirty_pages_pct_lwm"
_PERCONA = "Percona Server (GPL), Release {}, Revision 0000000"
_MYSQL = "MySQL Community Server - GPL"
_MARIADB = "mariadb.org binary distribution"
_HIGH = {_FACTOR: "high_checkpoint"}
_RDS = {"basedir": "/rdsdbbin/"}

SERVERS: dict[str, Server] = {
    "mysql-5.7.44": Server(
        "5.7", "5.7.44-log", "MySQL Community Server (GPL)", files_5(256 * MEBIBYTE, 2), SOURCES["5.7"]
    ),
    "mysql-5.7.44-off": Server(
        "5.7",
        "5.7.44-log",
        "MySQL Community Server (GPL)",
        files_5(256 * MEBIBYTE, 2),
        SOURCES["5.7"],
        on=False,
    ),
    "mysql-8.0.29": Server("8.0", "8.0.29", _MYSQL, files_80(48 * MEBIBYTE, 2), SOURCES["8.0"]),
    "mysql-8.0.46": Server("redo", "8.0.46", _MYSQL, capacity(100 * MEBIBYTE), SOURCES["redo"]),
    "mysql-8.4.8": Server(
        "redo", "8.4.8", _MYSQL, capacity(512 * MEBIBYTE), SOURCES["redo"], capacity=(10_000, 20_000)
    ),
    "mysql-26.7.0": Server(
        "redo",
        "26.7.0",
        _MYSQL,
        capacity(512 * MEBIBYTE),
        SOURCES["redo-26.7"],
        capacity=(10_000, 20_000),
        note="the first release after 9.7, numbered by year and month; its source was not read",
    ),
    "percona-5.7.44": Server(
        "5.7",
        "5.7.44-48-log",
        _PERCONA.format(48),
        files_5(256 * MEBIBYTE, 2),
        SOURCES["percona-5.7"],
        variables=_HIGH,
    ),
    "percona-5.7.44-off": Server(
        "5.7",
        "5.7.44-48-log",
        _PERCONA.format(48),
        files_5(256 * MEBIBYTE, 2),
        SOURCES["percona-5.7"],
        variables=_HIGH,
        on=False,
    ),
    "percona-5.7.44-legacy": Server(
        "5.7",
        "5.7.44-48-log",
        _PERCONA.format(48),
        files_5(256 * MEBIBYTE, 2),
        SOURCES["percona-5.7"],
        variables={_FACTOR: "legacy"},
    ),
    "percona-8.0.28": Server(
        "8.0",
        "8.0.28-20",
        _PERCONA.format(20),
        files_80(512 * MEBIBYTE, 2),
        SOURCES["percona-8.0"],
        variables=_HIGH,
    ),
    "percona-8.0.46": Server(
        "redo",
        "8.0.46-37",
        _PERCONA.format(37),
        capacity(100 * MEBIBYTE),
        SOURCES["percona"],
        variables=_HIGH,
    ),
    "percona-8.4.6": Server(
        "redo",
        "8.4.6-6",
        _PERCONA.format(6),
        capacity(100 * MEBIBYTE),
        SOURCES["percona"],
        capacity=(10_000, 20_000),
        variables=_HIGH,
    ),
    "percona-8.4.6-legacy": Server(
        "redo",
        "8.4.6-6",
        _PERCONA.format(6),
        capacity(100 * MEBIBYTE),
        SOURCES["percona"],
        capacity=(10_000, 20_000),
        variables={_FACTOR: "legacy"},
    ),
    "mariadb-10.5.23": Server(
        "mariadb",
        "10.5.23-MariaDB-0+deb11u1-log",
        "Debian 11",
        mariadb(96 * MEBIBYTE, 2048),
        SOURCES["mariadb-10.5"],
        note="the age decides while the page cleaner is awake",
    ),
    "mariadb-10.5.29": Server(
        "mariadb", "10.5.29-MariaDB", _MARIADB, mariadb(96 * MEBIBYTE, 2048), SOURCES["mariadb-10.5"]
    ),
    "mariadb-10.6.16": Server(
        "mariadb",
        "10.6.16-MariaDB",
        _MARIADB,
        mariadb(96 * MEBIBYTE, 2048),
        SOURCES["mariadb-10.5"],
        variables={_LWM: "0.001000"},
        note="one of the builds of MDEV-31939",
    ),
    "mariadb-10.6.22": Server(
        "mariadb",
        "10.6.22-MariaDB",
        _MARIADB,
        mariadb(96 * MEBIBYTE, 2048),
        SOURCES["mariadb-10.5"],
        variables={_LWM: "0.001000"},
    ),
    "rds-mysql-8.0.40": Server(
        "redo", "8.0.40", "Source distribution", capacity(512 * MEBIBYTE), SOURCES["rds"], variables=_RDS
    ),
    "rds-mariadb-10.11.9": Server(
        "mariadb",
        "10.11.9-MariaDB-log",
        "managed by https://aws.amazon.com/rds/",
        mariadb(128 * MEBIBYTE, 12_288),
        (*SOURCES["mariadb-10.11"], *SOURCES["rds"]),
        variables=_RDS,
    ),
    "cloudsql-mysql-8.0.31": Server(
        "redo", "8.0.31-google", "(Google)", capacity(512 * MEBIBYTE), SOURCES["cloudsql"]
    ),
    "azure-mysql-8.0.37": Server(
        "redo", "8.0.37-azure", "Source distribution", capacity(512 * MEBIBYTE), SOURCES["azure"]
    ),
    "heatwave-mysql-8.0.36": Server(
        "redo",
        "8.0.36-u2-cloud",
        "MySQL Enterprise - Cloud",
        capacity(512 * MEBIBYTE),
        SOURCES["heatwave"],
    ),
    "aurora-3.07.1": Server(
        "redo",
        "8.0.36",
        "MySQL Community Server (GPL)",
        capacity(100 * MEBIBYTE),
        SOURCES["aurora"],
        variables={**_RDS, "aurora_version": "3.07.1"},
    ),
}


def fixture(server: Server) -> Fixture:
    """Return what such a server would answer, three readings of it."""
    eight = server.family in {"8.0", "redo"}
    return Fixture(
        synthetic=True,
        built_from=server.sources,
        note=server.note,
        program="",
        scrubbed=(),
        state_column="enabled" if server.family == "mariadb" else "status",
        refused={},
        privileges=("PROCESS", "SYSTEM_VARIABLES_ADMIN" if eight else "SUPER"),
        locks={"GET_LOCK": Answer(rows=(("1",),)), "IS_USED_LOCK": Answer(), "RELEASE_LOCK": Answer()},
        looks=LOOKS[server.family],
        readings=tuple(reading(server, number) for number in range(3)),
    )


def reading(server: Server, number: int) -> Reading:
    """Return one reading: the age stays, and the redo log moves on."""
    lsn = 5_000_000_000 + number * RATE
    oldest = lsn - round(AGE * server.redo.flush_limit)
    checkpoint = oldest - 2 * MEBIBYTE
    return Reading(
        second=float(number),
        variables=_variables(server),
        status=_status(server, number, lsn, checkpoint),
        metrics=_metrics(server, number, lsn, oldest, checkpoint),
        engine_log=f"Log sequence number          {lsn}\nLog flushed up to            {lsn}\n"
        f"Pages flushed up to          {oldest}\nLast checkpoint at           {checkpoint}\n",
    )


def _variables(server: Server) -> dict[str, str]:
    found = {
        "version": server.version,
        "version_comment": server.comment,
        "hostname": "scrubbed",
        "port": "3306",
        "datadir": "/scrubbed/",
        "basedir": "/scrubbed/",
        "innodb_page_size": "16384",
        "innodb_read_only": "OFF",
        "read_only": "OFF",
        "innodb_io_capacity": str(server.capacity[0]),
        "innodb_io_capacity_max": str(server.capacity[1]),
        "innodb_adaptive_flushing": "ON",
        "innodb_adaptive_flushing_lwm": "10",
        "innodb_flush_sync": "ON",
        "innodb_max_dirty_pages_pct": "75.000000" if server.family == "5.7" else "90.000000",
        _LWM: "10.000000" if server.family in {"8.0", "redo"} else "0.000000",
        **{name: str(value) for name, value in server.redo.variables.items()},
    }
    if server.family == "mariadb":
        found["innodb_adaptive_flushing_lwm"] = "10.000000"
    else:
        found |= {
            "server_uuid": "00000000-0000-0000-0000-000000000000",
            "super_read_only": "OFF",
            "innodb_thread_concurrency": "0",
        }
    return found | server.variables


def _status(server: Server, number: int, lsn: int, checkpoint: int) -> dict[str, str]:
    changes = number * 1000
    found = dict.fromkeys(COMMON_STATUS, "0")
    found |= {
        "Uptime": str(7200 + number),
        "Handler_commit": str(90_000 + changes),
        "Com_select": str(270_000 + 3 * changes),
        "Com_update": str(90_000 + changes),
        "Innodb_buffer_pool_pages_dirty": "20000",
        "Innodb_buffer_pool_pages_total": "65528",
        "Innodb_buffer_pool_pages_flushed": str(500_000 + 400 * number),
        "Innodb_buffer_pool_load_status": "",
    }
    age = {"Innodb_checkpoint_age": lsn - checkpoint, "Innodb_checkpoint_max_age": server.redo.max_age}
    if server.family == "mariadb":
        found |= {name: str(40_000 + changes) for name in HANDLERS}
        own = {
            "Innodb_lsn_current": lsn,
            "Innodb_lsn_last_checkpoint": checkpoint,
            "Innodb_buffer_pool_pages_lru_flushed": 0,
            "Slaves_running": 0,
            **age,
        }
        return found | {name: str(value) for name, value in own.items()}
    found |= {name: str(30_000 + changes) for name in ROWS}
    if _FACTOR in server.variables:
        own = {"Innodb_lsn_current": lsn, "Innodb_lsn_last_checkpoint": checkpoint, **age}
        found |= {name: str(value) for name, value in own.items()}
    if server.family == "8.0":
        found["Innodb_redo_log_enabled"] = "ON"
    if server.family == "redo":
        found |= REDO_STATUS | {
            "Innodb_redo_log_capacity_resized": str(server.redo.physical),
            "Innodb_redo_log_logical_size": str(lsn - checkpoint),
            "Innodb_redo_log_current_lsn": str(lsn),
            "Innodb_redo_log_checkpoint_lsn": str(checkpoint),
        }
    return found


def _metrics(server: Server, number: int, lsn: int, oldest: int, checkpoint: int) -> dict[str, Metric]:
    law: Callable[[float, int], int] = legacy
    if server.variables.get(_FACTOR) == "high_checkpoint":
        law = high_checkpoint
    gain = server.capacity[1] // server.capacity[0]
    percent = 100 * AGE
    eight = server.family in {"8.0", "redo"}
    if server.family != "redo":
        percent = math.floor(percent)
    values: dict[str, int] = dict.fromkeys(FLUSH_COUNTERS, 0)
    values |= {
        "log_lsn_current": lsn,
        "log_lsn_buf_pool_oldest_approx" if eight else "log_lsn_buf_pool_oldest": oldest,
        "log_lsn_last_checkpoint": checkpoint,
        "log_on_file_space_waits" if eight else "buffer_flush_sync_waits": 0,
        "buffer_flush_adaptive_total_pages": 500_000 + 400 * number,
        "buffer_flush_pct_for_lsn": law(percent, gain),
        "buffer_flush_n_to_flush_requested": 400,
        "buffer_flush_n_to_flush_by_age": 400,
        "buffer_flush_lsn_avg_rate": RATE,
        **server.redo.counters,
    }
    off, on = ("0", "1") if server.family == "mariadb" else ("disabled", "enabled")
    return {name: (on, str(value)) if server.on else (off, "0") for name, value in values.items()}


def content(name: str) -> bytes:
    """Return what the file of that name holds."""
    return encode(fixture(SERVERS[name]))


if __name__ == "__main__":
    for name in SERVERS:
        (FOLDER / f"{name}.json").write_bytes(content(name))
