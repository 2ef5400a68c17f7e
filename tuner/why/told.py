"""One change, or one moment, in plain sentences. Pure: records in, sentences out, for whoever shows them.

No time of day stands in a sentence, because who shows it knows the reader's time zone.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuner.findings.remedies import told
from tuner.records import Capacity, DecisionKind, Receipt, Sample, TickRecord
from tuner.system.amounts import duration, share, size
from tuner.why.model import Story
from tuner.why.reasons import SHORT, kept_for, phase, reasons
from tuner.why.view import Around, M, View, count, moved, named, seen, sentence

LRU_WORTH_SAYING = 50.0  # pages/s
WORTH_SAYING = 0.03  # Share of a time
A_TICK = 1.0  # seconds
NEAR_RATIO = 0.015
"""Ages so near each other, as shares of the flush limit, are one."""


def story(around: Around) -> Story:
    """Return the story of one tick: what was done, why, and what came of it."""
    record, change = around.record, around.change
    if record is None:
        return _by_row(around)
    reading = record.tick.reading
    view = View(around, record)
    return Story(
        wall=record.tick.wall,
        headline=_headline(around, record),
        sentences=tuple(one for one in _sentences(view) if one),
        brief=_brief(view),
        change=change,
        aim_share=view.aim_share,
        before=seen(record) if isinstance(reading, Sample) else None,
        after=None if around.later is None else seen(around.later),
    )


def _by_row(around: Around) -> Story:
    change = around.change
    if change is None:
        raise ValueError("neither a tick nor a decision to tell of")
    said = [sentence(f"The reason, as the daemon logged it: {change.detail}"), sentence(around.lost)]
    return Story(
        wall=change.wall,
        headline=moved(change.old, change.new),
        sentences=tuple(one for one in said if one),
        brief=f"{change.kind.value} ({change.reason.replace('_', ' ')})",
        change=change,
    )


def _brief(view: View) -> str:
    """Return why in a few words."""
    decision, drain = view.decision, view.drains
    word = phase(view) if decision.kind is DecisionKind.SET else decision.kind.in_words
    if decision.kind is DecisionKind.KEEP:
        word = SHORT.get(kept_for(view.record), decision.reason.replace("_", " "))
    if decision.kind is DecisionKind.PARK:
        return f"{word}: {decision.detail}"
    if not view.age:
        return word
    if drain is not None and view.sample is not None:
        return f"{word}: uncheckpointed {size(view.sample.checkpoint_age)}, target {size(drain.target)}"
    wanted = "" if view.set_point is None else f", set-point {share(view.set_point)}"
    return f"{word}: age {view.age}{wanted}"


def _headline(around: Around, record: TickRecord) -> str:
    decision, reading = record.decision, record.tick.reading
    if not isinstance(reading, Sample):
        return "the server could not be read; nothing was written."
    if not decision.steps:
        then = f"{named(reading.capacity)} were in force"
        if decision.would is not None:
            return f"{then}; InnoBrim would have set {named(decision.would)}."
        return f"{then}; nothing was written."
    if decision.kind is DecisionKind.LOW_WATER:
        return sentence(decision.detail)
    return _written(around.receipt, reading.capacity, decision.target)


def _written(receipt: Receipt | None, old: Capacity, wanted: Capacity | None) -> str:
    """Return what a write came to, as far as that is known."""
    if receipt is not None and receipt.error:
        aim = "something else" if wanted is None else named(wanted)
        return f"the write of {aim} failed: {receipt.error}. {named(old)} were in force."
    got = None if receipt is None else receipt.in_force
    if got is None or wanted is None or got == wanted:
        return moved(old, got or wanted)
    return f"{moved(old, got)[:-1]}. InnoBrim had asked for {named(wanted)}; the server changed that."


def _sentences(view: View) -> Iterator[str]:
    yield from _in_force(view)
    if (
        view.sample is not None
        and view.estimate is not None
        and view.decision.kind is not DecisionKind.LOW_WATER
    ):
        yield _age(view)
        yield _flushing(view)
    yield from reasons(view)
    for event in view.record.events:
        if event.who != "loop" or event.code != view.decision.kind.value:
            by = "" if event.who == "loop" else f", by {event.who}"
            yield sentence(f"At the same moment{by}: {told(event)}")
    yield from _later(view)
    yield from _spent(view)


def _in_force(view: View) -> Iterator[str]:
    """Yield since when the values are in force, for a tick that wrote nothing."""
    since, sample = view.around.since, view.sample
    if view.wrote or since is None or sample is None:
        return
    ago = duration(max(0.0, view.record.tick.wall - since.wall))
    number = f"change {since.number}, " if since.number else "a change "
    if since.new is not None and since.new != sample.capacity:
        yield f"InnoBrim's last change, {number}{ago} before, had set other values: {named(since.new)}."
    else:
        yield f"They had been set by {number}{ago} before."


def _spent(view: View) -> Iterator[str]:
    """Yield why nothing was written since the last change, and how long each reason held."""
    spent = view.around.spent
    whole = sum(seconds for _, seconds in spent)
    parts = [
        (SHORT.get(reason, reason.replace("_", " ")), seconds)
        for reason, seconds in spent
        if seconds >= WORTH_SAYING * whole
    ]
    if not parts:
        return
    why = parts[0][0]
    if len(parts) > 1:
        why = "; ".join(f"{reason} ({duration(seconds)})" for reason, seconds in parts)
    since = view.around.since
    within = since is not None and since.wall > view.record.tick.wall - whole + A_TICK
    nothing = "Nothing else" if within else "Nothing"
    kept = " (older ticks are not kept)" if view.around.cut else ""
    yield f"{nothing} was written in the {duration(whole)} before{kept}. The reason: {why}."


def _age(view: View) -> str:
    estimate, sample, f = view.estimate, view.sample, view.set_point
    if estimate is None or sample is None:
        return ""
    text = f"The age was {view.age} of the flush limit"
    if view.drains is not None:
        left = f"{size(sample.checkpoint_age)} were uncheckpointed"
        return f"{text}; {left}, and the drain's target was {size(view.drains.target)}."
    if f is None:
        return f"{text}."
    text += f"; the set-point was {share(f)}"
    there = f + view.terms.get("error_ahead", estimate.age_ratio - f)
    if abs(there - estimate.age_ratio) < NEAR_RATIO:
        return f"{text}."
    where = share(max(0.0, there))
    if there * sample.flush_limit >= sample.sync_point:
        where = "sync flushing"
    return f"{text}. With {M} {view.now} it was heading for {where} within {duration(view.ahead)}."


def _flushing(view: View) -> str:
    estimate = view.estimate
    if estimate is None:
        return ""
    sync = f" ({count(estimate.sync_rate)} of them by sync flushing)" if estimate.sync_rate >= 1.0 else ""
    text = (
        f"The load wrote {size(estimate.redo_rate)}/s of redo. The server flushed "
        f"{count(estimate.flush_rate)} pages/s{sync}; {count(estimate.demand)} would have held the age"
    )
    if estimate.lru_rate >= LRU_WORTH_SAYING:
        text += f". It flushed {count(estimate.lru_rate)} pages/s more to get free pages"
    return f"{text}."


def _later(view: View) -> Iterator[str]:
    later, around = view.around.later, view.around
    if later is None:
        if view.wrote and not (around.receipt is not None and around.receipt.error):
            yield "The effect is not known yet."
        return
    after, estimate = seen(later), later.estimate
    if after is None or estimate is None or not view.wrote:
        return
    ending = f", {around.ending}" if around.ending else ""
    sync = f" ({count(after.sync_rate)} of them by sync flushing)" if after.sync_rate >= 1.0 else ""
    when = f"{duration(later.tick.wall - view.record.tick.wall)} later{ending}"
    yield (
        f"{when}: the age was {share(estimate.age_ratio)} of the flush limit. The server flushed "
        f"{count(after.flush_rate)} pages/s{sync}; {count(after.demand)} would have held the age."
    )
