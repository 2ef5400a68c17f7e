"""Unix times as people read them, always UTC; pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime


def clock(wall: float) -> str:
    """Return a Unix time as date and time of day."""
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def span(whens: Sequence[str]) -> str:
    """Return from when to when rows were taken, as short as it can be said; one that is no time stays."""
    if not whens:
        return ""
    first, last = min(whens), max(whens)
    try:
        begin, end = (datetime.fromisoformat(when).astimezone(UTC) for when in (first, last))
    except ValueError:
        return f"{first} to {last}"
    until = end.strftime("%H:%M UTC" if begin.date() == end.date() else "%Y-%m-%d %H:%M UTC")
    return f"{begin.strftime('%Y-%m-%d %H:%M')} to {until}"
