"""Which of the settings that were tried is the best; pure."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lab.scenarios.trace import Outcome

Setting = TypeVar("Setting")

SERVED = 0.99
"""Share of the highest throughput from which on an offered load counts as served."""


def winner(
    tried: Mapping[Setting, Sequence[Outcome]], accept: Callable[[Outcome], bool], *, offered: bool
) -> Setting | None:
    """Return the acceptable setting that did best; None when none is acceptable.

    Best is the highest throughput; where the load is offered at a rate of its own, the fewest pages per
    commit among the settings that serve it.

    Args:
        tried: settings, each with its outcomes by seed.
        accept: the rules; all outcomes of a setting have to keep them.
        offered: the load is offered at a rate of its own.
    """
    fit = [one for one, outcomes in tried.items() if all(map(accept, outcomes))]
    if not fit:
        return None
    if not offered:
        return max(fit, key=lambda one: throughput(tried[one]))
    served = SERVED * max(throughput(tried[one]) for one in fit)
    return min((one for one in fit if throughput(tried[one]) >= served), key=lambda one: pages(tried[one]))


def throughput(outcomes: Sequence[Outcome]) -> float:
    """Return the mean over the seeds, commits/s."""
    return statistics.fmean(one.throughput_mean for one in outcomes)


def pages(outcomes: Sequence[Outcome]) -> float:
    """Return the mean over the seeds, pages per commit."""
    return statistics.fmean(one.pages_per_commit for one in outcomes)
