"""What a load reports: its lines of sysbench, second by second, and the latencies counted in them."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.servers.spec import LabServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

WHOLE = 100.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many transactions took how long.

    sysbench counts in 1024 steps of equal ratio between 1 µs and 100 s, so every latency is right within
    1 %, and one above 100 s counts as 100 s (``sb_histogram_update`` in its ``src/sb_histogram.c``).

    Attributes:
        counts: transactions by latency, seconds.
    """

    counts: Mapping[float, int]

    @property
    def transactions(self) -> int:
        """How many were counted."""
        return sum(self.counts.values())

    def percentile(self, percent: float) -> float:
        """Return the least latency that so many percent of the transactions did not exceed, seconds.

        The nearest-rank definition: no interpolation, so it is always a latency that occurred.

        Raises:
            ValueError: nothing was counted, or ``percent`` is not above 0 and at most 100.
        """
        if not 0.0 < percent <= WHOLE:
            raise ValueError(f"percentile {percent} is out of range: above 0 and at most 100")
        rank = max(1, math.ceil(self.transactions * percent / WHOLE - 1e-9))
        seen = 0
        for latency in sorted(self.counts):
            seen += self.counts[latency]
            if seen >= rank:
                return latency
        raise ValueError("a histogram without transactions has no percentiles")


MARK = "@second "


@dataclass(frozen=True, slots=True)
class Second:
    """One reported second of the load.

    Attributes:
        monotonic: when its report arrived, seconds.
        commits: transactions per second.
        latency: 99th percentile of the transactions that ended in it, seconds; None when none did. Of an open
            load it holds the wait for a free connection too.
        errors: errors per second that the load went on after (deadlocks, lock waits).
        queue: transactions of an open load that waited for a free connection at its end.
        buckets: its latencies, still as text: there are many seconds, and few are asked for.
        reads: those of its reads, as text; None for a load that does not tell them apart.
    """

    monotonic: float
    commits: float
    latency: float | None
    errors: float
    queue: int = 0
    buckets: str = ""
    reads: str | None = None


def parse_report(line: str, now: float) -> Second | None:
    """Return what a report line says, None for any other line.

    Args:
        line: a line that sysbench printed.
        now: when it arrived, monotonic seconds.
    """
    if not line.startswith(MARK):
        return None
    given = dict(part.split("=", 1) for part in line[len(MARK) :].split() if "=" in part)
    try:
        interval, events = float(given["interval"]), int(given["events"])
        return Second(
            monotonic=now,
            commits=events / interval,
            latency=float(given["p99"]) if events else None,
            errors=float(given["errors"]) / interval,
            queue=int(given["queue"]),
            buckets=given["buckets"],
            reads=given.get("reads"),
        )
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def counted(texts: Iterable[str]) -> Histogram | None:
    """Return the latencies of some seconds together, None where no transaction ended in them.

    A text is ``deduct;factor;index:count,…``, and the middle of a bucket is exp(index / factor + deduct)
    milliseconds (``sb_histogram_print`` in sysbench's ``src/sb_histogram.c``).

    Raises:
        ValueError: one is not of that form.
    """
    counts: Counter[float] = Counter()
    for text in texts:
        deduct, factor, rest = text.split(";")
        for index, count in (pair.split(":") for pair in rest.split(",") if pair):
            counts[math.exp(int(index) / float(factor) + float(deduct)) / 1000.0] += int(count)
    return Histogram(counts) if counts else None


EVER = float("inf")
TAIL_LINES = 20


class Reports:
    """The seconds of a load, and what else it printed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._seconds: list[Second] = []
        self._tail: list[str] = []

    def add(self, line: str, now: float) -> None:
        """Take in a line that arrived at ``now``, monotonic seconds."""
        second = parse_report(line, now)
        with self._changed:
            if second is not None:
                self._seconds.append(second)
            elif line.strip():
                self._tail = [*self._tail[1 - TAIL_LINES :], line.rstrip()]
            self._changed.notify_all()

    def wake(self) -> None:
        """Let those who wait look again: a load has ended."""
        with self._changed:
            self._changed.notify_all()

    def seconds(self, since: float = 0.0, until: float = EVER) -> list[Second]:
        """Return the seconds reported after ``since`` and up to ``until``, monotonic seconds."""
        with self._changed:
            return [one for one in self._seconds if since < one.monotonic <= until]

    def longest_queue(self, since: float = 0.0, until: float = EVER) -> int:
        """Return the most transactions that waited at the end of such a second; 0 for a closed load."""
        return max((second.queue for second in self.seconds(since, until)), default=0)

    def latency(self, since: float = 0.0, until: float = EVER) -> Histogram | None:
        """Return the latencies of the transactions that ended in such seconds, None when none did."""
        return counted(one.buckets for one in self.seconds(since, until))

    def read_latency(self, since: float = 0.0, until: float = EVER) -> Histogram | None:
        """Return the latencies of the reads among them, None when none ended or they are not told apart."""
        return counted(one.reads for one in self.seconds(since, until) if one.reads is not None)

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
            while len(self._seconds) < count:
                left = end - time.monotonic()
                if left <= 0 or not running():
                    raise LabServerError(
                        f"the load reported {len(self._seconds)} of {count} seconds:\n{why()}"
                    )
                self._changed.wait(min(left, 1.0))
            return list(self._seconds)
