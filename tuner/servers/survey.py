"""What else a server shows of how it flushes: asked before and after a time of watching, never in the loop.

Whatever an account may not look at is left out and named; it costs no more than that part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import pymysql
from msgspec import Struct

from tuner.servers.adapter import SHOWN, quoted
from tuner.servers.failures import in_words
from tuner.servers.session import Session
from tuner.servers.values import short, text, whole

VARIABLES = (
    *("innodb_doublewrite", "innodb_doublewrite_pages", "innodb_doublewrite_files"),
    *("innodb_flush_neighbors", "innodb_flush_method", "innodb_data_file_buffering"),
    *("innodb_lru_scan_depth", "innodb_buffer_pool_instances"),
    *("innodb_page_cleaners", "innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"),
    *("innodb_change_buffering", "innodb_adaptive_hash_index", "innodb_log_buffer_size"),
    *("innodb_flush_log_at_trx_commit", "innodb_log_group_home_dir", "innodb_log_file_buffering"),
    *("log_bin", "log_bin_basename", "sync_binlog", "datadir", "hostname"),
)
"""All that is gone by; what a server does not have it leaves out of its answer."""

STATUS = (
    *("Innodb_dblwr_pages_written", "Innodb_dblwr_writes", "Innodb_pages_read", "Innodb_pages_created"),
    *("Innodb_log_waits", "Innodb_data_writes", "Innodb_log_writes", "Innodb_os_log_fsyncs"),
)

METRICS = ("adaptive_hash_searches", "adaptive_hash_searches_btree", "ibuf_size")
"""Counters that are on unless somebody turned them off."""

FILES = {
    "wait/io/file/innodb/innodb_data_file": "data",
    "wait/io/file/innodb/innodb_dblwr_file": "doublewrite",
    "wait/io/file/innodb/innodb_log_file": "redo",
    "wait/io/file/sql/binlog": "binlog",
}
"""Kinds of files that are written to, by the Performance Schema's name."""


class Survey(Struct, frozen=True):
    """One look at it.

    Attributes:
        monotonic: when, on the clock of who asked, seconds.
        variables: by name, those that the server has.
        counters: status variables and InnoDB's counters; writes to files of a kind as ``writes:KIND``, its
            syncs, with a few opens and closes, as ``syncs:KIND``.
        lacking: what the account may not look at, and why, by part: variables, counters, files.
    """

    monotonic: float
    variables: Mapping[str, str] = {}
    counters: Mapping[str, int] = {}
    lacking: Mapping[str, str] = {}


def survey(session: Session, now: float, counter_on: str) -> Survey:
    """Return a look at a server.

    Args:
        session: an open or openable session, whose time limit holds for each of four statements.
        now: monotonic time, seconds.
        counter_on: condition for a counter that is on, as ``Adapter.counter_on``.

    Raises:
        Unreachable: nothing answers in time.
    """
    variables: dict[str, str] = {}
    counters: dict[str, int] = {}
    lacking: dict[str, str] = {}
    with _left_out(lacking, "variables"):
        variables = dict(short(session.pairs(_show("VARIABLES", VARIABLES))))
    with _left_out(lacking, "status"):
        counters |= {name: whole(said) for name, said in session.pairs(_show("STATUS", STATUS)).items()}
    with _left_out(lacking, "counters"):
        among = f"WHERE {counter_on} AND name IN ({quoted(METRICS)})"
        asked = f"SELECT name, {SHOWN} FROM information_schema.innodb_metrics {among}"
        counters |= {name: whole(said) for name, said in session.pairs(asked).items()}
    with _left_out(lacking, "files"):
        asked = (
            "SELECT event_name, count_write, count_misc FROM performance_schema.file_summary_by_event_name"
            f" WHERE event_name IN ({quoted(tuple(FILES))})"
        )
        for name, writes, others in session.query(asked):
            kind = FILES[text(name)]
            counters |= {f"writes:{kind}": whole(writes), f"syncs:{kind}": whole(others)}
    return Survey(now, variables, counters, lacking)


def _show(what: str, names: tuple[str, ...]) -> str:
    return f"SHOW GLOBAL {what} WHERE Variable_name IN ({quoted(names)})"


@contextlib.contextmanager
def _left_out(lacking: dict[str, str], part: str) -> Iterator[None]:
    try:
        yield
    except (pymysql.MySQLError, ValueError, LookupError, TypeError) as error:
        lacking[part] = in_words(error)
