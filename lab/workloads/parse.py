"""What our report line of sysbench says (``report.lua`` writes it)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lab.workloads.histogram import Histogram

MARK = "@second "
STARTED = "Threads started!"


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
    """

    monotonic: float
    commits: float
    latency: float | None
    errors: float
    queue: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """A report line.

    Attributes:
        second: the second that it describes.
        elapsed: seconds since the threads started.
        buckets: its latencies, still as text: there are many seconds, and few are asked for.
        reads: those of its reads, as text; None for a load that does not tell them apart.
    """

    second: Second
    elapsed: float
    buckets: str
    reads: str | None = None


def parse_report(line: str, now: float) -> Report | None:
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
        second = Second(
            monotonic=now,
            commits=events / interval,
            latency=float(given["p99"]) if events else None,
            errors=float(given["errors"]) / interval,
            queue=int(given["queue"]),
        )
        return Report(second, float(given["elapsed"]), given["buckets"], given.get("reads"))
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def parse_second(line: str, now: float) -> Second | None:
    """Return the second that a report line describes, None for any other line."""
    report = parse_report(line, now)
    return None if report is None else report.second


def parse_buckets(text: str) -> Histogram:
    """Return the latencies of one second.

    ``text`` is ``deduct;factor;index:count,…``, and the middle of a bucket is exp(index / factor + deduct)
    milliseconds (``sb_histogram_print`` in sysbench's ``src/sb_histogram.c``).

    Raises:
        ValueError: it is not of that form.
    """
    deduct, factor, rest = text.split(";")
    pairs = (pair.split(":") for pair in rest.split(",") if pair)
    return Histogram(
        {math.exp(int(index) / float(factor) + float(deduct)) / 1000.0: int(count) for index, count in pairs}
    )
