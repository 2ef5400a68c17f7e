"""What a trial came to: won, lost, or unsafe, and what is in use after it."""

from __future__ import annotations

from msgspec.structs import replace

from policies.suggestions import distance
from policies.types import Context, Suggestion, Trial
from tuner.core.evidence import Win, said
from tuner.core.switchback import LOOKS, Difference, Running, judged
from tuner.core.trialstate import Look, Trials, event
from tuner.records import Event

LEAST_REST, LONGEST_REST = 1800.0, 6.0 * 3600.0
"""Seconds between two trials; each one that is lost in a row doubles them from its own length on."""

WORTH = 0.002
"""A gain below this, as ln, is worth no suggestion."""

HARM = -0.01
"""Mean difference at which a trial is lost after two suggested blocks already."""

UNSAFE_GAIN, UNSAFE_ERROR = -0.05, 0.01
"""What is told of a suggestion under which a guard fired."""

LEFT = 1.0
"""Distance of loads beyond which what won at one is not in use at the other."""


def left(load: Context, now: Context | None) -> bool:
    """Tell whether the load is another one than it was; one that is not known is not."""
    return now is not None and distance(load, now) > LEFT


def unsafe(state: Trials, look: Look) -> tuple[Trials, list[Event]]:
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
    return state, [event(look.wall, "suggestion_unsafe", f"{what}: {look.unsafe}; {said(blamed)}")]


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
    state: Trials, running: Running, seen: Difference, look: Look, *, won: bool
) -> tuple[Trials, list[Event]]:
    """Note what the trial came to; use the suggestion where it won by more than what is in use did."""
    context = state.context or running.context
    trial = Trial(running.suggestion, context, seen.mean, seen.error, look.wall)
    state = _told(replace(state, running=None), trial)
    lasted = look.now - running.begun
    text = f"trial {running.number}, {said(running.suggestion)}: {seen}"
    events = [event(look.wall, "trial_ended", f"{text}; {'won' if won else 'not used'}")]
    held = state.used
    if not won:
        lost = state.lost + 1
        rest = min(LONGEST_REST, max(LEAST_REST, lasted * 2.0 ** min(10, lost - 1)))
        if held is not None and held.suggestion == running.suggestion:
            events.append(event(look.wall, "suggestion_dropped", "it is no longer better"))
        state = replace(_dropped(state, running.suggestion), lost=lost, rest_until=look.now + rest)
        return state, events
    win = Win(running.suggestion, context, seen.mean, seen.low, seen.high, look.wall)
    state = replace(state, lost=0, rest_until=look.now + LEAST_REST)
    if not running.retest and held is not None and held.gain >= win.gain:
        return state, events
    wins = tuple(one for one in state.evidence.wins if distance(one.context, win.context) > LEFT)
    state = replace(state, evidence=state.evidence.won(win, beside=wins), used=win)
    if not running.retest:
        events.append(event(look.wall, "suggestion_used", f"in use now: {said(win.suggestion)}"))
    return state, events


def _told(state: Trials, trial: Trial) -> Trials:
    return replace(state, evidence=state.evidence.told(trial))


def _dropped(state: Trials, suggestion: Suggestion) -> Trials:
    """Forget that a suggestion won."""
    mine = state.used is not None and state.used.suggestion == suggestion
    state = replace(state, evidence=state.evidence.without(suggestion))
    return replace(state, used=None) if mine else state
