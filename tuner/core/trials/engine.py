"""Trials of what the outer loop suggests: asked for, run as switch-backs, used, and dropped again.

What is in force is the analytic set-point unless a suggested block is under way, or a suggestion that won its
trial under a load like this one is in use. Everything that could harm ends a trial at once.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import LIMITS, allowed, distance
from policies.types import LoadContext, Suggestion, Trial
from tuner.core.estimate.averages import CONTEXT_SECONDS, Averages, averaged, context_of, interrupted
from tuner.core.estimate.window import all_flushed
from tuner.core.trials import switchback
from tuner.core.trials.evidence import Evidence, Win, describe
from tuner.core.trials.switchback import LOOKS, MOST_BLOCKS, Counters, Difference, Running, judged
from tuner.records import Estimate, Event, EventCode, InUse, OptimiserPhase, OptimiserProgress, Sample

LEAST_REST, LONGEST_REST = 1800.0, 6.0 * 3600.0
"""Seconds between two trials; each one that is lost in a row doubles them from its own length on."""

WORTH = 0.002  # A gain below this, as ln, is worth no suggestion
HARM = -0.01  # Mean difference at which a trial is lost after two suggested blocks already
UNSAFE_GAIN, UNSAFE_ERROR = -0.05, 0.01  # What is told of a suggestion under which a guard fired
LEFT = 1.0  # Distance of loads beyond which what won at one is not in use at the other

SHORTEST_BLOCK, LONGEST_BLOCK = 300.0, 7200.0
"""Seconds; where an answer would take longer than the second, nothing is tried."""

RESIDENCES = 2.0  # Residence times, modified age over R, that a block lasts at least

SETTLING, COUNTED = 1.2, 1.0
"""Time constants of the age, age / (b * R), that a block settles, and is counted for."""

LEAST_COMBINING = 0.3

QUIET_SECONDS = 300.0  # Nothing must have barred a trial for so long before one is begun
STEADY = 0.08  # Age ratio away from the set-point beyond which the loop travels, and nothing is begun
NOTHING_REST = 3600.0  # Rest after the optimiser had nothing to suggest
RETRY_SECONDS = 6.0 * 3600.0  # What is in use has to show again that it is better after so long

TAKEN_UP = 0.7
"""Distance of loads at which a won suggestion is taken up; it is dropped beyond a distance of 1."""


class Trials(Struct, frozen=True):
    """The outer loop's slice of state; times are monotonic seconds."""

    evidence: Evidence = Evidence()  # what lasts
    running: Running | None = None  # the trial under way
    used: Win | None = None  # what won and is in force where no trial runs
    asking: int = 0  # number of the trial that a suggestion is asked for; 0 for none
    number: int = 0  # of the last trial
    averages: Averages = Averages()  # the load
    context: LoadContext | None = None  # the same as an optimiser takes it; None until it is known
    at: float | None = None  # time of the last tick
    quiet_since: float | None = None  # since when nothing bars a trial
    rest_until: float = 0.0  # none is begun before
    lost: int = 0  # trials lost in a row
    why: str = ""  # what bars one
    moved: bool = False  # what is in force has changed, and the set-point has to follow
    moved_from: float = 0.0  # the set-point before it did, at the tick at which it does; else 0

    @property
    def in_force(self) -> Suggestion | None:
        """Return the suggestion that is in force; None for the analytic set-point."""
        if self.running is not None:
            return self.running.suggestion if self.running.suggested else None
        return None if self.used is None else self.used.suggestion


class TrialTick(Struct, frozen=True):
    """What the slice may know at one tick."""

    now: float  # monotonic time, seconds
    sample: Sample  # the reading
    estimate: Estimate  # what was made of it
    set_point: float  # f in force
    lru_share: float  # share of the LRU in the pages flushed, averaged
    bars: str = ""  # why no trial may go on; empty where one may
    unsafe: str = ""  # which guard fired; empty where none did
    learns: bool = True  # the reading may be learned from


def progress(state: Trials, *, now: float) -> OptimiserProgress:
    """Return what a watcher may want to know."""
    running, used = state.running, state.used
    rest = max(0.0, state.rest_until - now)
    phase = OptimiserPhase.RESTING
    if running is not None:
        phase = OptimiserPhase.TRIAL
    elif state.asking:
        phase = OptimiserPhase.ASKING
    elif state.why:
        phase = OptimiserPhase.BARRED
    return OptimiserProgress(
        phase=phase,
        why=state.why,
        number=state.asking or state.number,
        blocks=0 if running is None else len(running.blocks),
        most_blocks=0 if running is None else MOST_BLOCKS,
        trying=None if running is None else running.suggestion,
        suggested=running is not None and running.suggested,
        in_use=None if used is None else InUse(used.suggestion, used.gain, used.low, used.high),
        known=len(state.evidence.log),
        rest_seconds=rest,
    )


class Came(StrEnum):
    """What a trial that went to its end came to: the subject of its event."""

    WON = "won"
    NOT_USED = "not_used"


def event(code: str, message: str, *, subject: str = "") -> Event:
    """Return an event of the outer loop's."""
    return Event(code=code, message=message, who="optimiser", subject=subject)


def left(load: LoadContext, now: LoadContext | None) -> bool:
    """Tell whether the load is another one than it was; one that is not known is not."""
    return now is not None and distance(load, now) > LEFT


def unsafe(state: Trials, tick: TrialTick) -> tuple[Trials, list[Event]]:
    """Note that a guard fired; it counts against the suggestion that is in force, or just was."""
    running = state.running
    if running is not None:
        settling = tick.now - running.block_begun < running.settling_seconds * running.longer
        if not running.suggested and not (running.blocks and settling):
            return state, []
        blamed, context = running.suggestion, running.context
        what = f"trial {running.number} was unsafe"
    elif state.used is not None:
        blamed, context = state.used.suggestion, state.used.context
        what = "what was in use was unsafe, and is dropped"
    else:
        return state, []
    trial = Trial(blamed, context, UNSAFE_GAIN, UNSAFE_ERROR, tick.sample.wall)
    state = replace(
        _dropped(replace(state, evidence=state.evidence.with_trial(trial)), blamed), lost=state.lost + 1
    )
    return state, [event(EventCode.SUGGESTION_UNSAFE, f"{what}: {tick.unsafe}; {describe(blamed)}")]


def verdict(running: Running) -> tuple[Difference, bool | None]:
    """Return the difference so far, and whether what is tried is the better one; None where more has to tell.

    What is in use already has to show it by the same bounds, and may take all blocks for it.

    Args:
        running: with a block just ended, an analytic one after at least one that is tried.
    """
    count = (len(running.blocks) - 1) // 2
    seen = judged(running.blocks, LOOKS.get(count, max(LOOKS.values())))
    return seen, _better(count, seen, retest=running.retest)


def _better(count: int, seen: Difference, *, retest: bool) -> bool | None:
    harmful = count > 1 and seen.mean < HARM
    if count not in LOOKS:
        return False if harmful else None
    if seen.low > 0.0 and seen.mean >= WORTH:
        return True
    hopeless = seen.high < WORTH or (not retest and seen.mean + seen.error < WORTH)
    return False if harmful or hopeless or count == max(LOOKS) else None


def finish(
    state: Trials, running: Running, seen: Difference, tick: TrialTick, *, won: bool
) -> tuple[Trials, list[Event]]:
    """Note what the trial came to; use the suggestion where it won by more than what is in use did."""
    context = state.context or running.context
    trial = Trial(running.suggestion, context, seen.mean, seen.error, tick.sample.wall)
    state = replace(state, running=None, evidence=state.evidence.with_trial(trial))
    lasted = tick.now - running.begun
    text = f"trial {running.number}, {describe(running.suggestion)}: {seen}"
    came_to = Came.WON if won else Came.NOT_USED
    ended = event(EventCode.TRIAL_ENDED, f"{text}; {'won' if won else 'not used'}", subject=came_to.value)
    events = [ended]
    held = state.used
    if not won:
        lost = state.lost + 1
        rest = min(LONGEST_REST, max(LEAST_REST, lasted * 2.0 ** min(10, lost - 1)))
        if held is not None and held.suggestion == running.suggestion:
            events.append(event("suggestion_dropped", "it is no longer better"))
        state = replace(_dropped(state, running.suggestion), lost=lost, rest_until=tick.now + rest)
        return state, events
    win = Win(running.suggestion, context, seen.mean, seen.low, seen.high, tick.sample.wall)
    state = replace(state, lost=0, rest_until=tick.now + LEAST_REST)
    if not running.retest and held is not None and held.gain >= win.gain:
        return state, events
    wins = tuple(one for one in state.evidence.wins if distance(one.context, win.context) > LEFT)
    state = replace(state, evidence=state.evidence.with_win(win, others=wins), used=win)
    if not running.retest:
        events.append(event("suggestion_used", f"in use now: {describe(win.suggestion)}"))
    return state, events


def _dropped(state: Trials, suggestion: Suggestion) -> Trials:
    mine = state.used is not None and state.used.suggestion == suggestion
    state = replace(state, evidence=state.evidence.without(suggestion))
    return replace(state, used=None) if mine else state


def update(state: Trials, tick: TrialTick) -> tuple[Trials, list[Event]]:
    """Take one tick in; say what begins and what ends."""
    before = state.in_force
    elapsed = 0.0 if state.at is None else max(0.0, tick.now - state.at)
    state = replace(state, at=tick.now, moved_from=0.0)
    if tick.learns and elapsed > 0.0:
        averages = averaged(
            state.averages, tick.sample, tick.estimate, lru_share=tick.lru_share, elapsed=elapsed
        )
        state = replace(state, averages=averages, context=context_of(averages, tick.sample))
    elif not tick.learns:
        state = replace(state, averages=interrupted(state.averages))
    events: list[Event] = []
    if tick.unsafe:
        state, said = unsafe(state, tick)
        events += said
    state, said = _left(state)
    events += said
    if tick.bars:
        state, said = barred(state, tick.bars, now=tick.now)
        events += said
    elif state.running is not None:
        state, said = _go_on(state, state.running, tick)
        events += said
    else:
        state, said = _between(state, tick)
        events += said
    return replace(state, moved=state.moved or state.in_force != before), events


def barred(state: Trials, why: str, *, now: float) -> tuple[Trials, list[Event]]:
    """End what is under way, for a reason that is not the suggestion's; what won stays."""
    events = []
    if state.running is not None:
        number = state.running.number
        events.append(event("trial_abandoned", f"trial {number} abandoned: {why}"))
        state = replace(state, rest_until=now + LEAST_REST, moved=state.moved or state.running.suggested)
    return replace(state, running=None, asking=0, quiet_since=None, why=why), events


def begin(state: Trials, suggestion: Suggestion, *, block: tuple[float, float]) -> Trials:
    """Begin the trial that was asked for, with an analytic block.

    Args:
        block: seconds that a block lasts, and that it settles.
    """
    if state.context is None or state.at is None:
        return state
    running = Running(
        number=state.asking or state.number + 1,
        suggestion=suggestion,
        context=state.context,
        retest=state.asking == 0,
        begun=state.at,
        block_begun=state.at,
        block_seconds=block[0],
        settling_seconds=block[1],
    )
    moved = state.moved or state.in_force is not None
    return replace(state, running=running, asking=0, number=running.number, moved=moved, why="")


def accepted(
    state: Trials, number: int, suggestion: Suggestion | None, tick: TrialTick
) -> tuple[Trials, str]:
    """Return the state with an answer taken in, and why it is refused; empty where it is not."""
    if not state.asking or number != state.asking:
        asked = f"trial {state.asking} is asked for" if state.asking else "none is asked for"
        return state, f"a suggestion for trial {number}, and {asked}"
    if suggestion is None:
        return replace(state, asking=0, number=number, rest_until=tick.now + NOTHING_REST), ""
    if not allowed(suggestion):
        limits = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in LIMITS.items())
        return state, f"{suggestion} is outside the limits: {limits}"
    block = block_of(tick.estimate)
    return begin(state, suggestion, block=block), ""


def too_late(state: Trials, number: int, *, now: float) -> Trials:
    """Return the state after an answer at a tick at which nothing can begin; the next question is another."""
    if not state.asking or number != state.asking:
        return state
    return replace(state, asking=0, number=number, rest_until=now + LEAST_REST)


def block_of(estimate: Estimate, *, shortest: float = SHORTEST_BLOCK) -> tuple[float, float]:
    """Return how long a block of this load lasts, and how long it settles, seconds."""
    residence = residence_of(estimate)
    constant = residence / max(LEAST_COMBINING, estimate.combining_exponent)
    settling, counted = SETTLING * constant, COUNTED * constant
    whole = max(shortest, RESIDENCES * residence, settling + counted)
    return whole, settling * whole / (settling + counted) if settling > 0.0 else whole / 2.0


def residence_of(estimate: Estimate) -> float:
    """Return how long a page stays dirty under this load, modified age over R, seconds."""
    return estimate.modified_age / max(1.0, estimate.redo_rate)


def _go_on(state: Trials, running: Running, tick: TrialTick) -> tuple[Trials, list[Event]]:
    """Settle, count, and end a block; look at the differences where enough of them are there."""
    if left(running.context, state.context):
        return barred(state, "the load is another one than it began with", now=tick.now)
    lasted = tick.now - running.block_begun
    if running.start is None and lasted >= running.settling_seconds * running.longer:
        running = replace(running, start=counters(tick.sample))
    if lasted < max(running.block_seconds * running.longer, RESIDENCES * residence_of(tick.estimate)):
        return replace(state, running=running), []
    block = switchback.ended(running, counters(tick.sample))
    if block is None:
        return barred(state, "nothing was written or flushed", now=tick.now)
    blocks = (*running.blocks, block)
    running = replace(running, blocks=blocks, start=None, block_begun=tick.now)
    if not switchback.same_load(blocks):
        return barred(state, "the load is another one", now=tick.now)
    if running.compared:
        seen, won = verdict(running)
        if won is not None:
            return finish(state, running, seen, tick, won=won)
    return replace(state, running=running), []


def _left(state: Trials) -> tuple[Trials, list[Event]]:
    """Put what is in use out of force where the load is another one, whatever bars a trial."""
    if state.used is None or not left(state.used.context, state.context):
        return state, []
    dropped = event("suggestion_dropped", "the load is another one")
    return replace(state, used=None), [dropped]


def _between(state: Trials, tick: TrialTick) -> tuple[Trials, list[Event]]:
    """Choose what is in use under this load; ask for a suggestion when it is time."""
    context, events = state.context, []
    if context is None:
        return replace(state, why="what the load is like is not known yet"), []
    if state.used is None:
        near = [one for one in state.evidence.wins if distance(one.context, context) <= TAKEN_UP]
        if near and state.averages.seconds >= CONTEXT_SECONDS:
            win = min(near, key=lambda one: distance(one.context, context))
            text = f"in use again under a load that it won at: {describe(win.suggestion)}"
            events.append(event("suggestion_used", text))
            state = replace(state, used=win)
    block, settling = block_of(tick.estimate)
    if block > LONGEST_BLOCK:
        why = f"a block would take {block / 3600:.1f} h until it shows anything"
        return replace(state, asking=0, quiet_since=None, why=why), events
    if abs(tick.estimate.age_ratio - tick.set_point) > STEADY:
        return replace(state, quiet_since=None, why="the age is not at the set-point"), events
    since = tick.now if state.quiet_since is None else state.quiet_since
    state = replace(state, quiet_since=since, why="")
    if tick.now - since < QUIET_SECONDS or tick.now < state.rest_until:
        return state, events
    used = state.used
    if used is not None and due(used.checked, tick.sample.wall):
        return begin(replace(state, asking=0), used.suggestion, block=(block, settling)), events
    return replace(state, asking=state.asking or state.number + 1), events


def due(checked: float, wall: float) -> bool:
    """Tell whether what is in use has to show again that it is better; also where the clock went back."""
    return not 0.0 <= wall - checked <= RETRY_SECONDS


def counters(sample: Sample) -> Counters:
    """Return where a block's counters stand; pages that are dirty still count as well as those flushed."""
    pages = all_flushed(sample) + sample.pages_dirty
    return Counters(sample.monotonic, sample.row_changes, pages, sample.lsn_current)
