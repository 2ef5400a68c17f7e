"""Which pages the changes fall on: streams of evenly touched pages that add up to a distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from lab.plant.parameters import LoadParameters

ZIPF_STREAMS = 8
"""Streams that a Zipf distribution is cut into, each with pages of much the same probability."""


class Stream(Struct, frozen=True):
    """Pages that are touched evenly.

    Attributes:
        pages: how many; infinite where each touch is of a new page.
        touches: touches by one commit.
    """

    pages: float
    touches: float


def streams(load: LoadParameters) -> tuple[Stream, ...]:
    """Return what the load touches, the hottest pages first and appended ones last."""
    touches, pages = load.pages_per_commit, load.hot_pages
    found: list[Stream] = []
    if touches > 0.0:
        if load.distribution == "hot_set":
            found = [
                Stream(pages * load.hot_share, touches * load.hot_touches),
                Stream(pages * (1.0 - load.hot_share), touches * (1.0 - load.hot_touches)),
            ]
        elif load.distribution == "zipf":
            found = _zipf(pages, load.zipf_exponent, touches)
        else:
            found = [Stream(pages, touches)]
    if load.appended_pages > 0.0 or any(one.appended_pages for one in load.timeline):
        found.append(Stream(math.inf, load.appended_pages))
    return tuple(found)


def appending(touched: tuple[Stream, ...], pages: float) -> tuple[Stream, ...]:
    """Return the streams where each commit fills so many new pages."""
    return tuple(Stream(math.inf, pages) if one.pages == math.inf else one for one in touched)


def _zipf(pages: float, exponent: float, touches: float) -> list[Stream]:
    """Return streams whose borders are ranks in geometric progression, probability ``rank ** -exponent``."""
    factor = (pages + 1.0) ** (1.0 / ZIPF_STREAMS)
    borders = [factor**i for i in range(ZIPF_STREAMS + 1)]
    masses = [_mass(borders[i + 1], exponent) - _mass(borders[i], exponent) for i in range(ZIPF_STREAMS)]
    whole = sum(masses)
    return [Stream(borders[i + 1] - borders[i], touches * mass / whole) for i, mass in enumerate(masses)]


def _mass(rank: float, exponent: float) -> float:
    """Return the integral of ``rank ** -exponent`` up to a rank."""
    if abs(exponent - 1.0) < 1e-9:  # noqa: PLR2004 - there the power's integral is the logarithm
        return math.log(rank)
    return math.pow(rank, 1.0 - exponent) / (1.0 - exponent)
