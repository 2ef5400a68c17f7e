"""What a status says of the server without the daemon, and of the burst that it absorbs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from api.models import Status
from api.views import status_of
from tests import factory
from tuner.cli.status import table
from tuner.records import (
    LOWEST_ABOVE_ZERO,
    Capacity,
    Decision,
    DecisionKind,
    Facts,
    Lifecycle,
    LowWaterMark,
    TickRecord,
)
from tuner.settings import Mode, Settings

DEFAULT = Capacity(10_000, 20_000)
SAMPLE = factory.sample(1.0)


def record(*, originals: Capacity = DEFAULT, mode: Mode = Mode.ACTIVE, **changes: Any) -> TickRecord:  # noqa: ANN401 - any field
    """Return a tick of the factory's steady load, at an age ratio of 0.7."""
    return TickRecord(
        tick=factory.tick(SAMPLE),
        lifecycle=Lifecycle.RUNNING,
        mode=mode,
        estimate=factory.estimate(**changes),
        decision=Decision(DecisionKind.KEEP, "dead_band", "the age is held"),
        originals=originals,
    )


def status(made: TickRecord, facts: Facts = factory.FACTS) -> Status:
    """Return the status of a tick."""
    return status_of(made, facts=facts, settings=Settings(), wall=made.tick.wall, process=None)


def test_the_values_that_hold_an_age_would_hold_it_without_a_daemon() -> None:
    """Where the originals rest at the age that is held, they write as many pages."""
    found = status(record(baseline_ratio=0.7)).without

    assert found is not None
    assert found.age_ratio == 0.7
    assert "as many page writes as now" in found.text


def test_while_the_originals_are_in_force_nothing_is_foretold_of_them() -> None:
    """What they do can be seen then, and is what the page says: no model says otherwise."""
    found = status(record(originals=SAMPLE.capacity, flush_rate=90.0)).without

    assert found is not None
    assert found.age_ratio == pytest.approx(SAMPLE.age_ratio, abs=0.001)
    assert found.page_writes == 1.0


@pytest.mark.parametrize(("found_mark", "told"), [(0, "no value moves the age"), (1_000_000, "settle at")])
def test_with_our_low_water_mark_the_originals_are_those_with_theirs(found_mark: int, told: str) -> None:
    """While 0.001 is in force, what is foretold of C and M is foretold with the mark that was found."""
    mark = LowWaterMark(in_force=LOWEST_ABOVE_ZERO, operator=found_mark, ours=True)
    made = replace(record(originals=Capacity(750, 1500), baseline_ratio=0.4), low_water=mark)

    found = status(made, replace(factory.FACTS, flush_law="mariadb")).without

    assert found is not None
    assert told in found.text
    assert (found.age_ratio is None) is (found_mark == 0)


def test_higher_originals_would_write_more_pages() -> None:
    """Where the originals are far above the demand, the age settles low, for more page writes."""
    found = status(record(baseline_ratio=0.35)).without

    assert found is not None
    assert found.age_ratio == 0.35
    assert found.page_writes == pytest.approx((0.7 / found.age_ratio) ** 0.5, abs=0.01)
    assert f"{found.page_writes:.1f} times the page writes of now (predicted)" in found.text


def test_originals_that_are_too_low_would_end_in_sync_flushing() -> None:
    """Where no age below the limit is held by the originals, that is said and no age is named."""
    found = status(record(baseline_ratio=1.2)).without

    assert found is not None
    assert found.age_ratio is found.page_writes is None
    assert "sync flushing" in found.text


def test_a_slow_device_bounds_what_the_originals_flush() -> None:
    """However high M is, no age is predicted whose page writes the device is known not to keep up with."""
    found = status(record(baseline_ratio=0.3, sustained_capacity=450.0)).without

    assert found is not None
    assert found.age_ratio == pytest.approx(0.7 * (400.0 / 450.0) ** 2, abs=0.005)


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        (record(mode=Mode.ADVISORY, baseline_ratio=0.4), factory.FACTS),
        (record(baseline_ratio=None), factory.FACTS),
        (replace(record(baseline_ratio=0.4), originals=None), factory.FACTS),
        (record(baseline_ratio=0.4), replace(factory.FACTS, flush_law="soft-limit")),
        (record(baseline_ratio=0.4), replace(factory.FACTS, flush_law="mariadb-wakes")),
    ],
)
def test_nothing_is_said_where_nothing_is_known(made: TickRecord, facts: Facts) -> None:
    """In advisory mode, without evidence, and where no M moves the age, there is no prediction."""
    assert status(made, facts).without is None
    assert "would settle" not in table(status(made, facts))


def test_an_advisory_loop_says_what_it_would_bring() -> None:
    """Where nothing is written, what is seen is without it; beside it is what the set-point would save."""
    decision = Decision(DecisionKind.KEEP, "advisory", "nothing is written", set_point=0.85)
    text = table(status(replace(record(mode=Mode.ADVISORY), decision=decision)))

    assert "as now: nothing is written. At the set-point: about 9% fewer page writes per byte of redo" in text


def test_a_burst_is_absorbed_as_long_as_the_redo_log_has_room() -> None:
    """The room below the sync point is used up by the redo that the device does not keep up with."""
    found = status(record())
    room = factory.LIMITS.sync_point - SAMPLE.modified_age

    assert found.burst is not None
    assert found.burst.load == 1.5
    assert found.burst.seconds == pytest.approx(room / (1e6 * 0.5), abs=0.1)
    assert "a burst of 1.5 times the load leads to sync flushing in " in table(found)


def test_a_device_with_reserves_absorbs_every_burst() -> None:
    """Where the device keeps up with half as much load again, a burst has no end."""
    found = status(record(sustained_capacity=700.0))

    assert found.burst is not None
    assert found.burst.seconds is None
    assert "a burst of 1.5 times the load never leads to sync flushing" in table(found)


def test_the_changes_that_are_left_are_said() -> None:
    """A status says how many writes this hour may still have."""
    made = replace(record(), changes_last_hour=7)

    assert "7 in the last hour; 53 of 60 left" in table(status(made))
