"""What decides in place of M: when it is noticed, and what is said of it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from tests.factory import REDO, estimate, sample
from tuner.core.setpoint.caution import Caution, update
from tuner.records import Estimate


class Seen:
    """What is remembered and said of readings, one a second.

    Attributes:
        state: what is remembered.
        said: seconds and codes of what was said.
    """

    def __init__(self) -> None:
        self.state = Caution()
        self.said: list[tuple[float, str]] = []
        self._second = 0.0

    def see(self, found: Estimate | None = None, **shown: Any) -> Caution:  # noqa: ANN401 - any field
        """Take one reading in."""
        reading = sample(self._second, **shown)
        now, wall = reading.monotonic, reading.wall
        self.state, events = update(
            self.state, reading, found or estimate(), set_point=0.8, now=now, wall=wall
        )
        self.said += [(self._second, event.code) for event in events]
        self._second += 1.0
        return self.state

    def lru(self, lru_rate: float, flush_rate: float, age_ratio: float = 0.2) -> bool:
        """Tell whether LRU flushing decides after one reading with these rates, pages/s."""
        return self.see(estimate(lru_rate=lru_rate, flush_rate=flush_rate, age_ratio=age_ratio)).lru.on

    @property
    def codes(self) -> list[str]:
        """Return the codes of what was said."""
        return [code for _, code in self.said]


@pytest.mark.parametrize(
    ("found", "asked"),
    [(estimate(), 400), (estimate(authority=0.5), 200)],
    ids=["a healthy server", "a law that asks for little"],
)
def test_of_a_healthy_server_nothing_is_said(found: Estimate, asked: int) -> None:
    """Few dirty pages, no LRU flushing, few pages flushed of few asked for: nothing decides in place of M."""
    seen = Seen()
    for _ in range(600):
        seen.see(found, flush_requested=asked)

    assert seen.said == []


@pytest.mark.parametrize(
    ("rates", "on"),
    [((900.0, 100.0), True), ((150.0, 100.0), False), ((40.0, 1.0), False), ((900.0, 100.0, 0.6), False)],
    ids=["ten times", "not twice", "hardly any", "a high age"],
)
def test_the_lru_does_the_flushing_by_twice_the_pages_and_more_than_a_few(
    rates: tuple[float, ...], *, on: bool
) -> None:
    """Twice the flush list's pages and 50 a second, at a low age, say that M decides nothing."""
    assert Seen().lru(*rates) is on


def test_another_m_does_not_end_the_shortage() -> None:
    """A higher M has the flush list write as much as the LRU: the shortage goes on; a high age ends it."""
    seen = Seen()
    seen.lru(500.0, 200.0)

    assert all(seen.lru(380.0, 230.0 + 150.0 * (second % 2)) for second in range(1, 1200))
    assert not seen.lru(900.0, 100.0, age_ratio=0.5)


def test_the_shortage_is_over_when_the_lru_has_been_quiet_for_a_minute() -> None:
    """Half a minute of few pages from the LRU is no end of it; a minute is."""
    seen = Seen()
    seen.lru(500.0, 200.0)
    on = [seen.lru(20.0 if second < 31 or second > 60 else 500.0, 200.0) for second in range(1, 200)]

    assert on == [True] * 120 + [False] * 79


def pressed(rate: int, seconds: int, wanted: float) -> tuple[Caution, list[float]]:
    """Return what two minutes of so many waits a second leave, and the bounds until then."""
    seen, bounds = Seen(), []
    for second in range(seconds):
        seen.see(free_page_waits=min(second, 120) * rate)
        bounds.append(min(wanted, seen.state.bound(wanted)))
    assert max(abs(a - b) for a, b in itertools.pairwise(bounds)) < 0.015
    return seen.state, bounds


def test_waits_for_a_free_page_press_while_they_last_and_fade() -> None:
    """A minute of waits presses the set-point far down; it comes back within minutes, without a step."""
    _, bounds = pressed(20, 1200, 1.0)
    assert bounds[60] < 0.7
    assert bounds[120] < 0.55
    assert bounds[180] < 0.65
    assert bounds[-1] > 0.95

    many, bounds = pressed(200, 1800, 1.05)
    assert min(bounds) < 0.55
    assert many.bound(1.05) == math.inf


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1_000_000, 0)], ids=["a single wait", "went back"])
def test_a_single_wait_or_a_counter_that_went_back_bounds_nothing(first: int, second: int) -> None:
    """However high a set-point is wanted, what hardly presses does not bound it."""
    seen = Seen()
    seen.see(free_page_waits=first)
    seen.see(free_page_waits=second)

    assert seen.state.bound(1.05) == math.inf
    assert second or seen.state.pressure == 0.0


def test_a_device_that_is_the_limit_is_said_once_and_taken_back() -> None:
    """Lost when the law asks for all of M and gets half for half a minute; back when that lasts as long."""
    seen = Seen()
    for second in range(200):
        poor = second < 100 or 120 <= second < 125
        seen.see(estimate(authority=0.5 if poor else 1.0), flush_requested=450)

    assert seen.said == [(30.0, "authority_lost"), (155.0, "authority_back")]


def test_redo_that_another_consumer_holds_is_said_once_and_its_end() -> None:
    """A tenth of the redo log is held until clearly less than that is, wherever it wavers."""
    seen = Seen()

    def hold(*shares: float) -> None:
        for share in shares:
            seen.see(redo_logical_size=sample().checkpoint_age + round(share * REDO))

    hold(*[0.105] * 20, *([0.095] * 20 + [0.105] * 20) * 5, *[0.095] * 60)
    assert seen.codes == ["redo_held"]
    hold(*[0.07] * 20)
    assert seen.codes == ["redo_held", "redo_released"]
