"""Why a tick did what it did: the phase of the law, guards, or what stood in the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tuner.core.decide.wishes import ON_COURSE
from tuner.core.writes.lowest import why_no_lower
from tuner.findings.remedies import clears
from tuner.records import DecisionKind, Missed, Reason, TickRecord
from tuner.system.amounts import duration, share, size
from tuner.why.aim import bound, no_authority
from tuner.why.view import Around, C, M, View, count, named, sentence

AT_AIM, HEADING, LEFT_ALONE, RETURNING = "at_aim", "heading", "left_alone", "returning"
"""Where the age was, seen from its set-point, when the policy wanted no write."""

_CONTENT = frozenset({Reason.WITHIN_BAND, Reason.APPROACHING})


def reasons(view: View) -> Iterator[str]:
    """Yield why, in reading order; empty strings among it."""
    return _KINDS.get(view.decision.kind, _keep)(view)


def _set(view: View) -> Iterator[str]:
    if view.decision.reason == Reason.WAY_BACK:
        yield f"An emergency had raised {M}. It is over, and this is a step on the way back."
    elif view.decision.reason == Reason.UNANSWERED:
        yield sentence(view.decision.detail)
    else:
        yield _law(view)
    yield bound(view)
    yield from _guards(view)
    yield _other_way(view)


def _other_way(view: View) -> str:
    """Say why C went up while M went down, or the other way round; empty where it did not."""
    old, new, found = view.in_force, view.decision.target, view.record.originals
    if old is None or new is None or found is None:
        return ""
    if (new.io_capacity - old.io_capacity) * (new.io_capacity_max - old.io_capacity_max) >= 0:
        return ""
    times = new.io_capacity_max // new.io_capacity
    return (
        f"{C} went the other way because {M} is always a whole multiple of it, and it stays as near to "
        f"{found.io_capacity}, its value before InnoBrim, as that allows: {times} × {new.io_capacity} now."
    )


def phase(view: View) -> str:
    """Return in a few words what part of which law a write comes from; empty where it is unknown."""
    if view.decision.reason == Reason.WAY_BACK:
        return "way back from an emergency"
    found = _law_of(view)
    return view.decision.policy if found is None else found.phase


def _law(view: View) -> str:
    """Return the phase of the law, and what follows from it, for a write or for none."""
    found = _law_of(view)
    return "" if found is None else found.said(view)


class _Law(NamedTuple):
    """A part of a law, known by a term that it alone has."""

    term: str
    phase: str
    said: Callable[[View], str]


def _law_of(view: View) -> _Law | None:
    return next((one for one in _LAWS if one.term in view.terms), None)


def _wanted_rate(view: View) -> str:
    return f"about {count(view.terms['flush_rate_wanted'])} pages/s for the next {duration(view.ahead)}"


def _approach(view: View) -> str:
    needed = count(view.terms["law_gain"] * view.terms["flush_rate_wanted"])
    return (
        f"InnoBrim was bringing the age to its set-point (phase: approach). That takes {_wanted_rate(view)}: "
        f"with this server's flush law an {M} of about {needed}."
    )


def _moved_aim(view: View) -> str:
    by = _goes(view.terms["shift"])
    return f"The set-point was moved, so {M} {by} (phase: hold)."


def _settle(view: View) -> str:
    return (
        f"The age was near its set-point (phase: settle). It stays there with an {M} of about "
        f"{count(view.terms['rest'])}: that follows from the server's flush law and from how many changes "
        "this load makes to one page."
    )


def _held(view: View) -> str:
    off = 100.0 * view.terms["mean_error"]
    side = "above" if off > 0 else "below"
    mean = f"Its mean of the last minutes was {abs(off):.1f} percentage points {side} the set-point"
    then = "That is too little, or too short, for a correction"
    if view.wrote:
        then = f"That lasted longer than the load's own swings, so {M} {_goes(view.terms['move'])}"
    return f"InnoBrim was holding the age (phase: hold). {mean}. {then}."


def _saving(view: View) -> str:
    return (
        f"{_spent(view)}, so InnoBrim kept one {M} that is right on average, a little on the safe side "
        "(phase: saving)."
    )


def _paced(view: View) -> str:
    return (
        f"For {duration(view.terms['full_seconds'])} the age was at the flush limit and grew, although the "
        f"server flushed all that {M} allows: {M} was too low."
    )


_LAWS = (
    _Law(
        "fixed",
        "fixed",
        lambda view: f"The configuration names the value: {view.setting('fixed_io_capacity_max')}.",
    ),
    _Law(
        "mean_rate",
        "way back from a drain",
        lambda view: (
            f"A drain had kept the age low. {'This' if view.wrote else f'The {M} in force'} brings it back "
            f"to the set-point, with {_wanted_rate(view)}."
        ),
    ),
    _Law("law_gain", "approach", _approach),
    _Law("shift", "hold", _moved_aim),
    _Law("move", "hold", _held),
    _Law("settling", "settle", _settle),
    _Law("rest", "saving", _saving),
    _Law(
        "proportional",
        "pid",
        lambda _: (
            f"The policy pid moves {M} by how far the age is from its set-point, and how fast that changes."
        ),
    ),
    _Law(
        "found_with",
        "pace",
        lambda _: f"{M} goes back to its original value, as a lower one is of no use here.",
    ),
    _Law("full_seconds", "pace", _paced),
)
"""Looked through in this order."""


def _goes(log: float) -> str:
    """Return a move of ln M in words."""
    return f"goes {'up' if log > 0 else 'down'} by {abs(math.expm1(log)):.1%}"


def _spent(view: View) -> str:
    most = view.number("max_changes_per_hour")
    return f"{view.record.changes_last_hour} of the {most:g} changes allowed in an hour were made"


def _guards(view: View) -> Iterator[str]:
    """Yield what each guard did to a write, with what was wanted where that is known."""
    decision = view.decision
    wanted, guards = view.terms.get("wanted"), decision.guards
    target = 0 if decision.target is None else decision.target.io_capacity_max
    asked = "" if wanted is None else f" The policy wanted {count(wanted)}."
    if "step" in guards:
        yield (
            f"One write changes {M} by a factor of {view.number('step_factor'):g} at most (step_factor), so "
            f"this is one step of several.{asked}"
        )
    elif "limits" in guards and "way_back" not in guards:
        yield f"{_limit(view, target, wanted)}{asked}"
    if "authority" in guards:
        given = None if view.estimate is None else view.estimate.sustained_capacity
        device = "" if given is None else f" gives about {count(given)} pages/s, and"
        yield f"The device{device} cannot flush more beside the load, so {M} goes no higher.{asked}"
    if "way_back" in guards:
        yield f"It goes back to a little above the value that the emergency found too low.{asked}"


def _limit(view: View, target: int, wanted: float | None) -> str:
    high = (wanted is not None and wanted > target) or target >= 0.95 * view.number("max_io_capacity_max")
    name = "max_io_capacity_max" if high else "min_io_capacity_max"
    if abs(target - view.number(name)) <= 0.05 * target:
        return f"{target} is the {'highest' if high else 'lowest'} that {view.setting(name)} allows."
    if high:
        return f"{target} is as high as the server, or the procedure that sets it, allows."
    return f"{target} is the lowest for now: {why_no_lower(target)}."


def _emergency(view: View) -> Iterator[str]:
    left = view.terms.get("seconds_left")
    if left is not None:
        then = "writers would have waited for redo space"
        if view.estimate is not None and view.estimate.seconds_to_sync == left:
            then = "sync flushing would have begun"
        yield f"At that pace, {then} {duration(left)} later."
    yield (
        f"Less than {view.settings.emergency_seconds:g} s is an emergency: {M} was raised at once. The step "
        "limit, the time between two writes and the changes allowed in an hour do not count then."
    )
    if view.record.holds:
        yield "It was written although there was a hold, because nobody else steers this server."
    yield from _guards(view)


def _relief(view: View) -> Iterator[str]:
    estimate = view.estimate
    if view.decision.reason == Reason.RELIEF and estimate is not None:
        yield (
            "The device gave much less than before, and commits slowed down: redo fell to "
            f"{size(estimate.redo_rate_now)}/s within seconds. {M} was lowered at once, so that commits "
            "get the device (relief)."
        )
    else:
        yield (
            f"The device gives as much as before again, so {M} goes back to what it was (end of the relief)."
        )


def _override(view: View) -> Iterator[str]:
    yield sentence(f"An override: {view.decision.detail}")
    yield "An override comes before everything but the limits and an emergency."
    yield from _guards(view)


def _drain(view: View) -> Iterator[str]:
    drain = view.record.drain
    if drain is None:
        yield sentence(f"A drain: {view.decision.detail}")
    else:
        left = duration(max(0.0, drain.ends - view.record.tick.now))
        way = f"down from {size(drain.start_age)} to {size(drain.target)}"
        does = f"brings the uncheckpointed bytes {way}"
        if drain.reached is not None:
            does = f"has brought the uncheckpointed bytes {way}, and keeps them there"
        if drain.start_age <= drain.target:
            does = f"keeps the uncheckpointed bytes at {size(drain.target)} at most"
        yield f"A drain for {drain.who} {does}. It ends in {left}."
    wanted = view.decision.set_point
    if "flush_rate_wanted" in view.terms and wanted is not None:
        yield f"That takes {_wanted_rate(view)}. Then the set-point, {share(wanted)}, counts again."
    yield from _guards(view)


def _park(view: View) -> Iterator[str]:
    code = view.decision.detail.removeprefix("hold ")
    why = next((one.reason for one in view.record.holds if one.code.value == code), view.decision.detail)
    yield (
        f"InnoBrim parked: it wrote values with room for {view.settings.park_slack:g} times the load "
        f"(park_slack). They are safe while nobody steers. The reason: {why}."
    )


def _restore(view: View) -> Iterator[str]:
    if view.around.cause:
        yield sentence(f"The cause: {view.around.cause}")
    originals = view.record.originals
    pair = "" if originals is None else f" ({M} {originals.io_capacity_max}, {C} {originals.io_capacity})"
    what, _, pace = view.decision.detail.partition(": ")
    whom = what.replace("restoring for", "for", 1)
    yield sentence(f"The originals{pair} come back in steps, {whom}" + (f" ({pace})" if pace else ""))


def _trial(view: View) -> Iterator[str]:
    yield (
        "A trial compares the originals with InnoBrim's values, in turns. Its writes do not count for "
        "max_changes_per_hour."
    )
    originals = view.record.originals
    if originals is None or view.decision.target is None or view.in_force is None:
        yield sentence(view.decision.detail)
    elif view.originals_turn:
        why = view.decision.detail.partition(": ")[2]
        yield (
            f"It was the turn of the originals, {named(originals)}. They come back in steps, as in a restore"
            + (f" ({why})." if why else ".")
        )
    else:
        yield "The turn of the originals was over: InnoBrim's values from before come back in one write."


def _keep(view: View) -> Iterator[str]:
    decision = view.decision
    said = _KEPT.get(decision.reason)
    if decision.reason in {Reason.ADVISORY, Reason.HELD}:
        yield from _barred(view)
        return
    yield said(view) if said is not None else sentence(f"Nothing was written: {decision.detail}")
    if decision.reason in _REFUSALS.keys() | {Reason.WITHIN_BAND, Reason.APPROACHING, Reason.SAVING}:
        yield bound(view)


def _barred(view: View) -> Iterator[str]:
    record = view.record
    if view.decision.reason == Reason.ADVISORY:
        because = f" The reason: {record.advisory}." if record.advisory else ""
        yield f"The mode was advisory: InnoBrim wrote nothing.{because}"
    for hold in record.holds:
        lasts = duration(max(0.0, record.tick.now - hold.since))
        ends = clears(hold, view.around.facts)
        yield f"A hold lasted for {lasts}: {hold.reason}." + (f" What ends it: {ends}." if ends else "")
    if view.decision.would is None:
        yield "There was nothing to write anyway."


def _missed(view: View) -> str:
    reading = view.record.tick.reading
    why = reading.reason if isinstance(reading, Missed) else view.decision.detail
    return sentence(f"The reading failed, so InnoBrim decided nothing: {why}")


def _refused(words: Callable[[View], str]) -> Callable[[View], str]:
    def said(view: View) -> str:
        wanted = view.terms.get("wanted")
        asked = f"The policy wanted another {M}" + ("" if wanted is None else f", about {count(wanted)}")
        return f"{asked}. Nothing was written because {words(view)}."

    return said


_REFUSALS: Mapping[str, Callable[[View], str]] = MappingProxyType(
    {
        Reason.DWELL: _refused(
            lambda view: (
                f"the last write was less than {view.number('dwell_seconds'):g} s before (dwell_seconds)"
            )
        ),
        Reason.BUDGET: _refused(
            lambda view: (
                f"{_spent(view)} (max_changes_per_hour); an emergency or a person may still change it"
            )
        ),
        Reason.RESERVE: _refused(
            lambda view: f"{_spent(view)}; the rest is kept for raises and for a slow disk"
        ),
        Reason.DEAD_BAND: _refused(lambda _: "the difference is too small to be worth a write"),
        Reason.LIMITS: _refused(lambda view: _last_part(view.decision.detail)),
        Reason.AUTHORITY: _refused(lambda view: _last_part(view.decision.detail)),
        Reason.NO_RAISE: lambda _: (
            f"It was an emergency, but {M} was already as high as limits and device allow."
        ),
        Reason.SPACING: lambda _: "It was an emergency, but the last raise had not had the time to act.",
    }
)


def _last_part(detail: str) -> str:
    """Return the last part of a decision's detail, which is the guard's."""
    return detail.rpartition("; ")[2].rstrip(".")


def _content(view: View) -> str:
    stood = _stood(view)
    if stood == RETURNING or view.terms.keys() & {"fixed", "move"}:
        return _law(view)
    if stood == HEADING:
        return f"The age was on its way to the set-point with the {M} in force, so no write was needed."
    if stood == AT_AIM:
        return "The age was at its set-point, or near enough, so no write was needed."
    return f"The age was off its set-point. The policy {view.decision.policy} did not correct it yet."


def _stood(view: View) -> str:
    """Return where the age was, seen from its set-point, when no write was wanted."""
    estimate, f = view.estimate, view.decision.set_point
    if view.way_back:
        return RETURNING
    off = 0.0 if estimate is None or f is None else abs(estimate.age_ratio - f)
    if off <= ON_COURSE:
        return AT_AIM
    return HEADING if abs(view.terms.get("error_ahead", off)) < off - ON_COURSE else LEFT_ALONE


def kept_for(record: TickRecord) -> str:
    """Return why a tick wrote nothing, as ``SHORT`` has it in words."""
    reason = record.decision.reason
    return _stood(View(Around(record), record)) if reason in _CONTENT else reason


_KEPT: Mapping[str, Callable[[View], str]] = MappingProxyType(
    {
        **_REFUSALS,
        Reason.MISSED: _missed,
        Reason.NO_ESTIMATE: lambda _: "InnoBrim had just begun to read: rates need two readings.",
        Reason.WARMING_UP: lambda _: "InnoBrim had just begun to read: rates need ten seconds of readings.",
        Reason.STOPPING: lambda _: (
            "The daemon was stopping, so nobody would have watched what a change does."
        ),
        Reason.ORIGINALS_PENDING: lambda _: (
            "The originals were not on disk yet; nothing is written before that."
        ),
        Reason.IDLE: lambda view: sentence(f"There was nothing to do: {view.decision.detail}"),
        Reason.FADING: lambda _: f"The load was stopping; {M} stays as it is for when the load comes back.",
        Reason.WITHIN_BAND: _content,
        Reason.APPROACHING: _content,
        Reason.NO_AUTHORITY: lambda view: sentence(f"There was nothing to do: {no_authority(view)}"),
        Reason.SAVING: _law,
        Reason.ADJUSTED: lambda _: "The server turns the wanted values into those in force.",
        Reason.OVERRIDE: lambda view: sentence(f"An override: {view.decision.detail}"),
        Reason.DRAINING: lambda view: " ".join(one for one in _drain(view) if one),
        Reason.DRAINED: lambda view: " ".join(one for one in _drain(view) if one),
        Reason.RESTORED: lambda view: sentence(f"The {view.decision.detail}"),
        Reason.TRIAL: lambda view: (
            "It was the turn of the originals in a trial: they stay in force until it is over."
            if view.in_force == view.record.originals
            else sentence(f"A trial waited between two steps: {view.decision.detail}")
        ),
        Reason.RAISE: lambda _: "The wanted values were in force already.",
        Reason.LOWER: lambda _: "The wanted values were in force already.",
    }
)


_KINDS: Mapping[DecisionKind, Callable[[View], Iterator[str]]] = MappingProxyType(
    {
        DecisionKind.SET: _set,
        DecisionKind.EMERGENCY: _emergency,
        DecisionKind.RELIEF: _relief,
        DecisionKind.OVERRIDE: _override,
        DecisionKind.DRAIN: _drain,
        DecisionKind.PARK: _park,
        DecisionKind.RESTORE: _restore,
        DecisionKind.LOW_WATER: lambda _: iter(()),
        DecisionKind.TRIAL: _trial,
    }
)

UNRECORDED = "unrecorded"

SHORT: Mapping[str, str] = MappingProxyType(
    {
        Reason.MISSED: "the server could not be read",
        Reason.NO_ESTIMATE: "too few readings",
        Reason.ADVISORY: "the mode was advisory",
        Reason.HELD: "there was a hold",
        Reason.LIMITS: f"a limit kept {M} where it was",
        Reason.AUTHORITY: "the device could not flush more",
        Reason.DEAD_BAND: "the difference was too small to be worth a write",
        Reason.DWELL: "the last write was too recent",
        Reason.BUDGET: "the changes allowed in an hour were used up",
        Reason.RESERVE: "the last changes of the hour were kept for raises and a slow disk",
        Reason.WARMING_UP: "too few readings",
        Reason.IDLE: "there was no load to tune for",
        Reason.FADING: "the load was stopping",
        AT_AIM: "the age was at its set-point",
        HEADING: "the age was on its way to the set-point",
        LEFT_ALONE: "the age was off its set-point, with no correction yet",
        RETURNING: "the age was on its way back from a drain",
        Reason.NO_AUTHORITY: f"no {M} moves the age",
        Reason.SAVING: "few changes were left in the hour, so one value was kept",
        Reason.UNANSWERED: f"the age did not answer to {M}",
        Reason.OVERRIDE: "an override was in force",
        Reason.DRAINING: "a drain was under way",
        Reason.DRAINED: "a drain kept the age low",
        Reason.RESTORE: "a restore waited for its next step",
        Reason.TRIAL: "a trial had the originals in force, or was on its way to them",
        Reason.STOPPING: "the daemon was stopping",
        Reason.ORIGINALS_PENDING: "the originals were not on disk yet",
        Reason.NO_RAISE: f"{M} was as high as it could be",
        Reason.SPACING: "the last raise had had no time to act",
        Reason.ADJUSTED: "the server turns the wanted values into those in force",
        Reason.RAISE: "the wanted values were in force",
        Reason.LOWER: "the wanted values were in force",
        UNRECORDED: "nothing was recorded: no daemon ran, or its ticks were lost",
    }
)
"""Why nothing was written, in a few words."""
