"""Which set-point the loop aims at, and who or what decides it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from policies.equilibrium import rate_at_rest
from policies.setpoint import (
    LOWEST,
    Headroom,
    SetPointSource,
    bounds_of,
    highest_ratio,
    suggested_ratio,
    with_hysteresis,
)
from policies.types import Suggestion
from tuner.core.baseline.guard import Side
from tuner.core.commands import schedule
from tuner.core.commands.overlay import configured
from tuner.core.estimate.load import MEMORY_SECONDS
from tuner.core.estimate.sawtooth import Sawtooth
from tuner.core.laws import MARGIN, law_of
from tuner.core.ownership.handover import role_of
from tuner.core.setpoint import budgets
from tuner.core.setpoint.announced import drop, update
from tuner.core.setpoint.budgets import foreseen
from tuner.core.setpoint.resting import baseline_law, heeded_from, resting_ratio
from tuner.core.state import ReplicationRole, State
from tuner.core.trials import optimising
from tuner.records import Estimate, Event, Sample, winners
from tuner.settings import HIGHEST_CHECKPOINT_AGE_RATIO, Settings

FOLLOWED = frozenset(
    {SetPointSource.PERSON, SetPointSource.SCHEDULE, SetPointSource.FLUSH_LAW, SetPointSource.FREE_PAGES}
)
"""Whose set-point is followed as it is: asked for, constant or smooth already, where steps would swing."""

SEEN_SECONDS = 2.0 * MEMORY_SECONDS
"""The baseline has to be in force for so long before the mean age is its own, seconds."""


class Requests(NamedTuple):
    """What persons and the schedule ask of the set-point."""

    settings: Settings  # with the budgets of active windows in place of the configuration's
    wish: tuple[float, str] | None  # a set-point, and who asks for it
    source: SetPointSource | None  # whether that is a person or the schedule
    windows: Mapping[str, str]  # the windows that set a budget, by the budget's name


def update_set_point(
    state: State, sample: Sample, estimate: Estimate, *, now: float
) -> tuple[State, list[Event]]:
    """Decide the set-point, and say what bounds it and which budgets are not kept."""
    state = replace(state, sawtooth=_sawtooth(state, sample))
    estimate = replace(estimate, baseline_ratio=_baseline_ratio(state, sample, estimate))
    headroom, requests = headroom_of(state, sample, estimate), _requests(state)
    each = budgets_now(state, sample, estimate, headroom)
    state = replace(state, announced=drop(state.announced, each, now=now))
    dropped = frozenset(name for name, debounced in state.announced.dropped if debounced.on)
    ratios = {name: one.bound for name, one in each.items() if name not in dropped}
    state, set_point = _take_set_point(state, sample, headroom, ratios, requests)
    announced, events = update(
        state.announced,
        each,
        age_ratio=sample.age_ratio,
        set_point=set_point,
        source=state.set_point_source,
        wished=requests.wish,
        now=now,
    )
    return replace(
        state,
        announced=announced,
        estimate=foreseen(estimate, state.estimator.recovery, headroom, set_point=set_point),
    ), events


def _requests(state: State) -> Requests:
    deciding, settings = winners(state.schedule), state.settings
    wish, source, window = None, None, deciding.get("set_point")
    if settings.set_point is not None:
        wish, source = (settings.set_point, "person"), SetPointSource.PERSON
    elif window is not None and window.set_point is not None:
        wish, source = (window.set_point, window.who), SetPointSource.SCHEDULE
    return Requests(
        settings=schedule.settings_of(settings, state.schedule),
        wish=wish,
        source=source,
        windows={name: deciding[key].who for name, key in schedule.BUDGETS.items() if key in deciding},
    )


def budgets_now(
    state: State, sample: Sample, estimate: Estimate, headroom: Headroom
) -> dict[str, budgets.Budget]:
    """Return how each budget that is set stands, by name; as persons and the schedule ask for them now."""
    requests = _requests(state)
    return budgets.standing_of(
        state.estimator.recovery,
        headroom,
        requests.settings,
        sample,
        baseline=estimate.baseline_ratio or 0.0,
        m_moves_age=law_of(state).m_moves_age,
        whose=requests.windows,
    )


def _take_set_point(
    state: State, sample: Sample, headroom: Headroom, ratios: Mapping[str, float], requests: Requests
) -> tuple[State, float]:
    """Return the state with the set-point in force and who or what decides it, and that set-point.

    The flush law's limit comes after all but a person and the schedule, what waits for a free page allow and
    the role's limit after whoever decided. Where no M moves the age it rests at the flush limit, whoever
    wants it elsewhere.

    Args:
        ratios: the age ratios that the budgets in force bound it to, by name.
    """
    law, suggestion = law_of(state), optimising.in_force(state, sample)
    by_configuration = bounds_of(headroom._replace(baseline=0.0), ratios)
    bound = _bound_of_request(state, {name: by_configuration[name] for name in ("alarm", *ratios)})
    wanted, source = _preferred(
        requests, headroom, ratios, bound=bound, degraded=sample.degraded, suggestion=suggestion
    )
    if requests.wish is None and wanted > law.highest:
        wanted, source = law.highest, SetPointSource.FLUSH_LAW
    cap = requests.settings.max_replica_set_point if role_of(sample) is ReplicationRole.REPLICA else math.inf
    if (bound_by_waits := state.caution.bound(wanted)) < wanted:
        wanted, source = bound_by_waits, SetPointSource.FREE_PAGES
    if cap < wanted:
        wanted, source = cap, SetPointSource.ROLE
    if not law.m_moves_age:
        wanted, source, cap = 1.0, SetPointSource.FLUSH_LAW, 1.0
    held, trials = state.set_point, state.trials
    set_point = wanted
    if source not in FOLLOWED:
        set_point = min(cap, with_hysteresis(None if trials.moved else held, wanted, steady=headroom.steady))
    if trials.moved:
        moved_from = held if held is not None and held != set_point else 0.0
        trials = replace(trials, moved=False, moved_from=moved_from)
    # an age is too high only where it is so without an optimiser's suggestion to hold less
    without = 0.0 if suggestion is None else min(law.highest, highest_ratio(headroom, ratios)[0])
    window = (
        requests.wish[1]
        if requests.wish and source is SetPointSource.SCHEDULE
        else requests.windows.get(source)
    )
    return replace(
        state,
        set_point=set_point,
        set_point_source=source,
        set_point_window=window or "",
        sawtooth=state.sawtooth.held(beyond=max(set_point, without) - by_configuration["alarm"]),
        trials=trials,
    ), set_point


def _bound_of_request(state: State, ratios: Mapping[str, float]) -> tuple[float, SetPointSource] | None:
    """Return the age ratio up to which a set-point that was requested while running counts, and by what.

    The budgets and the cap on the checkpoint age are the configuration's word, which no request widens; its
    own set-point, where it has one that is higher, allows as much. None where nothing was requested.

    Args:
        ratios: the age ratios that the cap and the budgets bound it to, by name.
    """
    if state.overlay is None or state.overlay.values.get("set_point") is None:
        return None
    lowest = min((max(LOWEST, ratio), SetPointSource(name)) for name, ratio in ratios.items())
    written = configured(state).set_point
    return lowest if written is None or written <= lowest[0] else (written, SetPointSource.PERSON)


def _preferred(
    requests: Requests,
    headroom: Headroom,
    ratios: Mapping[str, float],
    *,
    bound: tuple[float, SetPointSource] | None,
    degraded: bool,
    suggestion: Suggestion | None,
) -> tuple[float, SetPointSource]:
    """Return the set-point before the role's limit, and who or what decides it.

    Precedence: a person, the schedule, the budgets, an optimiser, what the load leaves. Budgets that the
    schedule sets are the schedule's as well, and bound the set-point that it asks for.

    Args:
        ratios: the age ratios that the budgets in force bound it to.
        bound: what a person's set-point counts up to, and by what; None for whatever it is.
    """
    if requests.wish is not None and requests.source is not None:
        wish = requests.wish[0], requests.source
        if requests.source is SetPointSource.PERSON:
            return wish if bound is None or wish[0] <= bound[0] else bound
        windows = [name for name in requests.windows if name in ratios]
        return min([wish, *((max(LOWEST, ratios[name]), SetPointSource(name)) for name in windows)])
    if suggestion is not None:
        return suggested_ratio(headroom, ratios, suggestion)
    derived = highest_ratio(headroom, ratios)
    return (max(LOWEST, derived[0] - MARGIN), SetPointSource.DEGRADED) if degraded else derived


def _baseline_ratio(state: State, sample: Sample, estimate: Estimate) -> float | None:
    """Return the age ratio at which the settings that the server was found with rest; None for unknown.

    The settings are C, M and the low-water mark. Where they have been in force for long it is the mean age
    that was seen; else it is what the law foretells for the pages that the LRU leaves to the flush list.
    """
    operator = state.low_water.operators_beside_ours
    law, load = baseline_law(law_of(state), operator), state.estimator.load
    if not law.m_moves_age:
        return 1.0
    if load.combining.weight <= 0.0:
        return None
    if (
        state.baseline_guard.side is Side.BASELINE
        and sample.monotonic - state.baseline_guard.since >= SEEN_SECONDS
    ):
        return math.exp(load.combining.mean_x)
    exponent, lists = load.combining_exponent, 1.0 - state.caution.lru_share
    return resting_ratio(
        law,
        lambda log_ratio: lists * load.density_at(log_ratio, exponent),
        pair=sample.capacity if state.originals is None else state.originals.capacity,
        redo_rate=state.estimator.trends.rate_mean,
        flush_rate=estimate.flush_rate,
        response=estimate.flush_response,
        heeded=heeded_from(sample, operator, combining_exponent=exponent),
    )


def headroom_of(state: State, sample: Sample, estimate: Estimate) -> Headroom:
    """Return what load, server and alarm leave of the age.

    A baseline that swings up to the flush limit, as with a low-water mark of 0, rests nowhere.
    """
    asked = state.settings.max_checkpoint_age_ratio < HIGHEST_CHECKPOINT_AGE_RATIO
    swings = state.low_water.operators_beside_ours == 0
    resting = rate_at_rest(
        redo_rate=estimate.redo_rate,
        flush_rate=estimate.flush_rate,
        density=estimate.new_density,
        response=estimate.flush_response,
    )
    return Headroom(
        flush_limit=sample.flush_limit,
        sync_point=sample.sync_point,
        redo_capacity=sample.redo_capacity,
        checkpoint_lag=estimate.checkpoint_lag,
        redo_rate=max(state.estimator.trends.rate_mean, resting, state.relief.rate(now=sample.monotonic)),
        burst_bytes=max(estimate.burst_bytes, state.relief.return_bytes(now=sample.monotonic)),
        max_checkpoint_age_ratio=state.settings.max_checkpoint_age_ratio,
        flush_order_lag=state.facts.flush_order_lag,
        sawtooth_seconds=state.sawtooth.seconds(state.facts.sawtooth_seconds),
        sync_stalls=state.facts.sync_stalls and sample.sync_point > sample.flush_limit,
        combining_exponent=state.estimator.load.curve.combining_exponent,
        emergency_seconds=state.settings.emergency_seconds,
        steady=state.estimator.trends.steady,
        baseline=0.0 if asked or swings else estimate.baseline_ratio or 0.0,
        full_rate_ratio=law_of(state).full_rate_ratio,
    )


def _sawtooth(state: State, sample: Sample) -> Sawtooth:
    return state.sawtooth.see(
        now=sample.monotonic,
        lag=float(sample.checkpoint_age - sample.modified_age - state.facts.flush_order_lag),
        redo_rate=state.estimator.trends.rate_mean,
        checkpoint_age=float(sample.checkpoint_age),
        allowed=state.highest_checkpoint_age(sample),
    )
