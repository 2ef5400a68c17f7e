"""A row says of a contender what happened in its own time, and treats every contender alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lab.bench.contenders import parse_contender
from lab.bench.plan import Plan
from lab.bench.row import measure
from lab.bench.sampler import Reading, Sampler
from lab.servers.spec import ServerSpec
from lab.workloads.sysbench import Second
from tests.lab.bench.test_figures import look
from tuner.records import Capacity


class Load:
    """A load that reports a thousand commits in each of its seconds, and may have a queue."""

    def running(self) -> bool:
        return True

    def seconds(self, *_span: float) -> list[Second]:
        return [Second(time.monotonic(), 1000.0, 0.02, 0.0)]

    def latency(self, *_span: float) -> None:
        return None


class Readings(Sampler):
    """A sampler that is not started: readings are there, and one was missed long ago."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # it is never started
        self._missed = [(1.0, "mysqld was restarted")]

    def readings(self, since: float = 0.0, until: float = float("inf")) -> list[Reading]:
        return [look(at) for at in (since, since + 1.0)] if until else []


class Site:
    """A site without a server, where no time passes; it remembers what was done."""

    spec = ServerSpec()

    def __init__(self, plan: Plan) -> None:
        self.plan, self.server, self.load, self.sampler = plan, self, Load(), Readings()
        self.done: list[str] = []
        self.counted = 0.0

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_given, **_named: self.done.append(name)

    def settle(self, *_given: object, **_named: object) -> tuple[float, bool]:
        self.done.append("settle")
        return 60.0, True

    def watch(self, seconds: float, _check: object = None) -> None:
        self.counted = seconds

    def happened(self, _since: float) -> list[tuple[float, str]]:
        return []


def measured(plan: Plan, word: str = "2000/4000") -> tuple[Site, dict[str, Any]]:
    """Return a site and what was measured on it."""
    site = Site(plan)
    found = measure(site, parse_contender(word), Capacity(2000, 4000))  # type: ignore[arg-type]  # without a server
    return site, found


def test_a_reading_that_failed_before_a_row_is_not_the_rows() -> None:
    """What was missed while the server came back for the contender before is not counted again."""
    assert measured(Plan())[1]["figures"]["missed_readings"] == 0
    sampler = Readings()
    assert sampler.missed(0.5, 1.0) == ["mysqld was restarted"]
    assert sampler.missed(1.0) == []
