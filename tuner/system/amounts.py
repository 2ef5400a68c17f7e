"""Times as people read them."""

from __future__ import annotations

_TWO = 1.99


def duration(seconds: float) -> str:
    """Return a time in the largest unit of which it has two at least."""
    for unit, size in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= _TWO * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
