"""Lines of compared policies for tests, with what a test is about and nothing odd else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.compare.summary import METRICS
from lab.prove.contests import Contest, Line
from lab.scenarios.trace import SETTLED_BANDS

if TYPE_CHECKING:
    from lab.prove.contests import Values

SEEDS = (1, 2, 3)
WIDE = SETTLED_BANDS.index(0.055)
USUAL = {
    "throughput_mean": 1000.0,
    "throughput_p1": 800.0,
    "pages_per_commit": 0.2,
    "age_ratio_mean": 0.8,
    "age_ratio_max": 0.9,
    "sync_flush_seconds": 0.0,
    "stall_seconds": 0.0,
    "settling_seconds": 200.0,
    "changes_per_hour": 6.0,
    "age_ratio_wander": 0.028,
    "changes_in_hour": 4.0,
    "climb_seconds": 100.0,
}


def line(
    contender: str = "cascade",
    *,
    scenario: str = "even",
    moves: bool = False,
    offered: bool = False,
    starts: str = "10000/20000",
    seconds: int = 3600,
    days: tuple[tuple[float, ...], ...] = (),
    settled: tuple[float | None, ...] = (200.0, 200.0, 200.0),
    **figures: Values | float,
) -> Line:
    """Return a line with three seeds; a figure is one value for all of them, or one for each.

    It settles with each seed after so many seconds within 0.055, and never within less.
    """
    given = USUAL | figures
    policy = contender in {"cascade", "bayes", "pid"}
    assert set(given) >= {one.name for one in METRICS}
    return Line(
        scenario=scenario,
        contender=contender,
        levels=() if policy or contender == "untouched" else (450,),
        seconds=seconds,
        measured_from=0,
        moves=moves,
        offered=offered,
        starts=starts,
        plant="0123",
        policies="4567" if policy else "",
        seeds=SEEDS,
        figures={
            name: value if isinstance(value, tuple) else (value,) * len(SEEDS)
            for name, value in given.items()
        },
        days=days,
        settled=tuple((None,) * WIDE + (one,) * (len(SETTLED_BANDS) - WIDE) for one in settled),
    )


def contest(*lines: Line) -> Contest:
    """Return contenders on one scenario."""
    return Contest({one.contender: one for one in lines})
