"""A row says of a contender what happened in its own time, and treats every contender alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

import pytest

from lab.bench import row
from lab.bench.figures import Reading
from lab.bench.plan import DiskPlan, Plan, Timing, parse_contender
from lab.bench.rig import Sampler
from lab.bench.row import measure
from lab.servers.spec import LabServerError, ServerSpec
from lab.workloads.reports import Second
from tests.lab.bench.factory import look
from tuner.records import Capacity

JUMPS = DiskPlan(write_iops=2400, alternate_iops=800, alternate_seconds=50.0)


class Load:
    """A load that reports a thousand commits of a time that it saw, and may have a queue."""

    queue = 0

    def __init__(self) -> None:
        self.began = time.monotonic()

    def running(self) -> bool:
        return True

    def seconds(self, _since: float, until: float = float("inf")) -> list[Second]:
        at = min(until, time.monotonic())
        return [Second(at, 1000.0, 0.02, 0.0)] if self.began <= at else []

    def stop(self) -> None:
        pass

    def longest_queue(self, *_span: float) -> int:
        return self.queue

    def latency(self, *_span: float) -> None:
        return None

    def read_latency(self, *_span: float) -> None:
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
        self.not_limited: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_given, **_named: self.done.append(name)

    def reset(self, *_given: float) -> float | None:
        return None

    def start_load(self) -> None:
        self.done.append("start_load")
        self.load = Load()

    def settle(self, *_given: object, **_named: object) -> tuple[float, bool]:
        self.done.append("settle")
        return 60.0, True

    def watch(self, seconds: float, _check: object = None) -> None:
        self.counted = seconds

    def happened(self, _since: float) -> list[tuple[float, str]]:
        return []


def measured(plan: Plan, word: str = "2000/4000", *, queue: int = 0) -> tuple[Site, dict[str, Any]]:
    """Return a site and what was measured on it."""
    site = Site(plan)
    site.load.queue = queue
    found = measure(site, parse_contender(word), Capacity(2000, 4000))  # type: ignore[arg-type]  # without a server
    return site, found


def test_a_reading_that_failed_before_a_row_is_not_the_rows() -> None:
    """What was missed while the server came back for the contender before is not counted again."""
    assert measured(Plan())[1]["figures"]["missed_readings"] == 0
    sampler = Readings()
    assert sampler.missed(0.5, 1.0) == ["mysqld was restarted"]
    assert sampler.missed(1.0) == []


def test_a_limit_that_was_refused_makes_no_shutdown_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best static setting is not judged by a disk that it did not have."""
    seen: list[DiskPlan] = []
    monkeypatch.setattr(row, "predicted", lambda _readings, disk, _flushed: seen.append(disk) or {})
    plan = Plan(disk=DiskPlan(write_iops=200))
    for refused in ((), ("disk not limited: refused",)):
        site = Site(plan)
        site.not_limited = refused
        measure(site, parse_contender("2000/4000"), Capacity(2000, 4000))  # type: ignore[arg-type]  # without a server
    assert seen == [plan.disk, DiskPlan()]


@pytest.mark.parametrize(
    ("m", "expected", "helper"), [(4000, 0.9, [(1200, 2400)]), (4000, 0.51, []), (100, 0.9, [])]
)
def test_an_age_is_brought_near_by_a_setting_beyond(
    m: int, expected: float, helper: list[tuple[int, int]]
) -> None:
    """And not at all where it is near already, or where there is no setting beyond."""
    site = Site(Plan())
    done: list[tuple[int, int]] = []
    site.set_capacity = lambda *pair: done.append(pair)
    row.approach(site, Capacity(m // 2, m), expected, 0.01)  # type: ignore[arg-type]  # without a server
    assert done == helper


def test_every_contender_counts_whole_turns_of_what_moves() -> None:
    """One that settles later counts no other part of a disk that alternates."""
    still = Timing(counted=180.0)
    assert [measured(one)[0].counted for one in (Plan(timing=still), Plan(timing=still, disk=JUMPS))] == [
        180,
        200,
    ]


def test_nobody_inherits_the_queue_of_the_contender_before() -> None:
    """An open load that others let queue up begins anew; one that is served goes on."""
    assert "start_load" in measured(Plan(), queue=500)[0].done
    assert "start_load" not in measured(Plan())[0].done


class Child:
    """A daemon of ours that remembers how it ended."""

    def __init__(self, done: list[str]) -> None:
        self.done = done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_given: object) -> None:
        self.done.append("asked to end")

    def footprint(self) -> None:
        return None

    def holding(self) -> bool:
        return False

    def kill(self) -> None:
        self.done.append("killed")


def crashing(done: list[str]) -> Site:
    """Return a site whose server and load note the order in which they end."""
    site = Site(Plan())
    site.crash = lambda: done.append("crash") or 3.0  # type: ignore[func-returns-value]  # order and seconds
    site.restart = lambda: done.append("shutdown") or (2.0, 1.0)  # type: ignore[func-returns-value]  # the same
    site.load.stop = lambda: done.append("load ended")  # type: ignore[method-assign]  # the same
    return site


@pytest.mark.parametrize(("how", "recovery", "shutdown"), [("crash", 3.0, None), ("shutdown", None, 2.0)])
def test_a_server_ends_at_the_age_that_our_daemon_held(
    monkeypatch: pytest.MonkeyPatch, how: row.End, recovery: float | None, shutdown: float | None
) -> None:
    """The daemon is not asked to end before, upon which it would park, and the load is at work until then."""
    done: list[str] = []
    monkeypatch.setattr(row, "Daemon", lambda *_given, **_named: Child(done))
    found = measure(crashing(done), parse_contender("ours"), None, ends_in=how)  # type: ignore[arg-type]  # without a server
    assert done == ["killed", how, "load ended", "asked to end"]
    assert (found["figures"]["recovery_seconds"], found["figures"]["shutdown_seconds"]) == (
        recovery,
        shutdown,
    )


@pytest.mark.parametrize("how", ["crash", "shutdown"])
def test_a_server_that_does_not_come_back_costs_no_finished_row(how: row.End) -> None:
    """The row is kept without the time, with the reason, and with the disk that it was measured on."""

    def lost() -> float:
        raise LabServerError("mysqld ended while starting: no space left")

    site = crashing([])
    site.crash = site.restart = lost
    site.conditions = lambda: {"not_limited": list(site.not_limited)}
    site.limit_as_planned = lost
    found = measure(site, parse_contender("2000/4000"), Capacity(2000, 4000), ends_in=how)  # type: ignore[arg-type]  # without a server
    assert (found["figures"]["recovery_seconds"], found["figures"]["shutdown_seconds"]) == (None, None)
    assert found["figures"]["commits_mean"] == 1000.0
    assert "no space left" in found["events"][0][1]
    assert found["conditions"] == {"not_limited": []}
    assert site.conditions()["not_limited"], "what comes next is not taken for measured on a limited disk"
