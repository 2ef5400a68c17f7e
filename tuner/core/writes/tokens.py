"""A token bucket for the changes that the hourly budget allows: a law does not spend them all at once.

The budget says how many changes an hour takes at most, and not when. A law that spends them in ten minutes
has none left for the other fifty. So each of its own changes takes a token from a bucket that holds a third
of the budget and refills at the pace that the budget allows for good. A law that has emptied it saves until
it is full again. Emergencies take no token: they are nobody's choice.
"""

from __future__ import annotations

from msgspec import Struct

HOUR = 3600.0

DEPTH = 1.0 / 3.0
"""Of a full bucket, share of the hourly budget."""


def depth(budget: int) -> float:
    """Return the tokens that a full bucket holds, of a budget of so many changes an hour."""
    return max(1.0, DEPTH * budget)


class TokenBucket(Struct, frozen=True):
    """How full it is.

    Attributes:
        lacking: tokens that it lacked until it was full.
        at: when that was so, monotonic seconds.
        saving: it was empty, and has not been full since.
    """

    lacking: float = 0.0
    at: float = 0.0
    saving: bool = False

    def lacks(self, *, now: float, budget: int) -> float:
        """Return the tokens that it lacks until it is full."""
        return max(0.0, self.lacking - (now - self.at) * budget / HOUR)

    def left(self, *, now: float, budget: int) -> int:
        """Return the whole tokens that are in it."""
        return int(depth(budget) - self.lacks(now=now, budget=budget))

    def pay(self, *, now: float, budget: int) -> TokenBucket:
        """Return the bucket with one token less in it; an empty one stays empty."""
        full = depth(budget)
        lacking = min(full, self.lacks(now=now, budget=budget) + 1.0)
        return TokenBucket(
            lacking=lacking, at=now, saving=self.saves(now=now, budget=budget) or lacking >= full
        )

    def saves(self, *, now: float, budget: int) -> bool:
        """Tell whether the law has to save."""
        return self.saving and self.lacks(now=now, budget=budget) > 0.0
