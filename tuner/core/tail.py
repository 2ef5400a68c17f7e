"""The tail of the flush list: how many pages are due there, and where flushing brings the age."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tuner.core import window as readings
from tuner.core.ledger import Ledger
from tuner.core.window import Window
from tuner.records import Estimate, Sample

CAPPED_SHARE = 0.97
"""The law asks for all that M allows when it asks for this share of M."""

LEAST_DUE = 0.01
"""Share of the ledger that is believed in at least, so that it stays one to divide by."""

NEAR = 1.0 / 16.0
"""Share of the flush limit whose pages are the density of the tail."""

FLUSHED_AWAY = 1.0 / 200.0
"""Share of the flush limit that the tail has to have moved by for its density to be seen from that."""


class Tail(Struct, frozen=True):
    """What is known of the pages that are flushed next.

    Attributes:
        ledger: pages by the redo position at which they were dirtied.
        due: share of the ledger's pages that are flushed still when the tail passes them.
        beside: pages flushed as neighbours that may be in the list still, where the server leaves them there.
        density: dirty pages per redo byte at the tail.
    """

    ledger: Ledger = Ledger()
    due: float = 1.0
    beside: float = 0.0
    density: float = 0.0

    @classmethod
    def at(cls, sample: Sample) -> Tail:
        """Return what is known of it after a first reading: where it is."""
        return cls(ledger=_added(Ledger(), sample, 0.0))

    def follow(self, sample: Sample, last: Sample, *, dirtied: int, lists_written: bool) -> Tail:
        """Return it with the pages that were dirtied since the last reading.

        Args:
            sample: the new reading.
            last: the one before.
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
            sample: the new reading.
            pages: flushed of late.
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
        self, sample: Sample, found: Estimate, seconds: float, *, flushed_share: float = 1.0
    ) -> float:
        """Return the modified age that the present M leads to, bytes, walking the tail through the ledger.

        ``flushed_share`` is what is flushed of what is asked for where batches end early, 0 to 1.
        Without a ledger that reaches the tail the present slope is drawn out. What is flushed beyond all that
        is dirty now is dirtied meanwhile.
        """
        if not self.covers(sample):
            return max(0.0, found.modified_age + found.age_slope * seconds)
        capped = sample.flush_requested >= CAPPED_SHARE * sample.io_capacity_max
        full = float(sample.io_capacity_max) * min(flushed_share, found.authority)
        rate = full if capped else min(full, found.flush_rate)
        pages, written = rate * seconds, found.redo_rate * seconds
        reached = self.ledger.after(sample.lsn_oldest, pages / self.due)
        beyond = pages - self.due * self.ledger.between(sample.lsn_oldest, sample.lsn_current)
        if beyond > 0:
            reached += min(written, beyond / found.new_density) if found.new_density > 0 else written
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
            return pages / passed
        if self.density > 0:
            return self.density
        return sample.pages_dirty / sample.modified_age if sample.modified_age > 0 else 0.0


def _added(ledger: Ledger, sample: Sample, pages: float) -> Ledger:
    return ledger.add(
        lsn=sample.lsn_current, new_pages=pages, oldest=sample.lsn_oldest, flush_limit=sample.flush_limit
    )
