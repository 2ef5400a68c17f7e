"""One writer for each server: what a loop does while the lock is another's, and when it is free again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, SAVED, A, command, held
from tuner.records import STRANGER, DecisionKind, Remedy
from tuner.settings import Mode

SESSION_SECONDS = 20
"""A session whose client vanished keeps its lock for 15 s at most, and the lock is asked for every 5 s."""


def together(*loops: Bench, holder: Bench | None, seconds: int) -> None:
    """Let loops turn beside the one server that they share; one of them holds its writer lock."""
    for _ in range(seconds):
        for loop in loops:
            loop.server.writer = loop is holder
            loop.turn(seconds=1.0 / len(loops))


def beside(server: FakeServer) -> Bench:
    """Return another daemon's loop beside a server, the lock somebody else's."""
    loop = Bench(ACTIVE, server)
    server.writer = False
    loop.turn()
    return loop


def given(loop: Bench) -> None:
    """Let a loop have the lock, and the originals that it takes then on disk."""
    loop.server.writer = True
    loop.turn()
    loop.turn(SAVED)


def wrote(loop: Bench, *, since: int = 0) -> list[int]:
    """Return the ticks at which a loop wrote."""
    return [number for number, record in enumerate(loop.records) if number >= since and record.decision.steps]


def test_a_lock_that_a_lost_session_still_holds_costs_no_more_than_its_time(bench: Bench) -> None:
    """Until the server has ended that session nothing is written, no park either; then it goes on alone."""
    own, begun = bench.server.capacity, len(bench.records)
    bench.server.writer = False
    bench.server.redo_rate = 3e6
    bench.turns(SESSION_SECONDS)
    assert held(bench.record) == {"not_writer"}
    assert wrote(bench, since=begun) == []
    assert bench.state.writes.own == own
    bench.server.writer = True
    record = bench.turn()

    assert held(record) == set()
    bench.turns(30 - SESSION_SECONDS - 1)
    assert wrote(bench, since=begun)


def test_of_two_loops_only_the_one_with_the_lock_writes(bench: Bench) -> None:
    """However the load moves, whatever is asked of it: the other one only watches, and says why."""
    other = beside(bench.server)
    bench.server.redo_rate = 3e6
    together(bench, other, holder=bench, seconds=60)
    for asked in ("park", "restore", "override"):
        bench.server.writer = False
        (answer,) = other.turn(command(asked, value=600, ttl=60.0), seconds=0.0).acknowledgements
        assert not answer.accepted
        assert "another InnoBrim holds this server's writer lock" in answer.message
    together(bench, other, holder=bench, seconds=60)

    assert wrote(bench)
    assert wrote(other) == []
    assert "not_writer" in held(other.record)


def test_a_lock_that_changes_hands_leaves_one_writer() -> None:
    """Whoever loses it stops at the first reading without it, also while the values are its own."""
    first = Bench().in_control()
    second = beside(first.server)
    together(first, second, holder=first, seconds=30)
    seen = len(first.records)
    together(first, second, holder=second, seconds=60)

    assert wrote(first, since=seen) == []
    assert "not_writer" in held(first.record)


def test_a_loop_that_only_watched_takes_over_by_itself() -> None:
    """Where nobody changed C and M while it watched, the second one writes within half a minute."""
    first = Bench().in_control()
    first.turns(120)
    second = beside(first.server)
    second.server.writer = False
    for _ in range(20):
        second.turn()
    given(second)
    second.server.redo_rate = 3e6
    second.turns(30)

    assert held(second.record) == set()
    assert wrote(second)


def test_a_loop_that_saw_changes_while_it_watched_asks_a_person_first() -> None:
    """It cannot tell the other daemon's changes from a person's, and says what it waits for."""
    first = Bench().in_control()
    second = beside(first.server)
    first.server.redo_rate = 3e6
    together(first, second, holder=first, seconds=60)
    given(second)
    second.turns(60)
    (hold,) = second.record.holds

    assert hold.code.value == "foreign_change"
    assert hold.remedies == (Remedy.RESUME,)
    assert wrote(second) == []
    second.turn(command("resume"))
    second.server.redo_rate = 6e6
    second.turns(60)
    assert wrote(second)


def test_another_daemons_values_are_nobodys_originals() -> None:
    """What the first daemon wrote is not what the server was set to: the second waits for the lock."""
    first = Bench().in_control()
    second = beside(first.server)
    second.turns(30)
    assert second.record.originals is None
    assert "originals" not in {event.code for record in second.records for event in record.events}
    found = first.server.capacity
    given(second)

    (event,) = [one for record in second.records for one in record.events if one.code == "originals"]
    assert event.message.startswith(f"originals are {found}; another InnoBrim had the writer lock until now")


def test_active_by_a_persons_word_it_asks_for_the_lock_first() -> None:
    """The reading before the one that asks for the lock shows no other daemon: nothing is taken at it."""
    server = Bench().in_control().server
    second = Bench(replace(ACTIVE, mode=Mode.ADVISORY), server)
    second.turns(3)
    second.turn(command("mode", value="active"))
    assert second.record.originals is None
    server.writer = False
    second.turns(3)

    assert second.record.originals is None
    assert held(second.record) >= {"not_writer"}


def surging(*, stranger: bool) -> Bench:
    """Return a loop in control whose lock somebody else takes, and whose age then runs to the sync point."""
    loop = Bench().in_control()
    loop.turns(30)
    server = loop.server
    server.writer, server.stranger = False, stranger
    server.shows = {"lock": f"{STRANGER if stranger else ''}connection 42, app@10.0.0.7"}
    loop.turns(3)
    server.redo_rate *= 12.0
    server.oldest = server.lsn - 0.7 * A
    loop.turns(8)
    return loop


def test_a_lock_of_somebody_who_is_no_innobrim_bars_no_emergency() -> None:
    """Nobody steers that server then: M is raised, nothing else is written, and the hold names the holder."""
    loop = surging(stranger=True)
    kinds = {loop.records[n].decision.kind for n in wrote(loop, since=len(loop.records) - 11)}
    (hold,) = loop.record.holds

    assert kinds == {DecisionKind.EMERGENCY}
    assert hold.code.value == "not_writer"
    assert "connection 42, app@10.0.0.7" in hold.reason
    assert loop.state.originals is not None


def test_a_lock_of_another_innobrim_bars_an_emergency_too() -> None:
    """The one that has the lock raises M itself: two never write."""
    loop = surging(stranger=False)

    assert wrote(loop, since=len(loop.records) - 11) == []
    assert "connection 42, app@10.0.0.7" in loop.record.holds[0].reason


@pytest.mark.parametrize("bar", ["read_only", "paused", "refused", "advisory"])
def test_a_strangers_lock_lets_nothing_pass_that_is_barred_besides(bar: str) -> None:
    """A hold of another kind, and advisory mode, bar an emergency beside a stranger's lock as ever."""
    loop = Bench().in_control()
    loop.turns(30)
    server = loop.server
    if bar == "read_only":
        server.shows = {"read_only": True}
    elif bar == "refused":
        server.refusal, server.denied = "Access denied", True
        loop.turn(command("override", value=900, ttl=1.0))
        loop.turn()
    elif bar == "paused":
        loop.turn(command("pause"))
    else:
        loop.turn(command("mode", value="advisory"))
    loop.turns(3)
    server.writer, server.stranger = False, True
    loop.turn()
    seen = len(loop.records)
    server.redo_rate *= 12.0
    server.oldest = server.lsn - 0.7 * A
    loop.turns(8)

    assert wrote(loop, since=seen) == []


def test_originals_are_taken_beside_a_stranger() -> None:
    """What is in force beside a session that is no InnoBrim is the server's own, and may be given back."""
    server = FakeServer()
    server.writer, server.stranger = False, True
    loop = Bench(ACTIVE, server)
    loop.turn()

    assert loop.record.originals == server.capacity


def test_a_lock_of_this_host_alone_is_said_once() -> None:
    """Where the server gives no named lock, an event says so and why, and the loop goes on."""
    loop = Bench().in_control()
    loop.server.shows = {"lock": "the server refuses GET_LOCK: not in a cluster"}
    said = [one for _ in range(5) for one in loop.turn().events if one.code == "writer_lock"]

    assert [one.message for one in said] == ["the server refuses GET_LOCK: not in a cluster"]
    assert held(loop.record) == set()
