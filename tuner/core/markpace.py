"""Whether the load goes evenly with each of two marks: a mean hides waves in which writers all but wait."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.switchback import Running
from tuner.records import Sample

SLOW = 0.5
"""Share of the mean of minutes below which a second's row changes are slow, as of the best static M."""

ALLOWED = 0.01
"""Share of slow seconds that no mark is held to account for."""


class Pace(Struct, frozen=True):
    """Seconds counted so far in a trial, and the slow ones among them.

    Attributes:
        last: time and row changes of the last tick.
        operator: seconds with the operator's mark: all, slow.
        tried: the same with the other one.
    """

    last: tuple[float, int] | None = None
    operator: tuple[float, float] = (0.0, 0.0)
    tried: tuple[float, float] = (0.0, 0.0)


def seen(pace: Pace, running: Running, sample: Sample, *, mean: float) -> Pace:
    """Return it with a tick more, of a block's counted part only.

    Args:
        pace: so far.
        running: the trial.
        sample: the reading.
        mean: row changes/s of the last minutes.
    """
    now, before = (sample.monotonic, sample.row_changes), pace.last
    pace = replace(pace, last=now)
    if before is None or running.start is None or now[0] <= before[0]:
        return pace
    elapsed = now[0] - before[0]
    slow = elapsed if (now[1] - before[1]) / elapsed < SLOW * mean else 0.0
    of = pace.tried if running.suggested else pace.operator
    more = (of[0] + elapsed, of[1] + slow)
    return replace(pace, tried=more) if running.suggested else replace(pace, operator=more)


def waves(pace: Pace) -> str:
    """Return that the other mark has more slow seconds than the operator's; empty where it has not."""
    tried, operator = (slow / max(1.0, whole) for whole, slow in (pace.tried, pace.operator))
    if tried <= max(ALLOWED, operator):
        return ""
    return f"but {100 * tried:.1f} % of its seconds were slow, and {100 * operator:.1f} % of the others"
