"""What an emergency leaves behind: the budget as it was, an open way back, and the M that was too low."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.core.draining import HIGH
from tests.factory import DEFAULT
from tuner.core.decide.carry_out import TOO_LOW_SECONDS
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.writes.guards import AGAIN, ROUNDING
from tuner.records import DecisionKind, TickRecord
from tuner.settings import Settings

RATE = 1e6
SURGE = 4.0


def surged(settings: Settings = HIGH) -> Bench:
    """Return a loop whose load surged for so long that an emergency raised M, and went away again."""
    bench = Bench(settings, FakeServer(redo_rate=RATE), originals=DEFAULT).in_control()
    bench.turns(300)
    bench.server.redo_rate = SURGE * RATE
    bench.until("emergency", limit=120)
    bench.turns(10)
    bench.server.redo_rate = RATE
    return bench


def spent(bench: Bench) -> Bench:
    """Return the loop with all of its hour's changes used up."""
    state, now = bench.state, bench.record.tick.now
    counted = (now,) * state.settings.max_changes_per_hour
    bench.state = replace(state, writes=replace(state.writes, counted=counted))
    return bench


def way_back(bench: Bench, seconds: int = 300) -> list[TickRecord]:
    """Return the records in which M was brought back from the emergency."""
    records = [bench.turn() for _ in range(seconds)]
    return [one for one in records if one.decision.steps and one.decision.reason == "way_back"]


def test_an_emergency_uses_up_no_change_of_the_hour() -> None:
    """Raises that nobody chose do not keep the policy from changing M afterwards."""
    bench = surged()
    emergencies = [one for one in bench.records if one.decision.kind is DecisionKind.EMERGENCY]
    sets = [one for one in bench.records if one.decision.kind is DecisionKind.SET and one.decision.steps]
    chosen = [one.tick.now for one in sets if one.decision.reason != "way_back"]

    assert emergencies
    assert list(bench.state.writes.counted) == chosen


def test_the_way_back_is_open_where_the_budget_is_spent() -> None:
    """A surge at the end of the hour's changes leaves no M behind that is far too high for the load."""
    bench = spent(surged())
    high = bench.server.capacity.io_capacity_max
    back = way_back(bench)

    assert back
    assert bench.server.capacity.io_capacity_max < high


def test_the_way_back_ends_a_little_above_the_m_that_was_too_low() -> None:
    """Where the surge began M was too low: for five minutes after it the policy goes no lower than that."""
    bench = surged()
    too_low, until = bench.state.writes.too_low, bench.state.writes.too_low_until
    raised_at = next(one for one in bench.records if one.decision.kind is DecisionKind.EMERGENCY).tick.now
    seen = []
    while bench.record.tick.now < until - 1.0:
        bench.turn()
        seen.append(bench.server.capacity.io_capacity_max)

    assert until == raised_at + TOO_LOW_SECONDS
    assert min(seen) >= round(AGAIN * too_low)
    assert min(seen) <= AGAIN * too_low * (1.0 + ROUNDING)


def test_the_load_may_have_a_lower_m_again_after_five_minutes() -> None:
    """What was too low for a surge is not too low for good."""
    bench = surged()
    too_low = bench.state.writes.too_low
    bench.turns(1200)

    assert bench.server.capacity.io_capacity_max < AGAIN * too_low


def test_fixed_goes_back_to_the_m_that_a_person_named() -> None:
    """After an emergency the policy fixed holds the M that it was told, and none a little above it."""
    named = 400
    bench = surged(replace(HIGH, policy="fixed", fixed_io_capacity_max=named))
    bench.turns(120)

    assert bench.server.capacity.io_capacity_max == pytest.approx(named, rel=0.02)


def test_nothing_is_learned_of_a_load_while_an_emergencys_m_is_in_force() -> None:
    """What a far too high M does to the age says nothing about the M that the load needs."""
    bench = surged()

    assert bench.state.writes.raised_from > 0
    assert decode_state(encode_state(bench.state)) == bench.state
    way_back(bench)
    assert bench.state.writes.raised_from == 0
