"""A session whose answers are given: a server of a few tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.factory import C_NAME, M_NAME, MEBIBYTE
from tuner.records import LOW_WATER_MARK, Sample
from tuner.servers.adapter import DDL, DROPS
from tuner.servers.endpoint import Endpoint
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.server import RealServer
from tuner.servers.session import Session
from tuner.servers.surroundings import PARTS
from tuner.servers.writing import ASK, LOW_WATER_THERE

COUNTERS = RedoCapacityAdapter().counters
STATUS = {
    "Innodb_redo_log_capacity_resized": str(100 * MEBIBYTE),
    "Innodb_redo_log_resize_status": "OK",
    "Innodb_redo_log_logical_size": "70000000",
    "Innodb_redo_log_enabled": "ON",
    "Innodb_rows_inserted": "10",
    "Innodb_rows_updated": "20",
    "Innodb_rows_deleted": "30",
    "Innodb_buffer_pool_wait_free": "4",
    "Innodb_buffer_pool_pages_dirty": "5000",
    "Innodb_buffer_pool_pages_total": "65536",
    "Handler_commit": "99",
    "Uptime": "3600",
    "Innodb_redo_log_current_lsn": "10000500",
    "Innodb_redo_log_checkpoint_lsn": "8000000",
    "Innodb_buffer_pool_pages_flushed": "12345",
    "Innodb_buffer_pool_load_status": "Buffer pool(s) load completed at 260101 12:00:00",
    "Innodb_undo_tablespaces_active": "2",
    "Innodb_undo_tablespaces_total": "2",
    **dict.fromkeys((*DDL, *DROPS), "1"),
}
VARIABLES = {
    "innodb_io_capacity": "225",
    "innodb_io_capacity_max": "450",
    "innodb_adaptive_flushing": "1",
    "innodb_adaptive_flushing_lwm": "10",
    "innodb_flush_sync": "1",
    "innodb_thread_concurrency": "0",
    "innodb_max_dirty_pages_pct": "90.000000",
    "read_only": "0",
    "super_read_only": "0",
    "identity": "11111111-2222-3333-4444-555555555555",
    "writer": "1",
}

BUILD = {
    "server_uuid": "11111111-2222-3333-4444-555555555555",
    "version": "9.7.4",
    "version_comment": "MySQL Community Server - GPL",
    "innodb_page_size": "16384",
    "innodb_read_only": "OFF",
    "innodb_redo_log_capacity": "104857600",
    "innodb_thread_concurrency": "0",
}
"""What SHOW GLOBAL VARIABLES says of it, as far as detection needs that."""

QUIET: dict[str, list[tuple[Any, ...]]] = {
    "replica": [("replica", None, "0"), ("worker", None, None), ("coordinator", None, None)],
    "group": [],
    "latency": [("latency", "1000", "2500000000000")],
    "clone": [("clone", "0", None)],
    "locks": [("locks", None, None)],
}
"""The surroundings of a server that replicates nothing and that nobody disturbs."""


_SETS = re.compile(r"(?:SET GLOBAL |CALL innobrim\.set_global\(')(\w+)(?: = |', )([0-9.]+)\)?")
_MARKS = re.compile(r"CALL innobrim\.set_low_water_mark\((\d)\)")


class Scripted(Session):
    """A session to a server of a few tables.

    Attributes:
        asked: every statement.
        counters: what InnoDB's counters say; one that is missing is off.
        variables: what the variables say, and who has the writer lock.
        status: what the status variables say.
        pair: C and M in force.
        mark: the low-water mark in force, as the server shows it.
        bounds: what the procedure that sets C and M says of its bounds; empty without one.
        procedures: how many there are for the low-water mark.
        fails: part of a statement, and what is raised when it is asked.
        lock: what GET_LOCK answers.
        holders: who has the writer lock, as the process list shows it.
        grants: what the account may do.
        around: what each part of the surroundings answers; an exception is raised.
    """

    def __init__(self) -> None:
        super().__init__(Endpoint(user="innobrim"))
        self.asked: list[str] = []
        self.counters: dict[str, Any] = dict.fromkeys(COUNTERS, 7) | {
            "log_lsn_current": 10_000_000,
            "log_lsn_buf_pool_oldest_approx": 9_000_000,
        }
        self.variables = dict(VARIABLES)
        self.status = dict(STATUS)
        self.pair: dict[str, Any] = {C_NAME: 225, M_NAME: 450}
        self.mark = "0.000000"
        self.bounds: list[tuple[Any, ...]] = []
        self.procedures = 1
        self.fails: dict[str, Exception] = {}
        self.lock: Any = 1
        self.holders: list[tuple[object, ...]] = []
        self.grants: list[str] = []
        self.around: dict[str, list[tuple[Any, ...]] | Exception] = dict(QUIET)
        self.connection: object | None = object()

    @property
    def current(self) -> object | None:
        """Return what tells this connection from the next one."""
        return self.connection

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer, or fail as told."""
        self.asked.append(statement)
        for part, error in self.fails.items():
            if part in statement:
                raise error
        if found := _SETS.fullmatch(statement):
            self._set(*found.groups())
            return []
        if found := _MARKS.fullmatch(statement):
            self._set(LOW_WATER_MARK, "0.001" if found[1] == "1" else "0")
            return []
        tables: dict[str, Sequence[tuple[Any, ...]]] = {
            ASK: self.bounds,
            LOW_WATER_THERE: [(self.procedures,)],
            f"SELECT @@GLOBAL.{LOW_WATER_MARK}": [(self.mark,)],
            "SELECT @@GLOBAL": [tuple(self.pair.values())],
            "innodb_metrics": [*self.counters.items(), *self.variables.items()],
            "GLOBAL STATUS": [*self.status.items()],
            "SHOW GRANTS": [(one,) for one in self.grants],
            "WHERE id = IS_USED_LOCK": self.holders,
        }
        for name, rows in tables.items():
            if name in statement:
                return rows
        parts = [name for name, part in PARTS.items() if part.statement in statement]
        return self._surroundings(parts) if parts else [(self.lock,)]

    def third(self) -> list[str]:
        """Return the statements asked so far that look at the surroundings."""
        return [one for one in self.asked if any(part.statement in one for part in PARTS.values())]

    def _set(self, name: str, value: str) -> None:
        if name == LOW_WATER_MARK:
            self.mark = f"{float(value):.6f}"
        else:
            self.pair[name] = int(value)

    def _surroundings(self, parts: list[str]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        for name in parts:
            answer = self.around[name]
            if isinstance(answer, Exception):
                raise answer
            rows += answer
        return rows


def good(server: RealServer) -> Sample:
    """Return a reading that must be good."""
    reading = server.read()
    assert isinstance(reading, Sample)
    return reading
