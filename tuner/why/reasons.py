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
from tuner.system.amounts import duration, size
from tuner.why.aim import bound, no_authority
from tuner.why.view import Around, C, M, View, count, named, sentence, share

AT_AIM, HEADING, LEFT_ALONE, RETURNING = "at_aim", "heading", "left_alone", "returning"
"""How the age stood to its aim where the policy wanted no write."""

_CONTENT = frozenset({Reason.WITHIN_BAND, Reason.APPROACHING})


def reasons(view: View) -> Iterator[str]:
    """Yield why, in reading order; empty strings among it."""
    return _KINDS.get(view.decision.kind, _keep)(view)


def _set(view: View) -> Iterator[str]:
    if view.decision.reason == Reason.WAY_BACK:
        yield f"An emergency had raised {M}, and that is over: this is a step of the way back."
    elif view.decision.reason == Reason.UNANSWERED:
        yield sentence(view.decision.detail)
    else:
        yield _law(view)
    yield bound(view)
    yield from _guards(view)


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
        f"InnoBrim was bringing the age to its aim (phase: approach). That takes {_wanted_rate(view)}, "
        f"and by this server's flush law an {M} of about {needed}."
    )


def _moved_aim(view: View) -> str:
    by = _goes(view.terms["shift"])
    return f"The aim was moved on purpose, and with it {M} {by} (phase: hold)."


def _settle(view: View) -> str:
    return (
        "The age had come near its aim (phase: settle). By this server's flush law, and by how this load "
        f"combines page writes, it comes to rest there with an {M} of about {count(view.terms['rest'])}."
    )


def _held(view: View) -> str:
    off = view.points(view.terms["mean_error"])
    side = "above" if off > 0 else "below"
    mean = f"On average over the last minutes it lay {abs(off):.1f} percentage points {side} the aim"
    then = ": no more than this load moves it by itself, or not for long enough to be corrected"
    if view.wrote:
        by = _goes(view.terms["move"])
        then = f", and for longer than this load would move it by itself, so {M} {by}"
    return f"The age was held (phase: hold). {mean}{then}."


def _saving(view: View) -> str:
    return (
        f"{_spent(view)}, so InnoBrim kept to one {M} that is right on average, a little on the safe side "
        "(phase: saving)."
    )


def _paced(view: View) -> str:
    return (
        f"The age was at the flush limit and growing while the server flushed all that {M} lets it: that was "
        f"too low for {duration(view.terms['full_seconds'])}."
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
            f"A drain had kept the age low; {'this' if view.wrote else f'the {M} in force'} leads it back to "
            f"the aim, at {_wanted_rate(view)}."
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
        lambda _: "The policy pid moves it by how far the age is from its aim, and how fast that changes.",
    ),
    _Law(
        "found_with",
        "pace",
        lambda _: f"{M} goes back to what the server was found with, as no lower one is of use here.",
    ),
    _Law("full_seconds", "pace", _paced),
)
"""Looked through in this order."""


def _goes(log: float) -> str:
    """Return a move of ln M in words."""
    return f"goes {'up' if log > 0 else 'down'} by {abs(math.expm1(log)):.1%}"


def _spent(view: View) -> str:
    most = view.number("max_changes_per_hour")
    return f"{view.record.changes_last_hour} of the {most:g} changes that an hour may have were made"


def _guards(view: View) -> Iterator[str]:
    """Yield what each guard did to a write, with what was wanted where that is known."""
    decision = view.decision
    wanted, guards = view.terms.get("wanted"), decision.guards
    target = 0 if decision.target is None else decision.target.io_capacity_max
    asked = "" if wanted is None else f" {count(wanted)} was wanted."
    if "step" in guards:
        yield (
            f"One write moves {M} by a factor of {view.number('step_factor'):g} at most (step_factor), so "
            f"this is a step on the way.{asked}"
        )
    elif "limits" in guards and "way_back" not in guards:
        yield f"{_limit(view, target, wanted)}{asked}"
    if "authority" in guards:
        given = None if view.estimate is None else view.estimate.sustained_capacity
        device = "" if given is None else f" gives about {count(given)} pages/s, and"
        yield (f"The device{device} cannot flush more and serve the load as well: {M} goes no higher.{asked}")
    if "way_back" in guards:
        yield f"It goes back to a little above the value that the emergency found too low.{asked}"


def _limit(view: View, target: int, wanted: float | None) -> str:
    high = (wanted is not None and wanted > target) or target >= 0.95 * view.number("max_io_capacity_max")
    name = "max_io_capacity_max" if high else "min_io_capacity_max"
    if abs(target - view.number(name)) <= 0.05 * target:
        return f"{target} is the {'highest' if high else 'lowest'} that {view.setting(name)} allows."
    if high:
        return f"{target} is as high as the server, or the procedure that sets it, allows."
    return f"{target} is as low as it may go for now: {why_no_lower(target)}."


def _emergency(view: View) -> Iterator[str]:
    left = view.terms.get("seconds_left")
    if left is not None:
        then = "writers would have had to wait for redo space"
        if view.estimate is not None and view.estimate.seconds_to_sync == left:
            then = f"sync flushing, which {M} does not bound, would have begun"
        yield f"At the pace of that moment {then} {duration(left)} later."
    yield (
        f"Less than {view.settings.emergency_seconds:g} s is an emergency: {M} was raised at once, "
        "whatever the step limit, the time since the last write and the changes left in the hour."
    )
    if view.record.holds:
        yield "It was written in spite of a hold, as nobody else steers this server."
    yield from _guards(view)


def _relief(view: View) -> Iterator[str]:
    estimate = view.estimate
    if view.decision.reason == Reason.RELIEF and estimate is not None:
        yield (
            "The device gave much less than before, and the commits starved: redo fell to "
            f"{size(estimate.redo_rate_now)}/s within seconds. {M} was lowered at once, so that the "
            "commits get the device (relief)."
        )
    else:
        yield (
            f"The device gave again what it gave before, so {M} went back to what it was then (end of the "
            "relief)."
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
        age = "" if view.sample is None else f" The age was {size(view.sample.checkpoint_age)} then."
        way = f"down from {size(drain.start_age)} to {size(drain.target)}"
        does = f"brings the checkpoint age {way}"
        if drain.reached is not None:
            does = f"has brought the checkpoint age {way}, and keeps it there"
        if drain.start_age <= drain.target:
            does = f"keeps the checkpoint age at {size(drain.target)} at most"
        yield f"A drain for {drain.who}, which ends in {left}, {does}.{age}"
    aim = view.peak(view.decision.set_point)
    if "flush_rate_wanted" in view.terms and aim is not None:
        yield f"That takes {_wanted_rate(view)}. The aim of {share(aim)} counts again when the drain ends."
    yield from _guards(view)


def _park(view: View) -> Iterator[str]:
    code = view.decision.detail.removeprefix("hold ")
    why = next((one.reason for one in view.record.holds if one.code.value == code), view.decision.detail)
    yield (
        f"InnoBrim parked: it left values with room for {view.settings.park_slack:g} times the load "
        f"(park_slack), which are safe while nobody steers. The reason: {why}."
    )


def _restore(view: View) -> Iterator[str]:
    if view.around.cause:
        yield sentence(f"What led to it: {view.around.cause}")
    originals = view.record.originals
    pair = "" if originals is None else f" ({M} {originals.io_capacity_max}, {C} {originals.io_capacity})"
    what, _, pace = view.decision.detail.partition(": ")
    whom = what.replace("restoring for", "for", 1)
    yield sentence(
        f"The values that the server was found with{pair} come back in steps, {whom}"
        + (f" ({pace})" if pace else "")
    )


def _trial(view: View) -> Iterator[str]:
    yield (
        "A trial compares the originals with InnoBrim's values, which are in force in turn. Its writes are "
        "no part of max_changes_per_hour."
    )
    originals = view.record.originals
    if originals is None or view.decision.target is None or view.in_force is None:
        yield sentence(view.decision.detail)
    elif view.originals_turn:
        why = view.decision.detail.partition(": ")[2]
        yield (
            f"It was the originals' turn: {named(originals)}. They come in steps, as in a restore"
            + (f" ({why})." if why else ".")
        )
    else:
        yield "The originals' turn was over: the values that InnoBrim had before it come back in one write."


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
        because = f" It was advisory because {record.advisory}." if record.advisory else ""
        yield f"InnoBrim writes nothing in advisory mode.{because}"
    for hold in record.holds:
        lasts = duration(max(0.0, record.tick.now - hold.since))
        ends = clears(hold, view.around.facts)
        yield f"It was held for {lasts}: {hold.reason}." + (f" What ends that: {ends}." if ends else "")
    if view.decision.would is None:
        yield "Without that nothing would have been written either."


def _missed(view: View) -> str:
    reading = view.record.tick.reading
    why = reading.reason if isinstance(reading, Missed) else view.decision.detail
    return sentence(f"Without a reading InnoBrim decides nothing. The reading failed: {why}")


def _refused(words: Callable[[View], str]) -> Callable[[View], str]:
    def said(view: View) -> str:
        wanted = view.terms.get("wanted")
        asked = f"{M} was to change" + ("" if wanted is None else f" to about {count(wanted)}")
        return f"{asked}, and a guard stopped that: {words(view)}."

    return said


_REFUSALS: Mapping[str, Callable[[View], str]] = MappingProxyType(
    {
        Reason.DWELL: _refused(
            lambda view: f"the last write was less than {view.setting('dwell_seconds')} seconds before"
        ),
        Reason.BUDGET: _refused(
            lambda view: (
                f"{_spent(view)} (max_changes_per_hour); an emergency or a person could still change it"
            )
        ),
        Reason.RESERVE: _refused(
            lambda view: f"{_spent(view)}, and the rest is kept for raises and for a slow disk"
        ),
        Reason.DEAD_BAND: _refused(lambda _: "the difference is too small to be worth a write"),
        Reason.LIMITS: _refused(lambda view: _last_part(view.decision.detail)),
        Reason.AUTHORITY: _refused(lambda view: _last_part(view.decision.detail)),
        Reason.NO_RAISE: lambda _: (
            f"An emergency called for a raise, and {M} was as high already as limits and device allow."
        ),
        Reason.SPACING: lambda _: (
            "An emergency called for a raise, and the server had not had the time to answer the last one."
        ),
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
        return f"The age was on its way to the aim with the {M} in force, so nothing had to be done."
    if stood == AT_AIM:
        return "The age was at its aim, or near enough: a write would have been for nothing."
    return f"The age was off its aim, and the policy {view.decision.policy} left {M} alone for now."


def _stood(view: View) -> str:
    """Return how the age stood to its aim where no write was wanted."""
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
        Reason.NO_ESTIMATE: lambda _: "InnoBrim had only just begun to read: a rate needs two readings.",
        Reason.WARMING_UP: lambda _: (
            "InnoBrim had only just begun to read: rates need ten seconds of readings."
        ),
        Reason.STOPPING: lambda _: (
            "The daemon was stopping: nobody would have looked after a change any more."
        ),
        Reason.ORIGINALS_PENDING: lambda _: (
            "The values that the server was found with were not on disk yet; nothing is written before that."
        ),
        Reason.IDLE: lambda view: sentence(f"There was nothing to tune: {view.decision.detail}"),
        Reason.FADING: lambda _: f"The load was going away, and {M} stays as it is for its return.",
        Reason.WITHIN_BAND: _content,
        Reason.APPROACHING: _content,
        Reason.NO_AUTHORITY: lambda view: sentence(f"There was nothing to do: {no_authority(view)}"),
        Reason.SAVING: _law,
        Reason.ADJUSTED: lambda _: "The server makes the pair in force of the one that is wanted.",
        Reason.OVERRIDE: lambda view: sentence(f"An override: {view.decision.detail}"),
        Reason.DRAINING: lambda view: " ".join(one for one in _drain(view) if one),
        Reason.DRAINED: lambda view: " ".join(one for one in _drain(view) if one),
        Reason.RESTORED: lambda view: sentence(f"The {view.decision.detail}"),
        Reason.TRIAL: lambda view: (
            "It was the originals' turn in a trial: they stay in force until it is over."
            if view.in_force == view.record.originals
            else sentence(f"A trial waited on its way: {view.decision.detail}")
        ),
        Reason.RAISE: lambda _: "What was wanted comes to the pair in force.",
        Reason.LOWER: lambda _: "What was wanted comes to the pair in force.",
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
        Reason.HELD: "it was held",
        Reason.LIMITS: f"a limit kept {M} where it was",
        Reason.AUTHORITY: "the device gives no more",
        Reason.DEAD_BAND: "the difference was too small to be worth a write",
        Reason.DWELL: "the last write was too recent",
        Reason.BUDGET: "the changes of the hour were used up",
        Reason.RESERVE: "the last changes of the hour were kept for raises",
        Reason.WARMING_UP: "too few readings",
        Reason.IDLE: "there was nothing to tune",
        Reason.FADING: "the load was going away",
        AT_AIM: "the age was at its aim",
        HEADING: "the age was on its way to the aim",
        LEFT_ALONE: "the age was off its aim, and left alone for now",
        RETURNING: "the age was on its way back from a drain",
        Reason.NO_AUTHORITY: f"no {M} moves the age",
        Reason.SAVING: "changes were scarce, and one value was kept",
        Reason.UNANSWERED: f"the age did not answer to {M}",
        Reason.OVERRIDE: "an override was in force",
        Reason.DRAINING: "a drain was under way",
        Reason.DRAINED: "a drain kept the age low",
        Reason.RESTORE: "a restore waited for its next step",
        Reason.TRIAL: "a trial had the originals in force, or was on the way there",
        Reason.STOPPING: "the daemon was stopping",
        Reason.ORIGINALS_PENDING: "the originals were not on disk yet",
        Reason.NO_RAISE: f"{M} was as high as it could be",
        Reason.SPACING: "the last raise had had no time to act",
        Reason.ADJUSTED: "the server makes the pair in force of the one that was wanted",
        Reason.RAISE: "what was wanted was in force",
        Reason.LOWER: "what was wanted was in force",
        UNRECORDED: "nothing was recorded, as no daemon ran or its ticks were lost",
    }
)
"""Why nothing was written, in a few words."""
