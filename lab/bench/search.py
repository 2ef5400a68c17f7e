"""Which static M to try next on a real server, coarse to fine (docs/decisions/two-searches.md); pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lab.bench.store import Row
from policies.flushlaw import LEGACY
from tuner.records import CAPACITY_MINIMUM
from tuner.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

LEAST_STEP, MOST_STEP = 0.85, 0.5
"""A coarse step takes M down by a factor between these: the age ratio rises, throughput with it."""

AIM = 0.93
"""Age ratio that a coarse step goes for, by the flush law: where the edge is looked for."""

FINE = 0.95
"""Two values nearer to each other than this are not told apart."""

FINE_COARSE = 0.85
"""The same on a disk whose limit alternates: no single M is right for both, and there is no narrow window.

And where an age is brought along on a disk without a limit (``timing.lifted``): a row takes ten minutes, and
its commits/s move by more than a step of 5 % would, as the dirty pages are those of the faster disk.
"""

SERVED = 0.98
"""What share of an offered rate has to be served: a Poisson rate of some minutes varies by less."""

HIGHEST_GUESS = 0.85
"""Age ratio up to which a row is brought by guess; the way beyond it is the setting's own."""

HIGH_AGE = 0.5
"""Age ratio from which on uneven throughput may come from the flushing."""

FREE = 4.0
"""Where M moves the age, an M this many times what is flushed leaves it low."""

MOST_ROWS = 14
OURS = Settings()
"""What ours keeps: alarm cap, recovery and shutdown budget."""


def served(row: Row) -> bool:
    """Return whether a row committed anything, and an offered rate nearly whole."""
    commits = float(row["figures"]["commits_mean"])
    return commits > 0.0 and commits >= SERVED * row["conditions"]["load"].get("rate", 0)


def alternating(row: Row) -> bool:
    """Return whether the limit of the disk alternated, so that commits/s and age vary with any setting."""
    return row["conditions"].get("disk", {}).get("alternate_iops") is not None


def lifted(row: Row) -> bool:
    """Return whether the age was brought along on a disk without a limit."""
    return row.get("plan", {}).get("timing", {}).get("lifted") is not None


def steady(row: Row) -> bool:
    """Return whether a row served its load, without sync flushing and evenly.

    Even is a p1 of half the median or more; where the limit of the disk alternated, p1 is that of the slow
    part and says nothing of the flushing.
    """
    figures = row["figures"]
    even = alternating(row) or figures["commits_p1"] >= 0.5 * figures["commits_median"]
    return bool(served(row) and figures["sync_pages"] == 0 and even)


def kept(row: Row) -> bool:
    """Return whether a row is steady and stayed inside the alarm cap and the budgets that ours keeps.

    On a disk whose limit alternates the cap does not judge: ours goes beyond it, too, until it has followed.
    Nor does a budget that the row does not say enough of, as its dirty pages are not known.
    """
    figures = row["figures"]
    return (
        steady(row)
        and (alternating(row) or bool(figures["checkpoint_ratio_max"] <= OURS.max_checkpoint_age_ratio))
        and _within(figures.get("recovery_seconds_predicted"), OURS.max_recovery_seconds)
        and _within(figures.get("shutdown_seconds_predicted"), OURS.max_shutdown_seconds)
    )


def _within(predicted: float | None, allowed: float | None) -> bool:
    """Return whether a prediction breaks no budget; one that is not known breaks none."""
    return predicted is None or allowed is None or predicted <= allowed


def too_low(row: Row) -> bool:
    """Return whether a row is not acceptable because its M lets the age grow too far.

    One that is uneven or does not serve its rate at a low age is so for another reason: a lower M, which
    writes fewer pages, is still worth trying.
    """
    return not kept(row) and (not _only_slow(row) or row["figures"]["age_ratio_mean"] >= HIGH_AGE)


def _only_slow(row: Row) -> bool:
    """Return whether nothing but its first percentile or its rate keeps a row from being acceptable."""
    conditions, figures = row["conditions"], row["figures"]
    return kept(
        row
        | {"conditions": conditions | {"load": conditions["load"] | {"rate": 0}}}
        | {"figures": figures | {"commits_p1": figures["commits_median"]}}
    )


def anything(row: Row) -> bool:
    """Return whether a row committed anything at all: no other constraint."""
    return float(row["figures"]["commits_mean"]) > 0.0


def best(rows: Sequence[Row], accept: Callable[[Row], bool] = kept) -> Row | None:
    """Return the acceptable row that did best, None when none is acceptable.

    Best is the highest throughput; among those that served an offered rate, the fewest pages per commit.
    """
    accepted = [row for row in rows if accept(row)]
    if not accepted:
        return None
    equal = [row for row in accepted if row["conditions"]["load"].get("rate") and served(row)]
    if equal:  # what did not serve the rate saved its pages by not doing the work
        return min(equal, key=lambda row: float(row["figures"]["pages_per_commit"]))
    return max(accepted, key=lambda row: float(row["figures"]["commits_mean"]))


def next_value(rows: Sequence[Row], first: int) -> int | None:
    """Return the next M to try, pages/s, None when the search is over or has taken ``MOST_ROWS``.

    Args:
        rows: what was tried.
        first: where to begin, pages/s.
    """
    if not rows:
        return first
    return untried(rows) if len(rows) < MOST_ROWS else None


def untried(rows: Sequence[Row]) -> int | None:
    """Return the M, pages/s, that is still to try before the best of these rows is known for the best.

    Upwards while nothing is acceptable and M may be what limits the flushing; downwards in coarse steps until
    a row is not acceptable, or to the lowest M there is; then the middle, on
    logarithms, between the lowest acceptable value and the highest unacceptable one below it until they are
    ``FINE`` apart, or ``FINE_COARSE``; then the sides of the winner until it beats a neighbour on both.

    Args:
        rows: what was tried, at least one.
    """
    fine = FINE_COARSE if alternating(rows[0]) or lifted(rows[0]) else FINE
    bad = sorted(int(row["io_capacity_max"]) for row in rows if too_low(row))
    good = sorted(int(row["io_capacity_max"]) for row in rows if not too_low(row))
    if not good:
        return None if _free(rows, bad[-1]) else bad[-1] * 2
    below = [value for value in bad if value < good[0]]
    if not below:
        lower = max(CAPACITY_MINIMUM, _even(good[0] * _step(rows, good[0])))
        if lower / good[0] < FINE:
            return lower
    elif below[-1] / good[0] < fine:
        middle = _even(math.sqrt(below[-1] * good[0]))
        if below[-1] < middle < good[0]:
            return middle
    return _neighbour(rows, fine)


def _step(rows: Sequence[Row], value: int) -> float:
    """Return the factor of the coarse step down from a value that was tried."""
    by_law = math.pow(max(0.0, _figures(rows, value)["age_ratio_mean"]) / AIM, LEGACY.exponent)
    return min(LEAST_STEP, max(MOST_STEP, by_law))


def _figures(rows: Sequence[Row], value: int) -> Row:
    """Return the figures of a value that was tried."""
    return next(row["figures"] for row in rows if row["io_capacity_max"] == value)


def _free(rows: Sequence[Row], value: int) -> bool:
    """Return whether the age was high with a value far above what was flushed: no M moves it there."""
    figures = _figures(rows, value)
    flushed = float(figures["pages_per_second"])
    return value > FREE * flushed > 0.0 and bool(figures["age_ratio_mean"] >= HIGH_AGE)


def _neighbour(rows: Sequence[Row], fine: float) -> int | None:
    """Return a value one fine step beside the winner, None where both sides of it are known."""
    winner = best(rows)
    if winner is None:
        return None
    place = int(winner["io_capacity_max"])
    tried = [int(row["io_capacity_max"]) for row in rows]
    above, below = _even(place / fine), _even(place * fine)
    near = 1.0 + (1.0 - fine) / 2.0  # so much farther away than one fine step, a neighbour is one still
    if not any(place < value <= above * near for value in tried):
        return above
    if below >= CAPACITY_MINIMUM and not any(below / near <= value < place for value in tried):
        return below
    return None


def first(flushed: float) -> int:
    """Return where the search begins, pages/s: a little above what is flushed at the default, at low ages."""
    return max(2 * CAPACITY_MINIMUM, _even(1.2 * flushed))


def expected_ratio(rows: Sequence[Row], value: int) -> float | None:
    """Return the age ratio that the rows tried promise a value of M, so that it need not climb there slowly.

    Between two rows, what lies on the line through them; below all of them, what the flush law makes of the
    lowest one, as long as that is no age that has to be seen to be believed; None above all of them.
    """
    known = {int(row["io_capacity_max"]): float(row["figures"]["age_ratio_mean"]) for row in rows}
    if known and value < min(known):
        lowest = min(known)
        return min(HIGHEST_GUESS, known[lowest] * math.pow(lowest / value, 1.0 / LEGACY.exponent))
    return between(known, value)


def between(known: Mapping[int, float], value: int) -> float | None:
    """Return what lies at a value, on a line through the nearest points on both sides; None at an edge."""
    left = max((one for one in known if one < value), default=None)
    right = min((one for one in known if one > value), default=None)
    if left is None or right is None:
        return None
    return known[left] + (value - left) / (right - left) * (known[right] - known[left])


def _even(value: float) -> int:
    """Return the nearest even number: M is twice C."""
    return 2 * round(value / 2)
