"""Trials of what the outer loop suggests: asked for, run as switch-backs, used, and dropped again.

What is in force is the analytic set-point unless a suggested block is under way, or a suggestion that won its
trial under a load like this one is in use. Everything that could harm ends a trial at once.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from policies.suggestions import LIMITS, allowed, distance
from policies.types import Context, Suggestion, Trial
from tuner.core import switchback
from tuner.core.context import CONTEXT_SECONDS, Averages, averaged, context_of
from tuner.core.evidence import Evidence, Win, said
from tuner.core.switchback import Counters, Difference, Running
from tuner.core.window import all_flushed
from tuner.records import Estimate, Event, InUse, OptimiserPhase, OptimiserProgress, Sample

SHORTEST_BLOCK, LONGEST_BLOCK = 300.0, 7200.0
"""Seconds; where an answer would take longer than the second, nothing is tried."""

RESIDENCES = 2.0
"""Residence times, modified age over R, that a block lasts at least."""

SETTLING, COUNTED = 1.2, 1.0
"""Time constants of the age, age / (b * R), that a block settles, and is counted for."""

LEAST_COMBINING = 0.3

QUIET_SECONDS = 300.0
"""Nothing must have barred a trial for so long before one is begun."""

STEADY = 0.08
"""Age ratio away from the set-point beyond which the loop travels, and nothing is begun."""

LEAST_REST, LONGEST_REST = 1800.0, 6.0 * 3600.0
"""Seconds between two trials; each one that is lost in a row doubles them from its own length on."""

NOTHING_REST = 3600.0
"""Rest after the outer law had nothing to suggest."""

RETRY_SECONDS = 6.0 * 3600.0
"""What is in use has to show again that it is better after so long."""

WORTH = 0.002
"""A gain below this, as ln, is worth no suggestion."""

HARM = -0.01
"""Mean difference at which a trial is lost after two suggested blocks already."""

UNSAFE_GAIN, UNSAFE_ERROR = -0.05, 0.01
"""What is told of a suggestion under which a guard fired."""

TAKEN_UP = 0.7
"""Distance of loads at which a won suggestion is taken up; it is dropped beyond a distance of 1."""

LEFT = 1.0


class Trials(Struct, frozen=True):
    """The outer loop's slice of state; times are monotonic seconds.

    Attributes:
        evidence: what lasts.
        running: the trial under way.
        used: what won and is in force where no trial runs.
        asking: number of the trial that a suggestion is asked for; 0 for none.
        number: of the last trial.
        averages: the load.
        context: the same as an outer law takes it; None until it is known.
        at: time of the last tick.
        quiet_since: since when nothing bars a trial.
        rest_until: none is begun before.
        lost: trials lost in a row.
        why: what bars one.
        moved: what is in force has changed, and the set-point has to follow.
        moved_from: the set-point before it did, at the tick at which it does; else 0.
    """

    evidence: Evidence = Evidence()
    running: Running | None = None
    used: Win | None = None
    asking: int = 0
    number: int = 0
    averages: Averages = Averages()
    context: Context | None = None
    at: float | None = None
    quiet_since: float | None = None
    rest_until: float = 0.0
    lost: int = 0
    why: str = ""
    moved: bool = False
    moved_from: float = 0.0

    @property
    def in_force(self) -> Suggestion | None:
        """Return the suggestion that is in force; None for the analytic set-point."""
        if self.running is not None:
            return self.running.suggestion if self.running.suggested else None
        return None if self.used is None else self.used.suggestion


class Look(Struct, frozen=True):
    """What the slice may know at one tick.

    Attributes:
        now: monotonic time, seconds.
        wall: Unix time, seconds.
        sample: the reading.
        found: its estimate.
        set_point: f in force.
        lru_share: share of the LRU in the pages flushed, averaged.
        bars: why no trial may go on; empty where one may.
        unsafe: which guard fired; empty where none did.
        learns: the reading may be learned from.
    """

    now: float
    wall: float
    sample: Sample
    found: Estimate
    set_point: float
    lru_share: float
    bars: str = ""
    unsafe: str = ""
    learns: bool = True


def update(state: Trials, look: Look) -> tuple[Trials, list[Event]]:
    """Take one tick in; say what begins and what ends."""
    before = state.in_force
    elapsed = 0.0 if state.at is None else max(0.0, look.now - state.at)
    state = replace(state, at=look.now, moved_from=0.0)
    if look.learns and elapsed > 0.0:
        averages = averaged(
            state.averages, look.sample, look.found, lru_share=look.lru_share, elapsed=elapsed
        )
        state = replace(state, averages=averages, context=context_of(averages, look.sample))
    events: list[Event] = []
    if look.unsafe:
        state, said = _unsafe(state, look)
        events += said
    if look.bars:
        state, said = barred(state, look.bars, now=look.now, wall=look.wall)
        events += said
    elif state.running is not None:
        state, said = _go_on(state, state.running, look)
        events += said
    else:
        state, said = _between(state, look)
        events += said
    return replace(state, moved=state.moved or state.in_force != before), events


def barred(state: Trials, why: str, *, now: float, wall: float) -> tuple[Trials, list[Event]]:
    """End what is under way, for a reason that is not the suggestion's; what won stays."""
    events = []
    if state.running is not None:
        number = state.running.number
        events.append(_event(wall, "trial_abandoned", f"trial {number} abandoned: {why}"))
        state = replace(state, rest_until=now + LEAST_REST, moved=state.moved or state.running.suggested)
    return replace(state, running=None, asking=0, quiet_since=None, why=why), events


def begin(state: Trials, suggestion: Suggestion, *, block: tuple[float, float]) -> Trials:
    """Begin the trial that was asked for, with an analytic block.

    Args:
        state: asking, with a context.
        suggestion: what to try.
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


def accepted(state: Trials, number: int, suggestion: Suggestion | None, look: Look) -> tuple[Trials, str]:
    """Return the state with an answer taken in, and why it is refused; empty where it is not."""
    if not state.asking or number != state.asking:
        asked = f"trial {state.asking} is asked for" if state.asking else "none is asked for"
        return state, f"a suggestion for trial {number}, and {asked}"
    if suggestion is None:
        return replace(state, asking=0, number=number, rest_until=look.now + NOTHING_REST), ""
    if not allowed(suggestion):
        limits = ", ".join(f"{name} {low:g} to {high:g}" for name, (low, high) in LIMITS.items())
        return state, f"{suggestion} is outside the limits: {limits}"
    block = block_of(look.found)
    return begin(state, suggestion, block=block), ""


def too_late(state: Trials, number: int, *, now: float) -> Trials:
    """Return the state after an answer at a tick at which nothing can begin; the next question is another."""
    if not state.asking or number != state.asking:
        return state
    return replace(state, asking=0, number=number, rest_until=now + LEAST_REST)


def block_of(found: Estimate) -> tuple[float, float]:
    """Return how long a block of this load lasts, and how long it settles, seconds."""
    residence = found.modified_age / max(1.0, found.redo_rate)
    constant = residence / max(LEAST_COMBINING, found.combining_exponent)
    settling, counted = SETTLING * constant, COUNTED * constant
    whole = max(SHORTEST_BLOCK, RESIDENCES * residence, settling + counted)
    return whole, settling * whole / (settling + counted) if settling > 0.0 else whole / 2.0


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
        most_blocks=0 if running is None else running.most_blocks,
        trying=None if running is None else running.suggestion,
        suggested=running is not None and running.suggested,
        in_use=None if used is None else InUse(used.suggestion, used.gain, used.low, used.high),
        known=len(state.evidence.log),
        rest_seconds=rest,
    )


def _unsafe(state: Trials, look: Look) -> tuple[Trials, list[Event]]:
    """Note that a guard fired; it counts against the suggestion that is in force, or just was."""
    running = state.running
    if running is not None:
        settling = look.now - running.block_begun < running.settling_seconds * running.longer
        if not running.suggested and not (running.blocks and settling):
            return state, []
        blamed, context = running.suggestion, running.context
        what = f"trial {running.number} was unsafe"
    elif state.used is not None:
        blamed, context = state.used.suggestion, state.used.context
        what = "what was in use was unsafe, and is dropped"
    else:
        return state, []
    trial = Trial(blamed, context, UNSAFE_GAIN, UNSAFE_ERROR, look.wall)
    state = replace(_dropped(_told(state, trial), blamed), lost=state.lost + 1)
    return state, [_event(look.wall, "suggestion_unsafe", f"{what}: {look.unsafe}; {said(blamed)}")]


def _go_on(state: Trials, running: Running, look: Look) -> tuple[Trials, list[Event]]:
    """Settle, count, and end a block; look at the differences where enough of them are there."""
    lasted = look.now - running.block_begun
    if running.start is None and lasted >= running.settling_seconds * running.longer:
        running = replace(running, start=_counters(look.sample))
    if lasted < running.block_seconds * running.longer:
        return replace(state, running=running), []
    block = switchback.ended(running, _counters(look.sample))
    if block is None:
        return barred(state, "nothing was written or flushed", now=look.now, wall=look.wall)
    blocks = (*running.blocks, block)
    running = replace(running, blocks=blocks, start=None, block_begun=look.now)
    if not switchback.same_load(blocks):
        return barred(state, "the load is another one", now=look.now, wall=look.wall)
    count = (len(blocks) - 1) // 2
    if len(blocks) % 2 == 1 and count > 0:
        seen = switchback.judged(blocks, running.looks.get(count, max(running.looks.values())))
        verdict = _verdict(running, count, seen)
        if verdict is not None:
            return _finish(state, running, seen, look, won=verdict)
    return replace(state, running=running), []


def _verdict(running: Running, count: int, seen: Difference) -> bool | None:
    """Return whether the suggestion is the better one; None where more blocks have to tell."""
    last = count == max(running.looks)
    harmful = count > 1 and seen.mean < HARM
    if count not in running.looks:
        return False if harmful else None
    if seen.low > 0.0 and seen.mean >= WORTH:
        return True
    if running.retest and last and seen.mean > 0.0:
        return True
    hopeless = seen.high < WORTH or (not running.retest and seen.mean + seen.error < WORTH)
    return False if harmful or hopeless or last else None


def _finish(
    state: Trials, running: Running, seen: Difference, look: Look, *, won: bool
) -> tuple[Trials, list[Event]]:
    """Note what the trial came to; use the suggestion where it won by more than what is in use did."""
    context = state.context or running.context
    trial = Trial(running.suggestion, context, seen.mean, seen.error, look.wall)
    state = _told(replace(state, running=None), trial)
    lasted = look.now - running.begun
    figures = f"{100 * seen.mean:+.2f} % ({100 * seen.low:+.2f} to {100 * seen.high:+.2f})"
    what = "pages for each row change" if seen.by_pages else "row changes/s"
    text = f"trial {running.number}, {said(running.suggestion)}: {figures} better in {what}"
    events = [_event(look.wall, "trial_ended", f"{text}; {'won' if won else 'not used'}")]
    held = state.used
    if not won:
        lost = state.lost + 1
        rest = min(LONGEST_REST, max(LEAST_REST, lasted * 2.0 ** min(10, lost - 1)))
        if held is not None and held.suggestion == running.suggestion:
            events.append(_event(look.wall, "suggestion_dropped", "it is no longer better"))
        state = replace(_dropped(state, running.suggestion), lost=lost, rest_until=look.now + rest)
        return state, events
    win = Win(running.suggestion, context, seen.mean, seen.low, seen.high, look.wall)
    state = replace(state, lost=0, rest_until=look.now + LEAST_REST)
    if not running.retest and held is not None and held.gain >= win.gain:
        return state, events
    wins = tuple(one for one in state.evidence.wins if distance(one.context, win.context) > LEFT)
    state = replace(state, evidence=state.evidence.won(win, beside=wins), used=win)
    if not running.retest:
        events.append(_event(look.wall, "suggestion_used", f"in use now: {said(win.suggestion)}"))
    return state, events


def _between(state: Trials, look: Look) -> tuple[Trials, list[Event]]:
    """Choose what is in use under this load; ask for a suggestion when it is time."""
    context, events = state.context, []
    if context is None:
        return replace(state, why="what the load is like is not known yet"), []
    if state.used is not None and distance(state.used.context, context) > LEFT:
        events.append(_event(look.wall, "suggestion_dropped", "the load is another one"))
        state = replace(state, used=None)
    if state.used is None:
        near = [one for one in state.evidence.wins if distance(one.context, context) <= TAKEN_UP]
        if near and state.averages.seconds >= CONTEXT_SECONDS:
            win = min(near, key=lambda one: distance(one.context, context))
            text = f"in use again under a load that it won at: {said(win.suggestion)}"
            events.append(_event(look.wall, "suggestion_used", text))
            state = replace(state, used=win)
    block, settling = block_of(look.found)
    if block > LONGEST_BLOCK:
        why = f"a block would take {block / 3600:.1f} h until it shows anything"
        return replace(state, asking=0, quiet_since=None, why=why), events
    if abs(look.found.age_ratio - look.set_point) > STEADY:
        return replace(state, quiet_since=None, why="the age is not at the set-point"), events
    since = look.now if state.quiet_since is None else state.quiet_since
    state = replace(state, quiet_since=since, why="")
    if look.now - since < QUIET_SECONDS or look.now < state.rest_until:
        return state, events
    used = state.used
    if used is not None and look.wall - used.checked > RETRY_SECONDS:
        return begin(replace(state, asking=0), used.suggestion, block=(block, settling)), events
    return replace(state, asking=state.asking or state.number + 1), events


def _told(state: Trials, trial: Trial) -> Trials:
    return replace(state, evidence=state.evidence.told(trial))


def _dropped(state: Trials, suggestion: Suggestion) -> Trials:
    """Forget that a suggestion won."""
    mine = state.used is not None and state.used.suggestion == suggestion
    state = replace(state, evidence=state.evidence.without(suggestion))
    return replace(state, used=None) if mine else state


def _counters(sample: Sample) -> Counters:
    pages = all_flushed(sample) + sample.pages_dirty
    return Counters(sample.monotonic, sample.row_changes, pages, sample.lsn_current)


def _event(wall: float, code: str, message: str) -> Event:
    return Event(wall=wall, code=code, message=message, who="optimiser")
