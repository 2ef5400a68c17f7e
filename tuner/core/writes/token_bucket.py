"""A token bucket for the changes that the hourly budget allows: a policy does not spend them all at once.

The budget says how many changes an hour takes at most, and not when. A policy that spends them in ten minutes
has none left for the other fifty. So each of its own changes takes a token from a bucket that holds a third
of the budget and refills at the pace that the budget allows for good. A policy that has emptied it saves
until it is full again. Emergencies take no token: they are nobody's choice.
"""

from __future__ import annotations

from msgspec import Struct

HOUR = 3600.0

DEPTH = 1.0 / 3.0  # Of a full bucket, share of the hourly budget


def depth(budget: int) -> float:
    """Return the tokens that a full bucket holds, of a budget of so many changes an hour."""
    return max(1.0, DEPTH * budget)


class TokenBucket(Struct, frozen=True):
    """How full it is."""

    missing: float = 0.0  # tokens until it was full
    at: float = 0.0  # when that was so, monotonic seconds
    exhausted: bool = False  # it was empty, and has not been full since

    def until_full(self, *, now: float, budget: int) -> float:
        """Return the tokens that are missing until it is full."""
        return max(0.0, self.missing - (now - self.at) * budget / HOUR)

    def tokens(self, *, now: float, budget: int) -> int:
        """Return the whole tokens that are in it."""
        return int(depth(budget) - self.until_full(now=now, budget=budget))

    def take(self, *, now: float, budget: int) -> TokenBucket:
        """Return the bucket with one token less in it; an empty one stays empty."""
        full = depth(budget)
        missing = min(full, self.until_full(now=now, budget=budget) + 1.0)
        exhausted = self.is_exhausted(now=now, budget=budget) or missing >= full
        return TokenBucket(missing=missing, at=now, exhausted=exhausted)

    def is_exhausted(self, *, now: float, budget: int) -> bool:
        """Tell whether it is to be full again before the policy spends freely."""
        return self.exhausted and self.until_full(now=now, budget=budget) > 0.0
