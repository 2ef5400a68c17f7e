"""What the demo says of the time that it compares with."""

from __future__ import annotations

import time

import pytest
from msgspec.structs import replace

from lab.demo import LEAD_SECONDS, Phase, ScaledClock, caution, simulated_server
from tests.factory import estimate, would_set
from tuner.records import DrainProgress, Event, EventCode


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        ((0.20, 0.33, 0.44), "20 % to 44 %"),
        ((0.60, 0.40), "60 % to 40 %"),
        ((0.50, 0.62, 0.55), ""),
        ((), ""),
    ],
)
def test_a_default_that_was_not_at_rest_is_compared_with_a_caution(
    ratios: tuple[float, ...], said: str
) -> None:
    """Whoever reads the figures learns that they are of an age on its way, and from where to where."""
    shown = caution([would_set(estimate=estimate(age_ratio=one)) for one in ratios], "200/2000")

    assert said in shown
    assert ("200/2000" in shown) == bool(said)


def test_a_busy_machine_costs_the_demo_no_second_of_its_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the loop is late, time goes no faster than ours until it ticks; then it is ten times as fast."""
    machine = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: machine[0])
    clock = ScaledClock(10.0)
    clock.ticked()
    machine[0] += 0.1
    assert clock.monotonic() == pytest.approx(1_001.0)
    machine[0] += 3.0
    late = clock.monotonic()
    assert late == pytest.approx(1_000.0 + LEAD_SECONDS + 3.1 - LEAD_SECONDS / 10.0)
    clock.ticked()
    machine[0] += 0.1
    assert clock.monotonic() == pytest.approx(late + 1.0)


def test_a_server_that_takes_long_to_live_up_to_now_has_no_clock_that_jumps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long the machine takes for it, both times of a reading are of one moment."""
    machine = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: machine[0])
    server = simulated_server(ScaledClock(10.0), seed=1)
    lived = server.engine.advance_to

    def slowly(seconds: float) -> None:
        lived(seconds)
        machine[0] += 0.2

    monkeypatch.setattr(server.engine, "advance_to", slowly)
    first, last = server.read(), server.read()

    assert last.monotonic - first.monotonic == pytest.approx(2.0)
    assert last.wall - first.wall == pytest.approx(2.0)


DRAIN = {"drain": DrainProgress(10, 20, 30.0, "ann")}
TRIAL = {"events": (Event(code=EventCode.BASELINE_TRIAL_BEGUN, message="begun", who="ann"),)}


@pytest.mark.parametrize(("asked", "what"), [(DRAIN, "a drain"), (TRIAL, "a trial")])
def test_what_a_person_asks_for_is_not_counted_as_innobrims(asked: dict[str, object], what: str) -> None:
    """Once somebody drains or tries, the figures end before that; who reads them learns what and when."""
    phase, ours = Phase(), would_set(estimate=estimate())
    phase.take(ours)
    phase.take(replace(ours, **asked))
    phase.take(ours)

    assert phase.records == [ours]
    assert phase.over.startswith(f"{what} at ")
