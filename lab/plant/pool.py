"""A buffer pool that does not hold all pages: misses, and dirty pages at the end of the LRU list.

Which pages are in the pool follows from how often they are touched: a page is there where it was touched
within the last T touches of any page, T so that the pages there fill the pool (Che, Tung and Wang,
"Hierarchical Web Caching Systems", 2002, for LRU caches).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.plant.access import Stream

BLUR = 0.2
"""Relative width of the step between evicted pages that are still dirty and ones that are clean again."""


class Pool(Struct, frozen=True):
    """What a pool of a size does with a load's pages.

    Attributes:
        held: commits for which a page stays after its last touch; infinite where all pages fit.
        evictions: pages of each stream that one commit drives out.
    """

    held: float
    evictions: tuple[float, ...]

    @property
    def misses(self) -> float:
        """Return the pages that one commit has to read."""
        return sum(self.evictions)

    def dirty_share(self, *, commit_rate: float, residence: float) -> float:
        """Return the share of the evicted pages that are dirty still.

        A page leaves ``held`` commits after its last touch. The page cleaner comes by before that where the
        flush list holds a page for less.

        Args:
            commit_rate: commits/s.
            residence: seconds that a page stays in the flush list.
        """
        if residence <= 0.0 or commit_rate <= 0.0:
            return 0.0
        ratio = self.held / commit_rate / residence
        return min(1.0, max(0.0, (1.0 - ratio) / BLUR + 0.5))


def pool(frames: int, streams: Sequence[Stream]) -> Pool | None:
    """Return the pool for a load; None where all of its pages fit, or new pages are all that it touches."""
    finite = [stream for stream in streams if stream.pages != math.inf and stream.touches > 0.0]
    if sum(stream.pages for stream in finite) <= frames or not finite:
        return None
    low, high = 0.0, 1.0
    while _resident(finite, high) < frames:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _resident(finite, middle) < frames else (low, middle)
    return Pool(
        held=high,
        evictions=tuple(
            0.0
            if stream.pages == math.inf
            else stream.touches * math.exp(-high * stream.touches / stream.pages)
            for stream in streams
        ),
    )


def _resident(finite: Sequence[Stream], commits: float) -> float:
    """Return the pages touched within so many commits."""
    return sum(stream.pages * -math.expm1(-commits * stream.touches / stream.pages) for stream in finite)
