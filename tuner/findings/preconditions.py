"""What a reading shows of the preconditions of control, each in one line with its fix."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from policies.registry import LAWS
from tuner.core.estimate.recovery import FLUSH_RATE
from tuner.core.limits import contradiction
from tuner.core.setpoint.budgets import (
    KEYS,
    at_first_sight,
    durations_at_first_sight,
    set_point_at_first_sight,
)
from tuner.findings.advice import ASK_REDO, broken_budgets, durations, statements, whole_pair
from tuner.findings.finding import Finding
from tuner.findings.m_moves_age import m_moves_no_age, while_asleep
from tuner.records import SET_GLOBAL, Facts, Sample, revoke
from tuner.servers.endpoint import Endpoint, signed_for_anybody
from tuner.servers.passwords import CHECKED_TLS
from tuner.settings import Settings, as_formerly
from tuner.system.amounts import size

SMALL_REDO = 256 * 1024 * 1024
"""Below this a busy server's checkpoints, 7 s apart, take up much of the redo log."""

AT_FIRST_SIGHT = (
    f"; before any load was seen, on a device of {FLUSH_RATE:.0f} pages/s: innobrim advise watches both"
)


def read_only(sample: Sample, _facts: Facts, settings: Settings) -> Finding:
    """Say whether the server takes writes."""
    found = read_only_variables(sample)
    if not found:
        return Finding("read_only", "ok", "read_only is OFF")
    if settings.allow_read_only_writes:
        return Finding("read_only", "ok", f"{found}; loop.allow_read_only_writes lets active mode write")
    return Finding(
        "read_only",
        "warning",
        f"{found}: active mode writes nothing while this is so",
        fix="set loop.allow_read_only_writes = true to tune this server as it is",
    )


def read_only_variables(sample: Sample) -> str:
    """Say which of the two variables are ON; empty where the server takes writes."""
    on = [name for name in ("read_only", "super_read_only") if getattr(sample, name)]
    return f"{' and '.join(on)} {'is' if len(on) == 1 else 'are'} ON" if on else ""


def redo_enabled(sample: Sample, _facts: Facts, _settings: Settings) -> Finding:
    """Say whether redo is written at all."""
    if sample.redo_enabled:
        return Finding("redo_enabled", "ok", "redo logging is on")
    return Finding(
        "redo_enabled",
        "problem",
        "redo logging is disabled: there is no checkpoint age to hold, and a crash loses the instance",
        fix="turn it on",
        sql=("ALTER INSTANCE ENABLE INNODB REDO_LOG",),
    )


def redo_capacity(sample: Sample, _facts: Facts, _settings: Settings) -> Finding:
    """Say how large the redo log is, and whether that gives room to tune in."""
    told = f"redo capacity {size(sample.redo_capacity)}"
    told += f", flush limit {size(sample.flush_limit)}"
    if sample.resizing:
        return Finding(
            "redo_capacity", "warning", f"{told}; a resize is under way", fix="wait until it is done"
        )
    if sample.redo_capacity < SMALL_REDO:
        found = f"{told}: little room for write combining and bursts"
        return Finding("redo_capacity", "warning", found, fix=ASK_REDO)
    return Finding("redo_capacity", "ok", told)


def authority(_sample: Sample, facts: Facts, _settings: Settings) -> Finding:
    """Say whether M moves the age here; the line has its published name."""
    lacking, gap = m_moves_no_age(facts), while_asleep(facts)
    for finding in (*lacking, *gap):
        return replace(finding, id="authority", severity="warning" if lacking else "ok")
    return Finding("authority", "ok", "innodb_io_capacity_max decides at which age the server comes to rest")


def adaptive_flushing(sample: Sample, _facts: Facts, _settings: Settings) -> Finding:
    """Say whether the server flushes by age."""
    if sample.adaptive_flushing:
        return Finding("adaptive_flushing", "ok", "innodb_adaptive_flushing is ON")
    return Finding(
        "adaptive_flushing",
        "problem",
        "innodb_adaptive_flushing is OFF: the flush law ignores the age",
        fix="turn it on",
        sql=("SET GLOBAL innodb_adaptive_flushing = ON",),
    )


def flush_sync(sample: Sample, facts: Facts, _settings: Settings) -> Finding:
    """Say what the server does past the sync point."""
    if not sample.flush_sync:
        return Finding(
            "flush_sync",
            "warning",
            "innodb_flush_sync is OFF: innodb_io_capacity_max limits flushing even in an emergency, and "
            "writers stall when it is too low",
            fix="turn it on unless the device must be protected",
            sql=("SET GLOBAL innodb_flush_sync = ON",),
        )
    law = LAWS.get(facts.flush_law)
    if law is not None and law.beyond:
        wait = f"writers wait from an age of {size(sample.stall_point)} on; set-points stay well below"
        return Finding("flush_sync", "ok", f"{law.beyond}; {wait}")
    past = "the server flushes as fast as it can, whatever innodb_io_capacity_max is, and writers "
    past += "wait for it" if facts.sync_stalls else "do not wait"
    return Finding(
        "flush_sync", "ok", f"from an age of {size(sample.sync_point)} on (the sync point), {past}"
    )


def writer(sample: Sample, _facts: Facts, _settings: Settings) -> Finding:
    """Say whether another daemon writes."""
    if sample.writer:
        return Finding("writer", "ok", "no other InnoBrim holds the writer lock")
    return Finding(
        "writer", "warning", "another InnoBrim holds the writer lock, so a second one stays advisory"
    )


def ratio(sample: Sample, facts: Facts, settings: Settings) -> Finding:
    """Say whether M is a whole multiple of C."""
    capacity, maximum = sample.io_capacity, sample.io_capacity_max
    if maximum % capacity == 0:
        return Finding(
            "ratio",
            "ok",
            f"innodb_io_capacity_max = {maximum} is {maximum // capacity} × innodb_io_capacity = {capacity}",
        )
    whole = whole_pair(sample, facts, settings)
    return Finding(
        "ratio",
        "warning",
        f"innodb_io_capacity_max = {maximum} is not a whole multiple of innodb_io_capacity = {capacity}: "
        f"the server works with {capacity * (maximum // capacity)}",
        fix="active mode corrects it with its first write; to do it by hand",
        sql=statements(sample.capacity, whole),
    )


def budgets(sample: Sample, _facts: Facts, settings: Settings) -> Finding:
    """Say what recovery and shutdown would take, and whether budgets can be kept, by one reading."""
    standing = at_first_sight(sample, settings)
    times = durations(durations_at_first_sight(sample, settings), settings, seen=AT_FIRST_SIGHT)
    broken = broken_budgets(standing, set_point=set_point_at_first_sight(sample, settings))
    warned = [one for one in (broken, times) if one is not None and one.severity == "warning"]
    if warned:
        reasons = [times.reason] if broken is None else [broken.reason, times.reason]
        found = f"{'; '.join(one.title for one in warned)}, by one reading"
        fix = "; ".join(one.fix for one in warned)
        return Finding("budgets", "warning", found, "; ".join(reasons), fix=fix)
    kept = (
        "no budget is set" if not standing else f"{' and '.join(KEYS[name] for name in standing)} can be kept"
    )
    return Finding("budgets", "ok", f"{kept}, by one reading", times.reason)


def former_defaults(settings: Settings) -> tuple[Finding, ...]:
    """Return the line on budgets written out as the default was before; none without any."""
    said_of_them = as_formerly(settings)
    return (Finding("former_defaults", "ok", said_of_them),) if said_of_them else ()


PROBES: tuple[Callable[[Sample, Facts, Settings], Finding], ...] = (
    redo_enabled,
    redo_capacity,
    authority,
    adaptive_flushing,
    flush_sync,
    writer,
    read_only,
    ratio,
    budgets,
)
"""In the order in which people read them; each is called what its line is called."""


ACCOUNT = ("privilege", "write")
"""The lines about what the account may do, after those."""


def untested(reason: str) -> list[Finding]:
    """Return a line for each precondition that only a sample shows, so that none is taken for met."""
    return [Finding(name, "untested", reason) for name in (*(probe.__name__ for probe in PROBES), *ACCOUNT)]


MADE_ANEW_WIDER = "make it again with wider bounds, by innobrim setup-sql"
MAKE_IT = "innobrim setup-sql prints a procedure with bounds, which then is the account's only way to write"


def way_of_writing(sample: Sample, facts: Facts, settings: Settings, *, may: bool | None) -> Finding:
    """Return the line that says what somebody with the account's password could set.

    Args:
        sample: what is in force.
        facts: the server, with the procedure's bounds where there is one.
        settings: limits that the loop would keep to by itself.
        may: the account may set global variables itself; None where the server does not say.
    """
    if facts.managed:
        return Finding("privilege", "ok", f"nothing is to be granted: {facts.managed} takes no SET GLOBAL")
    if facts.procedure is None:
        return _without(facts, may=may)
    found = f"both values are set through {SET_GLOBAL}, which takes {facts.procedure}"
    everything = "whoever has the password can set every global variable"
    if why := contradiction(settings, facts):
        return Finding("privilege", "problem", why, fix=f"set other limits, or {MADE_ANEW_WIDER}")
    if may:
        return Finding(
            "privilege",
            "warning",
            f"{found}; but the account has {facts.write_privilege} as well: {everything}",
            fix="take it away, as an administrator",
            sql=(revoke(facts.write_privilege, facts.named_account),),
        )
    refused = _refused(sample, facts, settings)
    if refused is not None:
        return Finding("privilege", "warning", f"{found}: {refused[0]}", fix=refused[1])
    seen = "and in no other way" if may is False else "whether the account may set them itself is not seen"
    return Finding("privilege", "ok", f"{found}; {seen}")


def _without(facts: Facts, *, may: bool | None) -> Finding:
    if may:
        found = (
            f"both values are set with {facts.write_privilege}, which lets whoever has the password set every"
        )
        return Finding("privilege", "ok", f"{found} global variable to anything", fix=MAKE_IT)
    if may is None:
        found = "no procedure was made for it, and the server does not say what else the account may set"
        return Finding("privilege", "untested", found, fix=MAKE_IT)
    return Finding("privilege", "ok", "the account reads, and can set no global variable")


def _refused(sample: Sample, facts: Facts, settings: Settings) -> tuple[str, str] | None:
    """Return what the loop may want and the procedure refuses, and what would be right; None for nothing.

    An M beyond its bounds is not among it: the loop keeps to them.
    """
    bounds = facts.procedure
    if bounds is None:
        return None
    if not bounds.hold(sample.capacity):
        found = f"{sample.capacity} in force is beyond that, and innobrim restore could not set it again"
        return found, MADE_ANEW_WIDER
    highest = min(settings.max_io_capacity_max, bounds.highest_io_capacity_max)
    capacity = highest // (settings.ratio or 1)
    if capacity > bounds.highest_io_capacity:
        ratio = -(-highest // bounds.highest_io_capacity)
        found = f"active mode may want an innodb_io_capacity of up to {capacity}"
        return (
            found,
            f"loop.ratio = {ratio}, or make it again with a higher innodb_io_capacity, by innobrim setup-sql",
        )
    return None


NAME = "connection"


def connection_line(endpoint: Endpoint) -> Finding:
    """Return whether whoever answers is known to be the server; a warning where it is not.

    Args:
        endpoint: where the server is; its host is taken as written, and not looked up.
    """
    if endpoint.socket is not None:
        return Finding(NAME, "ok", f"over the unix socket {endpoint.socket}: it stays on this machine")
    if endpoint.tls.startswith("verify"):
        return _checked(endpoint)
    lacks = "without TLS" if endpoint.tls == "off" else "without a certificate authority"
    return Finding(
        NAME,
        "warning",
        f"over TCP to {endpoint.host} {lacks}: whoever answers in its place is unnoticed; an account with "
        "caching_sha2_password gets in while the server has it in its cache, and not after a restart",
        fix=f"use the unix socket, or {CHECKED_TLS}",
    )


def _checked(endpoint: Endpoint) -> Finding:
    name = "the host name and all" if endpoint.tls == "verify_identity" else "all but the host name"
    file, directory = endpoint.tls_ca, endpoint.tls_details.authorities
    said = f"over TLS: the server's certificate is checked against {file or directory}, {name}"
    if endpoint.tls == "verify_identity" or not signed_for_anybody(file, directory):
        return Finding(NAME, "ok", said)
    return Finding(
        NAME,
        "warning",
        f"{said}; others can have a certificate of these authorities, answer in the server's place, and are "
        "given the password",
        fix='set tls = "verify_identity" in [server] (ssl-mode = VERIFY_IDENTITY in an option file), or name '
        "the authority that signs for this server alone",
    )
