"""What every load at work can be asked, whatever drives it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self

from lab.workloads.reports import EVER, Reports

if TYPE_CHECKING:
    from types import TracebackType

    from lab.workloads.histogram import Histogram
    from lab.workloads.parse import Second


class LoadRun(ABC):
    """A load, started on entry and ended on exit; its seconds can be read at any time."""

    def __init__(self, reports: Reports | None = None) -> None:
        """Take where its seconds go, None for a place of its own."""
        self._reports = Reports() if reports is None else reports

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def start(self, seconds: float | None = None) -> None:
        """Start and return at once; with ``seconds`` it ends by itself after so many."""

    @abstractmethod
    def stop(self, seconds: float = 5.0) -> None:
        """End it within so many seconds, by force if need be; safe to call twice."""

    @abstractmethod
    def running(self) -> bool:
        """Return whether it is at work."""

    @abstractmethod
    def output(self) -> str:
        """Return why it ended, where it did so by itself, and what sysbench last printed besides reports."""

    @abstractmethod
    def events(self) -> list[tuple[float, str]]:
        """Return when the load changed, monotonic seconds, and to what."""

    def seconds(self, since: float = 0.0, until: float = EVER) -> list[Second]:
        """Return the seconds reported after ``since`` and up to ``until``, monotonic seconds."""
        return self._reports.seconds(since, until)

    def longest_queue(self, since: float = 0.0, until: float = EVER) -> int:
        """Return the most transactions that waited at the end of a second; 0 for a closed load.

        Args:
            since: from after this time on, monotonic seconds.
            until: up to this time.
        """
        return self._reports.longest_queue(since, until)

    def latency(self, since: float = 0.0, until: float = EVER) -> Histogram | None:
        """Return the latencies of the transactions that ended in a span of reported seconds.

        Args:
            since: from after this time on, monotonic seconds.
            until: up to this time.

        Returns:
            None when no transaction ended in it.
        """
        return self._reports.latency(since, until)

    def read_latency(self, since: float = 0.0, until: float = EVER) -> Histogram | None:
        """Return the latencies of the reads among them.

        Args:
            since: from after this time on, monotonic seconds.
            until: up to this time.

        Returns:
            None when none ended in it, or the load does not tell its reads apart.
        """
        return self._reports.read_latency(since, until)

    def wait_seconds(self, count: int, limit: float) -> list[Second]:
        """Return once so many seconds have been reported.

        Raises:
            LabServerError: the load ended, or they did not come within ``limit`` seconds.
        """
        return self._reports.wait(count, limit, self.running, self.output)
