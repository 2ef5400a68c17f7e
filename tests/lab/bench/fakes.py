"""Readings, seconds of a load, and a rig without a server on which only those who wait move time on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Self

import pytest

from lab.bench import rig
from lab.bench.figures import Reading
from lab.bench.plan import Plan
from lab.bench.rig import Rig, Sampler
from lab.servers.disk import DeviceCounters, DiskLimit
from lab.servers.spec import ServerSpec
from lab.workloads.reports import Second
from tests.factory import sample
from tuner.records import Capacity


def look(at: float, *, age_ratio: float = 0.5, **changes: Any) -> Reading:  # noqa: ANN401 - any field
    """Return a reading of a server that flushes 100 pages and writes 250 blocks a second."""
    second = int(at)
    made = sample(at, age=age_ratio * sample().flush_limit, **{"pages_adaptive": 100 * second, **changes})
    device = DeviceCounters(
        reads=10 * second, writes=250 * second, read_bytes=0, write_bytes=4096 * second, source="test"
    )
    return Reading(at, made, 0.5 * second, device)


def beat(at: float, commits: float = 1000.0) -> Second:
    """Return a second of the load."""
    return Second(at, commits, 0.02, 0.0)


class Clock:
    """A clock that only those who wait move on."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Server:
    """A server whose disk takes limits of a thousand writes a second and more; it notes its settings."""

    spec = ServerSpec()

    def __init__(self, done: list[str]) -> None:
        self.done = done
        self.loops = [30]
        self.pairs: list[tuple[int, int]] = []

    def query(self, statement: str) -> list[tuple[int]]:
        if statement.startswith("SET"):
            self.loops.append(int(statement.rpartition("=")[2]))
        return [(self.loops[-1],)]

    def set_capacity(self, *pair: int) -> None:
        self.pairs.append(pair)  # type: ignore[arg-type] # two of them

    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        return () if (limit.write_iops or 0) >= 1000 else (f"disk not limited to {limit}: refused",)

    def disk_in_memory(self) -> bool:
        return False

    def crash(self) -> float:
        self.done.append("crash")
        return 3.0

    def restart(self) -> tuple[float, float]:
        self.done.append("shutdown")
        return 2.0, 1.0


class Load:
    """A load of a thousand commits a second, from its start on, which may have a queue."""

    queue = 0

    def __init__(self, clock: Clock, done: list[str]) -> None:
        self.clock, self.done, self.began = clock, done, clock.now

    def running(self) -> bool:
        return True

    def start(self) -> None:
        self.done.append("load begun")
        self.began = self.clock.now

    def wait_seconds(self, *_: float) -> None:
        pass

    def seconds(self, since: float, until: float = float("inf")) -> list[Second]:
        last = min(until, self.clock.now)
        return [
            Second(float(at), 1000.0, 0.02, 0.0) for at in range(int(max(since, self.began)), int(last) + 1)
        ]

    def stop(self) -> None:
        self.done.append("load ended")

    def longest_queue(self, *_: float) -> int:
        return self.queue

    def latency(self, *_: float) -> None:
        """Know nothing of latencies."""

    read_latency = latency


class Readings(Sampler):
    """Reads, once a second of a clock, an age ratio that has not moved for an hour."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(None)  # type: ignore[arg-type] # it is never started
        self.clock = clock

    def readings(self, since: float = 0.0, until: float = float("inf")) -> list[Reading]:
        last = min(until, self.clock.now)
        return [look(float(at)) for at in range(int(since) + 1, int(last) + 1)]


class FakeRig(Rig):
    """A rig that was entered; ``done`` has what was done to its server, load and daemon, in order."""

    def __init__(self, plan: Plan, clock: Clock) -> None:
        self.done: list[str] = []
        self.said: list[str] = []
        super().__init__(Server(self.done), plan, self.said.append)  # type: ignore[arg-type] # all that is asked of it
        self.clock = clock
        self.product, self.version, self.default = "MySQL", "9.7.4", Capacity(10_000, 20_000)
        self.sampler = Readings(clock)
        self.load = self._run()

    def _run(self) -> Any:  # noqa: ANN401 - a load as far as it is asked
        return Load(self.clock, self.done)


class DaemonProcess:
    """A daemon of ours that notes how it ended."""

    def __init__(self, server: Server, **_: object) -> None:
        self.done = server.done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.done.append("daemon asked to end")

    def check(self) -> None:
        pass

    def footprint(self) -> None:
        pass

    def holding(self) -> bool:
        return True

    def kill(self) -> None:
        self.done.append("daemon killed")


def without_time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Put a clock in the place of time, and a fake in that of the daemon; return the clock."""
    clock = Clock()
    monkeypatch.setattr(rig, "time", clock)
    monkeypatch.setattr(rig, "DaemonProcess", DaemonProcess)
    return clock


def counted_disk() -> Any:  # noqa: ANN401 - a throttle as far as it is asked
    """Return a throttle that leaves counting to the server."""
    return SimpleNamespace(counters=lambda: None, counted=False)
