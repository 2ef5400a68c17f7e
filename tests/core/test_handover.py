"""A server that may not be written, and one that changes its role."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, SAVED, codes, command, held
from tuner.records import Capacity, DecisionKind, Remedy, TickRecord
from tuner.settings import Mode

ANYWAY = replace(ACTIVE, allow_read_only_writes=True)
READ_ONLY = {"read_only": True, "super_read_only": True}


def parks(records: list[TickRecord]) -> list[str]:
    """Return why each park was made."""
    return [one.decision.detail for one in records if one.decision.kind is DecisionKind.PARK]


@pytest.mark.parametrize("variable", ["read_only", "super_read_only"])
def test_a_read_only_server_is_left_as_it_is(bench: Bench, variable: str) -> None:
    """Nothing is written to it, not even a park; the hold names the variable, what was left, what ends it."""
    left, written = str(bench.server.capacity), len(bench.server.applied)
    bench.server.shows = {"read_only": True, variable: True}
    record = bench.turn()
    bench.server.redo_rate = 4e6
    bench.turns(60)

    (hold,) = record.holds
    assert hold.code.value == "not_writer"
    assert hold.reason == f"{variable} is ON; left at {left}, ours"
    assert hold.remedies == (Remedy.READ_ONLY_OFF,)
    assert len(bench.server.applied) == written


def test_values_of_somebody_else_are_not_called_ours() -> None:
    """Beside a replica that was never written the reason says that its values are its own."""
    bench = Bench(ACTIVE)
    bench.server.shows = READ_ONLY
    (hold,) = [one for one in bench.turns(12).holds if one.code.value == "not_writer"]

    assert hold.reason == "super_read_only is ON; left at 10000/20000, not ours"


@pytest.mark.parametrize("meddled", [False, True])
def test_what_is_ours_stays_ours_through_advisory_mode(bench: Bench, *, meddled: bool) -> None:
    """Going to advisory mode and back makes nobody else's of the values that were written last."""
    bench.server.shows = READ_ONLY
    bench.turn()
    bench.turn(command("mode", value="advisory"))
    bench.turns(3)
    if meddled:
        bench.server.capacity = Capacity(300, 900)
    bench.turn(command("mode", value="active"))
    record, pair = bench.turns(3), bench.server.capacity
    (hold,) = [one for one in record.holds if one.code.value == "not_writer"]

    assert hold.reason == f"super_read_only is ON; left at {pair}, {'not ours' if meddled else 'ours'}"
    assert (bench.state.writes.own == pair) is not meddled


@pytest.mark.parametrize("silent", [False, True])
def test_leaving_active_says_what_it_could_not_park(bench: Bench, *, silent: bool) -> None:
    """Asked for advisory mode on a read-only server, it says why there is no park, and what was left."""
    bench.server.shows, left = READ_ONLY, bench.server.capacity
    bench.turns(2)
    bench.server.down = "did not answer within 1 s" if silent else ""
    (answer,) = bench.turn(command("mode", value="advisory")).acknowledgements

    reason = f"super_read_only is ON; left at {left}, ours"
    assert answer.message == f"mode active → advisory; no park was written: {reason}"


@pytest.mark.parametrize("asked", ["park", "restore", "override"])
def test_a_read_only_server_is_not_written_for_a_person_either(bench: Bench, asked: str) -> None:
    """Who asks for a write is refused, and hears which variable stands in the way and what clears it."""
    bench.server.shows = READ_ONLY
    bench.turn()
    written = len(bench.server.applied)
    (answer,) = bench.turn(command(asked, value=600, ttl=60.0)).acknowledgements
    bench.turns(10)

    assert not answer.accepted
    assert "super_read_only is ON" in answer.message
    assert asked == "override" or answer.remedies == (Remedy.READ_ONLY_OFF,)
    assert len(bench.server.applied) == written


@pytest.mark.parametrize("asked", ["pause", "stop", "mode"])
def test_nothing_that_ends_the_loop_parks_a_read_only_server(bench: Bench, asked: str) -> None:
    """A pause, a stop and the way to advisory mode write nothing there, in the same tick or later."""
    written = len(bench.server.applied)
    bench.server.shows = READ_ONLY
    bench.turn(command(asked, value={"stop": "park", "mode": "advisory"}.get(asked)))
    bench.turns(0 if asked == "stop" else 5)

    assert len(bench.server.applied) == written


def test_a_park_that_waits_for_a_reading_is_dropped_when_the_server_becomes_read_only(bench: Bench) -> None:
    """A person's park that could not be made at once is not made on a server that became read-only."""
    bench.server.lsn -= 1e6
    bench.server.oldest -= 1e6
    bench.turn(command("park"), seconds=0.1)
    assert bench.state.park_owed
    written = len(bench.server.applied)
    bench.server.shows = READ_ONLY
    bench.turns(5)

    assert len(bench.server.applied) == written


def test_a_restore_under_way_waits_for_a_read_only_server(bench: Bench) -> None:
    """It makes no step while the server is read-only, and goes on afterwards to the originals."""
    bench.turn(command("restore"))
    bench.server.shows = READ_ONLY
    written = len(bench.server.applied)
    bench.turns(30)
    assert len(bench.server.applied) == written
    bench.server.shows = {}
    bench.turns(200)

    assert bench.server.capacity == Capacity(10_000, 20_000)
    assert bench.record.mode is Mode.ADVISORY


def test_the_hold_ends_with_read_only_and_the_loop_goes_on_from_its_own_values(bench: Bench) -> None:
    """What was left is still its own, so clearing read_only needs no person and causes no park."""
    own = bench.server.capacity
    bench.server.shows = READ_ONLY
    bench.turns(20)
    bench.server.shows = {}
    record = bench.turn()

    assert "clear_not_writer" in codes(record)
    assert held(record) == set()
    assert bench.state.writes.own == own
    bench.server.redo_rate = 3e6
    assert bench.until("set", "emergency").decision.steps


def test_a_foreign_value_found_on_the_way_back_is_yielded_to(bench: Bench) -> None:
    """Values that somebody changed while the server was read-only are not taken for our own."""
    bench.server.shows = READ_ONLY
    bench.turn()
    bench.server.capacity = Capacity(300, 900)
    bench.server.shows = {}

    assert "foreign_change" in held(bench.turn())


def test_with_consent_a_read_only_server_is_tuned() -> None:
    """allow_read_only_writes lets the loop go on as anywhere else."""
    bench = Bench(ANYWAY)
    bench.server.shows = {"read_only": True, "replica": True}
    bench.in_control()

    assert held(bench.record) == set()
    assert bench.state.writes.own == bench.server.capacity


@pytest.mark.parametrize(
    ("settings", "new", "said"),
    [
        (ACTIVE, {"replica": True}, "primary → replica"),
        (ACTIVE, {"group_role": "SECONDARY"}, "primary → replica"),
        (ANYWAY, READ_ONLY, "primary → primary, read_only"),
        (ANYWAY, READ_ONLY | {"replica": True}, "primary → replica, read_only"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_role_change_parks_once(settings: Any, new: dict[str, Any], said: str) -> None:  # noqa: ANN401 - Settings
    """Where the server may still be written a change of role parks, then the loop goes on."""
    bench = Bench(settings).in_control()
    begun = len(bench.records)
    bench.server.shows = new
    record = bench.turn()
    (event,) = [one for one in record.events if one.code == "role"]
    bench.server.redo_rate = 3e6
    bench.turns(60)

    assert said in event.message
    assert parks(bench.records[begun:]) == [f"role change {said}"]
    assert held(bench.record) == set()
    assert any(one.decision.kind is DecisionKind.SET for one in bench.records[begun:])


def test_a_role_that_flaps_writes_no_more_than_one_park(bench: Bench) -> None:
    """Within a minute one park is enough for either role; every change is said all the same."""
    begun = len(bench.records)
    for _ in range(50):
        bench.server.shows = {"replica": not bench.server.shows.get("replica")}
        bench.turn()

    assert len(parks(bench.records[begun:])) == 1
    assert all("role" in codes(record) for record in bench.records[begun:])


def test_a_promotion_in_the_usual_order_is_parked(bench: Bench) -> None:
    """read_only goes off first and the applier ends seconds later: that end is what parks."""
    bench.server.shows = {"read_only": True, "super_read_only": True, "replica": True}
    bench.turns(20)
    begun = len(bench.records)
    bench.server.shows = {"replica": True}
    bench.turns(10)
    bench.server.shows = {}
    bench.turns(5)

    assert parks(bench.records[begun:]) == ["role change replica → primary"]


def test_a_role_changes_park_is_not_undone_at_once(bench: Bench) -> None:
    """What it leaves room for is left the dwell's time to show itself before the loop moves on."""
    bench.server.shows = {"replica": True}
    bench.turn()
    parked = bench.server.capacity
    bench.turns(9)

    assert bench.server.capacity == parked


def test_a_role_change_on_values_that_are_not_ours_writes_nothing() -> None:
    """A server that still has its own values keeps them."""
    bench = Bench(ACTIVE)
    bench.turn()
    bench.turn(SAVED)
    bench.server.shows = {"replica": True}
    record = bench.turn()

    assert "role" in codes(record)
    assert bench.server.applied == []


def test_a_role_change_under_a_hold_writes_nothing(bench: Bench) -> None:
    """Who paused the loop has a parked setting already, and hands stay off."""
    bench.turn(command("pause"))
    bench.turn()
    written = len(bench.server.applied)
    bench.server.shows = {"replica": True}
    record = bench.turn()
    bench.turns(3)

    assert "role" in codes(record)
    assert len(bench.server.applied) == written


@pytest.mark.parametrize("asked", ["override", "restore"])
def test_a_role_change_leaves_a_persons_values_alone(bench: Bench, asked: str) -> None:
    """Who has just said what C and M are to be is not contradicted by a park."""
    bench.turn(command(asked, value=600, ttl=300.0))
    begun = len(bench.records)
    bench.server.shows = {"replica": True}
    record = bench.turn()
    bench.turns(5)

    assert "role" in codes(record)
    assert parks(bench.records[begun:]) == []


def test_the_first_reading_is_no_role_change() -> None:
    """A daemon that starts beside a replica says nothing of a change."""
    bench = Bench(ACTIVE)
    bench.server.shows = {"replica": True}
    bench.turns(3)

    assert not any("role" in codes(record) for record in bench.records)


def test_a_role_that_is_not_known_yet_is_no_role_change() -> None:
    """What a server does not answer at first is no word on its role; the first answer is the first word."""
    bench = Bench(ACTIVE)
    bench.server.shows = {"role_known": False}
    bench.turns(3)
    bench.server.shows = {"replica": True}
    bench.turns(3)

    assert not any("role" in codes(record) for record in bench.records)
