"""What is left behind where the server does not answer, or holds the loop, at the wrong moment."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import Bench
from tests.factory import DEFAULT, SAVED, codes, command
from tuner.records import Capacity, DecisionKind, Lifecycle
from tuner.settings import Mode

ADVISORY = command("mode", value="advisory")


@pytest.mark.parametrize("silence", [1, 3, 20])
def test_leaving_active_unheard_parks_when_the_server_answers(bench: Bench, silence: int) -> None:
    """Asked for while the server does not answer, the park is made once at the next readings."""
    bench.silent(silence, ADVISORY)
    begun = len(bench.records)
    bench.turns(60)

    assert bench.record.mode is Mode.ADVISORY
    assert bench.wrote(since=begun) == [DecisionKind.PARK]
    assert bench.wrote(since=begun + 2) == []


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
    assert str(pair) in said
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
    ("ours", "whose"), [(True, ", InnoBrim's, is in force"), (False, ", not InnoBrim's")]
)
def test_a_pause_says_what_it_leaves(bench: Bench, *, ours: bool, whose: str) -> None:
    """The pair in force is named, and whose it is."""
    bench.server.capacity = bench.server.capacity if ours else DEFAULT

    assert f"{bench.server.capacity}{whose}" in bench.answer(command("pause"))[1]


@pytest.mark.parametrize("name", ["pause", "park"])
def test_a_pause_or_a_park_is_parked_once(bench: Bench, name: str) -> None:
    """A setting with room for half as much again is left, and nothing is written until a person resumes."""
    record = bench.turn(command(name))
    begun = len(bench.records)
    bench.turns(300)

    assert record.decision.kind is DecisionKind.PARK
    assert bench.m >= 1.5 * 400
    assert bench.wrote(since=begun) == []


def test_a_park_that_writes_nothing_says_why(bench: Bench) -> None:
    """A pair that is safe already is not written again, and that is said with the room it leaves."""
    for _ in range(5):
        bench.turns(20)
        decision = bench.turn(command("park")).decision

    assert decision.steps == ()
    assert decision.detail.endswith("with room for 1.5 times the load: nothing is written")


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
