"""A declared baseline that somebody set: taken over again by itself, and when it waits for a person."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, codes, held
from tuner.core.ownership.foreign import COOLDOWN_SECONDS, READOPTIONS
from tuner.records import Capacity, Remedy

BASELINE, OTHER = Capacity(200, 2_000), Capacity(300, 3_000)
COOLDOWN = int(COOLDOWN_SECONDS)


@pytest.fixture
def declared() -> Bench:
    """Return a loop in control with a declared baseline."""
    return Bench(replace(ACTIVE, baseline="200/2000")).in_control()


def changed(bench: Bench, pair: Capacity) -> None:
    """Let somebody else set a pair, and the loop yield."""
    bench.server.capacity, bench.server.ours = pair, False
    assert "foreign_change" in held(bench.turn())


def test_the_declared_baseline_is_taken_over_after_a_cool_down(declared: Bench) -> None:
    """What configuration management sets makes the loop yield for the cool-down, and then no longer."""
    changed(declared, BASELINE)
    assert declared.record.holds[0].seconds == COOLDOWN_SECONDS
    declared.turns(COOLDOWN - 1)
    assert held(declared.record) == {"foreign_change"}
    record = declared.turn()

    assert held(record) == set()
    assert "baseline" in codes(record)
    declared.until("set", "emergency")


@pytest.mark.parametrize("names", [True, False])
def test_nobody_is_sent_to_a_table_that_is_not_there(bench: Bench, *, names: bool) -> None:
    """Only where the server keeps who set a variable the loop says where to look."""
    bench.state = replace(bench.state, facts=replace(bench.state.facts, names_setters=names))
    changed(bench, OTHER)

    (said,) = bench.said("foreign_change")
    assert ("performance_schema" in said) is names


def test_anything_else_waits_for_a_person(declared: Bench) -> None:
    """A pair that is not the declared one is never taken over, however long it stays."""
    changed(declared, OTHER)
    declared.turns(5 * COOLDOWN)

    assert [hold.remedies for hold in declared.record.holds] == [(Remedy.RESUME,)]


def test_a_change_within_the_cool_down_begins_it_again(declared: Bench) -> None:
    """The cool-down is that of the last change: a tool that still works on the server is waited out."""
    changed(declared, BASELINE)
    declared.turns(COOLDOWN - 5)
    changed(declared, OTHER)
    changed(declared, BASELINE)

    assert held(declared.turns(COOLDOWN - 5)) == {"foreign_change"}
    assert held(declared.turns(10)) == set()


def test_a_fight_ends_with_a_person(declared: Bench) -> None:
    """After three times in an hour the loop stops taking over: somebody means it."""
    for _ in range(READOPTIONS):
        changed(declared, BASELINE)
        declared.turns(COOLDOWN + 1)
        declared.until("set", "emergency")
        declared.turns(3)
    changed(declared, BASELINE)
    declared.turns(5 * COOLDOWN)

    assert [hold.remedies for hold in declared.record.holds] == [(Remedy.BASELINE_SPENT,)]
