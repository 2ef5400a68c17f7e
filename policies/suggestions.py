"""What an optimiser may suggest, which evidence about it is sound, and which loads are alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple

from policies.setpoint import LEAST_MARGIN_SHARE
from policies.types import LoadContext, Suggestion, Trial

LIMITS: Mapping[str, tuple[float, float]] = {
    "offset": (-0.05, 0.03),
    "margin_share": (LEAST_MARGIN_SHARE, 1.5),
    "hold_gain": (0.5, 1.6),
}
"""How far each part of a suggestion may go; the analytic point lies inside."""

SCALES: Mapping[str, float] = {
    "redo_rate": 0.5,
    "row_bytes": 0.3,
    "lru_share": 0.2,
    "concurrency": 0.7,
    "flush_limit": 0.2,
    "read_share": 0.2,
}
"""What each feature may differ by until it alone makes another load: in ln, the shares as they are."""

NEAR = 1.0  # Loads no farther apart than this are alike


def allowed(suggestion: Suggestion) -> bool:
    """Tell whether all parts are finite and inside the limits."""
    return all(low <= getattr(suggestion, name) <= high for name, (low, high) in LIMITS.items())


def plausible(context: LoadContext) -> bool:
    """Tell whether the features are numbers that a load can have."""
    positive = (context.redo_rate, context.row_bytes, context.flush_limit)
    finite = all(value is None or math.isfinite(value) for value in astuple(context))
    share = context.read_share is None or 0.0 <= context.read_share <= 1.0
    return finite and share and min(positive) > 0.0 and min(context.lru_share, context.concurrency) >= 0.0


def valid(trial: Trial) -> bool:
    """Tell whether a trial may be learned from: one number that is none spoils every fit after it."""
    numbers = all(math.isfinite(value) for value in (trial.gain, trial.error, trial.at))
    return numbers and trial.error >= 0.0 and allowed(trial.suggestion) and plausible(trial.context)


def distance(one: LoadContext, other: LoadContext) -> float:
    """Return how far two loads are apart, in ``SCALES``; what one of them does not show does not count."""
    parts = [
        math.log(one.redo_rate / other.redo_rate) / SCALES["redo_rate"],
        math.log(one.row_bytes / other.row_bytes) / SCALES["row_bytes"],
        (one.lru_share - other.lru_share) / SCALES["lru_share"],
        math.log(one.flush_limit / other.flush_limit) / SCALES["flush_limit"],
    ]
    if one.concurrency > 0.0 and other.concurrency > 0.0:
        parts.append(math.log(one.concurrency / other.concurrency) / SCALES["concurrency"])
    if one.read_share is not None and other.read_share is not None:
        parts.append((one.read_share - other.read_share) / SCALES["read_share"])
    return math.hypot(*parts)
