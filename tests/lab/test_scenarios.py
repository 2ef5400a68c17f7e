"""The scenarios that the package brings."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.scenarios import load_scenario, scenario_names
from lab.scenarios.schema import SETTLING_RESIDENCES
from lab.scenarios.static import run_static
from lab.simulate import resized


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
