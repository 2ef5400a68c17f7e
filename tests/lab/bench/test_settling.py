"""A policy rests where it says so itself, and only where it may and does hold its set-point."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.bench.settling import holding
from tests.bench import Bench
from tests.factory import ACTIVE
from tuner.records import DecisionKind, Hold, HoldCode, TickRecord
from tuner.settings import Mode


@pytest.fixture(scope="module")
def right() -> Bench:
    """Return a daemon on a server that another one has brought to its set-point."""
    before = Bench(ACTIVE).in_control()
    before.server.combines = 0.3
    before.turns(2400)
    before.server.applied.clear()
    bench = Bench(ACTIVE, before.server).in_control()
    bench.turns(300)
    return bench


def test_a_daemon_whose_first_m_was_right_says_so(right: Bench) -> None:
    """It never writes, and its newest tick is all that tells it from one that has not looked yet."""
    assert right.server.applied == []
    assert holding(right.record)
    assert not holding(None)
    assert not any(holding(record) for record in right.records[:2]), "before it had a look"


@pytest.mark.parametrize("name", ["mode", "holds", "decision", "estimate", "away"])
def test_who_may_not_write_or_is_under_way_holds_nothing(right: Bench, name: str) -> None:
    """A hold, advisory mode, a write, or an age far from the set-point is no rest."""
    record = right.record
    assert record.estimate is not None
    changes = {
        "mode": {"mode": Mode.ADVISORY},
        "holds": {"holds": (Hold(HoldCode.PAUSED, 0.0, "by a person", "a person"),)},
        "decision": {"decision": replace(record.decision, kind=DecisionKind.SET, reason="raise")},
        "estimate": {"estimate": None},
        "away": {"estimate": replace(record.estimate, age_ratio=record.estimate.age_ratio - 0.1)},
    }
    changed: TickRecord = replace(record, **changes[name])
    assert not holding(changed)
