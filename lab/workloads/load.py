"""Which load: kind, keys, size, closed (it waits for answers) or open; and its course over time.

The load as given is a course's highest level, so that a course never asks for more than what was chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Distribution = Literal["uniform", "zipf", "special"]

OLTP = ("write_only", "update_index", "update_non_index", "read_write")
"""Kinds that sysbench ships, on its tables ``sbtest1`` and so on."""

MIXED = ("read_mostly",)
"""Kinds of our own on sysbench's tables, with its keys; their reads are timed apart."""

OWN = ("many_indexes", "tpcc")
"""Kinds with scripts of our own, which draw their keys by rules of their own."""

KINDS = (*OLTP, *MIXED, *OWN)


@dataclass(frozen=True, slots=True)
class Load:
    """Which load.

    Attributes:
        kind: ``write_only``, ``update_index``, ``update_non_index`` and ``read_write`` are sysbench's;
            ``read_mostly`` is four point reads to one of the updates of ``update_non_index``, each a
            transaction of its own, in random order;
            ``many_indexes`` inserts a row a transaction into one table with six wide secondary indexes over
            random values; ``tpcc`` is a mix after TPC-C, without its think times, so its numbers compare with
            nobody's tpmC.
        distribution: how often which row is touched. ``zipf`` has the exponent 0.8 and lets low ids be the
            frequent ones, as ``--rand-type=zipfian`` of later sysbench does; ``special`` gives three quarters
            of the draws to the middle hundredth of the rows.
        tables: number of tables; warehouses for ``tpcc``; without meaning for ``many_indexes``.
        rows: rows per table at the start; for ``tpcc`` rows per warehouse, 500,000 being the standard's size.
        threads: connections at work; ``many_indexes`` always has one, whatever is given.
        rate: offered transactions per second; 0 is a closed load, as many as the server lets through.

    Raises:
        ValueError: a value is out of its range.
    """

    kind: str = "update_non_index"
    distribution: Distribution = "uniform"
    tables: int = 4
    rows: int = 400_000
    threads: int = 16
    rate: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"load kind {self.kind!r} is unknown: one of {', '.join(KINDS)}")
        if self.distribution not in get_args(Distribution):
            known = ", ".join(get_args(Distribution))
            raise ValueError(f"load distribution {self.distribution!r} is unknown: one of {known}")
        if self.kind in OWN and self.distribution != "uniform":
            raise ValueError(
                f"load {self.kind} draws its keys by its own rules: leave its distribution uniform,"
                f" not {self.distribution}"
            )
        for name, value, least in (
            ("tables", self.tables, 1),
            ("rows", self.rows, 1),
            ("threads", self.threads, 1),
            ("rate", self.rate, 0),
        ):
            if value < least:
                raise ValueError(f"load {name} is {value}: at least {least}")
        if self.kind == "many_indexes":
            object.__setattr__(self, "threads", 1)  # one inserting thread is what this load is about

    @property
    def script(self) -> str:
        """Name of the sysbench test behind it, as the field knows it."""
        return f"oltp_{self.kind}" if self.kind in OLTP else self.kind

    def __str__(self) -> str:
        """Return the load in words."""
        offered = f"{self.rate} transactions/s offered" if self.rate else "as many transactions as go through"
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.script}, {self.distribution}, {threads}, {offered}"


LOW = 0.5
BURST_SHARE = 0.2
NIGHT = 0.3
HOURS = 24
PERIOD = 240.0
SHORTEST = 2.0
"""Seconds. A phase's first report comes a second after its start."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A while at one level.

    Attributes:
        seconds: how long.
        threads: connections at work.
        rate: offered transactions per second; 0 is a closed load.

    Raises:
        ValueError: it is too short.
    """

    seconds: float
    threads: int
    rate: int

    def __post_init__(self) -> None:
        if self.seconds < SHORTEST:
            raise ValueError(
                f"a phase of {self.seconds:g} s is too short to be reported: at least {SHORTEST:g} s"
            )

    def of(self, load: Load) -> Load:
        """Return the load at this level."""
        return replace(load, threads=self.threads, rate=self.rate)

    def __str__(self) -> str:
        """Return the level in words."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"{self.rate} transactions/s offered" if self.rate else f"{threads}, as much as goes through"


def steady(load: Load, period: float = PERIOD) -> tuple[Phase, ...]:
    """Return the load as it is, all the time."""
    return (Phase(period, load.threads, load.rate),)


def step(load: Load, period: float = PERIOD, low: float = LOW) -> tuple[Phase, ...]:
    """Return half a period at ``low`` times the load, half a period at the load.

    Raises:
        ValueError: the period is too short, or the load has no lower level.
    """
    return (_level(load, period / 2, low), _level(load, period / 2, 1.0))


def burst(
    load: Load, period: float = PERIOD, low: float = LOW, share: float = BURST_SHARE
) -> tuple[Phase, ...]:
    """Return a long while at ``low`` times the load, then for ``share`` of the period the load itself.

    Raises:
        ValueError: the period is too short, or the load has no lower level.
    """
    return (_level(load, period * (1.0 - share), low), _level(load, period * share, 1.0))


def daily(load: Load, period: float = PERIOD, low: float = NIGHT) -> tuple[Phase, ...]:
    """Return a day in 24 steps, from a night at ``low`` times the load to the load at noon and back.

    Args:
        load: the load at noon.
        period: how long the day lasts, seconds.
        low: the night's share.

    Raises:
        ValueError: the period is too short, or the load has no lower level.
    """
    depth = (1.0 - low) / 2.0
    shares = (1.0 - depth * (1.0 + math.cos(2.0 * math.pi * hour / HOURS)) for hour in range(HOURS))
    return tuple(_level(load, period / HOURS, share) for share in shares)


COURSES: Mapping[str, Callable[[Load, float], tuple[Phase, ...]]] = {
    "steady": steady,
    "step": step,
    "burst": burst,
    "daily": daily,
}
"""By name: what makes the phases of a load and a period in seconds."""


def _level(load: Load, seconds: float, share: float) -> Phase:
    if not 0.0 < share <= 1.0:
        raise ValueError(f"a level of {share:g} times the load is out of range: above 0 and at most 1")
    if load.rate:
        return Phase(seconds, load.threads, max(1, round(load.rate * share)))
    if load.threads == 1 and share < 1.0:
        raise ValueError(
            f"a closed load of one thread ({load.kind}) has no lower level: give it a rate or more threads"
        )
    return Phase(seconds, max(1, round(load.threads * share)), 0)
