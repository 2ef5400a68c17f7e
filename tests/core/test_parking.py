"""What is left behind, and the way back to the originals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.flushlaw import LEGACY
from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, FACTS, SAVED, codes, command, estimate
from tuner.core.leaving.park import PARKED_RATIO, parked
from tuner.core.leaving.restore import RESTORE_FACTOR, restore_step
from tuner.core.writes.plan import plan
from tuner.records import Capacity, DecisionKind, Lifecycle
from tuner.settings import Mode

CAPACITY = st.integers(100, 20_000)
WHOLE = st.builds(lambda c: Capacity(c, 2 * c), CAPACITY)
ANY = st.builds(
    lambda c, m: Capacity(min(c, m), max(c, m)), st.sampled_from([100, 200, 777, 2000, 10_000]), CAPACITY
)


def park(*, current: int = 200, highest: int = 20_000, **changes: float) -> Capacity:
    """Return the pair that is left behind after such an estimate."""
    return parked(estimate(**changes), LEGACY, ACTIVE, current=current, lowest=200, highest=highest, home=200)


@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.7, 0.9, 1.0])
def test_a_parked_setting_holds_half_as_much_load_again(ratio: float) -> None:
    """At 1.5 times the demand, which falls with age as measured, the age settles clear of sync flushing."""
    left = park(age_ratio=ratio)
    at_parked_age = 400.0 * min(1.0, ratio / PARKED_RATIO) ** 0.5
    holds_it_there = LEGACY.gain_over_demand(PARKED_RATIO + 0.005) * 1.5 * at_parked_age

    assert left.io_capacity_max >= holds_it_there


@pytest.mark.parametrize("known", [{"demand_ahead": 800.0}, {"flush_rate": 800.0}, {"new_density": 0.0008}])
def test_the_largest_demand_known_decides(known: dict[str, float]) -> None:
    """A demand that is still on its way to the tail, or a flush rate above it, is left room for."""
    assert park(**known).io_capacity_max == pytest.approx(2 * park().io_capacity_max, abs=4)


def test_parking_never_lowers_what_is_in_force() -> None:
    """A higher setting that is already there stays, inside the limits."""
    assert park(current=9_000).io_capacity_max == 9_000
    assert park(current=30_000, highest=20_000).io_capacity_max == 20_000


@given(
    demand=st.floats(0.0, 1e9),
    ahead=st.floats(0.0, 1e9),
    ratio=st.floats(0.0, 2.0),
    combining=st.floats(0.0, 1.0),
)
def test_a_parked_setting_is_inside_the_limits(
    demand: float, ahead: float, ratio: float, combining: float
) -> None:
    """Whatever was estimated, what is left behind is a whole ratio inside the limits."""
    left = park(demand=demand, demand_ahead=ahead, age_ratio=ratio, combining_exponent=combining)

    assert left.io_capacity_max % left.io_capacity == 0
    assert 200 <= left.io_capacity_max <= 20_000


def way_back(current: Capacity, originals: Capacity) -> list[Capacity]:
    """Return the pairs in force on the way back, on a server that takes SETs as MySQL does."""
    server = FakeServer(current)
    seen = [current]
    while server.capacity != originals:
        assert len(seen) < 100, f"no way back: {seen[-3:]}"
        target = restore_step(server.capacity, originals)
        server.apply(plan(server.capacity, target), target)
        assert server.capacity == target, "the server would have changed the pair without an error"
        seen.append(target)
    return seen


@given(current=WHOLE, originals=ANY)
@example(current=Capacity(100, 200), originals=Capacity(200, 2_000))
@example(current=Capacity(100, 200), originals=Capacity(200, 20_000))
@example(current=Capacity(150, 300), originals=Capacity(100, 20_000))
@example(current=Capacity(225, 450), originals=DEFAULT)
@example(current=DEFAULT, originals=Capacity(100, 100))
def test_restoring_ends_at_the_originals_as_they_were(current: Capacity, originals: Capacity) -> None:
    """From any pair of ours to any originals, odd ones too: M goes one way in small steps, C about so."""
    seen = way_back(current, originals)
    values = [pair.io_capacity_max for pair in seen]

    assert seen[-1] == originals
    assert values == sorted(values, reverse=current.io_capacity_max > originals.io_capacity_max)
    assert all(max(old, new) <= RESTORE_FACTOR * min(old, new) for old, new in pairwise(values))
    assert all(pair.io_capacity >= FACTS.capacity_minimum for pair in seen)
    low, high = sorted((current.io_capacity, originals.io_capacity))
    assert all(
        0.62 * low <= pair.io_capacity <= max(1.61 * high, 2 * FACTS.capacity_minimum) for pair in seen
    )


def test_going_back_to_the_default_takes_minutes() -> None:
    """From a small M to 10000/20000 there are enough steps that no flush storm comes of it."""
    assert 15 <= len(way_back(Capacity(225, 450), DEFAULT)) <= 30


def test_two_readings_at_nearly_the_same_time_promise_no_park() -> None:
    """A rate over milliseconds would promise a setting without slack: a park is refused until it has one."""
    bench = Bench(server=FakeServer(Capacity(100, 200)))
    bench.turn()
    bench.turn(SAVED, seconds=0.005)

    assert [bench.answer(command("park"))[0] for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("policy", "pair", "rate", "seconds", "lowered"),
    [("cascade", Capacity(2_000, 4_000), 1e4, 0, False), ("fixed", DEFAULT, 1e6, 12, True)],
    ids=["in the first seconds", "once the rates are known"],
)
def test_a_park_lowers_what_is_not_ours_only_by_rates(
    policy: str, pair: Capacity, rate: float, seconds: int, *, lowered: bool
) -> None:
    """Two readings may show next to no load; a park by rates leaves what the load needs, and no more."""
    chosen = replace(ACTIVE, policy=policy, fixed_io_capacity_max=20_000)
    bench = Bench(chosen, FakeServer(pair, redo_rate=rate)).ready()
    bench.turns(seconds)
    bench.turn(command("park"))
    bench.turns(3)

    assert (bench.m < pair.io_capacity_max) is lowered


# Where the server does not answer, or holds the loop, at the wrong moment.

ADVISORY = command("mode", value="advisory")


@pytest.mark.parametrize("silence", [1, 3, 20])
def test_leaving_active_unheard_parks_when_the_server_answers(bench: Bench, silence: int) -> None:
    """Asked for while the server is silent, the park is made once at the next readings, not given up."""
    bench.silent(silence, ADVISORY)
    begun = len(bench.records)
    bench.turns(60)

    assert bench.record.mode is Mode.ADVISORY
    assert bench.wrote(since=begun) == [DecisionKind.PARK]
    assert bench.wrote(since=begun + 2) == []
    assert bench.said("not_parked") == []


def test_a_stop_pays_what_leaving_active_still_owes(bench: Bench) -> None:
    """Stopped before the park on leaving active could be made, the daemon makes it with its last reading."""
    bench.silent(1, ADVISORY)

    assert bench.turn(command("stop", value="park")).decision.kind is DecisionKind.PARK


def test_leaving_active_unheard_for_long_is_given_up_and_said(bench: Bench) -> None:
    """After a minute without an answer the park is given up, with one event that names what is in force."""
    pair, begun = bench.server.capacity, len(bench.records)
    bench.silent(71, ADVISORY)
    bench.turns(5)

    (said,) = bench.said("not_parked", since=begun)
    assert pair.in_words in said
    assert bench.wrote(since=begun) == []


@pytest.mark.parametrize(
    "change", [{"down": "did not answer within 1 s"}, {"resizing": True}, {"adaptive_flushing": False}]
)
def test_nothing_is_parked_in_the_middle_of_a_restore(bench: Bench, change: dict[str, Any]) -> None:
    """A silence or a hold during a restore causes no jump: step by step the originals come back."""
    bench.turn(command("restore"))
    bench.turns(2)
    begun, before = len(bench.records), {name: getattr(bench.server, name) for name in change}
    vars(bench.server).update(change)
    bench.turns(10)
    vars(bench.server).update(before)
    bench.turns(300)

    assert set(bench.wrote(since=begun)) == {DecisionKind.RESTORE}
    assert bench.server.capacity == DEFAULT


@pytest.mark.parametrize(
    ("change", "tried"),
    [
        ({"writer": False}, []),
        ({"refusal": "Access denied", "denied": True}, [DecisionKind.RESTORE]),
    ],
    ids=["another InnoBrim", "no privilege"],
)
def test_a_restore_waits_while_the_server_is_not_ours_to_write(
    bench: Bench, change: dict[str, Any], tried: list[DecisionKind]
) -> None:
    """Beside another daemon, or without the privilege, nothing is written; after that it goes on."""
    bench.turn(command("restore"))
    bench.turns(2)
    begun, before = len(bench.records), {name: getattr(bench.server, name) for name in change}
    vars(bench.server).update(change)
    bench.turns(30)
    assert bench.wrote(since=begun) == tried
    vars(bench.server).update(before)
    bench.turn(*([command("resume")] if tried else []))
    bench.turns(300)

    assert bench.server.capacity == DEFAULT


@pytest.mark.parametrize("meddled", [False, True])
def test_resumed_unheard_the_loop_knows_its_own_values(bench: Bench, *, meddled: bool) -> None:
    """After resume without a reading a pair is the loop's own where nobody changed it meanwhile."""
    bench.turn(command("pause"))
    bench.turn()
    bench.silent(1, command("resume"))
    bench.server.capacity = Capacity(300, 900) if meddled else bench.server.capacity
    bench.turn()

    assert bench.state.writes.own == (None if meddled else bench.server.capacity)


@pytest.mark.parametrize(
    ("ours", "whose"), [(True, ", set by InnoBrim; a parked pair"), (False, ", not set by InnoBrim")]
)
def test_a_pause_says_what_it_leaves(bench: Bench, *, ours: bool, whose: str) -> None:
    """The pair in force is named, and whose it is."""
    bench.server.capacity = bench.server.capacity if ours else DEFAULT

    assert f"{bench.server.capacity.in_words}{whose}" in bench.answer(command("pause"))[1]


def test_a_park_that_writes_nothing_says_why(bench: Bench) -> None:
    """A pair that is safe already is not written again, and that is said with the room it leaves."""
    for _ in range(5):
        bench.turns(20)
        decision = bench.turn(command("park")).decision

    assert decision.steps == ()
    assert decision.detail.endswith("room for 1.5 times the load: nothing is written")


@pytest.mark.parametrize(("value", "kinds"), [("park", [DecisionKind.PARK]), ("leave", [])])
def test_a_stop_leaves_our_own_values_parked_or_as_they_are(
    bench: Bench, value: str, kinds: list[DecisionKind]
) -> None:
    """The last write leaves room for half as much load again, unless on_stop = "leave"."""
    bench.turns(15)
    begun = len(bench.records)
    record = bench.turn(command("stop", who="SIGTERM", value=value))

    assert record.lifecycle is Lifecycle.STOPPING
    assert bench.wrote(since=begun) == kinds
    assert value == "leave" or bench.server.capacity == bench.state.park_target
    assert value == "leave" or bench.m >= 1.5 * 400


def test_a_stop_begins_nothing() -> None:
    """Neither a daemon that has not written yet, nor one that went advisory, writes while it stops."""
    bench = Bench()
    bench.turns(30)
    bench.turn(SAVED, command("stop", value="park"))
    assert bench.server.applied == []

    bench = Bench().in_control()
    bench.turn(ADVISORY)
    begun = len(bench.records)
    bench.server.redo_rate = 3e6
    bench.turns(30)
    bench.turn(command("stop", value="park"))
    assert bench.wrote(since=begun) == []
    assert "parked" not in codes(bench.record)
