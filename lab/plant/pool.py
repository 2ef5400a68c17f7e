"""A buffer pool that does not hold all pages: misses, and dirty pages at the end of the LRU list.

Which pages are in the pool follows from how often they are touched: a page is there where it was touched
within the last T touches of any page, T so that the pages there fill the pool (Che, Tung and Wang,
"Hierarchical Web Caching Systems", 2002, for LRU caches). A new page is touched once, so that it leaves
again after T.
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
    """What a full pool of a size does with a load's pages.

    Attributes:
        held: commits for which a page stays after its last touch.
        evictions: pages of each stream that one commit drives out.
        misses: pages that one commit has to read.
    """

    held: float
    evictions: tuple[float, ...]
    misses: float

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


def pool(frames: float, streams: Sequence[Stream]) -> Pool | None:
    """Return the pool for a load; None where all of its pages fit and none are new."""
    finite = [stream for stream in streams if stream.pages != math.inf and stream.touches > 0.0]
    new = sum(stream.touches for stream in streams if stream.pages == math.inf)
    if new <= 0.0 and kept(streams) <= frames:
        return None
    low, high = 0.0, 1.0
    while _resident(finite, new, high) < frames:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _resident(finite, new, middle) < frames else (low, middle)
    evictions = tuple(
        stream.touches
        * (1.0 if stream.pages == math.inf else math.exp(-high * stream.touches / stream.pages))
        for stream in streams
    )
    return Pool(held=high, evictions=evictions, misses=max(0.0, sum(evictions) - new))


def kept(streams: Sequence[Stream]) -> float:
    """Return the pages that are touched again and again."""
    return sum(stream.pages for stream in streams if stream.pages != math.inf and stream.touches > 0.0)


def _resident(finite: Sequence[Stream], new: float, commits: float) -> float:
    """Return the pages touched within so many commits, of which each fills so many new ones."""
    again = sum(stream.pages * -math.expm1(-commits * stream.touches / stream.pages) for stream in finite)
    return again + commits * new
