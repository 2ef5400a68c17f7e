"""How scarce the changes are that the hourly budget allows: a purse that fills as the hour goes on.

The budget says how many changes an hour takes at most, and not when. A law that spends them in ten minutes
has none left for the other fifty. So its changes are paid from a purse that holds a third of the budget and
fills at the pace that the budget allows for good. Whoever has emptied it saves until it is full again.
Emergencies are not paid for: they are nobody's choice.
"""

from __future__ import annotations

from msgspec import Struct

HOUR = 3600.0

HOLDS = 1.0 / 3.0
"""What the purse holds, share of the hourly budget."""


def holds(budget: int) -> float:
    """Return the changes that a full purse holds, of so many an hour."""
    return max(1.0, HOLDS * budget)


class Purse(Struct, frozen=True):
    """What is in it.

    Attributes:
        lacking: changes that it lacked until it was full.
        at: when that was so, monotonic seconds.
        saving: it was empty, and has not been full since.
    """

    lacking: float = 0.0
    at: float = 0.0
    saving: bool = False

    def lacks(self, *, now: float, budget: int) -> float:
        """Return the changes that it lacks until it is full."""
        return max(0.0, self.lacking - (now - self.at) * budget / HOUR)

    def left(self, *, now: float, budget: int) -> int:
        """Return the whole changes that are in it."""
        return int(holds(budget) - self.lacks(now=now, budget=budget))

    def pay(self, *, now: float, budget: int) -> Purse:
        """Return the purse with one change less in it; an empty one stays empty."""
        full = holds(budget)
        lacking = min(full, self.lacks(now=now, budget=budget) + 1.0)
        return Purse(lacking=lacking, at=now, saving=self.saves(now=now, budget=budget) or lacking >= full)

    def saves(self, *, now: float, budget: int) -> bool:
        """Tell whether the law has to save."""
        return self.saving and self.lacks(now=now, budget=budget) > 0.0
