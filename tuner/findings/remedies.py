"""What ends a hold or lets the loop write, in words: the loop knows codes, and here are their statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tuner.core.ownership.foreign import NOBODY_KNOWS
from tuner.findings.providers import left_to, way_of
from tuner.records import ENABLE_COUNTERS, Acknowledgement, Event, Facts, Hold, Remedy
from tuner.servers.exported import reporting
from tuner.servers.release import named, release_of

SHOW_WHO_CHANGED = (
    "SELECT variable_name, set_user, set_host, set_time FROM performance_schema.variables_info "
    "WHERE variable_name LIKE 'innodb_io_capacity%'"
)
"""Tells who set C and M last, and when."""

ENABLE = "; ".join(ENABLE_COUNTERS)
"""What turns the counters on until mysqld is restarted."""


class Way(NamedTuple):
    """How something is ended.

    Attributes:
        words: for people, after "ended by"; statements and commands to paste are in it.
        sql: these statements, in order.
    """

    words: str
    sql: tuple[str, ...] = ()


def _by(*sql: str) -> Way:
    return Way("; ".join(sql), sql)


WAYS: Mapping[Remedy, Way] = MappingProxyType(
    {
        Remedy.RESUME: Way("innobrim resume"),
        Remedy.GROUP_GOES_ON: Way("paused = false in [fleet], in the group's file or in this host's own"),
        Remedy.RESUME_WITH_GRANT: Way("innobrim resume, after the account may write again"),
        Remedy.RESUME_AFTER_CAUSE: Way("innobrim resume, after its cause is gone"),
        Remedy.BASELINE_UNTOUCHED: Way("the baseline left alone for a while, or innobrim resume"),
        Remedy.BASELINE_SPENT: Way(
            "innobrim resume: the baseline was taken over as often within the hour as it is by itself"
        ),
        Remedy.MODE_ACTIVE: Way("innobrim mode active"),
        Remedy.RESTORE_OFFLINE: Way("innobrim restore, once the daemon is stopped"),
        Remedy.SETTLED: Way("ten good readings, and originals on disk"),
        Remedy.GOOD_SAMPLE: Way("a good sample"),
        Remedy.SERVER_ITSELF: Way("the server itself, when that changes"),
        Remedy.ENABLE_REDO_LOG: _by("ALTER INSTANCE ENABLE INNODB REDO_LOG"),
        Remedy.ADAPTIVE_FLUSHING: _by("SET GLOBAL innodb_adaptive_flushing = ON"),
        Remedy.RESIZE_DONE: Way("the server, when it is done"),
        Remedy.RESTART_DAEMON: Way("a restart of the daemon"),
        Remedy.LOCK_HOLDER_GONE: Way("the end of that connection"),
        Remedy.OTHER_DAEMON_GONE: Way("the other one's end"),
        Remedy.PROVIDER: Way("nothing: innobrim advise says what its owner can set there, and how"),
        Remedy.OWNER: Way("the server's owner, in the provider's way: innobrim advise says how"),
        Remedy.READ_ONLY_OFF: Way("read_only OFF, or loop.allow_read_only_writes"),
        Remedy.OTHER_LIMITS: Way(
            "other limits in the configuration, or a procedure made again by innobrim setup-sql"
        ),
        Remedy.UPGRADE: Way(
            "an upgrade of the server, or loop.accept_unverified = true in the configuration"
        ),
        Remedy.ENABLE_COUNTERS: _by(*ENABLE_COUNTERS),
        Remedy.MATCHING_AGAIN: Way("readings that match again. Where none does for an hour, {report}"),
        Remedy.REPORT: Way("another release of the server, or of InnoBrim. For the latter, {report}"),
        Remedy.MATCHING_UNDER_LOAD: Way("matching readings under load"),
        Remedy.SHOW_WHO_CHANGED: _by(SHOW_WHO_CHANGED),
    }
)


def said(remedies: Sequence[Remedy], *, facts: Facts | None = None, seconds: float = 0.0) -> str:
    """Return in words what ends something, or lets the loop write; empty where nothing does.

    Args:
        remedies: their codes.
        facts: of the server, where they are at hand: its account and its provider's way are named then.
        seconds: that are left of a time.
    """
    way = way_of(sql_of(remedies), facts) if facts is not None else None
    if way is not None:
        return ": ".join((way[0], *way[1]))
    words = []
    for remedy in remedies:
        if remedy is Remedy.RESUME_WITH_GRANT and facts is not None:
            words.append(f"innobrim resume, after {facts.way_to_write}")
        elif remedy is Remedy.PROVIDER and facts is not None and left_to(facts.managed):
            words.append(f"nothing: {left_to(facts.managed)}")
        elif remedy is Remedy.BASELINE_UNTOUCHED and seconds:
            words.append(f"{seconds:.0f} s more of the baseline left alone, or innobrim resume")
        else:
            words.append(WAYS[remedy].words.replace("{report}", report(facts)))
    return "; ".join(words)


def report(facts: Facts | None) -> str:
    """Return what to send us of a server that is another than we know; with its login where that is known."""
    command = "innobrim record --fixture FILE --for 1m"
    if facts is not None and "@" in facts.endpoint:
        build = f"{facts.family}-{named(release_of(facts.version))}"
        command = reporting(facts.endpoint, build)
    return f'send us the file that "{command}" writes at a busy time'


def sql_of(remedies: Sequence[Remedy]) -> tuple[str, ...]:
    """Return the statements that remedies take, in order."""
    return tuple(statement for remedy in remedies for statement in WAYS[remedy].sql)


def needs_resume(hold: Hold) -> bool:
    """Tell whether a person ends a hold, with innobrim resume."""
    return any(remedy in _RESUMES for remedy in hold.remedies)


_RESUMES = frozenset(
    {
        Remedy.RESUME,
        Remedy.RESUME_WITH_GRANT,
        Remedy.RESUME_AFTER_CAUSE,
        Remedy.BASELINE_UNTOUCHED,
        Remedy.BASELINE_SPENT,
    }
)


def clears(hold: Hold, facts: Facts | None = None) -> str:
    """Return in words what ends a hold; in a managed server's own way where the facts are at hand."""
    return said(hold.remedies, facts=facts, seconds=hold.seconds)


def who_changed(facts: Facts | None) -> str:
    """Return the statement that tells who set C and M last, or in words that the server does not."""
    return SHOW_WHO_CHANGED if facts is None or facts.names_setters else NOBODY_KNOWS


def told(one: Event | Acknowledgement) -> str:
    """Return what happened, with what ends it where something does."""
    if Remedy.SHOW_WHO_CHANGED in one.remedies:
        return f"{one.message}; who: {said(one.remedies)}"
    return remark(one.message, one.remedies)


def remark(message: str, remedies: Sequence[Remedy]) -> str:
    """Return a remark with what ends that; as it is where nothing does."""
    return f"{message}; ended by {said(remedies)}" if remedies else message
