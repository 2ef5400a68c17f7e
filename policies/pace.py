"""The policy for servers on which M does not move the age: it raises an M that is too low, and nothing else.

Too low is one with which the age runs on, and one below what the server was found with, as an override or an
earlier park leaves it.

There the server flushes next to nothing below the flush limit, and up to M pages a second beyond it, as
fast as it can where that is not enough (MariaDB with ``innodb_max_dirty_pages_pct_lwm`` = 0;
storage/innobase: mtr/mtr0mtr.cc ``log_close``, buf/buf0flu.cc ``buf_flush_page_cleaner``). Below the demand
the age goes on growing, to where writers wait. Above it no M is lowered: a page cleaner that is done soon
sleeps again, and the pages that many commits change meanwhile are written once. With a lower M it may never
get to its low-water mark, and write each of them again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

from policies.types import Proposal, Situation

AIM = 1.35  # M after a raise over M before, and of a park over the demand
FULL = 0.97  # Share of M from which on all of it is flushed

FULL_SECONDS = 15.0
"""How long that has to last, with an age that grows beyond the flush limit, before M is raised."""


@dataclass(frozen=True, slots=True)
class PaceState:
    """What is remembered between ticks."""

    # since when all of M is flushed and the age grows, seconds; None while it is not so
    full_since: float | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """Raise an M that is too low."""

    name: str = "pace"

    def start(self) -> PaceState:
        """Return the state before the first tick."""
        return PaceState()

    def propose(self, state: PaceState, situation: Situation) -> tuple[PaceState, Proposal]:
        """Return the M that keeps up, and whether it is worth a write."""
        current = float(situation.io_capacity_max)
        if current < situation.baseline_m:
            return PaceState(), Proposal(float(situation.baseline_m), {"found_with": situation.baseline_m})
        full = situation.flush_rate >= FULL * current
        if not full or situation.age_ratio < 1.0 or situation.age_slope <= 0.0:
            return PaceState(), Proposal(current, {"full_seconds": 0.0}, act=False)
        since = situation.now if state.full_since is None else state.full_since
        lasted = situation.now - since
        act = lasted >= FULL_SECONDS
        return PaceState(since), Proposal(
            AIM * current if act else current, {"full_seconds": lasted}, act=act
        )

    def wrote(self, state: PaceState, io_capacity_max: int) -> PaceState:  # noqa: ARG002 - the protocol's
        """Wait anew."""
        return PaceState()

    def resumed(self, state: PaceState, now: float) -> PaceState:  # noqa: ARG002 - the protocol's
        """Wait anew."""
        return PaceState()
