"""The baseline guard in a tick: when the loop reverts to the baseline, and when it leaves that again."""

from __future__ import annotations

from msgspec.structs import replace

from policies.setpoint import SetPointSource
from tuner.core.baseline import guard as baseline
from tuner.core.baseline.guard import APART_SECONDS, BaselineTick, Ended, Returned, Side
from tuner.core.commands import schedule
from tuner.core.estimate.window import since, warm
from tuner.core.holds import UNSETTLED
from tuner.core.ownership.standing import why_advisory
from tuner.core.ownership.transitions import BASELINE_GUARD, as_configured, begin_restore
from tuner.core.state import State
from tuner.records import Decision, DecisionKind, Estimate, Event, Lifecycle, Sample, winners
from tuner.settings import Mode

BUDGETS = frozenset({SetPointSource.RECOVERY, SetPointSource.SHUTDOWN})
"""Sources of a set-point that a person's budget bounds."""

DIP_SECONDS = 3.0

UNTIL = (
    "; this lasts until the load changes, the server does no better with the originals, or a person resumes"
)


def update(
    state: State,
    sample: Sample | None,
    decision: Decision,
    *,
    before: Returned | None,
    now: float,
) -> tuple[State, list[Event]]:
    """Take in the tick that was just decided; a way back begins with the next one.

    Args:
        before: whether, and why, the baseline was back as the tick began.
    """
    guard = state.baseline_guard
    if guard.returned is not None and state.mode is Mode.ACTIVE and state.restoring != BASELINE_GUARD:
        state = replace(state, baseline_guard=guard.forgiven())
    if before is not None and state.baseline_guard.returned is None:
        said = "the baseline guard is over: a person decided otherwise, or another server answers"
        return state, [Event(code="baseline_left", message=said)]
    if sample is None or state.estimate is None:
        return state, []
    guard, ended = baseline.update(
        state.baseline_guard, _tick(state, sample, state.estimate, decision, now=now)
    )
    state = replace(state, baseline_guard=guard)
    if ended is None:
        return state, []
    if ended.loss and guard.returned is None and _may_return(state):
        return _back(state, ended, now=now)
    if guard.returned is not None and state.mode is Mode.ADVISORY:
        return _left(state, guard.returned)
    return state, []


def _tick(
    state: State, sample: Sample, estimate: Estimate, decision: Decision, *, now: float
) -> BaselineTick:
    window = state.estimator.window
    rows_now = estimate.row_rate
    if warm(window):
        old, new = since(window, DIP_SECONDS), window[-1]
        rows_now = (new.rows - old.rows) / max(new.at - old.at, 1e-3)
    disturbed = (
        not warm(window)
        or not state.occurrences.learns(sample.monotonic)
        or state.writes.raised_from != 0
        or decision.kind is DecisionKind.EMERGENCY
        or sample.degraded
        or any(hold.code in UNSETTLED for hold in state.holds)
    )
    allowed = state.highest_checkpoint_age(sample)
    return BaselineTick(
        now=now,
        sample=sample,
        side=_side(state, sample),
        disturbed=disturbed,
        rows_now=rows_now,
        beyond=estimate.sync_rate > 0.0 or sample.checkpoint_age > allowed,
        settling=sample.flush_limit / max(1.0, estimate.redo_rate),
    )


def _side(state: State, sample: Sample) -> Side:
    """Return whose values are in force; neither's where a person chose them, or some are on their way.

    The values found are C, M and the low-water mark: with that of ours the two others are no baseline.
    """
    moving = state.override or state.drain or state.returning or state.restoring or state.park_owed
    if moving is not None and moving != "":
        return Side.NEITHER
    pair, writes, originals = sample.capacity, state.writes, state.originals
    untouched = writes.own is None and not writes.left
    if untouched if originals is None else pair == originals.capacity:
        return Side.NEITHER if state.low_water.ours else Side.BASELINE
    steers = state.mode is Mode.ACTIVE and state.lifecycle is Lifecycle.RUNNING and not state.holds
    return Side.OURS if steers and writes.own == pair and not _by_a_person(state) else Side.NEITHER


def _by_a_person(state: State) -> bool:
    """Tell whether a person chose what M does: by policy, set-point or budget, here or in a schedule."""
    asked = winners(state.schedule).keys() & {"set_point", *schedule.BUDGETS.values()}
    settings = state.settings
    return (
        settings.policy == "fixed"
        or settings.set_point is not None
        or bool(asked)
        or state.set_point_source in BUDGETS
    )


def _may_return(state: State) -> bool:
    """Tell whether what would come back is what was compared."""
    originals = state.originals
    return originals is not None and originals.saved and originals.capacity == state.baseline_guard.pair


def _back(state: State, ended: Ended, *, now: float) -> tuple[State, list[Event]]:
    why = f"the server did worse with InnoBrim's values than with the originals: {ended.loss}"
    returned = Returned(why=why, context=ended.kind.context, ours=ended.kind.ours)
    guard = replace(state.baseline_guard, returned=returned)
    pair = "" if state.originals is None else f", {state.originals.capacity},"
    said = f"{why}; the originals{pair} come back in steps, and then the mode is advisory{UNTIL}"
    state = begin_restore(replace(state, baseline_guard=guard), BASELINE_GUARD, now=now)
    return state, [Event(code="baseline_back", message=said)]


def _left(state: State, returned: Returned) -> tuple[State, list[Event]]:
    """Be active again where the load is another one, or the baseline is no better after all."""
    if returned.apart >= APART_SECONDS:
        guard, why = replace(state.baseline_guard, returned=None), "the load has changed"
    elif baseline.no_better(returned):
        guard, minutes = state.baseline_guard.relearned(), returned.again.rows.count
        why = f"the server did no better with the originals in {minutes} minutes, so the load had changed"
    else:
        return state, []
    state = as_configured(replace(state, baseline_guard=guard))
    advisory = why_advisory(state)
    said = (
        f"the baseline guard is over: {why}; still advisory: {advisory}"
        if advisory
        else f"active again: {why}"
    )
    return state, [Event(code="baseline_left", message=said)]
