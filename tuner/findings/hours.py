"""A recording hour by hour: load, age, the pair that suits it, and what the loop would have brought."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Annotated

from msgspec import Meta, Struct

from tuner.core.laws import law_of, why_m_moves_no_age
from tuner.core.leaving.park import PARKED_RATIO
from tuner.core.state import State
from tuner.findings.combining import Figure
from tuner.findings.gain import Verdict, saved_against, verdict, worth_it
from tuner.findings.load import load_of
from tuner.findings.redo_size import percent
from tuner.findings.static_pair import MINUTE, mean_of, static_pair
from tuner.records import Capacity, Sample, TickRecord
from tuner.settings import Mode

HOUR = 3600.0
LEAST_SECONDS = 60
"""An hour of which fewer readings are there is left out."""

LONG_SECONDS = 20 * HOUR
"""A recording of so much says what a day is like."""


class Hour(Struct, frozen=True):
    """One hour of a recording."""

    began: Annotated[float, Meta(description="Unix time, seconds")]
    seconds: Annotated[int, Meta(description="readings in it")]
    row_changes: Annotated[float, Meta(description="rows/s")]
    age_ratio: Annotated[float, Meta(description="mean modified age over flush limit")]
    demand: Annotated[float, Meta(description="mean page demand, pages/s")]
    highest_demand: Annotated[float, Meta(description="page demand of its busiest minute, pages/s")]
    in_force: Annotated[Capacity, Meta(description="C and M at its end, pages/s")]
    active: Annotated[bool, Meta(description="the loop was in active mode for most of it")]
    static: Annotated[
        Capacity | None,
        Meta(description="the one pair that suits each of its minutes; null: none moves the age"),
    ]
    loop: Annotated[
        tuple[int, int] | None,
        Meta(description="lowest and highest M of an active loop; of another the M that it would rest at"),
    ]
    verdict: Annotated[
        Verdict, Meta(description="what active mode would have brought; in an active hour what it did bring")
    ]
    pages: Annotated[float, Meta(description="flush-list pages/s written")] = 0.0


def by_hour(records: Iterable[TickRecord], state: State) -> list[Hour]:
    """Return what each hour of one run was like, in order.

    Args:
        records: the run's ticks, in order; those without a reading count for nothing.
        state: a loop's at the start of that run.
    """
    hours = (
        _hour(began * HOUR, list(ticks), state)
        for began, ticks in groupby(records, lambda one: one.tick.wall // HOUR)
    )
    return [one for one in hours if one is not None]


def of_all(hours: Sequence[Hour]) -> Verdict:
    """Return one verdict on a recording: that of its hours, one or more, by the pages that each wrote."""
    told = [one for one in hours if one.verdict.page_writes_saved is not None]
    gaining = [one for one in hours if one.verdict.answer == "gain"]
    if not told:
        loaded = [one for one in hours if one.verdict.answer != "no-load"]
        return [*gaining, *loaded, *hours][0].verdict
    saved = _mean([(one.verdict.page_writes_saved, one.pages) for one in told])
    commits = _mean([(one.verdict.commits_gained, one.row_changes) for one in told])
    waits = any(not worth_it(one.verdict.page_writes_saved, one.verdict.commits_gained) for one in gaining)
    gains = waits or (bool(gaining) and worth_it(saved, commits))
    return Verdict(
        "gain" if gains else "nothing",
        _why(saved, hours, gains=gains, waits=waits),
        saved,
        commits,
        sure="low" if waits else "high" if sum(one.seconds for one in hours) >= LONG_SECONDS else "medium",
        brought=all(one.verdict.brought for one in told),
    )


def _why(saved: Figure | None, hours: Sequence[Hour], *, gains: bool, waits: bool) -> str:
    active, others = ([one for one in hours if one.active is was] for was in (True, False))
    told = [_counted(active, "gained")] if active else []
    told += [_counted(others, "would gain")] if others else []
    if gains:
        said = f"active mode {' where it was on, and '.join(told)}"
        return f"{said}; in some of them writers wait for redo space" if waits else said
    said = "over all hours little is saved"
    if saved is not None:
        said += f", {percent(saved)} of the page writes"
    gaining = any(one.verdict.answer == "gain" for one in hours)
    return f"{said}; it {' where it was on, and '.join(told)}, see below" if gaining else said


def _counted(hours: Sequence[Hour], verb: str) -> str:
    gaining = sum(one.verdict.answer == "gain" for one in hours)
    return f"{verb} in {gaining} of {len(hours)} hour{'s' if len(hours) > 1 else ''}"


def _mean(parts: Sequence[tuple[Figure | None, float]]) -> Figure | None:
    """Return the mean of what is told, each with its weight; None where nothing is."""
    told = [(figure, weight) for figure, weight in parts if figure is not None]
    whole = sum(weight for _, weight in told)
    if whole <= 0.0:
        return None
    return Figure(
        *(
            sum(getattr(figure, name) * weight for figure, weight in told) / whole
            for name in ("low", "likeliest", "high")
        )
    )


def _hour(began: float, records: list[TickRecord], state: State) -> Hour | None:
    samples = [one.tick.reading for one in records if isinstance(one.tick.reading, Sample)]
    estimates = [one.estimate for one in records if one.estimate is not None]
    if len(samples) < LEAST_SECONDS or not estimates:
        return None
    set_points = [s for one in records if (s := one.decision.set_point) is not None]
    set_point = statistics.fmean(set_points) if set_points else PARKED_RATIO
    load, unmoved = load_of(records), why_m_moves_no_age(law_of(state))
    active = sum(one.mode is Mode.ACTIVE and not one.holds for one in records) > len(records) / 2
    baselines = [b for one in estimates if (b := one.baseline_ratio) is not None]
    found = verdict(load, state, samples[-1], set_point=set_point)
    if active and load is not None and baselines and not unmoved:
        found = saved_against(load, statistics.fmean(baselines))
    held = [one.io_capacity_max for one in samples]
    mean = mean_of(estimates)
    if not active and not unmoved:
        held = [static_pair([mean] * MINUTE, samples[-1], state, age_ratio=set_point).pair.io_capacity_max]
    static = static_pair(estimates, samples[-1], state, age_ratio=min(PARKED_RATIO, set_point))
    return Hour(
        began=began,
        seconds=len(samples),
        row_changes=0.0 if load is None else load.row_rate,
        age_ratio=statistics.fmean(one.age_ratio for one in samples),
        demand=mean.demand,
        highest_demand=static.demand,
        in_force=samples[-1].capacity,
        active=active,
        static=None if unmoved else static.pair,
        loop=None if unmoved and not active else (min(held), max(held)),
        verdict=found,
        pages=0.0 if load is None else load.flush_rate,
    )
