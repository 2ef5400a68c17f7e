"""A server is watched once a second, rests when its load does, and says what became of its disk limit."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from lab.bench import rig
from lab.bench import rig as module
from lab.bench.figures import Reading
from lab.bench.plan import DiskPlan, Plan
from lab.bench.rig import Rig, Sampler
from lab.servers.disk import DiskLimit
from lab.servers.local import LocalServer
from lab.servers.spec import LabServerError, ServerSpec
from tests.factory import sample
from tests.lab.bench.factory import look
from tuner.records import Sample

LIMIT = 20.0


class Reader:
    """Stands for a connection: every reading is the same, every counter is seven."""

    made = 0

    def __init__(self, _server: object) -> None:
        Reader.made += 1

    def read(self) -> Sample:
        """Return a reading."""
        return sample()

    def ask(self, statement: str) -> list[tuple[str, int]]:
        """Answer for each name in a statement."""
        return [(part, 7) for part in statement.split("'")[1::2] if part.isidentifier()]

    def close(self) -> None:
        """End it."""


def test_a_disk_that_the_server_counts_is_asked_for_over_the_samplers_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No connection a second beside the load."""
    monkeypatch.setattr(rig, "Reader", Reader)
    server = LocalServer("/usr/sbin/mysqld")
    uncounted = SimpleNamespace(counters=lambda: None, counted=False)
    monkeypatch.setattr(server, "_throttle", uncounted)
    monkeypatch.setattr(server, "connect", None)
    with Sampler(server, interval=0.001) as watching:
        end = time.monotonic() + LIMIT
        while len(watching.readings()) < 5 and time.monotonic() < end:
            time.sleep(0.001)  # readings come from another thread, and nothing announces them
    device = watching.readings()[-1].device

    assert device is not None
    assert device.writes == 7
    assert Reader.made == 1


def test_a_time_with_too_few_readings_for_a_figure_says_why() -> None:
    """A server that answered nobody is no division by zero."""
    sampler = Sampler(LocalServer("/usr/sbin/mysqld"))
    sampler._missed = [(5.0, "OperationalError: Lost connection")]

    with pytest.raises(LabServerError, match=r"0 readings .*Lost connection"):
        sampler.span(1.0, 9.0)


class Server:
    """A server whose disk takes limits of a thousand writes a second and more."""

    spec = ServerSpec()

    def __init__(self) -> None:
        self.loops = [30]

    def query(self, statement: str) -> list[tuple[int]]:
        if statement.startswith("SET"):
            self.loops.append(int(statement.rpartition("=")[2]))
        return [(self.loops[-1],)]

    def set_capacity(self, *_pair: int) -> None:
        pass

    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        return () if (limit.write_iops or 0) >= 1000 else (f"disk not limited to {limit}: refused",)


class Clock:
    """A clock that only those who wait move on."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Readings:
    """Reads, once a second of a clock, an age ratio that has not moved for an hour."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def readings(self, since: float) -> list[Reading]:
        return [look(at) for at in range(int(since) + 1, int(self.clock.now) + 1)]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Put a clock in the place of time."""
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def site_of(plan: Plan, clock: Clock) -> tuple[Rig, list[str]]:
    """Return a site that was not entered, and what it says."""
    said: list[str] = []
    found = Rig(Server(), plan, said.append)  # type: ignore[arg-type]  # all that is asked of it
    found.sampler = Readings(clock)  # type: ignore[assignment]  # the same
    found.load = SimpleNamespace(running=lambda: True)  # type: ignore[assignment]  # the same
    found.default = found.server.spec  # type: ignore[assignment]  # C and M are all that is asked of it
    return found, said


def test_nothing_is_at_rest_by_what_was_before_it(clock: Clock) -> None:
    """An age that rested under the contender before is not the rest of the one that has just begun."""
    site, _ = site_of(Plan(), clock)
    assert site.settle(10.0, 20.0) == (20.0, False)
    waited, rest = site.settle(10.0, 100.0)
    assert rest
    assert 45.0 <= waited <= 48.0


def test_a_policy_that_never_moved_rests_where_it_says_that_it_holds(clock: Clock) -> None:
    """One whose first M was right is not waited for in vain; one that has not looked yet is."""
    site, _ = site_of(Plan(), clock)
    assert site.settle(60.0, 100.0, holds=lambda: False) == (100.0, False)
    assert site.settle(60.0, 100.0, holds=lambda: True) == (60.0, True)


def test_a_limit_that_is_refused_while_a_row_runs_is_said_and_kept(clock: Clock) -> None:
    """The row's conditions and events have it, and no event claims a limit that is not there."""
    site, said = site_of(
        Plan(disk=DiskPlan(write_iops=2400, alternate_iops=800, alternate_seconds=50.0)), clock
    )
    site.limit_as_planned()
    assert (said, site.not_limited) == ([], ())
    clock.now += 60.0
    site.alternate(1000.0)
    (refusal,) = site.not_limited
    assert "refused" in refusal
    assert said == [refusal]
    assert [words for _, words in site.events] == ["disk limited to 2400 writes/s", refusal]


def test_every_contender_is_reset_on_the_same_disk(clock: Clock) -> None:
    """A limit that alternated is back at its first value before the age is brought down, not after."""
    site, _ = site_of(
        Plan(disk=DiskPlan(write_iops=2400, alternate_iops=1200, alternate_seconds=50.0)), clock
    )
    site.alternate(clock.now - 60.0)
    site.reset(1.0, 0.25)
    assert [words for _, words in site.events][-1] == "disk limited to 2400 writes/s"


def test_a_reset_that_fell_short_says_where_it_came_to(clock: Clock) -> None:
    """The age of this server stays at 0.5 of its limit."""
    site, _ = site_of(Plan(), clock)
    assert site.reset(5.0, 0.25) == 0.5
    assert clock.now == 1005.0
    assert site.reset(5.0, 0.6) == 0.5
    assert clock.now == 1006.0


def test_the_first_row_is_not_flushed_as_the_filling_was(clock: Clock) -> None:
    """Before the first row the server's mean rates become the load's."""
    site, _ = site_of(Plan(), clock)
    server = Server()
    site.server = server  # type: ignore[assignment]  # all that is asked of it
    site.start_load = lambda: None  # type: ignore[method-assign]  # it is at work already
    began = clock.now
    site.forget_filling()
    assert server.loops == [30, 1, 30]
    assert clock.now - began == 12.0
