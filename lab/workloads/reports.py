"""What a load has reported so far: filled by the thread that reads sysbench, asked by any other."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from lab.servers.base import LabServerError
from lab.workloads.histogram import Histogram, merged
from lab.workloads.parse import Report, Second, parse_buckets, parse_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EVER = float("inf")
TAIL_LINES = 20


class Reports:
    """The seconds of one load, or of several one after another, and what else they printed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._reports: list[Report] = []
        self._tail: list[str] = []

    def add(self, line: str, now: float) -> Report | None:
        """Take in a line that arrived at ``now``, monotonic seconds; return its report, if it is one."""
        report = parse_report(line, now)
        with self._changed:
            if report is not None:
                self._reports.append(report)
            elif line.strip():
                self._tail = [*self._tail[1 - TAIL_LINES :], line.rstrip()]
            self._changed.notify_all()
        return report

    def wake(self) -> None:
        """Let those who wait look again: a load has ended."""
        with self._changed:
            self._changed.notify_all()

    def seconds(self, since: float = 0.0, until: float = EVER) -> list[Second]:
        """Return the seconds reported after ``since`` and up to ``until``, monotonic seconds."""
        return [one.second for one in self._between(since, until)]

    def longest_queue(self, since: float = 0.0, until: float = EVER) -> int:
        """Return the most transactions that waited at the end of such a second; 0 for a closed load."""
        return max((second.queue for second in self.seconds(since, until)), default=0)

    def latency(self, since: float = 0.0, until: float = EVER) -> Histogram | None:
        """Return the latencies of the transactions that ended in such seconds, None when none did."""
        return _counted(one.buckets for one in self._between(since, until))

    def read_latency(self, since: float = 0.0, until: float = EVER) -> Histogram | None:
        """Return the latencies of the reads among them, None when none ended or they are not told apart."""
        return _counted(one.reads for one in self._between(since, until) if one.reads is not None)

    def _between(self, since: float, until: float) -> list[Report]:
        with self._changed:
            return [one for one in self._reports if since < one.second.monotonic <= until]

    def tail(self) -> str:
        """Return the last lines that were no reports."""
        with self._changed:
            return "\n".join(self._tail)

    def wait(
        self, count: int, limit: float, running: Callable[[], bool], why: Callable[[], str]
    ) -> list[Second]:
        """Return once so many seconds have been reported.

        Args:
            count: how many.
            limit: seconds to wait at most.
            running: whether more can come.
            why: what to say when they do not.

        Raises:
            LabServerError: the load ended, or they did not come in time.
        """
        end = time.monotonic() + limit
        with self._changed:
            while len(self._reports) < count:
                left = end - time.monotonic()
                if left <= 0 or not running():
                    raise LabServerError(
                        f"the load reported {len(self._reports)} of {count} seconds:\n{why()}"
                    )
                self._changed.wait(min(left, 1.0))
            return [one.second for one in self._reports]


def _counted(texts: Iterable[str]) -> Histogram | None:
    found = merged(parse_buckets(text) for text in texts)
    return found if found.counts else None
