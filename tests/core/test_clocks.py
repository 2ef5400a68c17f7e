"""What is a gap between the clocks, and what is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from tests.factory import EPOCH, sample
from tuner.clock import SystemClock
from tuner.core.estimate.clocks import Clocks, follow
from tuner.records import Sample

UP = 86_400.25


def reading(
    lived: float, *, ours: float | None = None, wall: float | None = None, slow: float = 0.001
) -> Sample:
    """Return a reading of a server that lived so many seconds, at these times of our clocks."""
    now = lived if ours is None else ours
    return replace(
        sample(now, uptime=float(math.floor(UP + lived))),
        wall=EPOCH + (now if wall is None else wall),
        read_seconds=slow,
    )


def gaps(readings: Iterable[Sample]) -> list[str]:
    """Return what is said of these readings, one after the other."""
    state, said = Clocks(), []
    for one in readings:
        state, why = follow(state, one)
        said += [why] if why else []
    return said


QUIET: dict[str, Callable[[int], Sample]] = {
    "whole seconds": lambda n: reading(0.93 * n),
    "readings far apart": lambda n: reading(61.7 * n),
    "readings close together": lambda n: reading(0.05 * n),
    "a clock that drifts by half a percent": lambda n: reading(n, ours=1.005 * n, wall=n),
    "a server's clock that is slewed": lambda n: reading(1.004 * n, ours=n),
    "a reading that took a second, now and then": lambda n: reading(
        n + (0.9 if n % 7 == 3 else 0.0), ours=float(n), slow=0.9 if n % 7 == 3 else 0.001
    ),
    "a server's clock set by half a second": lambda n: reading(n + (0.5 if n > 200 else 0.0), ours=float(n)),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_clocks_always_do_is_no_gap(name: str) -> None:
    """Whole seconds, drift, slow readings and small steps interrupt nothing, however long it goes on."""
    assert gaps(QUIET[name](n) for n in range(2000)) == []


@pytest.mark.parametrize("lost", [3.0, 30.0, 300.0, 86_400.0])
@pytest.mark.parametrize("how", ["suspended", "our clocks stand still", "the server is paused", "wall"])
def test_seconds_that_one_clock_did_not_count_are_a_gap(how: str, lost: float) -> None:
    """Whichever clock stood still or was set, it is said once and by how much."""

    def at(n: int) -> Sample:
        more = lost if n >= 100 else 0.0
        if how == "suspended":
            return reading(n + more, ours=float(n), wall=n + more)
        if how == "our clocks stand still":
            return reading(n + more, ours=float(n))
        if how == "the server is paused":
            return reading(float(n), ours=n + more)
        return reading(float(n), wall=n + more)

    said = gaps(at(n) for n in range(300))

    assert len(said) == 1
    assert any(f" {lost + off:.0f} s " in said[0] for off in (-2.0, -1.0, 0.0, 1.0))


@pytest.mark.parametrize("pace", [0.0, 0.003, 0.1, 0.4])
def test_a_clock_that_creeps_is_found_out_within_seconds(pace: float) -> None:
    """A clock that counts a fraction of the time never gathers the readings that an emergency believes."""
    state, longest = Clocks(), 0.0
    for n in range(300):
        state, why = follow(state, reading(float(n), ours=pace * n))
        if why:
            longest = 0.0
        longest += pace

    assert longest < 3.0
    assert state.gap is not None


def test_the_systems_clock_goes_on_from_where_the_monotonic_one_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seconds in which the machine was suspended count, so that no reading looks younger than it is."""
    monkeypatch.setattr("tuner.clock._WHILE_SUSPENDED", 7)
    monkeypatch.setattr("time.monotonic", lambda: 50.0)
    counted = iter([1000.0, 1001.0, 1301.0])
    monkeypatch.setattr("time.clock_gettime", lambda _: next(counted))
    clock = SystemClock()

    assert [clock.monotonic(), clock.monotonic()] == [51.0, 351.0]


def test_a_system_without_such_a_clock_has_the_monotonic_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no clock counts suspensions the daemon lives on the one that there is."""
    monkeypatch.setattr("tuner.clock._WHILE_SUSPENDED", None)
    times = iter([50.0, 50.0, 51.5])
    monkeypatch.setattr("time.monotonic", lambda: next(times))

    assert SystemClock().monotonic() == 51.5
