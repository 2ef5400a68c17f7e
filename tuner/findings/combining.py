"""How many pages a load dirties for each byte of redo at an age that was not seen, and how sure that is.

A page that is touched ``lambda`` times per redo byte and flushed at age A is written once in ``A + 1/lambda``
bytes. With N pages that share ``t`` touches per redo byte evenly, ``lambda = t / N``, that makes
``t / (1 + g * A)`` page writes per redo byte, ``g = t / N``. Some pages of a real load are hotter than
others, whose writes combine sooner and leave those of the others: the same with ``(1 + g * A) ** -s``, ``s``
below 1.

What is dirtied anew depends on how many pages are dirty: with D of them ``t - g * D``. So a moment at which
the age is on its way counts as the age at which as many would be dirty for good: D over what is dirtied anew.

One age that was seen cannot tell ``t`` and ``s`` apart. So many curves are kept that go through what was
seen, each with how likely it is: the likeliest is the answer, and where the others are is its range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

TOUCHES = tuple(math.exp(0.1 * step) for step in range(-50, 13))
"""Touches that are reckoned with, over row changes or redo by ``TOUCH``, whichever is more: fewer where one
statement changes several rows of a page, more where a touch writes less. 1 is among them, and likeliest."""

TOUCHES_SPREAD = 0.4  # Standard deviation of their logarithm, before anything was seen

TOUCH = 550.0
"""Redo of one touch, its undo included, bytes. A row change that writes more touches several pages: those of
its secondary indexes, mostly."""

ANY = 0.06
"""How likely any of them is besides, over the likeliest. Rows side by side are often changed together,
and then far fewer writes combine than one change a page would let one think."""

EVENNESS = {1.0: 0.6, 0.75: 0.2, 0.5: 0.13, 0.3: 0.07}
"""``s``, and how likely each is before anything was seen: at 1 all pages are touched alike."""

SPREAD = 0.1  # Standard deviation of what is seen at an age, over its mean
TRUSTED_SECONDS = 30.0  # What was seen for so long at an age counts in full

CLASS = 0.15  # Width of a class of ages, in their logarithm
LEAST = (
    1.33  # Touches per page that is written are at least so many: less would be hardly any write combining
)
HALVINGS = 50
UNLIKELY = 0.05
"""Share of the likelihood below and above the range each."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen at one age."""

    age: float  # dirty pages over that density, bytes: at rest the age itself
    density: float  # pages newly dirtied per redo byte
    seconds: float  # for how long


@dataclass(frozen=True, slots=True)
class Curve:
    """Pages newly dirtied per redo byte by age."""

    touches: float  # per redo byte: what it comes to at an age of 0
    growth: float  # g, per byte
    evenness: float  # s
    likelihood: float = 1.0

    def at(self, age: float) -> float:
        """Return the pages newly dirtied per redo byte where pages are flushed at that age, bytes."""
        return self.touches * math.pow(1.0 + self.growth * age, -self.evenness)


class Figure(Struct, frozen=True):
    """A figure with the range in which it lies with a likelihood of 90 %."""

    low: float
    likeliest: float
    high: float


@dataclass(frozen=True, slots=True)
class Combining:
    """The curves that go through what was seen, the likeliest first; none where nothing was."""

    curves: tuple[Curve, ...]

    def at(self, age: float) -> Figure:
        """Return the pages newly dirtied per redo byte at an age, bytes."""
        found = sorted((curve.at(age), curve.likelihood) for curve in self.curves)
        whole = sum(likelihood for _, likelihood in found)
        return Figure(
            low=_quantile(found, UNLIKELY * whole),
            likeliest=self.curves[0].at(age),
            high=_quantile(found, (1.0 - UNLIKELY) * whole),
        )


def classes(seen: Sequence[tuple[float, float]]) -> list[Seen]:
    """Return the means of what was seen second by second, one for each class of ages.

    Args:
        seen: dirty pages, and pages newly dirtied per redo byte; what is 0 or less says nothing.
    """
    by_class: dict[int, list[tuple[float, float]]] = {}
    for dirty, density in seen:
        if dirty > 0.0 and density > 0.0:
            x, y = math.log(dirty / density), math.log(density)
            by_class.setdefault(math.floor(x / CLASS), []).append((x, y))
    return [
        Seen(
            age=math.exp(math.fsum(x for x, _ in pairs) / len(pairs)),
            density=math.exp(math.fsum(y for _, y in pairs) / len(pairs)),
            seconds=float(len(pairs)),
        )
        for _, pairs in sorted(by_class.items())
    ]


def fit(seen: Sequence[Seen], *, rows: float) -> Combining:
    """Return the curves that go through what was seen, with how likely each is.

    Args:
        seen: one for each class of ages.
        rows: row changes per redo byte; 0 where none are counted.
    """
    if not seen:
        return Combining(())
    middle = touches_of(rows, max(one.density for one in seen))
    curves = [
        curve
        for touches in TOUCHES
        for evenness, prior in EVENNESS.items()
        if (curve := _through(seen, middle * touches, evenness, prior * _likely(touches))) is not None
    ]
    curves.sort(key=lambda curve: -curve.likelihood)
    return Combining(tuple(curves))


def touches_of(rows: float, density: float) -> float:
    """Return the touches per redo byte that are likeliest.

    Args:
        rows: row changes per redo byte; 0 where none are counted.
        density: pages newly dirtied per redo byte, the most that was seen.
    """
    return max(rows, 1.0 / TOUCH, LEAST * density)


def _likely(touches: float) -> float:
    return ANY + math.exp(-0.5 * (math.log(touches) / TOUCHES_SPREAD) ** 2)


def _through(seen: Sequence[Seen], touches: float, evenness: float, prior: float) -> Curve | None:
    """Return the curve whose mean is that of what was seen; None where fewer touches than pages were."""
    weights = [min(1.0, one.seconds / TRUSTED_SECONDS) for one in seen]

    def off(growth: float) -> list[float]:
        curve = Curve(touches, growth, evenness)
        return [math.log(one.density / curve.at(one.age)) for one in seen]

    def mean(growth: float) -> float:
        return math.fsum(w * e for w, e in zip(weights, off(growth), strict=True))

    if mean(0.0) >= 0.0:
        return None
    low, high = -60.0, 60.0
    for _ in range(HALVINGS):
        at = 0.5 * (low + high)
        low, high = (at, high) if mean(math.exp(at)) < 0.0 else (low, at)
    growth = math.exp(high)
    squares = math.fsum(w * (e / SPREAD) ** 2 for w, e in zip(weights, off(growth), strict=True))
    return Curve(touches, growth, evenness, prior * math.exp(-0.5 * squares))


def _quantile(found: Sequence[tuple[float, float]], wanted: float) -> float:
    passed = 0.0
    for value, likelihood in found:
        passed += likelihood
        if passed >= wanted:
            return value
    return found[-1][0]
