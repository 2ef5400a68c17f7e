"""What the outer loop is at, for whoever watches."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from policies.types import Suggestion


class OptimiserPhase(StrEnum):
    """What the outer loop does at a tick."""

    BARRED = "barred"
    RESTING = "resting"
    ASKING = "asking"
    TRIAL = "trial"


class InUse(Struct, frozen=True):
    """A suggestion that won its trial, and by how much: ln of the figure of merit, with its bounds.

    Attributes:
        suggestion: what the loop goes by.
        gain: mean over the analytic set-point.
        low: lower bound of confidence.
        high: upper bound.
    """

    suggestion: Suggestion
    gain: float
    low: float
    high: float


class OptimiserProgress(Struct, frozen=True):
    """How far the outer loop is.

    Attributes:
        phase: what it does.
        why: what keeps it from a trial; empty while nothing does.
        number: of the trial that is under way, or asked for; of the last one otherwise.
        blocks: blocks of it that have ended.
        most_blocks: blocks that it takes at most.
        trying: what is tried.
        suggested: the present block is a suggested one.
        in_use: what won and suits the load; None where the analytic set-point is held.
        known: trials that are remembered.
        rest_seconds: until the next one may begin.
    """

    phase: OptimiserPhase
    why: str = ""
    number: int = 0
    blocks: int = 0
    most_blocks: int = 0
    trying: Suggestion | None = None
    suggested: bool = False
    in_use: InUse | None = None
    known: int = 0
    rest_seconds: float = 0.0


class OptimiserHealth(Struct, frozen=True):
    """How the optimiser's process is.

    Attributes:
        state: off, asleep, thinking or dead.
        why: of its last death; empty before the first.
        until: when a dead one is started again, Unix time; None for others.
        deaths: since the daemon started.
    """

    state: str = "off"
    why: str = ""
    until: float | None = None
    deaths: int = 0
