"""The checkpoint age's peaks and what decides in place of M: what was seen, and how low M may go by it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.core.loops import age_of, drain
from tests.factory import ACTIVE, LIMITS, REDO, estimate, sample
from tuner.core.estimate.sawtooth import LEAST, SPAN_SECONDS, SURGE_SECONDS, Sawtooth
from tuner.core.limits import floor
from tuner.core.setpoint.caution import Caution, update
from tuner.core.writes.lowest import CALM_SECONDS, FLOOR, HIGHEST
from tuner.records import Estimate
from tuner.settings import Settings

RECKONED = 8.0
RATE = 1e6
ALLOWED = 80e6


def seen(seconds: float, *, peak: float = 7.3, age: float = 70e6, before: Sawtooth | None = None) -> Sawtooth:
    """Return what so many seconds with a tooth of seven seconds leave."""
    found = before or Sawtooth()
    begun = 0.0 if found.at is None else found.at
    for second in range(1, int(seconds) + 1):
        lag = peak * RATE * (second % 7 + 1) / 7.0
        found = found.see(now=begun + second, lag=lag, redo_rate=RATE, checkpoint_age=age, allowed=ALLOWED)
    return found


def test_the_highest_peak_of_the_last_minutes_is_believed() -> None:
    """A load that goes on is reckoned with by its own teeth, after five minutes of it."""
    assert seen(SPAN_SECONDS - 10.0).seconds(RECKONED) == RECKONED
    assert seen(SPAN_SECONDS + 10.0).seconds(RECKONED) == 7.3


def test_a_higher_peak_counts_at_once_and_for_minutes() -> None:
    """One higher tooth widens the margin at the next reading, up to what is reckoned with beforehand."""
    calm = seen(2.0 * SPAN_SECONDS)
    higher = seen(7.0, peak=7.8, before=calm)

    assert higher.seconds(RECKONED) == 7.8
    assert seen(SPAN_SECONDS, before=higher).seconds(RECKONED) == 7.8
    assert seen(2.0 * SPAN_SECONDS, before=higher).seconds(RECKONED) == 7.3
    assert seen(7.0, peak=13.0, before=calm).seconds(RECKONED) == RECKONED


def test_a_surge_gives_the_whole_margin_back() -> None:
    """An age that went past what is allowed is a reason for the whole margin, for hours."""
    surged = seen(3.0, age=1.03 * ALLOWED, before=seen(2.0 * SPAN_SECONDS))
    later = seen(0.5 * SURGE_SECONDS, before=surged)

    assert surged.seconds(RECKONED) == RECKONED
    assert later.seconds(RECKONED) == RECKONED
    assert seen(0.6 * SURGE_SECONDS, before=later).seconds(RECKONED) == 7.3


def test_an_age_that_the_set_point_puts_beyond_is_no_surge() -> None:
    """A set-point beyond the operator's share allows as much more, and time to come down once it is lower."""
    reading = sample(redo_capacity=100_000_000, flush_limit=90_000_000)
    held = Sawtooth(at=0.0).held(beyond=0.1)
    allowed = held.allowed(reading, share=0.8)
    same = held.see(now=1.0, lag=0.0, redo_rate=RATE, checkpoint_age=86e6, allowed=allowed)
    lower, later = held.held(beyond=0.05), held.held(beyond=0.0)
    for second in range(1, 1201):
        lower = lower.see(now=second, lag=0.0, redo_rate=RATE, checkpoint_age=80e6, allowed=ALLOWED)
        later = later.see(now=second, lag=0.0, redo_rate=RATE, checkpoint_age=80e6, allowed=ALLOWED)

    assert allowed == pytest.approx(89e6)
    assert not same.surges
    assert same.allowed(reading, share=0.8) > 88e6
    assert lower.allowed(reading, share=0.8) == pytest.approx(84.5e6, rel=0.01)
    assert later.allowed(reading, share=0.8) < 81e6
    assert same.see(now=2.0, lag=0.0, redo_rate=RATE, checkpoint_age=93e6, allowed=allowed).surges


def test_a_gap_in_the_readings_begins_anew() -> None:
    """After a time without readings the peaks of before say nothing."""
    calm = seen(2.0 * SPAN_SECONDS)
    after = calm.see(
        now=(calm.at or 0.0) + 60.0, lag=0.0, redo_rate=RATE, checkpoint_age=1.0, allowed=ALLOWED
    )

    assert after.seconds(RECKONED) == RECKONED


@given(st.lists(st.tuples(st.floats(0.1, 20.0), st.floats(0.0, 1e9), st.floats(0.0, 1e8)), max_size=60))
def test_the_margin_is_never_wider_than_beforehand_nor_much_narrower(
    readings: list[tuple[float, float, float]],
) -> None:
    """Whatever is read, what is reckoned with stays between nine tenths and the whole of it."""
    found, now = Sawtooth(), 0.0
    for elapsed, lag, rate in readings:
        now += 10.0 * elapsed
        found = found.see(now=now, lag=lag, redo_rate=rate, checkpoint_age=lag, allowed=ALLOWED)

    assert LEAST * RECKONED <= found.seconds(RECKONED) <= RECKONED


# How low the policy may take M: the floor, and what lets M go below it.

CALM = Sawtooth(at=10_000.0, since=9_000.0 - CALM_SECONDS)


WHOLE = round(150.0 * (0.6 / HIGHEST) ** 0.5)
"""M, pages/s, with which a load of 150 new pages a second at an age ratio of 0.6 rests at the highest."""


@pytest.mark.parametrize(
    ("sawtooth", "load", "current", "lowest"),
    [
        (CALM, {}, 400, WHOLE),
        (replace(CALM, surged=10_000.0 - SURGE_SECONDS), {}, 400, WHOLE),
        (CALM, {"new_density": 900e-6}, 400, FLOOR),
        (CALM, {}, WHOLE + 3, WHOLE + 3),
        (CALM, {}, round(1.1 * WHOLE), WHOLE),
        (CALM, {}, WHOLE - 3, WHOLE),
        (CALM, {"burst_bytes": 1e9}, 400, FLOOR),
        (Sawtooth(), {}, 400, FLOOR),
        (replace(CALM, since=9_900.0), {}, 400, FLOOR),
        (replace(CALM, surged=9_000.0), {}, 400, FLOOR),
    ],
    ids=[
        "calm",
        "the surge was hours ago",
        "a heavy load",
        "hardly above it already",
        "clearly above it",
        "below it",
        "a burst is expected",
        "never watched",
        "not watched for long",
        "it surged",
    ],
)
def test_how_low_the_policy_may_take_m(
    bench: Bench, sawtooth: Sawtooth, load: dict[str, float], current: int, lowest: int
) -> None:
    """Below the floor only where the age was watched without a surge, and no write for each step of it."""
    assert bench.state.estimate is not None
    usual = {"age_ratio": 0.6, "redo_rate": 1e6, "new_density": 150e-6, "combining_exponent": 0.5}
    seen = replace(bench.state.estimate, **(usual | load))
    state = replace(bench.state, sawtooth=sawtooth, estimate=seen)

    assert floor(state, current) == lowest
    assert floor(replace(state, settings=replace(state.settings, policy="fixed")), current) == 0


# What a server's checkpoints do otherwise.

ONCE_A_SECOND = {"flush_order_lag": 0, "sawtooth_seconds": 2.0}


def busy(settings: Settings = ACTIVE, shows: dict[str, int] | None = None, **told: Any) -> Bench:  # noqa: ANN401 - any fact
    """Return a loop in control of a busy server with these facts, and these fields in its readings."""
    server = FakeServer(redo_rate=2.0 * RATE)
    server.told, server.shows = told, shows or {}
    bench = Bench(settings, server).in_control()
    bench.turns(120)
    return bench


def test_where_writers_wait_at_the_sync_point_the_age_is_held_lower() -> None:
    """Seconds of reaction count twice there; but once at a sync point that stalls nobody, as on MariaDB."""
    allowing = replace(ACTIVE, max_checkpoint_age_ratio=0.84)
    at_limit = {"sync_point": LIMITS.flush_limit}
    waits, once = (busy(allowing, at_limit, sync_stalls=stalls).set_point for stalls in (True, False))

    assert busy(allowing, sync_stalls=True).set_point < busy(allowing).set_point - 0.05
    assert waits == once < busy(allowing).set_point


def test_checkpoints_every_second_leave_more_to_the_age() -> None:
    """Under the same alarm the age is higher where less lies between it and the checkpoint's.

    A drain goes lower there: eight seconds of redo would keep its target out of reach.
    """
    alarm = replace(ACTIVE, max_checkpoint_age_ratio=0.7)
    accepting, seldom = busy(alarm, **ONCE_A_SECOND), busy(alarm)
    assert accepting.set_point > seldom.set_point + 0.05
    assert not seldom.answer(drain("29%"))[0]
    assert accepting.answer(drain("29%"))[0]
    accepting.turns(300)
    assert age_of(accepting.record) <= 0.29 * REDO


# What decides in place of M: when it is noticed, and what is said of it.


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
        self.state, events = update(
            self.state, reading, found or estimate(), set_point=0.8, now=reading.monotonic
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
