"""One change, or one moment, in plain sentences. Pure: records in, sentences out, for whoever shows them.

No time of day stands in a sentence, because who shows it knows the reader's time zone.
"""

from __future__ import annotations

from collections.abc import Iterator

from tuner.findings.remedies import told
from tuner.records import Capacity, DecisionKind, Receipt, Sample, TickRecord
from tuner.system.amounts import duration, size
from tuner.why.model import Story
from tuner.why.reasons import SHORT, kept_for, phase, reasons
from tuner.why.view import Around, M, View, count, moved, named, seen, sentence, share

LRU_WORTH_SAYING = 50.0  # pages/s
WORTH_SAYING = 0.03  # Share of a time
A_TICK = 1.0  # seconds
NEAR_SHARE = 0.015
"""Ages so near each other, as shares of Max Checkpoint Age, are one."""


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
        aim_share=view.aim,
        before=seen(record) if isinstance(reading, Sample) else None,
        after=None if around.later is None else seen(around.later),
    )


def _by_row(around: Around) -> Story:
    change = around.change
    if change is None:
        raise ValueError("neither a tick nor a decision to tell of")
    said = [sentence(f"The reason as it was logged then: {change.detail}"), sentence(around.lost)]
    return Story(
        wall=change.wall,
        headline=moved(change.old, change.new),
        sentences=tuple(one for one in said if one),
        brief=f"{change.kind.value} ({change.reason.replace('_', ' ')})",
        change=change,
    )


def _brief(view: View) -> str:
    """Return why in a few words."""
    decision, estimate = view.decision, view.estimate
    word = phase(view) if decision.kind is DecisionKind.SET else decision.kind.value.replace("_", " ")
    if decision.kind is DecisionKind.KEEP:
        word = SHORT.get(kept_for(view.record), decision.reason.replace("_", " "))
    if decision.kind is DecisionKind.PARK:
        return f"{word}: {decision.detail}"
    now = None if estimate is None else view.peak(estimate.age_ratio)
    aim = view.aim
    if now is None:
        return word
    return f"{word}: age {share(now)}" + ("" if aim is None else f", aim {share(aim)}")


def _headline(around: Around, record: TickRecord) -> str:
    decision, reading = record.decision, record.tick.reading
    if not isinstance(reading, Sample):
        return "the server could not be read, and nothing was written."
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
        return f"{named(old)} were to become {aim}, and the write failed: {receipt.error}."
    got = None if receipt is None else receipt.in_force
    if got is None or wanted is None or got == wanted:
        return moved(old, got or wanted)
    return f"{moved(old, got)[:-1]}: that is what the server made of {named(wanted)}."


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
        yield f"InnoBrim's last change, {number}{ago} before, had set others: {named(since.new)}."
    else:
        yield f"They were set by {number}{ago} before."


def _spent(view: View) -> Iterator[str]:
    """Yield how the time without a change was spent."""
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
        why = "; ".join(f"for {duration(seconds)} {reason}" for reason, seconds in parts)
    since = view.around.since
    within = since is not None and since.wall > view.record.tick.wall - whole + A_TICK
    nothing = "Apart from the changes nothing" if within else "Nothing"
    kept = ", which is as far back as ticks are kept," if view.around.cut else ","
    yield f"{nothing} was written in the {duration(whole)} before{kept} because {why}."


def _age(view: View) -> str:
    estimate, f = view.estimate, view.decision.set_point
    if estimate is None:
        return ""
    now, aim = view.peak(estimate.age_ratio), view.aim
    if now is None:
        return ""
    text = f"The checkpoint age peaked at {share(now)} of Max Checkpoint Age"
    if aim is None or f is None:
        return f"{text}."
    text += f"; the aim {'of the drain ' if view.drains else ''}was {share(aim)}"
    ahead = None if view.drains else view.terms.get("error_ahead")
    if ahead is None:
        return f"{text}."
    there = view.peak(f + ahead)
    if there is None or abs(there - now) < NEAR_SHARE:
        return f"{text}."
    where = f"{share(max(0.0, there))}" if there < 1.0 else "Max Checkpoint Age, where writers wait,"
    return f"{text}. With {M} {view.now} it was heading for {where} within {duration(view.ahead)}."


def _flushing(view: View) -> str:
    estimate = view.estimate
    if estimate is None:
        return ""
    sync = f" ({count(estimate.sync_rate)} of them by sync flushing)" if estimate.sync_rate >= 1.0 else ""
    text = (
        f"The load wrote {size(estimate.redo_rate)}/s of redo, and the server flushed "
        f"{count(estimate.flush_rate)} pages/s{sync} where {count(estimate.demand)} would have held the age "
        "still"
    )
    if estimate.lru_rate >= LRU_WORTH_SAYING:
        text += f"; it flushed {count(estimate.lru_rate)} pages/s more to get free pages"
    return f"{text}."


def _later(view: View) -> Iterator[str]:
    later, around = view.around.later, view.around
    if later is None:
        if view.wrote and not (around.receipt is not None and around.receipt.error):
            yield "What came of it is not known yet."
        return
    after = seen(later)
    if after is None or not view.wrote:
        return
    ending = f", {around.ending}" if around.ending else ""
    sync = f" ({count(after.sync_rate)} of them by sync flushing)" if after.sync_rate >= 1.0 else ""
    yield (
        f"{duration(later.tick.wall - view.record.tick.wall)} later{ending}: the checkpoint age peaked at "
        f"{share(after.age_share)}, and the server flushed {count(after.flush_rate)} pages/s{sync} where "
        f"{count(after.demand)} would have held it still."
    )
