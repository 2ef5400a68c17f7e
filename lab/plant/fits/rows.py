"""Which rows of the benches made for the plant its parameters are fitted on; all others judge."""

from __future__ import annotations

from lab.plant.fits import FittedOn

_ROWS = {
    "1200 writes/s": (5000, 1000, 500),
    "3000 writes/s": (5000, 2500, 1100),
}
"""M, pages/s, by variant: a low, a middle and a high age on each disk; the rest lies between and beyond."""


def fitted_on(suite: str) -> tuple[FittedOn, ...]:
    """Return the rows for a bench made for the plant; none for another bench, whose rows have to be named."""
    if not suite.startswith("plant-"):
        return ()
    return tuple(FittedOn(variant, most) for variant, settings in _ROWS.items() for most in settings)
