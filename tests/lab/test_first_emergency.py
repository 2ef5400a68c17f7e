"""A server whose M is far too low when its page cleaner wakes for the first time, under the whole loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.plant.parameters import DiskChange, DiskParameters, LoadChange
from lab.scenarios.load import load_scenario
from lab.simulate_loop import run_policy
from tuner.settings import Mode, Settings

FILE = Path(__file__).parents[1] / "fixtures" / "scenarios" / "first-waking.toml"
"""What docs/decisions/emergency.md has its figures from."""


@pytest.mark.parametrize(("rate", "write_iops"), [(3600.0, 20_000.0), (1200.0, 4_000.0)])
def test_nobody_waits_when_it_wakes(rate: float, write_iops: float) -> None:
    """Between the waking and the point where writers wait are some seconds: the raise comes in time."""
    scenario = load_scenario(str(FILE))
    load = replace(scenario.load, timeline=(LoadChange(0.0, 16, rate),))
    disk = DiskParameters(
        timeline=(DiskChange(0.0, write_iops),), operations_per_page=scenario.disk.operations_per_page
    )
    found = run_policy(replace(scenario, load=load, disk=disk), Settings(mode=Mode.ACTIVE))

    assert found.outcome.age_ratio_max > 1.03
    assert (found.outcome.stall_seconds, found.outcome.sync_flush_seconds) == (0.0, 0)
