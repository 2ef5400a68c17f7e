"""What an emergency leaves behind: the budget as it was, an open way back, and the M that was too low."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.core.loops import HIGH
from tests.factory import DEFAULT
from tuner.core.decide.carry_out import TOO_LOW_SECONDS
from tuner.core.writes.guards import AGAIN, ROUNDING
from tuner.records import DecisionKind
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


def test_an_emergency_uses_up_no_change_of_the_hour() -> None:
    """Raises that nobody chose do not keep the policy from changing M afterwards."""
    bench = surged()
    sets = [one for one in bench.records if one.decision.kind is DecisionKind.SET and one.decision.steps]

    assert DecisionKind.EMERGENCY in bench.wrote()
    assert list(bench.state.writes.counted) == [
        one.tick.now for one in sets if one.decision.reason != "way_back"
    ]


def test_the_way_back_is_open_where_the_budget_is_spent() -> None:
    """A surge at the end of the hour's changes leaves no M behind that is far too high for the load.

    While an emergency's M is in force nothing is learned of the load by it.
    """
    bench = surged()
    counted = (bench.record.tick.now,) * bench.state.settings.max_changes_per_hour
    bench.state = replace(bench.state, writes=replace(bench.state.writes, counted=counted))
    high, begun = bench.m, len(bench.records)
    assert bench.state.writes.raised_from > 0
    bench.turns(300)

    wrote = [one.decision.reason for one in bench.records[begun:] if one.decision.steps]
    assert set(wrote) == {"way_back"}
    assert bench.m < high
    assert bench.state.writes.raised_from == 0


def test_the_way_back_ends_a_little_above_the_m_that_was_too_low() -> None:
    """For five minutes the policy goes no lower than where the surge began; it was not too low for good."""
    bench = surged()
    too_low, until = bench.state.writes.too_low, bench.state.writes.too_low_until
    raised = next(one for one in bench.records if one.decision.kind is DecisionKind.EMERGENCY)
    seen = []
    while bench.record.tick.now < until - 1.0:
        bench.turn()
        seen.append(bench.m)

    assert until == raised.tick.now + TOO_LOW_SECONDS
    assert round(AGAIN * too_low) <= min(seen) <= AGAIN * too_low * (1.0 + ROUNDING)
    bench.turns(900)
    assert bench.m < AGAIN * too_low


def test_fixed_goes_back_to_the_m_that_a_person_named() -> None:
    """After an emergency the policy fixed holds the M that it was told, and none a little above it."""
    bench = surged(replace(HIGH, policy="fixed", fixed_io_capacity_max=400))
    bench.turns(120)

    assert bench.m == pytest.approx(400, rel=0.02)
