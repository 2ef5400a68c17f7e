"""Values that somebody else set: what is taken over again by itself, and what waits for a person."""

from __future__ import annotations

from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, codes, held
from tuner.core.ownership.foreign import COOLDOWN_SECONDS, NOBODY_KNOWS, READOPTIONS
from tuner.records import Capacity, Remedy
from tuner.remedies import told

BASELINE = Capacity(200, 2_000)
COOLDOWN = COOLDOWN_SECONDS
DECLARED = replace(ACTIVE, baseline="200/2000")


def changed(bench: Bench, pair: Capacity) -> set[str]:
    """Let somebody else set a pair; return the holds of the tick that sees it."""
    bench.server.capacity, bench.server.ours = pair, False
    return held(bench.turn())


def test_the_declared_baseline_is_taken_over_after_a_cool_down() -> None:
    """What configuration management sets makes the loop yield for the cool-down, and then no longer."""
    bench = Bench(DECLARED).in_control()
    assert "foreign_change" in changed(bench, BASELINE)
    (hold,) = bench.record.holds
    assert (hold.remedies, hold.seconds) == ((Remedy.BASELINE_UNTOUCHED,), 300.0)
    (said,) = [told(event) for event in bench.record.events if event.code == "foreign_change"]
    assert "FROM performance_schema.variables_info" in said
    bench.turns(int(COOLDOWN) - 1)
    assert held(bench.record) == {"foreign_change"}
    assert bench.record.holds[0].seconds == 1.0
    record = bench.turn()

    assert held(record) == set()
    assert "baseline" in codes(record)
    assert "1 of 3 in the hour" in record.events[0].message
    bench.until("set", "emergency")


def test_nobody_is_sent_to_a_table_that_is_not_there() -> None:
    """Where the server does not keep who set a variable, the loop says that instead of a statement."""
    bench = Bench(ACTIVE).in_control()
    bench.state = replace(bench.state, facts=replace(bench.state.facts, names_setters=False))
    changed(bench, Capacity(300, 3_000))

    (said,) = [told(event) for event in bench.record.events if event.code == "foreign_change"]
    assert "performance_schema" not in said
    assert said.endswith(NOBODY_KNOWS)


def test_anything_else_waits_for_a_person() -> None:
    """A pair that is not the declared one is never taken over, however long it stays."""
    bench = Bench(DECLARED).in_control()
    changed(bench, Capacity(300, 3_000))
    bench.turns(5 * int(COOLDOWN))

    (hold,) = bench.record.holds
    assert hold.remedies == (Remedy.RESUME,)


def test_a_change_within_the_cool_down_begins_it_again() -> None:
    """The cool-down is that of the last change: a tool that still works on the server is waited out."""
    bench = Bench(DECLARED).in_control()
    changed(bench, BASELINE)
    bench.turns(int(COOLDOWN) - 5)
    changed(bench, Capacity(300, 3_000))
    changed(bench, BASELINE)
    bench.turns(int(COOLDOWN) - 5)
    assert held(bench.record) == {"foreign_change"}
    bench.turns(10)

    assert held(bench.record) == set()


def test_a_fight_ends_with_a_person() -> None:
    """After three times in an hour the loop stops taking over: somebody means it."""
    bench = Bench(DECLARED).in_control()
    for _ in range(READOPTIONS):
        changed(bench, BASELINE)
        bench.turns(int(COOLDOWN) + 1)
        bench.until("set", "emergency")
        bench.turns(3)
    changed(bench, BASELINE)
    bench.turns(5 * int(COOLDOWN))

    (hold,) = bench.record.holds
    assert hold.remedies == (Remedy.BASELINE_SPENT,)
