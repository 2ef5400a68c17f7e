"""What compared policies are claimed to show, judged on each scenario; pure.

A mean ratio is judged as it is printed, to three digits; a limit on seconds or changes by the worst seed.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.compare.comparison import NO_CLAIRVOYANT
from lab.prove.contests import ratio
from lab.scenarios.trace import SETTLED_BANDS, SETTLED_WITHIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lab.bench.statistics import Bounds
    from lab.prove.contests import Contest, Line

OURS = "cascade"
OPTIMISED = "bayes"
STATIC = "static"
PIECES = "pieces"
UNTOUCHED = "untouched"

DAY = 86_400.0
LEARNING_SECONDS = 30 * DAY
NO_STATIC = "no best static"
HIGHEST_START = "10000/20000"

STEADY_THROUGHPUT = 0.99
BEST_FOUND = 0.97
OF_THE_DEFAULT = 0.9
STEADY_CHANGES = 12.0
MOVING_CHANGES = 120.0
SETTLING_SECONDS = 120.0
SETTLING_CLIMBS = 3.0
NEVER_WORSE = 0.99
SYNC_A_DAY = 1.0

CLAIMS: Mapping[str, str] = {
    "steady-throughput": f"steady: commits/s ≥ {STEADY_THROUGHPUT} × best static's",
    "steady-p1": "steady: first percentile ≥ best static's",
    "steady-changes": f"steady: ≤ {STEADY_CHANGES:g} changes in any hour",
    "steady-stalls": "steady: no stall second",
    "settling": f"from {HIGHEST_START}: settled, within {SETTLED_WITHIN:g} and what the age wanders by under "
    f"best static's M, in the larger of {SETTLING_SECONDS:g} s and {SETTLING_CLIMBS:g} × (f − x₀)·A/R",
    "moving-static": "moving, I/O-bound: more commits/s than the best single static, with the 95 % bound",
    "moving-best": f"moving, I/O-bound: commits/s ≥ {BEST_FOUND} × best found",
    "open-default": f"open load: pages per commit ≤ {OF_THE_DEFAULT} × the version's default's",
    "open-static": "open load: pages per commit ≤ best single static's",
    "moving-stalls": "moving or open: no stall second where the burst's excess fits the free redo",
    "moving-changes": f"moving or open: ≤ {MOVING_CHANGES:g} changes in any hour",
    "sync": f"30 days with random bursts: ≤ {SYNC_A_DAY:g} sync-flush second a day",
    "learning": f"bayes while learning over 30 days: never below {NEVER_WORSE} × cascade",
}
"""Every claim in words, by its name."""

Found = tuple[str, bool | None, str]


class Verdict(Struct, frozen=True):
    """One claim on one scenario.

    Attributes:
        claim: its name.
        scenario: the scenario's name.
        met: it is; None where there is nothing to judge it by.
        figure: what it was judged by, in words.
    """

    claim: str
    scenario: str
    met: bool | None
    figure: str


def judge(scenario: str, contest: Contest) -> list[Verdict]:
    """Return the verdicts that a scenario can give."""
    ours = contest.lines.get(OURS)
    if ours is None:
        return []
    found: list[Found] = []
    if ours.offered:
        found += _open(ours, contest)
    if ours.moves or ours.offered:
        found += _restless(ours, contest)
    if ours.moves and not ours.offered:
        found += _moving(ours, contest)
    if not ours.moves:
        found += _steady(ours, contest)
    if ours.seconds >= LEARNING_SECONDS:
        found += _month(ours, contest)
    order = list(CLAIMS)
    found.sort(key=lambda one: order.index(one[0]))
    return [Verdict(claim, scenario, met, figure) for claim, met, figure in found]


def judge_once(suites: Iterable[Mapping[str, Contest]]) -> list[Verdict]:
    """Return the verdicts of suites, each claim on a scenario once.

    Where a scenario stands in several suites, the first of them that can judge a claim does; one that none
    can judge is as open as the first says.

    Args:
        suites: the contests of each by scenario, in the order of the suites.
    """
    found: dict[tuple[str, str], Verdict] = {}
    for by_scenario in suites:
        for scenario, contest in by_scenario.items():
            for one in judge(scenario, contest):
                before = found.setdefault((one.claim, scenario), one)
                if before.met is None and one.met is not None:
                    found[one.claim, scenario] = one
    return list(found.values())


def _steady(ours: Line, contest: Contest) -> Iterator[Found]:
    static = contest.lines.get(STATIC)
    yield "steady-throughput", *_at_least(ours, static, "throughput_mean", STEADY_THROUGHPUT)
    yield "steady-p1", *_at_least(ours, static, "throughput_p1", 1.0)
    yield "steady-changes", *_at_most(ours, "changes_in_hour", STEADY_CHANGES)
    yield "steady-stalls", *_at_most(ours, "stall_seconds", 0.0, "s")
    if ours.starts == HIGHEST_START:
        yield "settling", *_settled(ours, static)


def _moving(ours: Line, contest: Contest) -> Iterator[Found]:
    static = contest.lines.get(STATIC)
    if static is None:
        yield "moving-static", None, NO_STATIC
    else:
        bounds = ratio(ours, static, "throughput_mean")
        low = None if bounds is None else bounds.low
        yield "moving-static", low is not None and low > 1.0, said(bounds)
    yield "moving-best", *_best_found(ours, contest)


def searched_by_piece(lines: Mapping[str, Line]) -> bool:
    """Tell whether an M for each piece was searched on a scenario, or is known not to be there."""
    return PIECES in lines or any(NO_CLAIRVOYANT in note for line in lines.values() for note in line.notes)


def _best_found(ours: Line, contest: Contest) -> tuple[bool | None, str]:
    """Judge against the better of one M and an M for each piece; where that was not searched it is open.

    A claim that one M is enough to miss stays missed: more knowledge finds no less.
    """
    rivals = [one for name in (STATIC, PIECES) if (one := contest.lines.get(name)) is not None]
    best = max(rivals, key=lambda one: one.mean("throughput_mean") or 0.0, default=None)
    met, figure = _at_least(ours, best, "throughput_mean", BEST_FOUND)
    if best is None:
        return met, figure
    if met and not searched_by_piece(contest.lines):
        return None, f"{figure}, against one M; no M for each piece was searched"
    return met, f"{figure}, against {'each piece’s M' if best.contender == PIECES else 'one M'}"


def _open(ours: Line, contest: Contest) -> Iterator[Found]:
    default, static = contest.lines.get(UNTOUCHED), contest.lines.get(STATIC)
    yield "open-default", *_ratio_at_most(ours, default, "pages_per_commit", OF_THE_DEFAULT)
    yield "open-static", *_ratio_at_most(ours, static, "pages_per_commit", 1.0)


def _restless(ours: Line, contest: Contest) -> Iterator[Found]:
    """Judge stalls and changes; an excess fits where any contender came through without a stall."""
    others = [one for name, one in contest.lines.items() if name != OURS]
    fits = any(one.highest("stall_seconds") <= 0.0 for one in others)
    met, figure = _at_most(ours, "stall_seconds", 0.0, "s")
    if met or fits:
        yield "moving-stalls", met, figure
    else:
        yield "moving-stalls", None, f"{figure}; no contender came through without"
    yield "moving-changes", *_at_most(ours, "changes_in_hour", MOVING_CHANGES)


def _month(ours: Line, contest: Contest) -> Iterator[Found]:
    if ours.moves:
        days = (ours.seconds - ours.measured_from) / DAY
        worst = ours.highest("sync_flush_seconds") / days
        mean = (ours.mean("sync_flush_seconds") or 0.0) / days
        yield "sync", worst <= SYNC_A_DAY, f"{mean:.2f} s a day on the mean, worst seed {worst:.2f}"
    optimised = contest.lines.get(OPTIMISED)
    if optimised is not None:
        yield "learning", *_never_worse(optimised, ours)


def _never_worse(optimised: Line, ours: Line) -> tuple[bool, str]:
    """Judge every day of every seed."""
    beside = dict(zip(ours.seeds, ours.days, strict=True))
    worst = min(
        (
            theirs / day
            for seed, days in zip(optimised.seeds, optimised.days, strict=True)
            for theirs, day in zip(days, beside.get(seed, ()), strict=False)
            if day > 0.0
        ),
        default=math.nan,
    )
    whole = said(ratio(optimised, ours, "throughput_mean"))
    return round(worst, 3) >= NEVER_WORSE, f"worst day {worst:.3f}; whole run {whole}"


def _settled(ours: Line, static: Line | None) -> tuple[bool | None, str]:
    """Judge every seed by its own limit and band; said is the one nearest to its limit, or farthest beyond.

    The band is that of a level, and what the age wanders by with the same seed where nobody moves M.
    """
    if static is None:
        return None, NO_STATIC
    wandered = dict(zip(static.seeds, static.figures.get("age_ratio_wander", ()), strict=False))
    climbs = ours.figures.get("climb_seconds", (None,) * len(ours.seeds))
    worst, said_of = -1.0, ""
    for seed, settled, climb in zip(ours.seeds, ours.settled, climbs, strict=True):
        wander = wandered.get(seed)
        if wander is None:
            return None, f"best static was not run with seed {seed}"
        place = bisect_right(SETTLED_BANDS, SETTLED_WITHIN + wander) - 1
        after, limit = settled[place], max(SETTLING_SECONDS, SETTLING_CLIMBS * (climb or 0.0))
        share = math.inf if after is None else after / limit
        if share > worst:
            worst = share
            words = "never" if after is None else f"{after:.0f} s"
            said_of = f"{words} of {limit:.0f} s, within {SETTLED_BANDS[place]:g}"
    return worst <= 1.0, f"worst seed {said_of}"


def _at_least(ours: Line, theirs: Line | None, metric: str, limit: float) -> tuple[bool | None, str]:
    if theirs is None:
        return None, NO_STATIC
    bounds = ratio(ours, theirs, metric)
    if bounds is None:
        mean, against = ours.mean(metric) or 0.0, theirs.mean(metric) or 0.0
        return mean >= limit * against, f"{mean:.4g} and {against:.4g}"
    return round(bounds.mean, 3) >= limit, said(bounds)


def _ratio_at_most(ours: Line, theirs: Line | None, metric: str, limit: float) -> tuple[bool | None, str]:
    if theirs is None:
        return None, NO_STATIC
    bounds = ratio(ours, theirs, metric)
    return (None, "no ratio") if bounds is None else (round(bounds.mean, 3) <= limit, said(bounds))


def _at_most(ours: Line, metric: str, limit: float, unit: str = "") -> tuple[bool, str]:
    worst = ours.highest(metric)
    mean = ours.mean(metric) or 0.0
    gap = " " if unit else ""
    figure = f"{mean:.3g}{gap}{unit}" if worst == mean else f"{mean:.3g}, worst seed {worst:.3g}{gap}{unit}"
    return worst <= limit, figure


def said(bounds: Bounds | None) -> str:
    """Return a ratio with its bounds in words."""
    if bounds is None:
        return "no ratio"
    if bounds.low is None or bounds.high is None:
        return f"{bounds.mean:.3f} (one seed)"
    return f"{bounds.mean:.3f} ({bounds.low:.3f}–{bounds.high:.3f})"
