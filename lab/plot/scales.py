"""Round marks on an axis and numbers as people read them; pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from lab.report.dots import scale

if TYPE_CHECKING:
    from collections.abc import Sequence

TIME_MARKS = 10
"""Most marks on the time axis, its start apart."""

TIME_UNITS = (("s", 1), ("min", 60), ("h", 3600), ("d", 86_400))
TIME_STEPS = {"s": (1, 2, 5, 10, 15, 20, 30), "min": (1, 2, 5, 10, 15, 20, 30), "h": (1, 2, 3, 6, 12)}
DAYS = (1, 2, 5, 7, 14)

LOG_MARKS = 9
"""Most marks on a logarithmic axis; with more, only powers of ten have one."""

BINARY = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


class Axis(Struct, frozen=True):
    """One axis of values.

    Attributes:
        marks: values that are marked, rising; the axis goes from the first to the last.
        said: these in words.
        unit: behind every one of them; empty where the words have it.
        logarithmic: equal ratios are equally far apart.
    """

    marks: tuple[float, ...]
    said: tuple[str, ...]
    unit: str = ""
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return where a value is, 0 at the first mark and 1 at the last; what is outside at the next end."""
        low, high = self.marks[0], self.marks[-1]
        inside = min(max(value, low), high)
        if self.logarithmic:
            return math.log(inside / low) / math.log(high / low)
        return (inside - low) / (high - low)


def counts(values: Sequence[float]) -> Axis:
    """Return an axis for numbers per second, from 0."""
    marks = scale(values)
    return Axis(tuple(marks), tuple(short(mark) for mark in marks))


def sizes(values: Sequence[float]) -> Axis:
    """Return an axis for bytes, from 0, in one unit throughout."""
    highest = max(values, default=0.0)
    unit, size = next(((unit, size) for unit, size in BINARY if highest >= size), ("B", 1))
    marks = scale([value / size for value in values])
    return Axis(tuple(mark * size for mark in marks), tuple(short(mark) for mark in marks), unit)


def ratios(values: Sequence[float]) -> Axis:
    """Return a logarithmic axis for positive values, with marks at 1, 2 and 5 times powers of ten."""
    low, high = min(values, default=1.0), max(values, default=10.0)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = [float(f"{step}e{power}") for power in range(first, last + 1) for step in (1, 2, 5)]
    start = max(mark for mark in every if mark <= low)
    end = next((mark for mark in every if mark >= high and mark > start), every[-1])
    marks = [mark for mark in every if start <= mark <= end]
    if len(marks) > LOG_MARKS:
        marks = [mark for mark in every[::3] if 0.1 * low < mark < 10.0 * high]
    return Axis(tuple(marks), tuple(short(mark) for mark in marks), logarithmic=True)


def times(seconds: float) -> list[tuple[float, str]]:
    """Return moments to mark on an axis from 0 to so many seconds, and how each is said."""
    steps = [(name, size, count) for name, size in TIME_UNITS[:3] for count in TIME_STEPS[name]]
    steps += [("d", 86_400, count) for count in DAYS]
    unit, size, count = next(
        (one for one in steps if one[1] * one[2] * TIME_MARKS >= seconds), ("d", 86_400, 28)
    )
    step = size * count
    return [
        (float(step * index), f"{count * index} {unit}" if index else "0")
        for index in range(int(seconds // step) + 1)
    ]


def moment(seconds: float) -> str:
    """Return a moment or a time as ``15 min`` or ``1 d 2 h``: whole units, the two largest that count."""
    left = round(seconds)
    parts = []
    for name, size in reversed(TIME_UNITS):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {name}")
    return " ".join(parts[:2]) or "0 s"


def short(value: float) -> str:
    """Return a number with an SI prefix where it has thousands: 500, 2.5 k, 20 k, 1.2 M."""
    for prefix, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g}"
