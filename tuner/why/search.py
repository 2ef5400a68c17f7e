"""Which changes and ticks answer a question, from whatever keeps them; ``told`` makes sentences of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median_low
from typing import Protocol

from tuner.core.ownership.transitions import BASELINE_GUARD, TRIAL
from tuner.journal.past import JournalPast
from tuner.records import DecisionKind, Facts, PastChange, TickRecord
from tuner.settings import Settings
from tuner.system.amounts import duration
from tuner.why.model import Span, Story, Why
from tuner.why.reasons import UNRECORDED, kept_for
from tuner.why.told import story
from tuner.why.view import Around

AFTER_SECONDS = 30.0
"""What came of a change is told by the tick so long after it, or just before the next change."""

GAP_SECONDS = 25.0
"""A moment without a tick for so long before it is in a gap: ticks are ten seconds apart at most."""

SPREAD = 10.0
"""Two ticks may be so many times as far apart as usual without a gap: the interval may have been another."""

SAMPLES = 240
"""Ticks looked at for how a time without changes was spent."""

MOST = 100
"""Changes that one answer tells, the newest; each takes a look at the ticks around it."""

MINUTE = 60.0

SAME_SECONDS = 1e-3
"""Times so near each other are one tick's."""


_BEGAN = {BASELINE_GUARD: "baseline_back", TRIAL: "baseline_trial_ended"}
"""Whom a restore is for that no person asked for, and the event that began it."""


class Past(Protocol):
    """What keeps changes and ticks: ``JournalPast`` says what each is."""

    source: str

    def known(self) -> tuple[float, float] | None: ...
    def change(self, number: int) -> PastChange | None: ...
    def numbers(self) -> tuple[int, int] | None: ...
    def changes(self, since: float, until: float) -> list[PastChange]: ...
    def last_change(self, before: float) -> PastChange | None: ...
    def event(self, code: str, before: float) -> str: ...
    def tick_at(self, wall: float) -> TickRecord | None: ...
    def tick_after(self, wall: float) -> TickRecord | None: ...
    def ticks(self, since: float, until: float) -> list[TickRecord]: ...
    def sampled(self, since: float, until: float, most: int) -> list[TickRecord]: ...
    def context(self, wall: float) -> tuple[Settings, Facts | None]: ...
    def lost(self, change: PastChange) -> str: ...


_: type[Past] = JournalPast


def of_now(past: Past) -> Why:
    """Tell why it is as it is at the newest tick: the last change, and why nothing was done since."""
    known = past.known()
    if known is None:
        return _nothing(past, "there is no tick yet")
    return of_moment(past, known[1])


def of_change(past: Past, number: int) -> Why:
    """Tell one change by its number."""
    change = past.change(number)
    if change is None:
        ends = past.numbers()
        there = "no change is kept" if ends is None else f"those kept are between {ends[0]} and {ends[1]}"
        return _nothing(past, f"there is no change {number}: {there}")
    return _answer(past, [_of_change(past, change)])


def of_span(past: Past, seconds: float) -> Why:
    """Tell every change of the last seconds before the newest tick, and how the rest of them was spent."""
    known = past.known()
    if known is None:
        return _nothing(past, "there is no tick yet")
    since = known[1] - seconds
    changes = past.changes(since, known[1] + SAME_SECONDS)
    many = f"{len(changes)} change{'' if len(changes) == 1 else 's'}"
    remark = f"{many} in {duration(seconds)}"
    if since < known[0] - GAP_SECONDS:
        remark += f"; ticks are kept only of the last {duration(known[1] - known[0])}"
    remark += _left_out(changes)
    stories = [_of_change(past, one) for one in changes[-MOST:]]
    record = past.tick_at(known[1])
    if record is not None and not record.decision.steps:
        stories.append(_of_tick(past, record, spent_since=max(since, known[0])))
    return _answer(past, stories, remark)


def of_moment(past: Past, wall: float, *, lasting: float = 0.0) -> Why:
    """Tell a moment: the change that made what was in force, and why nothing was written just then.

    Args:
        past: where it is looked for.
        wall: Unix time.
        lasting: seconds that were meant, such as a minute: where changes fall into them, these are told.
    """
    if lasting and (within := past.changes(wall, wall + lasting)):
        return _answer(
            past, [_of_change(past, one) for one in within[-MOST:]], _left_out(within).lstrip("; ")
        )
    record, before = past.tick_at(wall), past.last_change(wall + SAME_SECONDS)
    if record is None or wall - record.tick.wall > GAP_SECONDS:
        return _gap(past, wall, before)
    stories = []
    if before is not None and before.wall < record.tick.wall:
        stories.append(_of_change(past, before))
    stories.append(_of_tick(past, record, spent_since=None if before is None else before.wall))
    return _answer(past, stories)


def _gap(past: Past, wall: float, before: PastChange | None) -> Why:
    """Say what there is in place of a moment without a tick, and what is nearest."""
    known, earlier, later = past.known(), past.tick_at(wall), past.tick_after(wall)
    remark = "nothing was recorded then: no daemon ran, or its ticks were lost"
    too_early = known is not None and wall < known[0]
    if too_early:
        remark = "the ticks that are kept begin after that moment"
    elif known is not None and wall > known[1]:
        remark = "the ticks that are kept end before that moment"
    if before is not None:
        remark += "; what follows is the last change before it"
    return Why(
        source=past.source,
        known=_span(past),
        found=too_early and before is not None,
        remark=remark,
        stories=() if before is None else (_of_change(past, before),),
        earlier=None if earlier is None else earlier.tick.wall,
        later=None if later is None else later.tick.wall,
    )


def _left_out(changes: Sequence[PastChange]) -> str:
    return f"; the newest {MOST} of {len(changes)} are told" if len(changes) > MOST else ""


def _of_change(past: Past, change: PastChange) -> Story:
    record = past.tick_at(change.wall)
    if (
        record is None
        or record.tick.number != change.tick
        or abs(record.tick.wall - change.wall) > SAME_SECONDS
    ):
        return story(Around(None, change, lost=past.lost(change)))
    return _of_tick(past, record, change=change)


def _of_tick(
    past: Past, record: TickRecord, *, change: PastChange | None = None, spent_since: float | None = None
) -> Story:
    settings, facts = past.context(record.tick.wall)
    around = Around(record, change, settings=settings, facts=facts)
    wall = record.tick.wall
    if not record.decision.steps:
        known = past.known()
        if spent_since is not None and known is not None:
            spent = _spent(past, max(spent_since, known[0]), wall)
            around = around._replace(spent=spent, cut=spent_since < known[0] - GAP_SECONDS)
        return story(around._replace(since=past.last_change(wall)))
    if change is None:
        change = next(iter(past.changes(wall, wall + SAME_SECONDS)), None)
    following = [one for one in past.ticks(wall, wall + AFTER_SECONDS) if one.tick.wall > wall]
    receipt = next((one.tick.receipt for one in following if one.tick.number == record.tick.number + 1), None)
    later, ending = _later(following, wall)
    cause = ""
    if record.decision.kind is DecisionKind.RESTORE:
        code = next((code for who, code in _BEGAN.items() if who in record.decision.detail), None)
        cause = "" if code is None else past.event(code, wall)
    return story(around._replace(change=change, receipt=receipt, later=later, ending=ending, cause=cause))


def _later(following: list[TickRecord], wall: float) -> tuple[TickRecord | None, str]:
    """Return the tick that shows what came of a write, and why it is sooner than usual."""
    later = None
    for one in following:
        later = one
        if one.decision.steps:  # its reading is from before its own write
            return later, "just before the next change"
    if later is not None and later.tick.wall - wall < AFTER_SECONDS - GAP_SECONDS:
        return None, ""
    cut = later is not None and later.tick.wall - wall < AFTER_SECONDS - 0.4 * GAP_SECONDS
    return later, "the last reading that there is" if cut else ""


def _spent(past: Past, since: float, until: float) -> tuple[tuple[str, float], ...]:
    """Return why nothing was written between two times, and about how long each reason held.

    A time in which nothing was recorded is none of those that the ticks around it tell of.
    """
    ticks = past.sampled(since, until, SAMPLES)
    counts = Counter(kept_for(one) for one in ticks if not one.decision.steps)
    if until - since < MINUTE or not counts:
        return ()
    times = [since, *(max(since, one.tick.wall) for one in ticks), until]
    between = [later - earlier for earlier, later in pairwise(times) if later > earlier]
    usual = median_low(between)
    gaps = sum(one - usual for one in between if one > SPREAD * usual + GAP_SECONDS)
    each = (until - since - gaps) / counts.total()
    spent = [(reason, number * each) for reason, number in counts.items()]
    return tuple(sorted([*spent, (UNRECORDED, gaps)], key=lambda one: -one[1]))


def _span(past: Past) -> Span | None:
    known = past.known()
    return None if known is None else Span(*known)


def _answer(past: Past, stories: list[Story], remark: str = "") -> Why:
    return Why(past.source, _span(past), found=bool(stories), remark=remark, stories=tuple(stories))


def _nothing(past: Past, remark: str) -> Why:
    return Why(past.source, _span(past), found=False, remark=remark, stories=())
