"""May the next stage begin? A sequential test over how many servers got worse.

Of each activated server one thing is known: whether its baseline guard has given the originals back. The
test is Wald's (Sequential Tests of Statistical Hypotheses, 1945): the likelihood ratio of ``WORSE`` against
``FINE``. By Ville's inequality (1939) it ever reaches 1 / ``ALPHA`` with a probability of at most ``ALPHA``
where no more than ``FINE`` of the servers get worse. So it may be looked at as often as one likes: a server
only ever goes from not worse to worse, and a later stage adds servers to those of an earlier one.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

FINE, WORSE = 0.002, 0.03
"""Share of servers that get worse: what chance may do at the most, and what has to stop a rollout."""

ALPHA = 0.05
"""Probability of a stop for nothing, over all stages and looks."""

HALVINGS = 20  # Of the interval in which a share is looked for

STAGES = (1.0, 10.0, 100.0)
"""Percent of the servers that are active, one after the other."""


class Verdict(StrEnum):
    """What is to be done."""

    PROCEED = "proceed"
    WAIT = "wait"
    STOP = "stop"


class Count(NamedTuple):
    """Servers of a stage, so far.

    Attributes:
        members: that belong to it.
        active: of these, have been active at all.
        observed: of these, active for the whole time of observation, or worse.
        worse: of these, have their originals back from the baseline guard.
    """

    members: int
    active: int
    observed: int
    worse: int


def evidence(active: int, worse: int) -> float:
    """Return the likelihood ratio of what is seen: that ``WORSE`` of the servers get worse, to ``FINE``."""
    for_each, for_others = math.log(WORSE / FINE), math.log((1.0 - WORSE) / (1.0 - FINE))
    return math.exp(min(700.0, worse * for_each + (active - worse) * for_others))


def at_most(active: int, worse: int, *, error: float = 0.05) -> float:
    """Return the share of servers that get worse at the most, by what is seen, but for this probability."""
    if worse >= active:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        share = (low + high) / 2.0
        few = sum(math.exp(_log_binomial(active, k, share)) for k in range(worse + 1))
        low, high = (share, high) if few > error else (low, share)
    return high


def _log_binomial(count: int, hits: int, share: float) -> float:
    ways = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
    return ways + hits * math.log(share) + (count - hits) * math.log1p(-share)


def following(percent: float) -> float | None:
    """Return the stage after this one; None after the last."""
    return next((one for one in STAGES if one > percent), None)


def judged(count: Count, *, least_observed: float) -> tuple[Verdict, str]:
    """Return whether the next stage may begin, and why.

    Args:
        count: of the stage in force.
        least_observed: share of its members that have to be observed.
    """
    ratio = evidence(count.active, count.worse)
    figures = f"{count.worse} of {count.active} servers got worse"
    if ratio >= 1.0 / ALPHA:
        return Verdict.STOP, f"{figures}: {ratio:.3g} times as likely at {WORSE:.0%} as at {FINE:.1%}"
    if count.observed < least_observed * count.members:
        wanted = math.ceil(least_observed * count.members)
        return Verdict.WAIT, f"{count.observed} of {count.members} servers are observed; it takes {wanted}"
    if ratio > 1.0:
        return Verdict.WAIT, f"{figures}, which is too many to go on and too few to be sure: look at them"
    return Verdict.PROCEED, f"{figures}"
