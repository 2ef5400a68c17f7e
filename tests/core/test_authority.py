"""A device that cannot do what is asked: M does not wind up, and comes back when the device does."""

from __future__ import annotations

import pytest

from tests.bench import Bench, FakeServer
from tests.core.loops import DENSITY, RATE, at_rest
from tests.factory import DEFAULT, A
from tuner.core.writes.guards import DEVICE_MARGIN
from tuner.records import Capacity, TickRecord
from tuner.settings import Mode, PolicyName, Settings

BACK_MINUTES = {"cascade": 10, "pid": 20}
"""How long the way back may take; ``pid`` knows no model, and feels its way."""

SHOWS = 20
"""Seconds within which a slow device shows in the authority."""

OVERSHOOT = 0.1


def ratio(record: TickRecord) -> float:
    """Return the age ratio of a tick."""
    assert record.estimate is not None
    return record.estimate.age_ratio


@pytest.mark.parametrize("policy", ["cascade", "pid"])
@pytest.mark.parametrize(
    ("share", "set_point", "backup"), [(0.3, 0.8, False), (0.8, 0.6, False), (0.5, 0.8, True)]
)
def test_a_slow_device_does_not_wind_m_up(
    policy: PolicyName, share: float, set_point: float, *, backup: bool
) -> None:
    """Ten minutes above the set-point raise M no further, and the age comes back without undershooting.

    The same holds where a backup is what makes it slow, from which nothing is learned. The loss of authority
    is said once, and its end.
    """
    bench = at_rest(policy, set_point)
    bench.server.device = share * RATE * DENSITY
    bench.server.shows = {"backup_locked": backup}
    bench.turns(SHOWS)
    ceiling, values = max(bench.m, DEVICE_MARGIN * bench.server.device), []
    for _ in range(600):
        bench.turn()
        values.append(bench.m)
    assert ratio(bench.record) > set_point + OVERSHOOT
    assert bench.codes("authority") == ["authority_lost"]
    bench.server.device, bench.server.shows = 1e9, {}
    back = [bench.turn() for _ in range(60 * BACK_MINUTES[policy])]

    assert max(values) <= ceiling
    assert min(map(ratio, back)) > set_point - OVERSHOOT
    assert abs(ratio(back[-1]) - set_point) < OVERSHOOT
    assert bench.codes("authority") == ["authority_lost", "authority_back"]


def test_an_m_that_is_named_is_written_whatever_the_device_gives() -> None:
    """Who sets policy = "fixed" gets that M on a slow device as well: limits alone bound it."""
    server = FakeServer(Capacity(200, 400), redo_rate=RATE)
    server.density, server.device = DENSITY, 0.3 * RATE * DENSITY
    server.oldest = server.lsn - 0.8 * A
    settings = Settings(mode=Mode.ACTIVE, policy="fixed", fixed_io_capacity_max=700)
    bench = Bench(settings, server, originals=DEFAULT)
    bench.turns(120)

    assert bench.m == 700
