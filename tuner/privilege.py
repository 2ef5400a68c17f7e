"""By what the account writes: a definer procedure with bounds of its own, or a privilege without any."""

from __future__ import annotations

from tuner.core.limits import contradiction
from tuner.preconditions import Line
from tuner.records import SET_GLOBAL, Facts, Sample, revoke
from tuner.settings import Settings

MADE_ANEW_WIDER = "make it anew with wider bounds, by innobrim setup-sql"
MAKE_IT = "innobrim setup-sql prints a procedure with bounds, which then is the account's only way to write"


def way_of_writing(sample: Sample, facts: Facts, settings: Settings, *, may: bool | None) -> Line:
    """Return the line that says what somebody with the account's password could set.

    Args:
        sample: what is in force.
        facts: the server, with the procedure's bounds where there is one.
        settings: limits that the loop would keep to by itself.
        may: the account may set global variables itself; None where the server does not say.
    """
    if facts.managed:
        return Line("privilege", "ok", f"nothing is to be granted: {facts.managed} takes no SET GLOBAL")
    if facts.procedure is None:
        return _without(facts, may=may)
    found = f"C and M are set through {SET_GLOBAL}, which takes {facts.procedure}"
    everything = "whoever has the password can set every global variable"
    if why := contradiction(settings, facts):
        return Line("privilege", "problem", why, f"set other limits, or {MADE_ANEW_WIDER}")
    if may:
        return Line(
            "privilege",
            "warning",
            f"{found}; but the account has {facts.write_privilege} as well: {everything}",
            "take it away, as an administrator",
            (revoke(facts.write_privilege, facts.named_account),),
        )
    refused = _refused(sample, facts, settings)
    if refused is not None:
        return Line("privilege", "warning", f"{found}: {refused[0]}", refused[1])
    seen = "and in no other way" if may is False else "whether the account may set them itself is not seen"
    return Line("privilege", "ok", f"{found}; {seen}")


def _without(facts: Facts, *, may: bool | None) -> Line:
    if may:
        found = f"C and M are set with {facts.write_privilege}, which lets whoever has the password set every"
        return Line("privilege", "ok", f"{found} global variable to anything", MAKE_IT)
    if may is None:
        found = "no procedure was made for it, and the server does not say what else the account may set"
        return Line("privilege", "untested", found, MAKE_IT)
    return Line("privilege", "ok", "the account reads, and can set no global variable")


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
        found = f"the loop may want a C of up to {capacity}"
        return found, f"loop.ratio = {ratio}, or make it anew with a higher C, by innobrim setup-sql"
    return None
