"""The policy that always wants the same M: the honest base case."""

from __future__ import annotations

from dataclasses import dataclass

from policies.types import Proposal, Situation


@dataclass(frozen=True, slots=True)
class Fixed:
    """Hold one value of M, pages/s."""

    io_capacity_max: int
    name: str = "fixed"

    def start(self) -> None:
        """Return no state: there is nothing to remember."""

    def propose(self, state: None, situation: Situation) -> tuple[None, Proposal]:
        """Return the value it was made with."""
        wanted = float(self.io_capacity_max)
        return state, Proposal(
            wanted, {"fixed": wanted}, act=situation.io_capacity_max != self.io_capacity_max
        )

    def wrote(self, state: None, io_capacity_max: int) -> None:
        """Forget what was written."""

    def resumed(self, state: None, now: float) -> None:
        """Remember nothing."""
