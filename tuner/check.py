"""Every precondition of control, each in one line with its fix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from tuner.advice import broken_budgets, counters_off, statements
from tuner.core.budgets import at_first_sight
from tuner.records import Capacity, Facts, Missed, Sample
from tuner.servers.port import Server, ServerError, Unreachable
from tuner.settings import Settings

Outcome = Literal["ok", "warning", "problem", "untested"]

SMALL_REDO = 256 * 1024 * 1024
"""Below this a busy server's checkpoints, 7 s apart, take up much of the redo log."""

AMPLE_REDO = 1024 * 1024 * 1024
"""What is proposed in its place."""

GRANT_IT = "for active mode, as an administrator"

ANY_FIX = "start the server, or correct address and account"
"""For a server that cannot be reached, where the cause names no better one."""


class Line(Struct, frozen=True):
    """One precondition.

    Attributes:
        name: stable id.
        outcome: ok; warning: works, but worse than it could; problem: control is impossible;
            untested: it was not tried or could not be seen; the message says why.
        message: what was found.
        fix: what to do; empty where nothing is to be done.
        sql: statements to paste.
    """

    name: str
    outcome: Outcome
    message: str
    fix: str = ""
    sql: tuple[str, ...] = ()


NEEDED_ACTIVE = frozenset({"write", "counters"})
"""Lines whose warning is about active mode alone."""


class Report(Struct, frozen=True):
    """All lines, and whether the server could be reached at all."""

    lines: tuple[Line, ...]
    reachable: bool

    @property
    def fine(self) -> bool:
        """Tell whether nothing stands in the way of what was asked about, advisory or active mode."""
        return not any(line.outcome == "problem" for line in self.lines)

    @property
    def lacking(self) -> tuple[str, ...]:
        """Names of the lines that say what active mode still lacks where advisory mode works."""
        return tuple(
            line.name for line in self.lines if line.outcome == "warning" and line.name in NEEDED_ACTIVE
        )

    @property
    def controllable(self) -> bool:
        """Tell whether nothing stands in the way of control."""
        return self.fine and "write" not in self.lacking


UNSEEN: Mapping[str, str] = {
    "replica": "that this is a replica, and its lag",
    "group": "its role in group replication",
    "latency": "how long writing statements take",
    "clone": "a clone under way",
    "locks": "LOCK INSTANCE FOR BACKUP and FLUSH TABLES WITH READ LOCK",
}
"""What goes unnoticed without a part of the surroundings."""


class CheckedServer(Server, Protocol):
    """A server that can be asked what the account may do."""

    def may_write(self) -> bool | None:
        """Tell whether the account has the privilege to write; None where that is not seen."""
        ...


def check(server: CheckedServer, *, active: bool, settings: Settings) -> Report:
    """Look at every precondition; writes the current value back only where ``active``.

    Args:
        server: the server asked about.
        active: prove the privilege to write, by writing what is already there.
        settings: of the loop.
    """
    try:
        facts = server.facts()
    except Unreachable as error:
        return Report(
            (Line("reachable", "problem", error.message, error.fix or ANY_FIX),),
            reachable=False,
        )
    except ServerError as error:
        return Report(
            (Line("reachable", "ok", "the server answers"), Line("supported", "problem", str(error))),
            reachable=True,
        )
    lines = [
        Line("reachable", "ok", f"{facts.endpoint} answers"),
        Line("supported", "ok", f"{facts.version_comment} {facts.version}: {facts.flush_law} flush law"),
        *(Line("blocked", "problem", why, "control is not possible while so") for why in facts.blockers),
    ]
    lines += [_counters(facts), _surroundings(facts)]
    sample = server.read()
    if isinstance(sample, Missed):
        lines.append(Line("sample", "problem", f"no sample: {sample.reason}"))
        lines += _untested("not looked at: there is no sample")
        return Report(tuple(lines), reachable=True)
    lines += [_redo_enabled(sample), _redo_capacity(sample, facts)]
    lines += [probe(sample) for probe in _PROBES]
    allowed = settings.allow_read_only_writes
    lines += [_read_only(sample, allowed=allowed), _ratio(sample, settings.ratio), _budgets(sample, settings)]
    held = "" if allowed else _read_only_variables(sample)
    lines.append(_privilege(server, sample, facts, active=active, held=held))
    return Report(tuple(lines), reachable=True)


def _counters(facts: Facts) -> Line:
    if not facts.disabled_counters:
        return Line("counters", "ok", "all InnoDB counters that a sample needs are on")
    finding = counters_off(facts)
    found = f"{finding.title}: {finding.reason}; active mode writes only where this version matched before"
    return Line("counters", "warning", found, finding.fix, finding.sql)


def _surroundings(facts: Facts) -> Line:
    if not facts.unseen:
        return Line("surroundings", "ok", f"{facts.surroundings} can be seen")
    missing = "; ".join(f"{part}: {UNSEEN.get(part, part)}" for part in facts.unseen)
    return Line(
        "surroundings",
        "untested",
        f"not seen, and not taken into account: {missing}",
        "let the account see it",
        (facts.grant("SELECT", "performance_schema.*"),),
    )


def _read_only(sample: Sample, *, allowed: bool) -> Line:
    found = _read_only_variables(sample)
    if not found:
        return Line("read_only", "ok", "read_only and super_read_only are OFF")
    if allowed:
        return Line("read_only", "ok", f"{found}; loop.allow_read_only_writes lets active mode write")
    return Line(
        "read_only",
        "warning",
        f"{found}: active mode writes nothing while this is so",
        "set loop.allow_read_only_writes = true to tune this server as it is",
    )


def _read_only_variables(sample: Sample) -> str:
    """Say which of the two variables are ON; empty where the server takes writes."""
    on = [name for name in ("read_only", "super_read_only") if getattr(sample, name)]
    return f"{' and '.join(on)} {'is' if len(on) == 1 else 'are'} ON" if on else ""


def _redo_enabled(sample: Sample) -> Line:
    if sample.redo_enabled:
        return Line("redo_enabled", "ok", "redo logging is on")
    return Line(
        "redo_enabled",
        "problem",
        "redo logging is disabled: there is no checkpoint age to hold, and a crash loses the instance",
        "turn it on",
        ("ALTER INSTANCE ENABLE INNODB REDO_LOG",),
    )


def _redo_capacity(sample: Sample, facts: Facts) -> Line:
    size = f"redo capacity {sample.redo_capacity / 2**20:.0f} MiB"
    size += f", flush limit {sample.flush_limit / 2**20:.1f} MiB"
    if sample.resizing:
        return Line("redo_capacity", "warning", f"{size}; a resize is under way", "wait until it is done")
    if sample.redo_capacity < SMALL_REDO:
        return Line(
            "redo_capacity",
            "warning",
            f"{size}: little room for write combining and bursts",
            *facts.larger_redo(AMPLE_REDO),
        )
    return Line("redo_capacity", "ok", size)


def _adaptive_flushing(sample: Sample) -> Line:
    if sample.adaptive_flushing:
        return Line("adaptive_flushing", "ok", "innodb_adaptive_flushing is ON")
    return Line(
        "adaptive_flushing",
        "problem",
        "innodb_adaptive_flushing is OFF: the flush law ignores the age",
        "turn it on",
        ("SET GLOBAL innodb_adaptive_flushing = ON",),
    )


def _flush_sync(sample: Sample) -> Line:
    if sample.flush_sync:
        return Line(
            "flush_sync", "ok", "innodb_flush_sync is ON: past the sync point the server saves itself"
        )
    return Line(
        "flush_sync",
        "warning",
        "innodb_flush_sync is OFF: M caps flushing even in an emergency, and writers stall "
        "when it is too low",
        "turn it on unless the device must be protected",
        ("SET GLOBAL innodb_flush_sync = ON",),
    )


def _writer(sample: Sample) -> Line:
    if sample.writer:
        return Line("writer", "ok", "no other InnoBrim holds the writer lock")
    return Line("writer", "warning", "another InnoBrim holds the writer lock; a second one stays advisory")


_PROBES: tuple[Callable[[Sample], Line], ...] = (
    _adaptive_flushing,
    _flush_sync,
    _writer,
)


def _untested(reason: str) -> list[Line]:
    """Return a line for each precondition that only a sample shows, so that none is taken for met."""
    names = [probe.__name__.lstrip("_") for probe in _PROBES]
    redo = ("redo_enabled", "redo_capacity")
    return [
        Line(name, "untested", reason) for name in (*redo, *names, "read_only", "ratio", "budgets", "write")
    ]


def _ratio(sample: Sample, ratio: int) -> Line:
    capacity, maximum = sample.io_capacity, sample.io_capacity_max
    if maximum % capacity == 0:
        return Line("ratio", "ok", f"M = {maximum} is {maximum // capacity} × C = {capacity}")
    wanted = max(100, round(maximum / ratio))
    return Line(
        "ratio",
        "warning",
        f"M = {maximum} is no whole multiple of C = {capacity}: "
        f"the server works with {capacity * (maximum // capacity)}",
        "active mode mends it with its first write; by hand",
        statements(sample.capacity, Capacity(wanted, wanted * ratio)),
    )


def _budgets(sample: Sample, settings: Settings) -> Line:
    broken = broken_budgets(at_first_sight(sample, settings))
    if broken is None:
        return Line("budgets", "ok", "recovery and shutdown budgets can be kept, by one reading")
    return Line("budgets", "warning", f"{broken.title}, by one reading: {broken.reason}", broken.fix)


def _privilege_said(server: CheckedServer, facts: Facts, grant: tuple[str, ...]) -> Line:
    """Say by the server's word whether the account may write; advisory mode tries nothing."""
    may = server.may_write()
    again = "check --active writes the current value back"
    if may is None:
        return Line("write", "untested", f"advisory: not tried; {again}", "for active mode", grant)
    if may:
        found = f"advisory: not tried; the account has {facts.write_privilege}; {again}"
        return Line("write", "untested", found)
    lacks = f"the account has no {facts.write_privilege}"
    found = f"{lacks}: advisory mode works, and active mode could not write"
    return Line("write", "warning", found, GRANT_IT, grant)


def _privilege(server: CheckedServer, sample: Sample, facts: Facts, *, active: bool, held: str) -> Line:
    grant = (facts.grant(facts.write_privilege),)
    if facts.managed:
        found = f"{facts.managed} takes no SET GLOBAL of innodb_io_capacity: advisory mode works"
        return Line("write", "warning", found, "innobrim advise says how to apply what it would set")
    if not active:
        return _privilege_said(server, facts, grant)
    if not sample.writer:
        return Line("write", "untested", "not tried: another InnoBrim holds the writer lock")
    if held:
        return Line("write", "untested", f"not tried: {held}")
    receipt = server.apply((("innodb_io_capacity", sample.io_capacity),), sample.capacity)
    if receipt.error:
        return Line("write", "problem", f"{facts.endpoint} may not write: {receipt.error}", GRANT_IT, grant)
    return Line(
        "write",
        "ok",
        f"wrote innodb_io_capacity = {sample.io_capacity} back, {receipt.seconds * 1000:.0f} ms",
    )
