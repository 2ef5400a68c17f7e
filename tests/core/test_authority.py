"""A device that cannot do what is asked: M does not wind up, and comes back when the device does."""

from __future__ import annotations

import pytest

from policies.flushlaw import LEGACY
from tests.bench import Bench, FakeServer
from tests.factory import DEFAULT, A, codes
from tuner.core.writes.guards import DEVICE_MARGIN
from tuner.records import Capacity, TickRecord
from tuner.settings import Mode, PolicyName, Settings

MINUTES = 10
BACK_MINUTES = {"cascade": 10, "pid": 20}
"""How long the way back may take; ``pid`` knows no model, and feels its way."""

SHOWS = 20
"""Seconds within which a slow device shows in the authority."""

OVERSHOOT = 0.1
RATE, DENSITY = 1e6, 0.0004


def at_rest(policy: PolicyName, set_point: float) -> Bench:
    """Return a loop beside a server that rests at its set-point."""
    wanted = round(RATE * DENSITY * LEGACY.gain_over_demand(set_point) / 2.0)
    server = FakeServer(Capacity(wanted, 2 * wanted), redo_rate=RATE)
    server.density = DENSITY
    server.oldest = server.lsn - set_point * A
    settings = Settings(mode=Mode.ACTIVE, policy=policy, set_point=set_point, max_changes_per_hour=3600)
    bench = Bench(settings, server, originals=DEFAULT)
    bench.turns(60)
    return bench


def ratio(record: TickRecord) -> float:
    """Return the age ratio of a tick."""
    assert record.estimate is not None
    return record.estimate.age_ratio


@pytest.mark.parametrize("policy", ["cascade", "pid"])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("set_point", [0.6, 0.8])
@pytest.mark.parametrize("backup", [False, True])
def test_a_slow_device_does_not_wind_m_up(
    policy: PolicyName, share: float, set_point: float, *, backup: bool
) -> None:
    """Ten minutes above the set-point raise M no further, and the age comes back without undershooting.

    The same holds where a backup is what makes it slow, from which nothing is learned.
    """
    bench = at_rest(policy, set_point)
    bench.server.device = share * RATE * DENSITY
    bench.server.shows = {"backup_locked": backup}
    bench.turns(SHOWS)
    ceiling = max(bench.server.capacity.io_capacity_max, DEVICE_MARGIN * bench.server.device)
    values = []
    for _ in range(60 * MINUTES):
        bench.turn()
        values.append(bench.server.capacity.io_capacity_max)
    assert ratio(bench.record) > set_point + OVERSHOOT
    bench.server.device, bench.server.shows = 1e9, {}
    back = [bench.turn() for _ in range(60 * BACK_MINUTES[policy])]

    assert max(values) <= ceiling
    assert min(map(ratio, back)) > set_point - OVERSHOOT
    assert abs(ratio(back[-1]) - set_point) < OVERSHOOT


def test_the_loss_of_authority_is_said_and_named_in_the_decision() -> None:
    """One event when it is lost and one when it is back; in between the decision says why M stays."""
    bench = at_rest("cascade", 0.8)
    bench.server.device = 0.5 * RATE * DENSITY
    during = [bench.turn() for _ in range(300)]
    said = bench.record.decision.detail
    bench.server.device = 1e9
    after = [bench.turn() for _ in range(120)]

    assert [code for one in during for code in codes(one) if "authority" in code] == ["authority_lost"]
    assert [code for one in after for code in codes(one) if "authority" in code] == ["authority_back"]
    assert "the device is the limit" in said


def test_an_m_that_is_named_is_written_whatever_the_device_gives() -> None:
    """Who sets policy = "fixed" gets that M on a slow device as well: limits alone bound it."""
    server = FakeServer(Capacity(200, 400), redo_rate=RATE)
    server.density, server.device = DENSITY, 0.3 * RATE * DENSITY
    server.oldest = server.lsn - 0.8 * A
    settings = Settings(mode=Mode.ACTIVE, policy="fixed", fixed_io_capacity_max=700)
    bench = Bench(settings, server, originals=DEFAULT)
    bench.turns(120)

    assert server.capacity.io_capacity_max == 700
