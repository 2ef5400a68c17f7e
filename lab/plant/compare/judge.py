"""How far the plant is off: one real row beside its twin, and how many rows keep what is promised; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from lab.plant.compare.response import seconds_to_63
from lab.report.rows import Row

AGE_WITHIN = 0.05
THROUGHPUT_WITHIN = 0.10
RESPONSE_WITHIN = 0.25
SYNC_M = 100
"""The M, pages/s, at which sync flushing does the work."""

SCARCE = 0.1
"""Idle share of the processors' time below which a row judges them and not the disk; the plant has none."""


class Both(Struct, frozen=True):
    """One figure of a real row and of its twin; None where it is not known."""

    real: float | None
    plant: float | None

    @property
    def difference(self) -> float | None:
        """Return by how much the plant is above the real one."""
        return None if self.real is None or self.plant is None else self.plant - self.real

    @property
    def share(self) -> float | None:
        """Return the same as a share of the real one; None where that is 0."""
        return None if self.difference is None or not self.real else self.difference / self.real


class Compared(Struct, frozen=True):
    """A real row and its twin.

    Attributes:
        real: measured.
        plant: simulated under the same conditions.
        fitted: the parameters were fitted on this row among others.
        fresh: it was the first on its server.
    """

    real: Row
    plant: Row
    fitted: bool = False
    fresh: bool = False

    @property
    def judges(self) -> bool:
        """Tell whether it counts: not fitted on, at work before, and with processors left."""
        return not self.fitted and not self.fresh and not self.crowded

    @property
    def crowded(self) -> bool:
        """Tell whether the processors of the real server's machine were used up; not where nobody looked."""
        idle = self.real.figure("machine_idle")
        return idle is not None and idle < SCARCE

    def figure(self, name: str) -> Both:
        """Return a figure by its name in the rows."""
        return Both(self.real.figure(name), self.plant.figure(name))

    def per_second(self, name: str) -> Both:
        """Return a count of the counted seconds as so many a second."""
        return Both(_rate(self.real, name), _rate(self.plant, name))

    @property
    def setting(self) -> str:
        """Return C/M."""
        return f"{self.real.io_capacity}/{self.real.io_capacity_max}"

    @property
    def throughput(self) -> Both:
        """Return commits/s."""
        return self.figure("commits_mean")

    @property
    def age(self) -> Both:
        """Return the equilibrium age ratio."""
        return self.figure("age_ratio_mean")

    @property
    def response(self) -> Both:
        """Return the seconds to 63 % of the age's way; None where it went hardly any."""
        return Both(seconds_to_63(self.real.series), seconds_to_63(self.plant.series))


class Promise(Struct, frozen=True):
    """Something that issue and documents promise of the plant.

    Attributes:
        title: in words, with the bound.
        error: of a row, as what the bound is on; None where the row cannot judge it.
        bound: largest error that keeps it.
    """

    title: str
    error: Callable[[Compared], float | None]
    bound: float

    def errors(self, rows: Sequence[Compared]) -> list[float]:
        """Return the errors of the rows that judge it."""
        return [error for row in rows if row.judges and (error := self.error(row)) is not None]

    def kept(self, rows: Sequence[Compared]) -> int:
        """Return how many of the rows that judge it keep it."""
        return sum(abs(error) <= self.bound for error in self.errors(rows))


def _response_error(row: Compared) -> float | None:
    """Return the error of the seconds to 63 %; a step that only the real server made is wholly wrong."""
    both = row.response
    if both.real is None:
        return None
    return 1.0 if both.share is None else both.share


PROMISES = (
    Promise("age ratio within 0.05", lambda row: row.age.difference, AGE_WITHIN),
    Promise("throughput within 10 %", lambda row: row.throughput.share, THROUGHPUT_WITHIN),
    Promise("seconds to 63 % within 25 %", _response_error, RESPONSE_WITHIN),
)


def _rate(row: Row, name: str) -> float | None:
    found, seconds = row.figure(name), row.figure("seconds")
    return None if found is None or not seconds else found / seconds
