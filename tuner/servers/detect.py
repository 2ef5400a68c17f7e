"""Which server this is, by what it can do, and whether the loop can control it."""

from __future__ import annotations

import re
from typing import Any

import pymysql

from tuner.records import CAPACITY_MINIMUM, Facts
from tuner.servers.connect import Session
from tuner.servers.limits import redo_limits
from tuner.servers.port import Unsupported

COUNTERS = (
    "log_lsn_current",
    "log_lsn_buf_pool_oldest_approx",
    "log_lsn_last_checkpoint",
    "log_on_file_space_waits",
    "buffer_flush_adaptive_total_pages",
    "buffer_flush_sync_total_pages",
    "buffer_flush_background_total_pages",
    "buffer_flush_neighbor_total_pages",
    "buffer_LRU_batch_flush_total_pages",
    "buffer_flush_n_to_flush_requested",
    "buffer_flush_n_to_flush_by_age",
    "buffer_flush_pct_for_lsn",
    "buffer_flush_lsn_avg_rate",
)
"""InnoDB counters that a sample is made of; all are off by default."""

_ASKED = (
    "server_uuid",
    "version",
    "version_comment",
    "innodb_page_size",
    "innodb_read_only",
    "innodb_redo_log_capacity",
    "innodb_cleaner_lsn_age_factor",
    "aurora_version",
    "innodb_thread_concurrency",
)

_STARTED = (
    "SELECT UNIX_TIMESTAMP() - variable_value, CURRENT_USER() FROM performance_schema.global_status"
    " WHERE variable_name = 'Uptime'"
)
"""When mysqld started, by its own clock alone: the same to the second, whatever any clock did since. And
what it calls the account."""

CAPACITY_MAXIMUM_84 = 4_294_967_295
CAPACITY_MAXIMUM_80 = 2**63 - 1


def detect(session: Session) -> Facts:
    """Return what this server is.

    Args:
        session: an open or openable session.

    Raises:
        Unreachable: nothing answers in time.
        Unsupported: not MySQL 8.0.30 or later, the account may not look, or the answers make no sense.
    """
    try:
        return _detect(session)
    except pymysql.MySQLError as error:
        raise Unsupported(
            f"{session.endpoint} may not look at what is needed ({error.args[-1]}); it needs PROCESS on *.*"
        ) from error
    except (KeyError, ValueError, IndexError, TypeError) as error:
        session.drop()
        raise Unsupported(
            f"{session.endpoint} gave an unexpected answer ({type(error).__name__}: {error}); "
            "expected is a MySQL 8.0.30 to 9.x, without a proxy that rewrites statements"
        ) from error


def _detect(session: Session) -> Facts:
    variables = _variables(session)
    version = variables.get("version", "")
    comment = variables.get("version_comment", "")
    _refuse_other_families(version, comment, variables)
    try:
        states = dict(
            session.query(
                "SELECT name, status FROM information_schema.innodb_metrics WHERE name IN "
                f"({', '.join(repr(name) for name in (*COUNTERS, *_LIMIT_COUNTERS))})"
            )
        )
    except pymysql.MySQLError as error:
        raise Unsupported(
            f"{session.endpoint} may not read InnoDB's counters ({error.args[-1]}); grant it: "
            f"GRANT PROCESS ON *.* TO '{session.endpoint.user}'@'…'"
        ) from error
    disabled = tuple(name for name in COUNTERS if states.get(name) != "enabled")
    started, account = session.query(_STARTED)[0]
    blockers = []
    if variables.get("innodb_read_only", "OFF") in {"ON", "1"}:
        blockers.append("innodb_read_only is ON: this server writes no pages")
    mismatch = _limits_mismatch(session, variables, states)
    if mismatch:
        blockers.append(mismatch)
    return Facts(
        identity=variables.get("server_uuid", ""),
        endpoint=str(session.endpoint),
        version=version,
        version_comment=comment,
        family="mysql",
        flush_law="legacy",
        page_size=int(variables["innodb_page_size"]),
        capacity_minimum=CAPACITY_MINIMUM,
        capacity_maximum=CAPACITY_MAXIMUM_84 if _release(version) >= (8, 4) else CAPACITY_MAXIMUM_80,
        started=float(started),
        disabled_counters=disabled,
        blockers=tuple(blockers),
        account=str(account),
    )


def _variables(session: Session) -> dict[str, str]:
    names = ", ".join(repr(name) for name in _ASKED)
    try:
        rows: Any = session.query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
    except pymysql.MySQLError as error:
        raise Unsupported(f"{session.endpoint} does not show its variables: {error.args[-1]}") from error
    return {str(name): str(value) for name, value in rows}


def _release(version: str) -> tuple[int, ...]:
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return tuple(int(part) for part in found.groups()) if found else (0, 0, 0)


def _refuse_other_families(version: str, comment: str, variables: dict[str, str]) -> None:
    name = f"{comment} {version}".strip()
    supported = "supported are MySQL 8.0.30 to 9.x"
    if "mariadb" in name.lower():
        raise Unsupported(f"{name}: MariaDB is not supported yet; {supported}")
    if "aurora_version" in variables:
        raise Unsupported(
            f"{name}: Aurora {variables['aurora_version']} flushes no pages "
            "from the instance, so io_capacity has no effect"
        )
    if "innodb_cleaner_lsn_age_factor" in variables:
        raise Unsupported(f"{name}: Percona Server is not supported yet; {supported}")
    if "innodb_redo_log_capacity" not in variables:
        raise Unsupported(f"{name}: no innodb_redo_log_capacity, so older than 8.0.30; {supported}")


_LIMIT_COUNTERS = ("log_max_modified_age_async", "log_max_modified_age_sync", "log_concurrency_margin")


def _limits_mismatch(session: Session, variables: dict[str, str], states: dict[str, str]) -> str:
    """Compare our limit arithmetic with the server's own exported values; empty when they agree."""
    if any(states.get(name) != "enabled" for name in _LIMIT_COUNTERS):
        return ""
    names = ", ".join(repr(name) for name in _LIMIT_COUNTERS)
    exported = {
        str(name): int(count)
        for name, count in session.query(
            f"SELECT name, count FROM information_schema.innodb_metrics WHERE name IN ({names})"
        )
    }
    status = {
        str(name): str(value) for name, value in session.query("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_%'")
    }
    if status.get("Innodb_redo_log_resize_status", "OK") != "OK":
        return ""
    capacity = int(status["Innodb_redo_log_capacity_resized"])
    ours = redo_limits(
        capacity,
        page_size=int(variables["innodb_page_size"]),
        thread_concurrency=int(variables["innodb_thread_concurrency"]),
    )
    computed = (ours.raw_async, ours.raw_sync, ours.concurrency_margin)
    for name, value in zip(_LIMIT_COUNTERS, computed, strict=True):
        if exported[name] != value:
            return (
                f"{name} is {exported[name]} on the server and {value} by our arithmetic "
                f"for a redo capacity of "
                f"{capacity}: this build is not understood"
            )
    return ""
