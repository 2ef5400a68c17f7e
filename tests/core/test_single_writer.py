"""One writer for each server: what a loop does while the lock is another's, and when it is free again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, A, command, held
from tuner.records import STRANGER, DecisionKind, Remedy
from tuner.settings import Mode


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
    loop.ready()


def test_of_two_loops_only_the_one_with_the_lock_writes(bench: Bench) -> None:
    """However the load moves, whatever is asked of it: the other one only watches, and says why.

    Whoever loses the lock stops at the first reading without it, also while the values are its own.
    """
    other = beside(bench.server)
    bench.server.redo_rate = 3e6
    together(bench, other, holder=bench, seconds=60)
    for asked in ("park", "restore", "override"):
        bench.server.writer = False
        (answer,) = other.turn(command(asked, value=600, ttl=60.0), seconds=0.0).acknowledgements
        assert not answer.accepted
        assert "another InnoBrim holds this server's writer lock" in answer.message
    together(bench, other, holder=bench, seconds=60)

    assert bench.wrote()
    assert other.wrote() == []
    assert "not_writer" in held(other.record)
    seen = len(bench.records)
    together(bench, other, holder=other, seconds=60)
    assert bench.wrote(since=seen) == []
    assert "not_writer" in held(bench.record)


def test_a_loop_that_only_watched_takes_over_by_itself(bench: Bench) -> None:
    """Where nobody changed C and M while it watched, the second one writes within half a minute."""
    bench.turns(120)
    second = beside(bench.server)
    second.turns(20)
    given(second)
    second.server.redo_rate = 3e6

    assert held(second.turns(30)) == set()
    assert second.wrote()


def test_a_loop_that_saw_changes_while_it_watched_asks_a_person_first(bench: Bench) -> None:
    """It cannot tell the other daemon's changes from a person's, and says what it waits for."""
    second = beside(bench.server)
    bench.server.redo_rate = 3e6
    together(bench, second, holder=bench, seconds=60)
    given(second)
    (hold,) = second.turns(60).holds

    assert (hold.code.value, hold.remedies) == ("foreign_change", (Remedy.RESUME,))
    assert second.wrote() == []
    second.turn(command("resume"))
    second.server.redo_rate = 6e6
    second.turns(60)
    assert second.wrote()


def test_another_daemons_values_are_nobodys_originals(bench: Bench) -> None:
    """What the first daemon wrote is not what the server was set to: the second waits for the lock."""
    second = beside(bench.server)
    assert second.turns(30).originals is None
    assert second.said("originals") == []
    found = bench.server.capacity
    given(second)

    (said,) = second.said("originals")
    assert said.startswith(f"originals are {found}; another InnoBrim had the writer lock")


def test_active_by_a_persons_word_it_asks_for_the_lock_first(bench: Bench) -> None:
    """The reading before the one that asks for the lock shows no other daemon: nothing is taken at it."""
    second = Bench(replace(ACTIVE, mode=Mode.ADVISORY), bench.server)
    second.turns(3)
    assert second.turn(command("mode", value="active")).originals is None
    bench.server.writer = False

    assert second.turns(3).originals is None
    assert held(second.record) >= {"not_writer"}


@pytest.mark.parametrize("stranger", [True, False], ids=["no InnoBrim", "another InnoBrim"])
def test_a_lock_of_another_innobrim_bars_an_emergency_too(bench: Bench, *, stranger: bool) -> None:
    """The one that has the lock raises M itself: two never write. Beside a stranger nobody would.

    So an emergency raise, and nothing else, goes through there. The hold names the holder.
    """
    bench.turns(30)
    server, begun = bench.server, len(bench.records)
    server.writer, server.stranger = False, stranger
    server.shows = {"lock": f"{STRANGER if stranger else ''}connection 42, app@10.0.0.7"}
    bench.turns(3)
    server.redo_rate *= 12.0
    server.oldest = server.lsn - 0.7 * A
    (hold,) = bench.turns(8).holds

    assert set(bench.wrote(since=begun)) == ({DecisionKind.EMERGENCY} if stranger else set())
    assert hold.code.value == "not_writer"
    assert "connection 42, app@10.0.0.7" in hold.reason
    assert bench.state.originals is not None


@pytest.mark.parametrize("bar", ["read_only", "paused", "refused", "advisory"])
def test_a_strangers_lock_lets_nothing_pass_that_is_barred_besides(bench: Bench, bar: str) -> None:
    """A hold of another kind, and advisory mode, bar an emergency beside a stranger's lock as ever."""
    bench.turns(30)
    server = bench.server
    if bar == "read_only":
        server.shows = {"read_only": True}
    elif bar == "refused":
        server.refusal, server.denied = "Access denied", True
        bench.turn(command("override", value=900, ttl=1.0))
        bench.turn()
    else:
        bench.turn(command("pause") if bar == "paused" else command("mode", value="advisory"))
    bench.turns(3)
    server.writer, server.stranger = False, True
    bench.turn()
    seen = len(bench.records)
    server.redo_rate *= 12.0
    server.oldest = server.lsn - 0.7 * A
    bench.turns(8)

    assert bench.wrote(since=seen) == []


def test_originals_are_taken_beside_a_stranger() -> None:
    """What is in force beside a session that is no InnoBrim is the server's own, and may be given back."""
    bench = Bench()
    bench.server.writer, bench.server.stranger = False, True

    assert bench.turn().originals == bench.server.capacity


def test_a_lock_of_this_host_alone_is_said_once(bench: Bench) -> None:
    """Where the server gives no named lock, an event says so and why, and the loop goes on."""
    bench.server.shows = {"lock": "the server refuses GET_LOCK: not in a cluster"}

    assert held(bench.turns(5)) == set()
    assert bench.said("writer_lock") == ["the server refuses GET_LOCK: not in a cluster"]
