"""Runs of the simulated server that go beside published ones: what is counted in them, and the fit."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from lab.plant.readings import watched
from lab.scenarios import Scenario, load_scenario
from tuner.core.window import list_flushed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuner.records import Sample

GIB = 2.0**30
BLOCK = 20
"""Seconds of one mean in the measure of waves: longer than a round of sync flushing, shorter than a wave."""

START = (2_500_000.0, 0.0015)
"""Where the fit starts: ``hot_pages`` and ``commit_seconds``."""

STEP = 0.02
"""Relative change of a parameter from which the fit takes its slopes."""

FARTHEST = 0.4
"""Farthest that one round moves the logarithm of a parameter."""

ROUNDS = 5
"""Rounds of the fit; the parameters move by less than half a percent in the last one."""

LEAST_CORRELATION = 0.3
"""Below this a repetition is not called a period."""


class Published(NamedTuple):
    """One row of the article: scenario, C = M in pages/s, age in GiB, transactions/s, and what it is for."""

    scenario: str
    io_capacity_max: int
    age: float
    commits: float
    fitted: bool


PUBLISHED = (
    Published("seed-sata-20g", 8000, 12.51, 7693.084, fitted=True),
    Published("seed-sata-20g", 7000, 13.66, 7936.283, fitted=True),
    Published("seed-sata-20g", 6500, 15.47, 8233.628, fitted=False),
    Published("seed-sata-40g", 7000, 22.58, 9374.121, fitted=False),
    Published("seed-sata-40g", 4500, 29.80, 9865.308, fitted=False),
)
"""The settled rows of "More on Checkpoints in InnoDB MySQL 8", lowest throughput first."""


class Counted(Struct, frozen=True):
    """What a run came to in the seconds that are counted.

    Attributes:
        commits: commits/s.
        age: mean checkpoint age, bytes; what the article calls uncheckpointed bytes.
        age_max: the highest of these.
        pages: pages/s from the flush list.
        sync: those of them that were sync-flushed, pages/s.
        redo: redo, bytes/s.
    """

    commits: float
    age: float
    age_max: float
    pages: float
    sync: float
    redo: float


class Waves(Struct, frozen=True):
    """How uneven the 20-second means of throughput are.

    Attributes:
        unevenness: their standard deviation over their mean.
        lowest: commits/s.
        highest: commits/s.
    """

    unevenness: float
    lowest: float
    highest: float


class Fit(Struct, frozen=True):
    """The two fitted parameters, and the four errors left, each a share of the published number."""

    hot_pages: float
    commit_seconds: float
    errors: tuple[float, ...]


def counted(samples: Sequence[Sample]) -> Counted:
    """Return what a run came to from the first to the last of some readings."""
    first, last = samples[0], samples[-1]
    seconds = last.monotonic - first.monotonic
    ages = [sample.checkpoint_age for sample in samples[1:]]
    return Counted(
        commits=(last.commits - first.commits) / seconds,
        age=statistics.fmean(ages),
        age_max=float(max(ages)),
        pages=(list_flushed(last) - list_flushed(first)) / seconds,
        sync=(last.pages_sync - first.pages_sync) / seconds,
        redo=(last.lsn_current - first.lsn_current) / seconds,
    )


def block_means(samples: Sequence[Sample]) -> list[float]:
    """Return the commits/s of each 20 seconds, of readings one second apart."""
    commits = [sample.commits for sample in samples]
    return [(commits[i + BLOCK] - commits[i]) / BLOCK for i in range(0, len(commits) - BLOCK, BLOCK)]


def waves(means: Sequence[float]) -> Waves:
    """Return how uneven such means are."""
    return Waves(statistics.pstdev(means) / statistics.fmean(means), min(means), max(means))


def period(means: Sequence[float]) -> float | None:
    """Return the seconds after which such means repeat themselves; None where they do not.

    The lag of the highest autocorrelation behind the first lag at which it is negative.
    """
    middle = statistics.fmean(means)
    apart = [value - middle for value in means]
    whole = sum(value * value for value in apart)
    if whole <= 0.0:
        return None
    lags = range(1, len(apart) // 2)
    found = [sum(apart[i] * apart[i + lag] for i in range(len(apart) - lag)) / whole for lag in lags]
    first = next((place for place, value in enumerate(found) if value < 0.0), None)
    if first is None:
        return None
    best = max(range(first, len(found)), key=found.__getitem__)
    return float((best + 1) * BLOCK) if found[best] >= LEAST_CORRELATION else None


def static(scenario: Scenario, io_capacity: int, io_capacity_max: int) -> Scenario:
    """Return a scenario whose server starts with C and M, pages/s."""
    server = replace(scenario.server, io_capacity=io_capacity, io_capacity_max=io_capacity_max)
    return replace(scenario, server=server)


def settled(scenario: Scenario) -> Counted:
    """Return what a scenario comes to in its counted seconds."""
    _, samples = watched(scenario.plant, seconds=scenario.seconds, seed=scenario.seed)
    return counted(samples[scenario.measured_from :])


def published_run(row: Published, **load: object) -> Counted:
    """Return the plant's run for a row of the article.

    Args:
        row: which one.
        load: attributes of ``LoadParameters`` that are other than in the scenario.
    """
    scenario = load_scenario(row.scenario)
    changed = replace(scenario, load=replace(scenario.load, **load))
    return settled(static(changed, row.io_capacity_max, row.io_capacity_max))


def misses(hot_pages: float, commit_seconds: float, **load: object) -> list[float]:
    """Return the logarithms of plant over article, of age and throughput in each row to be fitted.

    Args:
        hot_pages: pages that the changes fall on.
        commit_seconds: shortest time of one commit.
        load: attributes of ``LoadParameters`` that are other than in the scenario.
    """
    found: list[float] = []
    for row in PUBLISHED:
        if row.fitted:
            both = {"hot_pages": hot_pages, "commit_seconds": commit_seconds}
            run = published_run(row, **{**load, **both})
            found += [math.log(run.age / GIB / row.age), math.log(run.commits / row.commits)]
    return found


def fit(**load: object) -> Fit:
    """Return the two parameters with the least squares of ``misses``, by Gauss and Newton's method.

    Args:
        load: attributes of ``LoadParameters`` that are other than in the scenario.
    """
    hot, shortest = START
    for _ in range(ROUNDS):
        base = misses(hot, shortest, **load)
        more = (
            misses(hot * math.exp(STEP), shortest, **load),
            misses(hot, shortest * math.exp(STEP), **load),
        )
        slopes = [[(new - old) / STEP for new, old in zip(moved, base, strict=True)] for moved in more]
        moves = [max(-FARTHEST, min(FARTHEST, move)) for move in newton(slopes, base)]
        hot, shortest = hot * math.exp(moves[0]), shortest * math.exp(moves[1])
    left = misses(hot, shortest, **load)
    return Fit(hot, shortest, tuple(math.expm1(miss) for miss in left))


def newton(slopes: Sequence[Sequence[float]], misses: Sequence[float]) -> tuple[float, float]:
    """Return the step of two parameters that makes the misses least, to first order.

    Args:
        slopes: of each miss, first by the one parameter, then by the other.
        misses: where the parameters stand now.
    """
    one, other = slopes
    a, b, c = _product(one, one), _product(one, other), _product(other, other)
    u, v = -_product(one, misses), -_product(other, misses)
    whole = a * c - b * b
    return (u * c - v * b) / whole, (v * a - u * b) / whole


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))
