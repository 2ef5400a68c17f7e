"""Which values of M the plant's parameters are fitted on; all others judge. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.fits import FittedOn

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTS = 4
"""The values of M are parted into quarters; those at the three ends between them are fitted on."""


def fitted_on(tried: Iterable[FittedOn]) -> tuple[FittedOn, ...]:
    """Return the quartiles of the values of M that were tried, each the next tried one below, by variant.

    Only what was tried decides, nothing that was measured or simulated. The lowest and the highest M are
    never among them where there are five or more.

    Args:
        tried: of one bench, with or without repetitions.
    """
    by: dict[str, set[int]] = {}
    for one in tried:
        by.setdefault(one.variant, set()).add(one.io_capacity_max)
    return tuple(
        FittedOn(variant, most)
        for variant, values in by.items()
        for most in dict.fromkeys(
            sorted(values)[(len(values) - 1) * part // PARTS] for part in range(1, PARTS)
        )
    )
