"""What every policy takes and gives.

Units: ages and capacities in bytes, rates in bytes/s or pages/s, times in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

StateT = TypeVar("StateT")

HIGHEST_M = 1e12  # No server takes a larger M; keeps what is remembered finite, pages/s


class Situation(NamedTuple):
    """What a policy may know about the server at one tick."""

    now: float  # seconds on the tick's monotonic clock
    age: float  # modified age, bytes
    flush_limit: float  # A, the age that the flush law divides by, bytes
    sync_point: float  # modified age where sync flushing starts, bytes
    set_point: float  # f, the age ratio to hold
    redo_rate: float  # R, smoothed, bytes/s
    age_slope: float  # smoothed growth of the modified age, bytes/s
    demand: float  # P, pages/s that hold the age still now
    horizon: float  # seconds that an error may take to go; see ``horizon``
    age_ahead: float  # modified age at the end of the horizon if M stays as it is, bytes
    # dirty pages to flush within ``horizon`` so that the age ends at the set-point; 0 when it must grow
    pages_due: float
    combining_exponent: float  # b, 0 to 1
    new_density: float  # pages newly dirtied per redo byte
    flush_response: float  # redo that the load gives up for each page flushed, bytes
    flush_rate: float  # F, flush-list pages/s really flushed, smoothed
    authority: float  # pages flushed per page the law asked for; 1 when unknown
    io_capacity_max: int  # M in force, as the flush law has it: C * (M // C), pages/s
    # False where the server is busy with something else than its load, so that averages of what the load is
    # like stay as they are
    learns: bool = True
    hold_gain: float = 1.0  # factor on the policy's own gain while holding, for policies that have one
    # set-point before this tick where it was moved on purpose, to be followed at once; else 0
    moved_from: float = 0.0
    saving: bool = False  # changes are scarce: only those are to be made that are worth one
    steady: bool = False  # the load has been steady for long, so that a small error is one
    coupling: float = 0.0  # pages that the load dirties less for each page flushed more; 0 for an open load
    baseline_m: int = 0  # M of the baseline settings, pages/s; 0 for unknown

    @property
    def age_ratio(self) -> float:
        """Return x, the modified age over the flush limit."""
        return self.age / self.flush_limit

    @property
    def error(self) -> float:
        """Return the age ratio above (positive) or below the set-point."""
        return self.age_ratio - self.set_point

    @property
    def error_ahead(self) -> float:
        """Return the error that the present M leads to at the end of the horizon."""
        return self.age_ahead / self.flush_limit - self.set_point

    def answered(self, rate: float) -> float:
        """Return the F that does to the age what ``rate`` would do to it under a load that takes no notice.

        A closed load shares its device with the flushing: a page more that is flushed is also ``coupling``
        pages less that are made dirty.
        """
        return self.flush_rate + (rate - self.flush_rate) / (1.0 + self.coupling)


def horizon(*, set_point: float, flush_limit: float, redo_rate: float) -> float:
    """Return the seconds that a correction is given: half a residence time, 10 s to 10 minutes.

    Half a residence time is as far as the ledger of dirty pages surely reaches.
    """
    if redo_rate <= 0:
        return 600.0
    return min(600.0, max(10.0, 0.5 * set_point * flush_limit / redo_rate))


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a policy would set, and the terms it came from."""

    io_capacity_max: float  # wanted M in pages/s, not yet rounded or bounded
    terms: dict[str, float]  # named parts of the answer, for the record
    act: bool = True  # False when the policy is content with the value in force
    saves: bool = False  # it rests at one M, because changes are scarce


class Policy(Protocol[StateT]):
    """A policy with a state of its own. It never raises on finite input."""

    @property
    def name(self) -> str:
        """Return the name that the policy is asked for by."""
        ...

    def start(self) -> StateT:
        """Return the state before the first proposal."""
        ...

    def propose(self, state: StateT, situation: Situation) -> tuple[StateT, Proposal]:
        """Return the next state and the proposal for this tick."""
        ...

    def wrote(self, state: StateT, io_capacity_max: int) -> StateT:
        """Tell the policy which M really went into force, so that it cannot wind up."""
        ...

    def resumed(self, state: StateT, now: float) -> StateT:
        """Return a state that was put aside, as it goes on at a later time; its averages stay."""
        ...


@dataclass(frozen=True, slots=True)
class LoadContext:
    """What the load is like: evidence of one context says nothing about another."""

    redo_rate: float  # R, bytes/s
    row_bytes: float  # redo for each row change, bytes
    # share of the LRU in the pages flushed, 0 to 1; what reads that miss the buffer pool bring
    lru_share: float
    concurrency: float  # writing statements under way on average; 0 where the server does not show it
    flush_limit: float  # A, bytes
    # SELECT statements for each that reads or changes rows, 0 to 1; None where the server does not show it,
    # and in what was remembered before it was read
    read_share: float | None = None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What an optimiser may move, and nothing else."""

    offset: float = 0.0  # added to the analytic set-point, as an age ratio
    margin_share: float = 1.0  # share of the usual margin below headroom and alarm that the age may wander in
    hold_gain: float = 1.0  # factor on the policy's gain while holding


ANALYTIC = Suggestion()  # What the loop does without an optimiser


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one suggestion."""

    suggestion: Suggestion  # what was tried
    context: LoadContext  # the load that it was tried under, averaged
    gain: float  # ln of the figure of merit over that of the analytic set-point, mean; negative: worse
    error: float  # standard error of that
    at: float  # when it ended, Unix time in seconds
