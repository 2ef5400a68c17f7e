"""What the loop says that the server would do without it, against what the same server does without it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.scenarios import load_scenario
from lab.scenarios.schema import Scenario
from lab.simulate_loop import run_policy
from tuner.records import TickRecord
from tuner.settings import Mode, Settings

LEVER = Settings(mode=Mode.ACTIVE, low_water_mark=True)
ADVISORY = Settings(mode=Mode.ADVISORY)


def mariadb(mark: float) -> Scenario:
    """Return a MariaDB with that ``innodb_max_dirty_pages_pct_lwm``, percent."""
    scenario = load_scenario("mariadb-lwm0")
    server = replace(scenario.server, max_dirty_pages_pct_lwm=mark)
    return replace(scenario, seconds=1200, measured_from=600, server=server)


def short_pool() -> Scenario:
    """Return a server whose LRU does three quarters of the flushing."""
    scenario = load_scenario("h10-short-pool")
    server = replace(scenario.server, io_capacity=200, io_capacity_max=400)
    return replace(scenario, seconds=2000, measured_from=600, server=server)


def longest(scenario: Scenario, settings: Settings, name: str) -> float:
    """Return the highest value, within the last two minutes, of a figure of the estimate."""
    records: list[TickRecord] = []
    run_policy(scenario, settings, publish=records.append)
    return max(getattr(record.estimate, name) for record in records[-120:])


@pytest.mark.parametrize(
    ("scenario", "settings"),
    [(mariadb(0.0), LEVER), (mariadb(20.0), LEVER), (short_pool(), ADVISORY)],
    ids=["no age counted", "the age counted late", "the LRU flushes"],
)
def test_the_baseline_is_what_the_server_does_that_is_left_alone(
    scenario: Scenario, settings: Settings
) -> None:
    """Recovery with the baseline settings is told as long as it is, whatever mark of ours is in force."""
    alone = longest(scenario, ADVISORY, "recovery_seconds")

    assert longest(scenario, settings, "recovery_at_baseline") == pytest.approx(alone, rel=0.08)
