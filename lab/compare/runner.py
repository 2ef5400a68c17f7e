"""Carries out runs side by side, each once: rows are kept, and none begins that would end too late."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from lab.compare.task import Row, Task, carry_out
from lab.scenarios.progress import Progress, nobody
from lab.scenarios.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

    from lab.bench.ledger import Ledger
    from lab.scenarios.progress import Told

HOUR = 3600.0

FIRST_GUESS = {"policy": 4.0, "static": 1.5, "pieces": 1.5, "untouched": 1.5}
"""Seconds that a simulated hour is taken to last before one was seen, by kind of run."""

WORSE = 1.3
"""So much longer than the longest so far may a run take."""


class TimeUpError(Exception):
    """The time is up; the message says what is left, where only that is, and how long another run may take.

    Attributes:
        needs: how long it may take, in seconds.
    """

    def __init__(self, needs: float, left: str = "") -> None:
        super().__init__(f"{f'{left}; ' if left else ''}another run may take {_said(needs)}")
        self.needs = needs


class Runner:
    """Runs tasks, and remembers what they came to."""

    def __init__(
        self, ledger: Ledger, *, jobs: int, seconds: float = math.inf, progress: Told = nobody
    ) -> None:
        """Start nothing yet.

        Args:
            ledger: finished rows, of this and of earlier parts.
            jobs: processes.
            seconds: no run begins that would end later than so long from now.
            progress: told how far a set of runs is.
        """
        self._ledger = ledger
        self._rows = {str(row["key"]): row for row in ledger.rows}
        self._end = time.monotonic() + seconds
        self._progress = progress
        self._jobs = jobs
        self._lasted: dict[tuple[str, str], float] = {}
        for row in ledger.rows:  # of the machine as it was, which others may have slowed down
            self._learn(row, row["processor_seconds"])
        self._seconds = self._before = 0.0
        self._stage, self._whole, self._vague = "", 1.0, False
        self._runs: Runs[Task, Row] = Runs(carry_out, workers=jobs, told=self._told)

    def __enter__(self) -> Self:
        """Return itself."""
        self._runs.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the processes, at once where something went wrong."""
        self._runs.__exit__(kind, error, trace)

    def row(self, task: Task) -> Row | None:
        """Return the row of a task, None while it has none."""
        return self._rows.get(task.key)

    def stage(self, words: str, *, seconds: float, vague: bool = False) -> None:
        """Say what the next runs are.

        Args:
            words: for people.
            seconds: simulated seconds of all of them.
            vague: there may be fewer.
        """
        self._stage, self._whole, self._vague = words, max(1.0, seconds), vague
        self._before = self._seconds

    def done(self, tasks: Sequence[Task]) -> list[Row]:
        """Return the rows of some tasks, in their order; runs those that have none yet.

        Raises:
            TimeUpError: some have none, as they would end too late; the others have been run.
            SimulateError: a run would take for ever.
            KeyboardInterrupt: Ctrl-C.
        """
        asked = {task.key: task for task in tasks}
        late: list[Task] = []

        def to_do() -> Iterator[str]:
            for key, task in asked.items():
                if key in self._rows:
                    continue
                if self.in_time(task):
                    yield key
                else:
                    late.append(task)

        for key, row in self._runs.each(to_do(), asked.__getitem__):
            self._ledger.add(row)
            self._rows[key] = row
            self._learn(row, row["wall_seconds"])
        if late:
            raise TimeUpError(max(self.expected_seconds(task) for task in late))
        return [self._rows[task.key] for task in tasks]

    def in_time(self, task: Task) -> bool:
        """Return whether a run that begins now would end in time."""
        return time.monotonic() + self.expected_seconds(task) <= self._end

    def expected_seconds(self, task: Task) -> float:
        """Return how long a run may take: by the longest of its kind and scenario, else of its kind."""
        known = self._lasted.get((task.kind, task.scenario.name)) or self._lasted.get((task.kind, ""))
        rate = FIRST_GUESS[task.kind] / HOUR if known is None else WORSE * known
        return rate * task.scenario.seconds

    def left_seconds(self, tasks: Sequence[Task]) -> float:
        """Return about how long the runs of these tasks take that have no row yet."""
        return sum(self.expected_seconds(one) for one in tasks if self.row(one) is None) / self._jobs

    def _learn(self, row: Row, lasted: float) -> None:
        rate = lasted / row["seconds"]
        for key in ((row["kind"], row["scenario"]), (row["kind"], "")):
            self._lasted[key] = max(rate, self._lasted.get(key, 0.0))

    def _told(self, _done: int, seconds: float) -> None:
        self._seconds = seconds
        share = (seconds - self._before) / self._whole
        self._progress(Progress(self._stage, min(1.0, share), at_least=self._vague))


def _said(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 1.0:
        return "less than 1 s"
    return f"{seconds:.0f} s" if seconds < 120.0 else f"{math.ceil(seconds / 60.0)} min"  # noqa: PLR2004 - reads better
