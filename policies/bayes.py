"""The optimiser ``bayes``: where to look next for something better than the analytic set-point.

A Gaussian process over the suggestions tried so far under a load like this one, with the noise learned, says
where an improvement is likeliest; scikit-optimize does the fit and the search, on its ask/tell interface. It
is asked inside a trust region only, a box around the best suggestion known to be safe that grows with each
success and shrinks with each failure. Every question is answered by a new model from the policy's own log, so
that old evidence is forgotten, and the same log and seed give the same answer.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import astuple
from typing import Any

from policies.suggestions import LIMITS, NEAR, distance, plausible, valid
from policies.types import ANALYTIC, LoadContext, Suggestion, Trial

WINDOW = 48  # Trials that are remembered; the model is made anew from these
MEMORY_SECONDS = 14 * 86_400.0  # Evidence older than this, seen from the newest, is forgotten

START_RADIUS = 0.4
SMALLEST_RADIUS, LARGEST_RADIUS = 0.2, 1.0
"""Half the width of the trust region, as a share of half the limits' width."""

GROWS, SHRINKS = 1.5, 0.87  # What a trial that was won, or lost, does to the radius

SURE = 2.0
"""Standard errors by which a gain must be above 0 to count as won, and below to count as unsafe ground."""

SAME = 0.02  # A point nearer than this to one that was tried, in widths of the limits, is the same one
TRIES = 5  # So many other random numbers are tried before there is nothing new to be tried
CANDIDATES = 500  # Points at which the expected improvement is looked at


class Bayes:
    """Ask/tell over scikit-optimize, which is imported at the first question."""

    name = "bayes"

    def __init__(self, seed: int = 0) -> None:
        """Begin with an empty log.

        Args:
            seed: decides every random number.
        """
        self._seed = seed
        self._log: list[Trial] = []

    def tell(self, trial: Trial) -> None:
        """Take in what became of a suggestion; nothing that is refused leaves a trace.

        Raises:
            ValueError: a number in it is not finite, or the suggestion is outside the limits.
        """
        if not valid(trial):
            raise ValueError(f"not to be learned from, not finite or outside the limits: {trial}")
        self._log = [*self._log, trial][-WINDOW:]

    def ask(self, context: LoadContext) -> Suggestion | None:
        """Return what to try next under this load; None where all that is in reach was tried.

        Raises:
            ValueError: the context has a number that no load has.
        """
        if not plausible(context):
            raise ValueError(f"no load is like this: {context}")
        evidence = self._evidence(context)
        box = trust_region(evidence)
        for attempt in range(TRIES):
            seed = (self._seed * 1_000_003 + len(self._log) * TRIES + attempt) % 2**32
            suggestion = _search(evidence, box, seed)
            if all(
                _apart(suggestion, one) > SAME for one in (ANALYTIC, *(told.suggestion for told in evidence))
            ):
                return suggestion
        return None

    def _evidence(self, context: LoadContext) -> list[Trial]:
        """Return the trials under a load like this that are young enough, oldest first.

        By the clock of the newest one: where a wrong clock put that one far ahead, the others count as old
        until a trial ends by the right one.
        """
        newest = self._log[-1].at if self._log else 0.0
        return [
            one
            for one in self._log
            if abs(newest - one.at) <= MEMORY_SECONDS and distance(one.context, context) <= NEAR
        ]


def best_known(evidence: list[Trial]) -> Suggestion:
    """Return the suggestion whose gain is surely the highest; the analytic point where none surely gains.

    Of a point that was tried again the newest trial counts: what won once and was unsafe since is not safe.
    """
    newest = {one.suggestion: one for one in evidence}
    sure = [(one.gain - SURE * one.error, one.suggestion) for one in newest.values()]
    highest = max(sure, key=lambda pair: pair[0], default=(0.0, ANALYTIC))
    return highest[1] if highest[0] > 0.0 else ANALYTIC


def trust_region(evidence: list[Trial]) -> list[tuple[float, float]]:
    """Return the box to look in, inside the limits: centred on the best point that is known to be safe."""
    radius = START_RADIUS
    for one in evidence:
        radius *= GROWS if one.gain > SURE * one.error else SHRINKS
        radius = min(LARGEST_RADIUS, max(SMALLEST_RADIUS, radius))
    return [
        (max(low, middle - radius * (high - low) / 2.0), min(high, middle + radius * (high - low) / 2.0))
        for middle, (low, high) in zip(astuple(best_known(evidence)), LIMITS.values(), strict=True)
    ]


def _search(evidence: list[Trial], box: list[tuple[float, float]], seed: int) -> Suggestion:
    """Return the point of the box with the highest expected improvement, as plain Python numbers."""
    from skopt import Optimizer  # noqa: PLC0415 - the extra bayes; a second and 125 MiB wherever it is imported

    optimizer = Optimizer(
        dimensions=box,
        base_estimator="GP",
        n_initial_points=0,  # else the first ones are anywhere in the box, whatever is known
        acq_func="EI",
        acq_optimizer="sampling",
        acq_optimizer_kwargs={"n_points": CANDIDATES},
        avoid_duplicates=False,  # else a duplicate is replaced by a random point; it is vetoed here instead
        random_state=seed,
    )
    points, losses = _inside(evidence, box)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that ends at its bounds, as with little evidence
        optimizer.tell(points, losses)
        point: list[Any] = optimizer.ask()
    return Suggestion(*(_clipped(float(value), *bounds) for value, bounds in zip(point, box, strict=True)))


def _inside(evidence: list[Trial], box: list[tuple[float, float]]) -> tuple[list[list[float]], list[float]]:
    """Return points and losses in percent for the model; a point outside the box it would refuse.

    The analytic point is known by definition: it gains nothing over itself.
    """
    known = [(ANALYTIC, 0.0), *((one.suggestion, -100.0 * one.gain) for one in evidence)]
    inside = [
        (list(astuple(point)), loss)
        for point, loss in known
        if all(low <= value <= high for value, (low, high) in zip(astuple(point), box, strict=True))
    ]
    return [point for point, _ in inside], [loss for _, loss in inside]


def _apart(one: Suggestion, other: Suggestion) -> float:
    """Return how far two suggestions are apart, in widths of the limits."""
    widths = (high - low for low, high in LIMITS.values())
    return math.hypot(*((a - b) / w for a, b, w in zip(astuple(one), astuple(other), widths, strict=True)))


def _clipped(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))
