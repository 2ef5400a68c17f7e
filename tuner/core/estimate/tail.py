"""What the checkpoint has still to pass: which page was changed when, and how the tail moves.

The ledger has the dirty pages by redo position, and with them what the tail will cost, one residence time
ahead. Between two readings, newly dirtied pages = growth of the dirty list + pages flushed. Each of them
enters the flush list at the LSN of that moment and leaves it in the same order, so the pages between two
LSNs are known before the tail gets there.
"""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.estimate import window as readings
from tuner.core.estimate.window import Window
from tuner.records import Estimate, Sample

KNOTS = 160  # Knots that one flush limit is cut into; bounds memory and work
CAPPED_SHARE = 0.97  # The law asks for all that M allows when it asks for this share of M
LEAST_DUE = 0.01  # Share of the ledger that is believed in at least, so that it stays one to divide by
NEAR = 1.0 / 16.0  # Share of the flush limit whose pages are the density of the tail

FLUSHED_AWAY = 1.0 / 200.0
"""Share of the flush limit that the tail has to have moved by for its density to be seen from that."""


class Ledger(Struct, frozen=True):
    """Cumulated newly dirtied pages at rising LSNs."""

    lsns: tuple[float, ...] = ()  # knots, bytes, rising
    pages: tuple[float, ...] = ()  # cumulated pages at each knot

    def add(self, *, lsn: float, new_pages: float, oldest: float, flush_limit: float) -> Ledger:
        """Return the ledger with the pages dirtied up to ``lsn``; what lies before ``oldest`` is dropped."""
        if not self.lsns:
            return Ledger((lsn,), (0.0,))
        total = self.pages[-1] + max(0.0, new_pages)
        lsns, pages = self.lsns, self.pages
        if len(lsns) > 1 and lsn - lsns[-2] < flush_limit / KNOTS:
            lsns, pages = (*lsns[:-1], lsn), (*pages[:-1], total)
        else:
            lsns, pages = (*lsns, lsn), (*pages, total)
        first = max(0, bisect_left(lsns, oldest) - 1)
        first = max(first, len(lsns) - 2 * KNOTS)
        if first > KNOTS // 4 or len(lsns) - first >= 2 * KNOTS:
            lsns, pages = lsns[first:], pages[first:]
        return Ledger(lsns, pages)

    def without(self, pages: float) -> Ledger:
        """Return the ledger without so many of its newest pages, all of them at most."""
        if not self.lsns or pages <= 0.0:
            return self
        total = max(self.pages[0], self.pages[-1] - pages)
        kept = bisect_left(self.pages, total)
        return Ledger(self.lsns, self.pages[:kept] + (total,) * (len(self.pages) - kept))

    def covers(self, lsn: float) -> bool:
        """Tell whether the ledger reaches back to this LSN."""
        return bool(self.lsns) and self.lsns[0] <= lsn

    def between(self, start: float, end: float) -> float:
        """Return the pages that were dirtied between two LSNs."""
        return max(0.0, self._at(end) - self._at(start))

    def after(self, start: float, pages: float) -> float:
        """Return the LSN that the tail reaches from ``start`` by flushing so many pages."""
        if not self.lsns:
            return start
        goal = self._at(start) + pages
        index = bisect_left(self.pages, goal)
        if index >= len(self.pages):
            return self.lsns[-1]
        if index == 0:
            return max(start, self.lsns[0])
        low, high = self.pages[index - 1], self.pages[index]
        share = (goal - low) / (high - low) if high > low else 1.0
        return max(start, self.lsns[index - 1] + share * (self.lsns[index] - self.lsns[index - 1]))

    def _at(self, lsn: float) -> float:
        if not self.lsns:
            return 0.0
        index = bisect_left(self.lsns, lsn)
        if index == 0:
            return self.pages[0]
        if index == len(self.lsns):
            return self.pages[-1]
        left, right = self.lsns[index - 1], self.lsns[index]
        share = (lsn - left) / (right - left)
        return self.pages[index - 1] + share * (self.pages[index] - self.pages[index - 1])


class Tail(Struct, frozen=True):
    """What is known of the pages that are flushed next."""

    ledger: Ledger = Ledger()  # pages by the redo position at which they were dirtied
    due: float = 1.0  # share of the ledger's pages that are flushed still when the tail passes them
    # pages flushed as neighbours that may be in the list still, where the server leaves them there
    beside: float = 0.0
    density: float = 0.0  # dirty pages per redo byte at the tail

    @classmethod
    def at(cls, sample: Sample) -> Tail:
        """Return what is known of it after a first reading: where it is."""
        return cls(ledger=_added(Ledger(), sample, 0.0))

    def updated(self, sample: Sample, last: Sample, *, dirtied: int, lists_written: bool) -> Tail:
        """Return it with the pages that were dirtied since the last reading.

        Args:
            dirtied: growth of the flush list, and what was flushed, pages.
            lists_written: this server counts pages as dirty for a time after they were written as neighbours.
        """
        beside, gone = self._left(sample, last, dirtied) if lists_written else (0.0, 0.0)
        return replace(self, ledger=_added(self.ledger.without(gone), sample, dirtied), beside=beside)

    def reckon_due(self, sample: Sample, window: Window) -> Tail:
        """Return it with the share of the ledger's pages that are still to be flushed.

        Neighbours and the LRU's pages leave before their turn, and may enter again at once: after a bulk load
        into few extents the ledger has several times the pages that are dirty. Where neighbours go all the
        time that is no saving: each page flushed in its turn takes so many more with it.
        """
        known = self.ledger.between(sample.lsn_oldest, sample.lsn_current)
        if known <= 0.0:
            return replace(self, due=1.0)
        ahead = sample.pages_dirty * (1.0 + readings.neighbours(window))
        return replace(self, due=min(1.0, max(LEAST_DUE, ahead / known)))

    def reckon_density(self, sample: Sample, *, pages: int, passed: int) -> Tail:
        """Return it with its density: from the ledger, else from what flushing it took.

        Args:
            passed: bytes that the tail moved on by meanwhile.
        """
        return replace(self, density=self._density(sample, pages, passed))

    def covers(self, sample: Sample) -> bool:
        """Tell whether the ledger reaches back to the oldest modification."""
        return self.ledger.covers(sample.lsn_oldest)

    def pages_ahead(self, sample: Sample, span: float) -> float:
        """Return the dirty pages in the oldest ``span`` bytes, from the ledger where it reaches."""
        if span <= 0:
            return 0.0
        if not self.covers(sample):
            return self.density * span
        return self.due * self.ledger.between(sample.lsn_oldest, sample.lsn_oldest + span)

    def age_ahead(
        self, sample: Sample, estimate: Estimate, seconds: float, *, flushed_share: float = 1.0
    ) -> float:
        """Return the modified age that the present M leads to, bytes, walking the tail through the ledger.

        ``flushed_share`` is what is flushed of what is asked for where batches end early, 0 to 1.
        Without a ledger that reaches the tail the present slope is drawn out. What is flushed beyond all that
        is dirty now is dirtied meanwhile.
        """
        if not self.covers(sample):
            return max(0.0, estimate.modified_age + estimate.age_slope * seconds)
        capped = sample.flush_requested >= CAPPED_SHARE * sample.io_capacity_max
        full = float(sample.io_capacity_max) * min(flushed_share, estimate.authority)
        rate = full if capped else min(full, estimate.flush_rate)
        pages, written = rate * seconds, estimate.redo_rate * seconds
        reached = self.ledger.after(sample.lsn_oldest, pages / self.due)
        beyond = pages - self.due * self.ledger.between(sample.lsn_oldest, sample.lsn_current)
        if beyond > 0:
            reached += min(written, beyond / estimate.new_density) if estimate.new_density > 0 else written
        return max(0.0, sample.lsn_current + written - reached)

    def _left(self, sample: Sample, last: Sample, dirtied: int) -> tuple[float, float]:
        """Return the neighbours that may be in the list still, and how many have left it since ``last``.

        When such a page is written the list stays as long as it is, which looks like a page newly dirtied.
        That is taken back when the list gets shorter without a write: then the page was not changed again
        before the end of the list came to it.
        """
        beside = self.beside + sample.pages_neighbour - last.pages_neighbour
        gone = min(max(0.0, -float(dirtied)), max(0.0, beside))
        return min(beside - gone, float(sample.pages_dirty)), gone

    def _density(self, sample: Sample, pages: int, passed: int) -> float:
        span = NEAR * sample.flush_limit
        if self.covers(sample) and sample.modified_age > span:
            return self.pages_ahead(sample, span) / span
        if passed > FLUSHED_AWAY * sample.flush_limit and pages > 0:
            # a tail that hardly moved was held by one page, and has no more of them than are dirty
            return min(pages / passed, sample.pages_dirty / min(span, sample.modified_age or span))
        if self.density > 0:
            return self.density
        return sample.pages_dirty / sample.modified_age if sample.modified_age > 0 else 0.0


def _added(ledger: Ledger, sample: Sample, pages: float) -> Ledger:
    return ledger.add(
        lsn=sample.lsn_current, new_pages=pages, oldest=sample.lsn_oldest, flush_limit=sample.flush_limit
    )
