"""The ledger of what was saved since activation, and the minute that is under way."""

from __future__ import annotations

import math

from msgspec import Struct

from tuner.core.estimate.load import PRIOR, PRIOR_ERROR
from tuner.core.savings.tried import Tried

MIB, GIB = 1 << 20, 1 << 30


class Savings(Struct, frozen=True):
    """The ledger; pages, negative where more were written than the settings found would have."""

    since: float = 0.0  # Unix time of the first minute that counts; 0 before
    seconds: float = 0.0  # that our values were in force, all in all
    written: float = 0.0  # pages that became dirty in that time
    least: float = 0.0  # pages saved at least
    likely: float = 0.0  # the likeliest number of them
    most: float = 0.0  # pages saved at most
    exponent: float = PRIOR  # b between our ages and that of the settings found, as it was known best
    error: float = PRIOR_ERROR  # its standard error
    told: float = 0.0  # Unix time of the last weekly line; 0 before

    @property
    def valid(self) -> bool:
        """Tell whether what was kept can be true."""
        numbers = (getattr(self, name) for name in self.__struct_fields__)
        ordered = self.least <= self.likely <= self.most
        return (
            all(map(math.isfinite, numbers)) and ordered and min(self.seconds, self.written, self.error) >= 0
        )

    def share(self, saved: float) -> float:
        """Return pages saved over all that the settings found would have written; 0 where that is none."""
        whole = self.written + saved
        return saved / whole if whole > 0.0 else 0.0


class Block(Struct, frozen=True):
    """A minute under way: the counters as it began, and the ages since."""

    at: float  # monotonic time, seconds
    uptime: float  # of the server, seconds
    lsn: int
    rows: int  # row changes
    flushed: int  # pages
    dirty: int  # pages
    last: float  # monotonic time of the last reading, seconds
    readings: int = 0
    log_ratios: float = 0.0  # sum of ln(age ratio)


class SavingsState(Struct, frozen=True):
    """What is remembered; a block under way ends with its run."""

    total: Savings = Savings()
    block: Block | None = None
    tried: tuple[Tried, ...] = ()  # what trials against the baseline showed, the newest at the end


def said(total: Savings, *, page_size: int) -> str:
    """Return the ledger in words, as GiB or MiB of pages."""
    largest = max(abs(total.least), abs(total.most), total.written) * page_size
    unit, name = (GIB, "GiB") if largest >= GIB else (MIB, "MiB")
    times = page_size / unit
    sign, did = (1.0, "saved") if total.likely >= 0.0 else (-1.0, "cost")
    low, high = (total.least, total.most) if sign > 0.0 else (total.most, total.least)
    likely, least, most = (f"{sign * one * times:z,.1f}" for one in (total.likely, low, high))
    shares = [f"{100.0 * sign * total.share(one):z.0f}" for one in (total.likely, low, high)]
    share = f"{shares[0]} % ({shares[1]} to {shares[2]} %) of what the originals would have written"
    days = total.seconds / 86_400.0
    minutes = round(total.seconds / 60.0)
    length = f"{days:.1f} days" if days >= 1.0 else f"{minutes} minute{'' if minutes == 1 else 's'}"
    saved = f"{did} {likely} {name} ({least} to {most}) of page writes"
    return f"{saved} in {length} with InnoBrim's values: {share}"
