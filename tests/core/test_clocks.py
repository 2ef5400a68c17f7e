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

LOST: dict[str, Callable[[float, float], Sample]] = {
    "suspended": lambda n, more: reading(n + more, ours=n, wall=n + more),
    "our clocks stand still": lambda n, more: reading(n + more, ours=n),
    "the server is paused": lambda n, more: reading(n, ours=n + more),
    "the wall clock is set": lambda n, more: reading(n, wall=n + more),
}
"""Readings after n seconds, of which one clock has counted more than another."""


@pytest.mark.parametrize("name", QUIET)
def test_what_clocks_always_do_is_no_gap(name: str) -> None:
    """Whole seconds, drift, slow readings and small steps interrupt nothing, however long it goes on."""
    assert gaps(QUIET[name](n) for n in range(2000)) == []


@pytest.mark.parametrize("lost", [3.0, 30.0, 300.0, 86_400.0])
@pytest.mark.parametrize("how", LOST)
def test_seconds_that_one_clock_did_not_count_are_a_gap(how: str, lost: float) -> None:
    """Whichever clock stood still or was set, it is said once and by how much."""
    (said,) = gaps(LOST[how](float(n), lost if n >= 100 else 0.0) for n in range(300))

    assert any(f" {lost + off:.0f} s " in said for off in (-2.0, -1.0, 0.0, 1.0))


@pytest.mark.parametrize("pace", [0.0, 0.003, 0.1, 0.4])
def test_a_clock_that_creeps_is_found_out_within_seconds(pace: float) -> None:
    """A clock that counts a fraction of the time never gathers the readings that an emergency believes."""
    state, longest = Clocks(), 0.0
    for n in range(300):
        state, why = follow(state, reading(float(n), ours=pace * n))
        longest = pace + (0.0 if why else longest)

    assert longest < 3.0
    assert state.gap is not None


@pytest.mark.parametrize(
    ("source", "counted", "shown"),
    [(7, [1000.0, 1001.0, 1301.0], [51.0, 351.0]), (None, [50.0, 50.0, 51.5], [51.5])],
    ids=["one that counts suspensions", "the monotonic one alone"],
)
def test_seconds_in_which_the_machine_was_suspended_count(
    monkeypatch: pytest.MonkeyPatch, source: int | None, counted: list[float], shown: list[float]
) -> None:
    """Time goes on from where the monotonic clock began, by one that counts suspensions if there is."""
    times = iter(counted)
    monkeypatch.setattr("tuner.clock._WHILE_SUSPENDED", source)
    monkeypatch.setattr("time.monotonic", (lambda: 50.0) if source else (lambda: next(times)))
    monkeypatch.setattr("time.clock_gettime", lambda _: next(times))
    clock = SystemClock()

    assert [clock.monotonic() for _ in shown] == shown
