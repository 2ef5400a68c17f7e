"""Sizes and times as people read them."""

from __future__ import annotations

import math

MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30
UNITS = ((1 << 40, "TiB"), (GIBIBYTE, "GiB"), (MEBIBYTE, "MiB"), (1 << 10, "KiB"))

LARGE = 10 * GIBIBYTE
"""Below, a size that is whole MiB is said exactly, with as many digits as that takes."""

_TWO = 1.99


def size(count: float, *, up: bool = False) -> str:
    """Return bytes with three digits, in the largest unit of which they have one.

    Args:
        count: bytes.
        up: round up, so that what is said is no less.
    """
    for least, unit in UNITS:
        if abs(count) >= least:
            number = count / least
            step = 10.0 ** (math.floor(math.log10(abs(number))) - 2)
            said = (math.ceil(number / step) if up else round(number / step)) * step
            if round(said * least) != count and count % MEBIBYTE == 0 and abs(count) < LARGE:
                return f"{count / MEBIBYTE:.0f} MiB"
            return f"{said:.10g} {unit}"
    return f"{count:.0f} B"


def share(value: float) -> str:
    """Return a share in whole percent; every age is said so, as a share of the flush limit."""
    return f"{100.0 * value:z.0f} %"


def duration(seconds: float) -> str:
    """Return a time in the largest unit of which it has two at least."""
    for unit, length in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= _TWO * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
