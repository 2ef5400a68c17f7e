"""The scenarios that the package brings."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.scenarios import load_scenario, scenario_names
from lab.scenarios.schema import SETTLING_RESIDENCES
from lab.scenarios.static import run_static
from lab.simulate import resized
from lab.simulate_loop import run_policy
from tuner.settings import Mode, Settings

HARDLY_FILLED = frozenset({"h10-short-pool", "h12-mysql80-defaults", "h13-big-redo-poolpct"})
"""With the C and M that they start with hardly any of the redo log is used: how long a record stays in it is
reckoned by what the loop leaves in it."""


def test_the_first_scenarios_are_there() -> None:
    """The package brings at least steady-1200iops, step-up and iops-drop, and their files are sound."""
    assert {"steady-1200iops", "step-up", "iops-drop"} <= set(scenario_names())
    for name in scenario_names():
        assert load_scenario(name).name == name


@pytest.mark.parametrize("name", scenario_names())
def test_counting_starts_late_enough_and_before_the_first_change(name: str) -> None:
    """Steady scenarios count after five residence times S/R, moving ones before they move or whole rounds."""
    scenario = load_scenario(name)
    if scenario.repeats:
        rounds = [one for one in (scenario.load.repeat, scenario.disk.repeat) if one is not None]
        assert all((scenario.seconds - scenario.measured_from) % one == 0.0 for one in rounds)
    elif scenario.changes or scenario.disk.credits:
        assert scenario.measured_from < min(scenario.changes, default=scenario.seconds)
    elif name in HARDLY_FILLED:
        outcome = run_policy(scenario, Settings(mode=Mode.ACTIVE)).outcome
        filled = outcome.checkpoint_age_max * scenario.server.redo_capacity
        assert scenario.measured_from >= SETTLING_RESIDENCES * filled / outcome.redo_rate_before
    else:
        outcome = run_static(scenario, 2, 20_000)
        least = SETTLING_RESIDENCES * scenario.server.redo_capacity / outcome.redo_rate_before
        assert scenario.measured_from >= least


def test_a_longer_run_is_the_same_run_longer() -> None:
    """--seconds lengthens a scenario and leaves server, disk and load as they are."""
    scenario = load_scenario("iops-drop")
    longer = resized(scenario, seed=None, seconds=86_400)
    assert longer == replace(scenario, seconds=86_400)
    assert longer.plant.fingerprint() == scenario.plant.fingerprint()
