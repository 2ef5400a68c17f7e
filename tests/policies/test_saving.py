"""What the default law does while changes are scarce: one M, on the safe side, and few changes of it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from policies.cascade import Cascade, CascadeState
from policies.flushlaw import LEGACY
from policies.saving import AVERAGE_SECONDS, RETURN_MARGIN, SAFE
from tests.factory import A, situation

AVERAGE = round(AVERAGE_SECONDS)
LAW = Cascade(LEGACY)
RESTING = 400.0 * LEGACY.gain_over_demand(0.8)
"""M with which the factory's load rests at the set-point, pages/s."""


class Run:
    """The law over time; what it wants is written at once, as far as a step allows.

    Attributes:
        wrote: time and M of each change.
    """

    def __init__(self, m: int = 450) -> None:
        self.state: CascadeState = LAW.start()
        self.m, self.second = m, 0
        self.wrote: list[tuple[int, int]] = []

    def go(self, seconds: int, *, swing: float = 0.0, **changes: Any) -> None:  # noqa: ANN401 - any field
        """Go on for some time; the age swings around the set-point, or where ``ratio`` says."""
        ratio = changes.pop("ratio", 0.8)
        for _ in range(seconds):
            self.second += 1
            age = (ratio + swing * math.sin(self.second / 7.0)) * A
            seen: dict[str, Any] = {"now": 1000.0 + self.second, "age": age, "age_ahead": age, "saving": True}
            self.state, wanted = LAW.propose(
                self.state, situation(**(seen | {"io_capacity_max": self.m} | changes))
            )
            if wanted.act:
                self.m = round(min(2.0 * self.m, max(0.5 * self.m, wanted.io_capacity_max)))
                self.state = LAW.wrote(self.state, self.m)
                self.wrote.append((self.second, self.m))


def test_it_rests_on_the_safe_side_of_the_balance() -> None:
    """Scarce changes are not spent on an age that swings: one M, a little above what the mean needs."""
    run = Run()
    run.go(1800, swing=0.25)

    assert len(run.wrote) == 1
    assert run.m == pytest.approx(SAFE * RESTING, rel=0.03)


def test_plenty_of_changes_are_spent_on_such_an_age() -> None:
    """The same swing is followed as long as there are changes for it."""
    run = Run()
    run.go(600, swing=0.25, saving=False)

    assert len(run.wrote) > 10


def test_an_emergency_is_come_back_from_to_a_little_more() -> None:
    """M goes back once the age is below the set-point, to a little above what the emergency found too low."""
    run = Run()
    run.go(60, swing=0.1)
    before, run.m, changes = run.m, 4 * run.m, len(run.wrote)
    run.go(20, ratio=0.9)
    waited = len(run.wrote) == changes
    run.go(60, ratio=0.7)

    assert waited
    assert len(run.wrote) == changes + 2, "a factor of two in each"
    assert run.m == pytest.approx(RETURN_MARGIN * before, rel=0.01)


def test_a_persons_raise_is_no_sign_that_m_was_too_low() -> None:
    """An M that was raised while the age was below the set-point is come back from to what it was."""
    run = Run()
    run.go(60, ratio=0.79)
    before, run.m = run.m, round(1.5 * run.m)
    run.go(60, ratio=0.79)

    assert run.m == pytest.approx(before, rel=0.01)


@pytest.mark.parametrize(("ratio", "sign"), [(0.9, 1.0), (0.6, -1.0)])
def test_a_mean_error_that_lasts_is_worth_a_change(ratio: float, sign: float) -> None:
    """An age that stays off moves M, and not before the averages are of that time."""
    run = Run()
    run.go(60)
    before = run.m
    run.go(600, ratio=ratio)
    times = [second for second, _ in run.wrote[1:]]

    assert sign * math.log(run.m / before) > 0.0
    assert 0 < len(times) <= 600 / AVERAGE_SECONDS


def test_an_age_that_is_on_its_way_is_waited_for() -> None:
    """A mean error of minutes moves M by no more than what the M in force leaves of it."""
    run = Run()
    run.go(60)
    before = run.m
    run.go(400, ratio=0.4, age_ahead=0.75 * A)

    assert run.m == before
    run.go(AVERAGE, ratio=0.4, age_ahead=0.6 * A)
    assert 0.65 * before < run.m < before


def test_another_load_is_landed_for() -> None:
    """A load that needs three times as much is given that within minutes, however scarce changes are."""
    run = Run()
    run.go(60)
    run.go(360, ratio=0.92, redo_rate=3e6, flush_rate=1200.0)

    assert run.m >= SAFE * 2.8 * RESTING
    assert len(run.wrote) <= 5


def test_saving_ends_when_the_age_is_calm() -> None:
    """Changes enough alone do not end it: while the age swings as before they would be gone at once again."""
    run = Run()
    run.go(60, swing=0.25)
    run.go(600, swing=0.25, saving=False)
    restless = len(run.wrote)
    run.go(1200, saving=False)

    assert restless == 1
    assert not run.state.saving.on


def test_pages_that_are_all_dirty_already_end_no_tick() -> None:
    """After minutes without a reading nothing may be newly dirtied, which is no reason to fail."""
    run = Run(600)
    run.go(400, ratio=0.95)
    run.second += 151
    run.go(60, ratio=0.95, new_density=0.0)

    assert run.m > 0
