"""What a park would write, as the page shows it before somebody asks for one."""

from __future__ import annotations

from msgspec.structs import replace

from api.views import parked_of
from tests.api.factory import FACTS, missed, record, sample
from tuner.records import Capacity, TickRecord
from tuner.settings import Mode, Settings

IN_FORCE = Capacity(225, 450)


def at_work() -> TickRecord:
    """Return the tick of an active loop whose own pair is in force."""
    reading = sample(io_capacity=IN_FORCE.io_capacity, io_capacity_max=IN_FORCE.io_capacity_max)
    return replace(record(reading=reading), mode=Mode.ACTIVE)


def test_a_park_has_slack_and_stays_inside_the_limits() -> None:
    """It is never below what the loop has written, never above the limit, and M is a whole multiple of C."""
    wide = parked_of(at_work(), replace(FACTS, flush_law="legacy"), Settings())
    low = Settings(max_io_capacity_max=500)
    narrow = parked_of(at_work(), replace(FACTS, flush_law="legacy"), low)

    assert wide is not None
    assert narrow is not None
    assert wide.io_capacity_max > IN_FORCE.io_capacity_max
    assert wide.io_capacity_max % wide.io_capacity == 0
    assert narrow.io_capacity_max <= low.max_io_capacity_max


def test_nothing_is_promised_where_nothing_is_known() -> None:
    """Without a reading, settings, or a flush law that is known there is no pair to show."""
    facts = replace(FACTS, flush_law="legacy")

    assert parked_of(record(reading=missed(1)), facts, Settings()) is None
    assert parked_of(at_work(), None, Settings()) is None
    assert parked_of(at_work(), facts, None) is None
    assert parked_of(at_work(), replace(FACTS, flush_law="unheard of"), Settings()) is None
