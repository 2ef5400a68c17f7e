"""What the set-point must never be above, judged from what the loop itself holds for true."""

from __future__ import annotations

from msgspec.structs import replace

from policies.registry import LAWS
from policies.setpoint import LOWEST, STEP
from tuner.core.setpoint import budgets
from tuner.core.state import State
from tuner.core.targets import headroom_of
from tuner.records import Estimate, Sample


def within_bounds(reading: Sample, found: Estimate, after: State) -> None:
    """See that the set-point is above no bound, a person's neither but where persons come first."""
    settings, set_point = after.settings, after.set_point
    assert set_point is not None
    assert 0.2 <= set_point <= max(1.0, reading.sync_point / reading.flush_limit)
    if not LAWS[after.facts.flush_law].authority:
        assert set_point == 1.0, "not where the age rests whatever M"
        return
    if reading.replica or reading.group_role == "SECONDARY":
        assert set_point <= settings.max_replica_set_point, "a replica above its limit"
    highest = max(1.0, reading.sync_point / reading.flush_limit)
    assert set_point <= after.caution.bound(highest) + STEP, "the set-point is above free_pages"
    if settings.set_point is None:
        for name, bound in _of_the_schedule(reading, found, after).items():
            assert set_point <= max(LOWEST, bound) + STEP, f"the set-point is above {name}"
    else:
        assert set_point <= settings.set_point


def _of_the_schedule(reading: Sample, found: Estimate, after: State) -> dict[str, float]:
    """Return the bounds by budgets and windows: a window's set-point before budgets of no window.

    None by a budget that no set-point keeps, and none below the age of the settings found.
    """
    windows = after.schedule
    headroom = headroom_of(after, reading, found)
    asked = {
        name: [value for one in windows if (value := getattr(one, key)) is not None]
        for name, key in (("recovery", "max_recovery_seconds"), ("shutdown", "max_shutdown_seconds"))
    }
    changed = {f"max_{name}_seconds": min(values) for name, values in asked.items() if values}
    standing = budgets.look(
        after.estimator.recovery,
        headroom,
        replace(after.settings, **changed),
        reading,
        baseline=found.baseline_ratio or 0.0,
    )
    dropped = {name for name, debounced in after.announced.dropped if debounced.on}
    ratios = {name: one.bound for name, one in standing.items() if name not in dropped}
    set_points = [one.set_point for one in windows if one.set_point is not None]
    if not set_points:
        return ratios
    return {"window": min(set_points)} | {name: ratio for name, ratio in ratios.items() if asked[name]}
