"""Trials of MariaDB's other low-water mark, with the operator's consent: begun, run as switch-backs, used.

Block lengths, looks and verdicts are those of the optimiser's own trials. What differs is that the flush law
is another one in every second block: a block counts only once its mark is in force, the model gate has
verified its law, and the age is where that law holds it. As the two ages differ, pages that are dirty still
count as well as those flushed.
"""

from __future__ import annotations

from msgspec.structs import replace

from policies.suggestions import distance
from policies.types import ANALYTIC
from tuner.core import switchback
from tuner.core.context import CONTEXT_SECONDS, averaged, context_of
from tuner.core.mark import Mark, MarkWin, consented, other
from tuner.core.markbars import alarm, bars, fault, impossible, unverified
from tuner.core.markblock import begun, block_seconds, least_seconds, same_load, travels
from tuner.core.markpace import Pace, seen, waves
from tuner.core.optimising import MANY, part
from tuner.core.state import State
from tuner.core.switchback import Difference, Running
from tuner.core.trials import (
    LONGEST_BLOCK,
    QUIET_SECONDS,
    TAKEN_UP,
    counters,
    due,
)
from tuner.core.trialstate import event
from tuner.core.trialverdict import LEAST_REST, LEFT, LONGEST_REST, left, verdict
from tuner.records import LOW_WATER_MARK, Decision, Estimate, Event, Sample, percent

BEGINS_SHARE = 0.2
"""Share of the hour's changes that may be used as a trial begins: it takes some of them itself."""

PATIENCE = 2.0
"""So many block lengths after its mark went into force a block must have settled."""

IN_FORCE_SECONDS = 600.0
"""So long a block waits for its mark: dwell and hourly budget may keep it."""


def follow(
    state: State, sample: Sample | None, decision: Decision, *, now: float, wall: float
) -> tuple[State, list[Event]]:
    """Take the tick in that was just decided; without consent, and with nothing of ours, nothing is done."""
    if not consented(state) and state.mark == Mark():
        return state, []
    before = state.mark
    if not consented(state):
        mark, events = _barred(before, f"the policy is {state.settings.policy}", now=now, wall=wall)
        mark = replace(mark, used=None, wins=())
    elif sample is None or state.estimate is None:
        mark, events = _barred(before, "no reading", now=now, wall=wall)
    else:
        mark, said = _played(before, state.role, now=now, wall=wall)
        found, state = state.estimate, replace(state, mark=mark)
        mark, events = _update(state, sample, found, decision, now=now, wall=wall)
        events = [*said, *events]
    mark, closed = _closed(mark, sample, wall=wall)
    return replace(state, mark=mark), [*events, *closed]


def _played(mark: Mark, role: str, *, now: float, wall: float) -> tuple[Mark, list[Event]]:
    """Forget what won in another role than the server plays now; one that is not known yet is none."""
    played = part(role)
    if not role or mark.role == played:
        return mark, []
    if not mark.role:
        return replace(mark, role=played), []
    mark, events = _barred(mark, f"the server is a {played} now", now=now, wall=wall)
    return replace(mark, role=played, used=None, wins=()), events


def _update(
    state: State, sample: Sample, found: Estimate, decision: Decision, *, now: float, wall: float
) -> tuple[Mark, list[Event]]:
    """Average the load; end what may not go on, and go on with what may."""
    mark = state.mark
    elapsed = 0.0 if mark.at is None else max(0.0, now - mark.at)
    allowed = state.settings.max_checkpoint_age_ratio * sample.redo_capacity
    mark = replace(mark, at=now, below=mark.below or sample.checkpoint_age <= allowed)
    if state.occurrences.learns(sample.monotonic) and elapsed > 0.0:
        load = averaged(mark.averages, sample, found, lru_share=state.caution.lru_share, elapsed=elapsed)
        mark = replace(mark, averages=load, context=context_of(load, sample))
    guard = fault(state, decision)
    events: list[Event] = []
    blamed = guard or alarm(state, sample) or unverified(state, now=now)
    if blamed:
        mark, events = _unsafe(mark, blamed, now=now, wall=wall)
    mark, gone = _left(mark, wall=wall)
    events += gone
    never = impossible(state, sample, found)
    why = never or guard or bars(state, sample, decision, now=now) or _unwritten(mark) or _drifted(mark)
    if never and mark.used is not None:
        events.append(event(wall, "suggestion_dropped", f"{_named(mark.used.mark)} is not in use: {never}"))
        mark = replace(mark, used=None)
    if why:
        ends = _in_vain if why == MANY and mark.running is not None else _barred
        mark, said = ends(mark, why, now=now, wall=wall)
    elif mark.running is not None:
        pace = seen(mark.pace, mark.running, sample, mean=mark.averages.row_rate)
        mark, said = _go_on(state, replace(mark, pace=pace), mark.running, sample, found, now=now, wall=wall)
    else:
        mark, said = _between(state, mark, sample, found, now=now, wall=wall)
    return mark, [*events, *said]


def _unwritten(mark: Mark) -> str:
    return "the mark could not be written" if mark.failures else ""


def _drifted(mark: Mark) -> str:
    if mark.running is None or not left(mark.running.context, mark.context):
        return ""
    return "the load is another one than it began with"


def _named(mark: int) -> str:
    return f"{LOW_WATER_MARK} = {percent(mark)}"


def _barred(mark: Mark, why: str, *, now: float, wall: float) -> tuple[Mark, list[Event]]:
    """End a trial under way, for a reason that is not the mark's; what won stays."""
    events = []
    if mark.running is not None:
        said = f"trial {mark.number} of {_named(mark.tried)} abandoned: {why}"
        events.append(event(wall, "trial_abandoned", said))
        mark = replace(mark, rest_until=max(mark.rest_until, now + LEAST_REST))
    return replace(mark, running=None, quiet_since=None, why=why), events


def _in_vain(mark: Mark, why: str, *, now: float, wall: float) -> tuple[Mark, list[Event]]:
    """End a trial that shows nothing here; the rest is that of one that was lost."""
    lost = mark.lost + 1
    rest = min(LONGEST_REST, LEAST_REST * 2.0 ** min(10, lost))
    return _barred(replace(mark, lost=lost, rest_until=now + rest), why, now=now, wall=wall)


def _unsafe(mark: Mark, why: str, *, now: float, wall: float) -> tuple[Mark, list[Event]]:
    """Count a guard that fired against the mark that is in force, or just was, and end its trial."""
    running = mark.running
    if running is not None:
        settling = running.start is None and bool(running.blocks)
        if not running.suggested and not settling:
            return mark, []
        blamed, what = mark.tried, f"trial {mark.number} was unsafe and is abandoned"
    elif mark.used is not None:
        blamed, what = mark.used.mark, "what was in use was unsafe, and is dropped"
    else:
        return mark, []
    lost = mark.lost + 1
    rest = min(LONGEST_REST, LEAST_REST * 2.0 ** min(10, lost))
    wins = tuple(one for one in mark.wins if one.mark != blamed)
    mark = replace(mark, running=None, used=None, wins=wins, lost=lost, rest_until=now + rest)
    return mark, [event(wall, "suggestion_unsafe", f"{what}: {why}; {_named(blamed)}")]


def _left(mark: Mark, *, wall: float) -> tuple[Mark, list[Event]]:
    """Put what is in use out of force where the load is another one, whatever bars a trial."""
    if mark.used is None or not left(mark.used.context, mark.context):
        return mark, []
    dropped = event(wall, "suggestion_dropped", f"{_named(mark.used.mark)}: the load is another one")
    return replace(mark, used=None), [dropped]


def _between(
    state: State, mark: Mark, sample: Sample, found: Estimate, *, now: float, wall: float
) -> tuple[Mark, list[Event]]:
    """Choose what is in use under this load; begin a trial when it is time."""
    context, events = mark.context, []
    if context is None:
        return replace(mark, why="what the load is like is not known yet"), []
    if mark.used is None and mark.own in {None, mark.original}:
        near = [one for one in mark.wins if distance(one.context, context) <= TAKEN_UP]
        if near and mark.averages.seconds >= CONTEXT_SECONDS and near[0].mark != sample.low_water_mark:
            text = f"in use again under a load that it won at: {_named(near[0].mark)}"
            events.append(event(wall, "suggestion_used", text))
            mark = replace(_noted(mark, sample), used=near[0])
    block, settling = block_seconds(mark, sample, found)
    if block > LONGEST_BLOCK:
        why = f"a block would take {block / 3600:.1f} h until it shows anything"
        return replace(mark, quiet_since=None, why=why), events
    if travels(state, found):
        return replace(mark, quiet_since=None, why="the age is not at the set-point"), events
    since = now if mark.quiet_since is None else mark.quiet_since
    mark = replace(mark, quiet_since=since, why="")
    again = mark.used is None or due(mark.used.checked, wall)
    few = len(state.writes.counted) <= BEGINS_SHARE * state.settings.max_changes_per_hour
    settled = few and mark.own in {None, sample.low_water_mark}
    if now - since < QUIET_SECONDS or now < mark.rest_until or not again or not settled:
        return mark, events
    running = Running(
        number=mark.number + 1,
        suggestion=ANALYTIC,
        context=context,
        retest=mark.used is not None,
        begun=now,
        block_begun=now,
        block_seconds=block,
        settling_seconds=settling,
    )
    mark = _noted(mark, sample)
    operator = mark.original or 0
    mark = replace(mark, running=running, number=running.number, tried=other(operator), pace=Pace())
    text = f"trial {mark.number}: {_named(mark.tried)} against {percent(operator)}, blocks of {block:.0f} s"
    events.append(event(wall, "trial_begun", text))
    return mark, events


def _noted(mark: Mark, sample: Sample) -> Mark:
    """Return the slice with the operator's mark in it, which has to be on disk before another is written."""
    if mark.original is not None:
        return mark
    return replace(mark, original=sample.low_water_mark, saved=False, own=None)


def _go_on(
    state: State,
    mark: Mark,
    running: Running,
    sample: Sample,
    found: Estimate,
    *,
    now: float,
    wall: float,
) -> tuple[Mark, list[Event]]:
    """Wait for the mark, settle, count, and end a block; look at the differences where there are enough."""
    settling = running.settling_seconds * running.longer
    whole = max(running.block_seconds * running.longer, least_seconds(mark, sample, found))
    if running.start is None:
        running = begun(mark, running)
        lasted, why = now - running.block_begun, ""
        if sample.low_water_mark != (mark.tried if running.suggested else mark.original):
            why = "its mark could not be written in time" if lasted > IN_FORCE_SECONDS else ""
        elif lasted >= settling and not state.holds and not travels(state, found):
            running = replace(running, start=counters(sample))
        elif lasted > PATIENCE * whole:
            why = "the age does not settle"
        if why:
            return _in_vain(mark, why, now=now, wall=wall)
        return replace(mark, running=running), []
    if sample.monotonic - running.start.at < whole - settling:
        return mark, []
    block = switchback.ended(running, counters(sample))
    blocks = running.blocks if block is None else (*running.blocks, block)
    if block is None or not same_load(blocks):
        why = "nothing was written or flushed" if block is None else "the load is another one"
        end = _in_vain if block is None else _barred
        return end(mark, why, now=now, wall=wall)
    running = replace(running, blocks=blocks, start=None, block_begun=now)
    if running.compared:
        better, won = verdict(running)
        if won is not None:
            return _finished(mark, running, better, now=now, wall=wall, won=won)
    return replace(mark, running=running), []


def _finished(
    mark: Mark, running: Running, better: Difference, *, now: float, wall: float, won: bool
) -> tuple[Mark, list[Event]]:
    """Note what a trial came to; keep the other mark where it won, unless the load goes in waves with it."""
    context = mark.context or running.context
    uneven = waves(mark.pace) if won else ""
    won = won and not uneven
    text = f"trial {mark.number}, {_named(mark.tried)} against {percent(mark.original or 0)}"
    said = f"{text}: {better}; {'won' if won else uneven or 'not used'}"
    events = [event(wall, "trial_ended", said)]
    before = mark.used
    others = tuple(one for one in mark.wins if distance(one.context, context) > LEFT)
    mark = replace(mark, running=None, quiet_since=None, wins=others)
    if won:
        win = MarkWin(mark.tried, context, better.mean, better.low, better.high, wall)
        if before is None:
            events.append(event(wall, "suggestion_used", f"in use now: {_named(win.mark)}"))
        mark = replace(mark, used=win, wins=(*others, win)[-8:], lost=0, rest_until=now + LEAST_REST)
        return mark, events
    if before is not None:
        events.append(event(wall, "suggestion_dropped", f"{_named(before.mark)} is no longer better"))
    lost = mark.lost + 1
    rest = min(LONGEST_REST, max(LEAST_REST, (now - running.begun) * 2.0 ** min(10, lost - 1)))
    return replace(mark, used=None, lost=lost, rest_until=now + rest), events


def _closed(mark: Mark, sample: Sample | None, *, wall: float) -> tuple[Mark, list[Event]]:
    """Forget the operator's mark once it is in force and nothing else is wanted."""
    engaged = mark.running is not None or mark.used is not None or mark.asked is not None or mark.left
    if mark.original is None or engaged or sample is None or sample.low_water_mark != mark.original:
        return mark, []
    events = []
    if mark.own is not None:
        events.append(event(wall, "low_water_back", f"{_named(mark.original)} again, as it was found"))
    mark = replace(mark, original=None, saved=False, own=None, leaving=None, failures=0)
    return mark, events
