"""MySQL 8.0.30 to 9.x behind the port: two cheap statements a reading."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from typing import Any

import pymysql
from pymysql.constants import ER

from tuner.clock import Clock
from tuner.records import Capacity, Facts, Missed, Receipt, Sample
from tuner.servers.connect import Endpoint, Session
from tuner.servers.detect import COUNTERS, ENABLE_COUNTERS, detect
from tuner.servers.limits import RedoLimits, redo_limits
from tuner.servers.port import ServerError, Unreachable

WRITABLE = ("innodb_io_capacity", "innodb_io_capacity_max")
"""The variables that the loop may write; with ``enable_counters`` also innodb_monitor_enable."""

WRITER_LOCK = "innobrim.writer"
"""Named lock that the one writing daemon holds; it is gone with its session."""

DENIED = frozenset({ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR})
"""The server's errors for a privilege that is missing."""

CLAIM_SECONDS = 5.0
"""Between two tries to get it while somebody else has it, so that a reading stays at two statements."""

_COUNTER_QUERY = (
    "SELECT name, count FROM information_schema.innodb_metrics WHERE status = 'enabled' AND name IN "
    f"({', '.join(repr(name) for name in COUNTERS)})"
)

_STATUS = (
    "Innodb_redo_log_capacity_resized",
    "Innodb_redo_log_resize_status",
    "Innodb_redo_log_logical_size",
    "Innodb_redo_log_enabled",
    "Innodb_rows_inserted",
    "Innodb_rows_updated",
    "Innodb_rows_deleted",
    "Innodb_buffer_pool_wait_free",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_total",
    "Handler_commit",
    "Uptime",
)
_VARIABLES = (
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_adaptive_flushing",
    "innodb_adaptive_flushing_lwm",
    "innodb_flush_sync",
    "innodb_thread_concurrency",
    "server_uuid",
)
_STATUS_QUERY = (
    "SELECT variable_name, variable_value FROM performance_schema.global_status WHERE variable_name IN "
    f"({', '.join(repr(name) for name in _STATUS)})"
    + "".join(f" UNION ALL SELECT '{name}', @@GLOBAL.{name}" for name in _VARIABLES)
    + f" UNION ALL SELECT 'writer', COALESCE(IS_USED_LOCK('{WRITER_LOCK}') = CONNECTION_ID(), 1)"
)


@lru_cache(maxsize=16)
def _limits(capacity: int, page_size: int, thread_concurrency: int) -> RedoLimits:
    return redo_limits(capacity, page_size=page_size, thread_concurrency=thread_concurrency)


class MySQLServer:
    """One real server.

    Attributes:
        claims_writer: take the writer lock at the next reading and keep it; set in active mode.
        enables_counters: turn counters on that are found off; only where the operator allowed it.
    """

    def __init__(self, endpoint: Endpoint, clock: Clock) -> None:
        self._session = Session(endpoint)
        self._clock = clock
        self._page_size = 16_384
        self._claimed_by: object | None = None
        self._refused_at: float | None = None
        self.claims_writer = False
        self.enables_counters = False

    def facts(self) -> Facts:
        """Return what this server is; see the port."""
        facts = detect(self._session)
        if facts.disabled_counters and self.enables_counters:
            self.enable_counters()
            facts = detect(self._session)
        self._page_size = facts.page_size
        return facts

    def enable_counters(self) -> None:
        """Turn on the counters that a sample needs, until mysqld restarts.

        Raises:
            Unreachable: nothing answers in time.
            ServerError: the account may not.
        """
        for statement in ENABLE_COUNTERS:
            try:
                self._session.query(statement)
            except pymysql.MySQLError as error:
                raise ServerError(f"{statement}: {error.args[-1]}") from error

    def read(self) -> Sample | Missed:
        """Return one reading; see the port."""
        started = self._clock.monotonic()
        try:
            counters = {str(name): int(count) for name, count in self._session.query(_COUNTER_QUERY)}
            now, wall = self._clock.monotonic(), self._clock.wall()
            self._check_counters(counters)
            self._claim()
            status = {str(name): _text(value) for name, value in self._session.query(_STATUS_QUERY)}
            return self._sample(counters, status, monotonic=now, wall=wall, started=started)
        except ServerError as error:
            reason = str(error)
        except pymysql.MySQLError as error:
            reason = f"{self._session.endpoint}: {error.args[-1]}"
        except (KeyError, ValueError) as error:
            self._session.drop()
            reason = f"{self._session.endpoint}: unexpected answer: {error}"
        return Missed(monotonic=self._clock.monotonic(), wall=self._clock.wall(), reason=reason)

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Carry out the SETs and read both values back; see the port."""
        started = self._clock.monotonic()
        done = 0
        error, denied = "", False
        in_force: Capacity | None = None
        try:
            for name, value in steps:
                _must_be_writable(name)
                self._session.query(f"SET GLOBAL {name} = {int(value)}")
                done += 1
        except Unreachable as failure:
            return self._receipt(started, wanted, done=done, error=str(failure))
        except ServerError as failure:
            error = str(failure)
        except pymysql.MySQLError as failure:
            error, denied = f"{failure.args[-1]} (error {failure.args[0]})", failure.args[0] in DENIED
        try:
            row = self._session.query("SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max")[
                0
            ]
            in_force = Capacity(int(row[0]), int(row[1]))
        except (ServerError, pymysql.MySQLError) as failure:
            error = error or f"read back: {failure}"
        return self._receipt(started, wanted, done=done, error=error, in_force=in_force, denied=denied)

    def close(self) -> None:
        """Give the connection back."""
        self._session.close()

    def _receipt(
        self,
        started: float,
        wanted: Capacity,
        *,
        done: int,
        error: str,
        in_force: Capacity | None = None,
        denied: bool = False,
    ) -> Receipt:
        ended = self._clock.monotonic()
        return Receipt(
            monotonic=ended,
            requested=wanted,
            in_force=in_force,
            done=done,
            seconds=ended - started,
            error=error,
            denied=denied,
        )

    def _check_counters(self, counters: dict[str, int]) -> None:
        """Turn counters on where allowed, as after a restart of mysqld; this reading is lost all the same.

        Raises:
            ServerError: some are off; the message names them and the statements that turn them on.
        """
        off = [name for name in COUNTERS if name not in counters]
        if not off:
            return
        if self.enables_counters:
            self.enable_counters()
        raise ServerError(f"counters are off: {', '.join(off)}; turn them on: {'; '.join(ENABLE_COUNTERS)}")

    def _claim(self) -> None:
        """Take the writer lock once per session, give it back when nothing is written any more.

        A server that refuses named locks is written without one.
        """
        mine = self._claimed_by is not None and self._claimed_by is self._session.current
        if not self.claims_writer:
            self._refused_at = None
        if mine and not self.claims_writer:
            self._session.query(f"SELECT RELEASE_LOCK('{WRITER_LOCK}')")
            self._claimed_by = None
        now = self._clock.monotonic()
        waiting = self._refused_at is not None and now - self._refused_at < CLAIM_SECONDS
        if mine or not self.claims_writer or waiting:
            return
        with contextlib.suppress(pymysql.MySQLError):
            rows = self._session.query(f"SELECT GET_LOCK('{WRITER_LOCK}', 0)")
            taken = rows[0][0] == 1
            self._claimed_by = self._session.current if taken else None
            self._refused_at = None if taken else now

    def _sample(
        self,
        counters: dict[str, int],
        status: dict[str, str],
        *,
        monotonic: float,
        wall: float,
        started: float,
    ) -> Sample:
        limits = _limits(
            int(status["Innodb_redo_log_capacity_resized"]),
            self._page_size,
            int(status["innodb_thread_concurrency"]),
        )
        return Sample(
            monotonic=monotonic,
            wall=wall,
            read_seconds=self._clock.monotonic() - started,
            identity=status["server_uuid"],
            uptime=float(status["Uptime"]),
            io_capacity=int(status["innodb_io_capacity"]),
            io_capacity_max=int(status["innodb_io_capacity_max"]),
            redo_capacity=int(status["Innodb_redo_log_capacity_resized"]),
            flush_limit=limits.flush_limit,
            sync_point=limits.sync_point,
            stall_point=limits.stall_point,
            lsn_current=counters["log_lsn_current"],
            lsn_oldest=counters["log_lsn_buf_pool_oldest_approx"] or counters["log_lsn_current"],
            lsn_checkpoint=counters["log_lsn_last_checkpoint"],
            redo_logical_size=int(status["Innodb_redo_log_logical_size"]),
            redo_enabled=status["Innodb_redo_log_enabled"] == "ON",
            resizing=status["Innodb_redo_log_resize_status"] != "OK",
            adaptive_flushing=status["innodb_adaptive_flushing"] == "1",
            adaptive_flushing_lwm=float(status["innodb_adaptive_flushing_lwm"]),
            flush_sync=status["innodb_flush_sync"] == "1",
            pages_adaptive=counters["buffer_flush_adaptive_total_pages"],
            pages_sync=counters["buffer_flush_sync_total_pages"],
            pages_background=counters["buffer_flush_background_total_pages"],
            pages_lru=counters["buffer_LRU_batch_flush_total_pages"],
            pages_neighbour=counters["buffer_flush_neighbor_total_pages"],
            pages_dirty=int(status["Innodb_buffer_pool_pages_dirty"]),
            pages_total=int(status["Innodb_buffer_pool_pages_total"]),
            flush_percentage=counters["buffer_flush_pct_for_lsn"],
            flush_requested=counters["buffer_flush_n_to_flush_requested"],
            flush_by_age=counters["buffer_flush_n_to_flush_by_age"],
            lsn_average_rate=counters["buffer_flush_lsn_avg_rate"],
            free_page_waits=int(status["Innodb_buffer_pool_wait_free"]),
            redo_space_waits=counters["log_on_file_space_waits"],
            row_changes=sum(
                int(status[f"Innodb_rows_{what}"]) for what in ("inserted", "updated", "deleted")
            ),
            commits=int(status["Handler_commit"]),
            writer=status["writer"] == "1" and self._refused_at is None,
        )


def _must_be_writable(name: str) -> None:
    """Refuse any variable that is not on the published list."""
    if name not in WRITABLE:
        raise ServerError(f"{name} may not be written; what may: {', '.join(WRITABLE)}")


def _text(value: Any) -> str:  # noqa: ANN401 - the driver returns str, bytes or numbers
    return value.decode() if isinstance(value, bytes) else str(value)
