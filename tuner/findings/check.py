"""Every precondition of control, each in one line with its fix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from policies.flushlaw import LEGACY
from policies.registry import LAWS
from tuner.core.leaving.lowwater import unfit
from tuner.findings.advice import counters_off
from tuner.findings.finding import Finding
from tuner.findings.m_moves_age import m_moves_no_age
from tuner.findings.preconditions import (
    PROBES,
    former_defaults,
    read_only_variables,
    untested,
    way_of_writing,
)
from tuner.findings.providers import way_of
from tuner.findings.redo_growth import Growable, grow_to_line
from tuner.records import LOW_WATER_MARK, SET_GLOBAL, Facts, Missed, Sample, percent
from tuner.servers.known import known_by, law_and_level
from tuner.servers.port import Server, ServerError, Unreachable
from tuner.settings import GrowTo, Settings

GRANT_IT = "for active mode, as an administrator: what innobrim setup-sql prints, or, without bounds"
MADE_ANEW = "as an administrator, make the procedure again with what innobrim setup-sql prints"

ANY_FIX = "start the server, or correct address and account"
"""For a server that cannot be reached, where the cause names no better one."""


NEEDED_ACTIVE = frozenset({"write", "counters", "verified", "read_only"})
"""Lines whose warning is about active mode alone."""

TIME_IT = "performance_schema = ON shows it, which takes a restart of mysqld"


class Report(Struct, frozen=True):
    """A line for each precondition, and whether the server could be reached at all."""

    findings: tuple[Finding, ...]
    reachable: bool
    lacking: tuple[str, ...] = ()
    """Ids of those that say what active mode still lacks where advisory mode works."""

    @property
    def fine(self) -> bool:
        """Tell whether nothing stands in the way of what was asked about, advisory or active mode."""
        return not any(line.severity == "problem" for line in self.findings)

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


class CheckedServer(Growable, Server, Protocol):
    """A server that can be asked what the account may do."""


def check(
    server: CheckedServer,
    *,
    active: bool,
    settings: Settings,
    connection: Finding | None = None,
    grow_to: GrowTo | None = None,
) -> Report:
    """Look at every precondition; writes the current value back only where ``active``.

    Args:
        server: the server asked about.
        active: prove the privilege to write, by writing what is already there.
        settings: of the loop.
        connection: what is known of the way there; None where nothing is.
        grow_to: how large a daemon is to make the redo log; None for leaving it alone.
    """
    try:
        facts = server.facts()
    except Unreachable as error:
        return Report(
            (Finding("reachable", "problem", error.message, fix=error.fix or ANY_FIX),),
            reachable=False,
        )
    except ServerError as error:
        return Report(
            (Finding("reachable", "ok", "the server answers"), Finding("supported", "problem", str(error))),
            reachable=True,
        )
    lines = [
        Finding("reachable", "ok", f"{facts.endpoint} answers"),
        *([] if connection is None else [connection]),
        _supported(facts),
        _verified(facts),
        *(
            Finding("blocked", "problem", why, fix="control is not possible while so")
            for why in facts.blockers
        ),
        *_own_limits(facts),
    ]
    lines += [_counters(facts), _surroundings(facts)]
    sample = server.read()
    if isinstance(sample, Missed):
        lines.append(Finding("sample", "problem", f"no sample: {sample.reason}"))
        lines += untested("not looked at: there is no sample")
        return Report(tuple(lines), reachable=True)
    lines += [probe(sample, facts, settings) for probe in PROBES]
    lines += former_defaults(settings)
    lines += _low_water_mark(sample, facts, settings)
    lines += [] if grow_to is None else [grow_to_line(server, facts, sample, grow_to)]
    held = "" if settings.allow_read_only_writes else read_only_variables(sample)
    may = None if facts.managed else server.may_write()
    lines.append(way_of_writing(sample, facts, settings, may=may))
    lines.append(_privilege(server, sample, facts, active=active, held=held, may=may))
    lacking = tuple(one.id for one in lines if one.severity == "warning" and one.id in _needed(facts))
    return Report(tuple(_in_its_way(line, facts) for line in lines), reachable=True, lacking=lacking)


def _low_water_mark(sample: Sample, facts: Facts, settings: Settings) -> list[Finding]:
    """Return the line about ``loop.low_water_mark``; none without it."""
    if not settings.low_water_mark:
        return []
    mark = sample.low_water_mark
    why = unfit(facts, mark)
    if why or mark is None:
        fix = "innobrim setup-sql --low-water-mark" if facts.procedure is not None else ""
        return [
            Finding("low_water_mark", "warning", f"loop.low_water_mark does nothing here: {why}", fix=fix)
        ]
    said = f"{LOW_WATER_MARK} is {percent(mark)}; active mode sets it to 0.001, and a restore puts it back"
    return [Finding("low_water_mark", "ok", said)]


def _needed(facts: Facts) -> frozenset[str]:
    """Return the ids of the lines whose warning keeps active mode from writing."""
    return NEEDED_ACTIVE - {"counters"} if m_moves_no_age(facts) else NEEDED_ACTIVE


def _in_its_way(line: Finding, facts: Facts) -> Finding:
    """Return a line whose statements a managed server's owner can carry out; unchanged elsewhere."""
    way = way_of(line.sql, facts)
    return line if way is None else replace(line, fix=way[0], sql=way[1])


def _verified(facts: Facts) -> Finding:
    if not facts.unverified and m_moves_no_age(facts):
        return Finding(
            "verified", "ok", f"nothing is to be verified: {facts.flush_law} goes by no percentage"
        )
    if facts.absent_counters and not facts.unverified:
        return Finding("verified", "warning", f"nothing can verify the law: {facts.without_counters}")
    if not facts.unverified:
        once = "once they are on, " if facts.disabled_counters else ""
        waits = "active mode waits for that"
        if LAWS.get(facts.flush_law, LEGACY).sleeps:
            waits += ", except at the flush limit, where the server goes by no percentage"
        return Finding("verified", "ok", f"{once}the server's counters can verify the law; {waits}")
    found = f"nothing that this server exports can verify the law: {facts.unverified}"
    return Finding(
        "verified",
        "warning",
        found,
        fix="upgrade the server; loop.accept_unverified = true lets active mode write to it as it is",
    )


def _supported(facts: Facts) -> Finding:
    """Return the line that says what a server was taken for, and how such servers are known."""
    unseen = known_by(facts.family, facts.version, facts.managed) in {"source", "newer"}
    return Finding(
        "supported",
        "ok",
        f"{facts.product}: {law_and_level(facts)}",
        fix="innobrim record --fixture makes a file that lets it be checked; what to do with it is in "
        "docs/guide.md#a-fixture"
        if unseen
        else "",
    )


def _own_limits(facts: Facts) -> list[Finding]:
    """Return the line about limits that are not those of our arithmetic; none where all are."""
    said = "; ".join(facts.own_limits)
    return [Finding("limits", "ok", f"the server's own limits are taken: {said}")] if said else []


def _counters(facts: Facts) -> Finding:
    lacks = "".join(f"; this release has no {one}" for one in facts.lacks)
    if not (facts.disabled_counters or facts.absent_counters):
        return Finding("counters", "ok", f"all InnoDB counters that a sample needs are on{lacks}")
    off = counters_off(facts)
    return replace(off, id="counters", title=f"{off.title}{lacks}", effect="")


def _surroundings(facts: Facts) -> Finding:
    off = () if facts.timed else ("latency", *(part for part in facts.unseen if part == "locks"))
    granted = tuple(part for part in facts.unseen if part not in off)
    if not granted and not off:
        return Finding("surroundings", "ok", f"{facts.surroundings} can be seen")
    missing = [f"{part}: {UNSEEN.get(part, part)}" for part in granted]
    missing += [f"{part}: {UNSEEN[part]}, as performance_schema is OFF" for part in off]
    return Finding(
        "surroundings",
        "untested",
        f"not seen, and not taken into account: {'; '.join(missing)}",
        fix="; ".join([*(["let the account see it"] if granted else []), *([TIME_IT] if off else [])]),
        sql=(facts.grant("SELECT", "performance_schema.*"),) if granted else (),
    )


def _privilege_said(facts: Facts, grant: tuple[str, ...], *, may: bool | None) -> Finding:
    """Say by the server's word whether the account may write; advisory mode tries nothing."""
    again = "check --active writes the current value back"
    if facts.procedure is not None:
        found = f"advisory: not tried; the account may call {SET_GLOBAL}; {again}"
        return Finding("write", "untested", found)
    if may is None:
        return Finding("write", "untested", f"advisory: not tried; {again}", fix="for active mode", sql=grant)
    if may:
        found = f"advisory: not tried; the account has {facts.write_privilege}; {again}"
        return Finding("write", "untested", found)
    lacks = f"the account has no {facts.write_privilege}"
    found = f"{lacks}: advisory mode works, and active mode could not write"
    return Finding("write", "warning", found, fix=GRANT_IT, sql=grant)


def _managed(sample: Sample, facts: Facts, *, active: bool) -> Finding:
    """Say what the owner of a managed server can do in place of a write: no account there may."""
    takes = f"{facts.managed} takes no SET GLOBAL of innodb_io_capacity"
    found = f"{takes}: advisory mode works, and active mode could not write"
    fix = "innobrim advise says how to apply what it would set"
    way = way_of((f"SET GLOBAL innodb_io_capacity_max = {sample.io_capacity_max}",), facts)
    return Finding(
        "write", "problem" if active else "warning", found, fix=fix if way is None or way[1] else way[0]
    )


def _privilege(
    server: CheckedServer, sample: Sample, facts: Facts, *, active: bool, held: str, may: bool | None
) -> Finding:
    grant = () if facts.procedure is not None else (facts.grant(facts.write_privilege),)
    if facts.managed:
        return _managed(sample, facts, active=active)
    if not active:
        return _privilege_said(facts, grant, may=may)
    if not sample.writer:
        return Finding("write", "untested", "not tried: another InnoBrim holds the writer lock")
    if held:
        return Finding("write", "untested", f"not tried: {held}")
    receipt = server.apply((("innodb_io_capacity", sample.io_capacity),), sample.capacity)
    if receipt.error:
        fix = GRANT_IT if grant else MADE_ANEW
        return Finding(
            "write", "problem", f"{facts.endpoint} may not write: {receipt.error}", fix=fix, sql=grant
        )
    by = f" through {SET_GLOBAL}" if facts.procedure is not None else ""
    took = f"{receipt.seconds * 1000:.0f} ms"
    return Finding("write", "ok", f"wrote innodb_io_capacity = {sample.io_capacity} back{by}, {took}")
