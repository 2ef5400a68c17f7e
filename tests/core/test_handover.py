"""A server that may not be written, and one that changes its role."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, DEFAULT, codes, command, held, sample
from tuner.core.ownership.handover import role_of
from tuner.records import Capacity, DecisionKind, Reason, Remedy
from tuner.settings import Mode

ANYWAY = replace(ACTIVE, allow_read_only_writes=True)
READ_ONLY = {"read_only": True, "super_read_only": True}
REPLICA = {"replica": True}


def parks(bench: Bench, since: int) -> list[str]:
    """Return why each park from a record on was made."""
    found = [record.decision for record in bench.records[since:]]
    return [one.detail for one in found if one.kind is DecisionKind.PARK]


@pytest.mark.parametrize(
    ("seen", "role"),
    [
        ({}, "primary"),
        (READ_ONLY, "primary"),
        ({"group_role": "PRIMARY"}, "primary"),
        (REPLICA, "replica"),
        ({"group_role": "secondary"}, "replica"),
        ({"group_role": "UNKNOWN"}, "primary"),
        ({"replica": True, "group_role": "PRIMARY"}, "replica"),
    ],
    ids=str,
)
def test_a_server_that_replays_another_ones_writes_is_a_replica(seen: dict[str, Any], role: str) -> None:
    """An applier at work or a group's word makes a replica; read_only alone does not."""
    assert role_of(sample(**seen)) == role


@pytest.mark.parametrize("variable", ["read_only", "super_read_only"])
def test_a_read_only_server_is_left_as_it_is(bench: Bench, variable: str) -> None:
    """Nothing is written to it, no park either; the hold names the variable, what was left, what ends it.

    Clearing it needs no person: what was left is still the loop's own.
    """
    left, begun = bench.server.capacity, len(bench.records)
    bench.server.shows = {"read_only": True, variable: True}
    (hold,) = bench.turn().holds
    bench.server.redo_rate = 4e6
    bench.turns(60)

    assert hold.code.value == "not_writer"
    assert hold.reason == f"{variable} is ON; in force: {left.in_words}, set by InnoBrim"
    assert hold.remedies == (Remedy.READ_ONLY_OFF,)
    assert bench.wrote(since=begun) == []
    bench.server.shows = {}
    record = bench.turn()
    assert "clear_not_writer" in codes(record)
    assert held(record) == set()
    assert bench.state.writes.own == left
    bench.until("set", "emergency")


@pytest.mark.parametrize("meddled", [False, True])
def test_what_is_ours_stays_ours_through_advisory_mode(bench: Bench, *, meddled: bool) -> None:
    """Going to advisory mode and back makes nobody else's of the values that were written last, nor ours."""
    bench.server.shows = READ_ONLY
    bench.turn()
    bench.turn(command("mode", value="advisory"))
    bench.turns(3)
    bench.server.capacity = Capacity(300, 900) if meddled else bench.server.capacity
    bench.turn(command("mode", value="active"))
    record, pair = bench.turns(3), bench.server.capacity
    (hold,) = [one for one in record.holds if one.code.value == "not_writer"]

    assert hold.reason == (
        f"super_read_only is ON; in force: {pair.in_words}, {'not set' if meddled else 'set'} by InnoBrim"
    )
    assert (bench.state.writes.own == pair) is not meddled


@pytest.mark.parametrize("silent", [False, True])
def test_leaving_active_says_what_it_could_not_park(bench: Bench, *, silent: bool) -> None:
    """Asked for advisory mode on a read-only server, it says why there is no park, and what was left."""
    bench.server.shows, left = READ_ONLY, bench.server.capacity
    bench.turns(2)
    bench.server.down = "did not answer within 1 s" if silent else ""

    said = bench.answer(command("mode", value="advisory"))[1]
    assert said.endswith(f"super_read_only is ON; in force: {left.in_words}, set by InnoBrim")


@pytest.mark.parametrize("asked", ["park", "restore", "override"])
def test_a_read_only_server_is_not_written_for_a_person_either(bench: Bench, asked: str) -> None:
    """Who asks for a write is refused, and hears which variable stands in the way."""
    bench.server.shows, begun = READ_ONLY, len(bench.records)
    bench.turn()
    accepted, said = bench.answer(command(asked, value=600, ttl=60.0))
    bench.turns(10)

    assert not accepted
    assert "super_read_only is ON" in said
    assert bench.wrote(since=begun) == []


@pytest.mark.parametrize("asked", ["pause", "stop", "mode"])
def test_nothing_that_ends_the_loop_parks_a_read_only_server(bench: Bench, asked: str) -> None:
    """A pause, a stop and the way to advisory mode write nothing there, in the same tick or later."""
    bench.server.shows, begun = READ_ONLY, len(bench.records)
    bench.turn(command(asked, value={"stop": "park", "mode": "advisory"}.get(asked)))
    bench.turns(0 if asked == "stop" else 5)

    assert bench.wrote(since=begun) == []


def test_a_park_that_waits_for_a_reading_is_dropped_when_the_server_becomes_read_only(bench: Bench) -> None:
    """A person's park that could not be made at once is not made on a server that became read-only."""
    bench.server.lsn -= 1e6
    bench.server.oldest -= 1e6
    bench.turn(command("park"), seconds=0.1)
    assert bench.state.park_owed
    bench.server.shows, begun = READ_ONLY, len(bench.records)
    bench.turns(5)

    assert bench.wrote(since=begun) == []


def test_a_restore_under_way_waits_for_a_read_only_server(bench: Bench) -> None:
    """It makes no step while the server is read-only, and goes on afterwards to the originals."""
    bench.turn(command("restore"))
    bench.server.shows, begun = READ_ONLY, len(bench.records)
    bench.turns(60)
    assert bench.wrote(since=begun) == []
    bench.server.shows = {}
    bench.turns(200)

    assert bench.server.capacity == DEFAULT
    assert bench.record.mode is Mode.ADVISORY


def test_a_foreign_value_found_on_the_way_back_is_yielded_to(bench: Bench) -> None:
    """Values that somebody changed while the server was read-only are not taken for our own."""
    bench.server.shows = READ_ONLY
    bench.turn()
    bench.server.capacity, bench.server.shows = Capacity(300, 900), {}

    assert "foreign_change" in held(bench.turn())


def test_with_consent_a_read_only_server_is_tuned() -> None:
    """allow_read_only_writes lets the loop go on as anywhere else."""
    bench = Bench(ANYWAY)
    bench.server.shows = {"read_only": True, "replica": True}

    assert held(bench.in_control().record) == set()
    assert bench.state.writes.own == bench.server.capacity


@pytest.mark.parametrize(
    ("settings", "new", "said"),
    [
        (ACTIVE, REPLICA, "primary → replica"),
        (ACTIVE, {"group_role": "SECONDARY"}, "primary → replica"),
        (ANYWAY, READ_ONLY, "primary → primary, read_only"),
        (ANYWAY, {"read_only": True}, "primary → primary, read_only"),
        (ANYWAY, READ_ONLY | REPLICA, "primary → replica, read_only"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_role_change_parks_once(settings: Any, new: dict[str, Any], said: str) -> None:  # noqa: ANN401 - Settings
    """Where the server may still be written a change of role parks, and after the dwell the loop goes on."""
    bench = Bench(settings).in_control()
    begun = len(bench.records)
    bench.server.shows = new
    bench.turn()
    parked = bench.server.capacity
    bench.turns(9)
    assert bench.server.capacity == parked
    bench.server.redo_rate = 3e6
    bench.turns(60)

    assert said in bench.said("role", since=begun)[0]
    assert parks(bench, begun) == [f"role change {said}"]
    assert held(bench.record) == set()
    assert DecisionKind.SET in bench.wrote(since=begun)


def test_a_role_that_flaps_writes_no_more_than_one_park(bench: Bench) -> None:
    """Within a minute one park is enough for either role; every change is said all the same."""
    begun = len(bench.records)
    for _ in range(50):
        bench.server.shows = {"replica": not bench.server.shows.get("replica")}
        bench.turn()

    assert len(parks(bench, begun)) == 1
    assert len(bench.said("role", since=begun)) == 50


@pytest.mark.parametrize(("seconds", "again"), [(59, False), (60, True), (90, True)])
def test_a_role_that_changes_after_a_minute_is_parked_for_again(
    bench: Bench, seconds: int, *, again: bool
) -> None:
    """One park a minute is owed to a role that changes."""
    bench.server.shows = REPLICA
    bench.turns(seconds)
    bench.server.shows, begun = {}, len(bench.records)
    bench.turns(2)

    assert any(one.decision.reason is Reason.PARK for one in bench.records[begun:]) is again


def test_a_promotion_in_the_usual_order_is_parked(bench: Bench) -> None:
    """read_only goes off first and the applier ends seconds later: that end is what parks."""
    bench.server.shows = READ_ONLY | REPLICA
    bench.turns(20)
    bench.server.shows, begun = REPLICA, len(bench.records)
    bench.turns(10)
    bench.server.shows = {}
    bench.turns(5)

    assert parks(bench, begun) == ["role change replica → primary"]


@pytest.mark.parametrize(
    "asked",
    [None, command("pause"), command("override", value=600, ttl=300.0), command("restore")],
    ids=["values that are not ours", "a pause", "an override", "a restore"],
)
def test_a_role_change_parks_over_nobodys_word(asked: Any) -> None:  # noqa: ANN401 - a command or None
    """Values that are not ours, a pause, an override and a restore are left alone; the change is said."""
    bench = Bench().in_control() if asked else Bench().ready()
    bench.turn(*([asked] if asked else []))
    bench.turn()
    begun = len(bench.records)
    bench.server.shows = REPLICA
    bench.turns(3)

    assert bench.codes("role", since=begun) == ["role"]
    assert parks(bench, begun) == []


@pytest.mark.parametrize("first", [REPLICA, {"role_known": False}], ids=["at once", "once it is known"])
def test_the_first_word_on_a_role_is_no_change(first: dict[str, Any]) -> None:
    """A daemon that starts beside a replica says nothing of a change, nor when its role is known later."""
    bench = Bench(ACTIVE)
    for bench.server.shows in (first, REPLICA):
        bench.turns(3)

    assert bench.codes("role") == []
