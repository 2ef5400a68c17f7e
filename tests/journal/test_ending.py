"""What is known after a daemon was killed: how it ended, and which pairs its writes may have left."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, IDENTITY, command, held
from tests.journal.written import FACTS, RUN, SET, SOON, Keep, MakeWriter, put, record, rows
from tuner.daemon.predecessors import Predecessors
from tuner.journal import store
from tuner.journal.ending import Ending, Write, ending, last_writes, left_by
from tuner.journal.items import EndItem, RunItem
from tuner.journal.tables import Originals
from tuner.records import Capacity, Event
from tuner.settings import Mode, Settings

OURS, PARKED = Capacity(225, 450), Capacity(400, 800)


def ended(directory: Path) -> Ending:
    """Return how the newest run ended; there is one."""
    found = ending(directory)
    assert found is not None
    return found


def moved_to(identity: str) -> Event:
    """Return what is noted where another server answers."""
    return Event(code="other_server", message="another one answers", subject=identity)


@pytest.mark.parametrize(("ask", "kind"), [("", "set"), ("park", "park"), ("restore", "restore")])
def test_killed_at_any_statement_the_next_start_knows_its_own(keep: Keep, ask: str, kind: str) -> None:
    """After a kill between any two statements the pair in force is known as ours, no foreign change."""
    bench = Bench().in_control()
    last = bench.turn(command(ask)) if ask else bench.until(kind)
    if last.decision.kind.value != kind:
        last = bench.until(kind)
    before = bench.server.applied[-1][2]
    directory = keep(RunItem(Settings(), bench.server.facts(), b"", 0, 1.0), *bench.records)

    for done in range(len(last.decision.steps) + 1):
        server = FakeServer(before)
        server.now, server.lsn, server.oldest = bench.server.now, bench.server.lsn, bench.server.oldest
        target = last.decision.target
        assert target is not None
        server.apply(last.decision.steps[:done], target)
        following = Bench(ACTIVE, server, originals=DEFAULT, left=left_by(last_writes(directory)[IDENTITY]))
        following.turns(3)
        assert following.state.writes.own == server.capacity
        assert "foreign_change" not in held(following.record)
        assert following.record.originals == DEFAULT


def test_what_somebody_else_set_is_not_ours() -> None:
    """Neither the pair before our first write nor any other than those on the way counts as ours."""
    first = (Write("set", DEFAULT, OURS),)
    second = (Write("set", OURS, PARKED), *first)

    assert DEFAULT not in left_by(first)
    assert OURS in left_by(first)
    assert {OURS, PARKED} <= set(left_by(second))
    assert Capacity(226, 450) not in left_by(second)
    assert OURS not in left_by((Write("set", OURS, PARKED), Write("set", DEFAULT, Capacity(300, 600))))
    assert left_by(()) == ()


def test_the_last_writes_are_not_what_was_only_advised(keep: Keep, tmp_path: Path) -> None:
    """What was decided and not written, or somebody else set, is told from what was written."""
    assert last_writes(tmp_path) == {}
    advised = replace(SET, steps=(), target=Capacity(500, 1000))
    keep(RUN, record(1, SET), record(2, advised), record(3))

    (only,) = last_writes(tmp_path)[FACTS.identity]
    assert only.target == SET.target


def test_what_was_written_to_one_server_is_not_left_to_another(keep: Keep, tmp_path: Path) -> None:
    """Each server has its own last writes, also where another one answered in the middle of a run."""
    elsewhere = replace(SET, target=Capacity(300, 600))
    keep(RUN, record(1, SET), replace(record(2), events=(moved_to("theirs"),)), record(3, elsewhere))
    keep(RunItem(Settings(), replace(FACTS, identity="theirs as well"), b"", 0, 1.0), record(1, elsewhere))

    found = last_writes(tmp_path)
    targets = {identity: [one.target for one in writes] for identity, writes in found.items()}
    assert targets == {
        FACTS.identity: [SET.target],
        "theirs": [elsewhere.target],
        "theirs as well": [elsewhere.target],
    }
    originals = [Originals(FACTS.identity, DEFAULT, FACTS.started, FACTS.version, 1.0)]
    state = Predecessors(originals, found).begin(ACTIVE, FACTS, now=1.0)
    assert SET.target in state.writes.left
    assert elsewhere.target not in state.writes.left


@pytest.mark.parametrize("flaps", [True, False])
def test_whose_a_write_was_is_known_longer_than_events_are_kept(
    tmp_path: Path, writer: MakeWriter, monkeypatch: pytest.MonkeyPatch, *, flaps: bool
) -> None:
    """In a run of years the newest server's name stays; one that flaps leaves no more names than events."""
    monkeypatch.setattr(store, "KEEP_ROWS", 20)
    monkeypatch.setattr(store, "SLACK", 5)
    journal = put(writer(), RUN)
    for number in range(1, 61):
        event = (
            moved_to(f"server {number}")
            if flaps or number == 1
            else Event(code="role", message="another one")
        )
        journal.record(record(number, SET, event))
        assert journal.flush(SOON)
    assert journal.close(SOON)

    newest = "server 60" if flaps else "server 1"
    assert ended(tmp_path).identity == newest
    assert newest in last_writes(tmp_path)
    ((events,),) = rows(tmp_path, "SELECT count(*) FROM events WHERE code = 'other_server'")
    ((names,),) = rows(tmp_path, "SELECT count(*) FROM meta WHERE name LIKE 'server:%'")
    assert (names == events) if flaps else (events, names) == (0, 1)
    assert int(str(names)) < 30


@pytest.mark.parametrize("orderly", [True, False])
def test_an_orderly_end_leaves_a_mark(keep: Keep, tmp_path: Path, *, orderly: bool) -> None:
    """A run that ended in order is told from one that was killed, and a later one counts for itself."""
    assert ending(tmp_path) is None
    keep(RUN, record(1), *([EndItem(2.0)] if orderly else []))

    found = ended(tmp_path)
    assert (found.orderly, found.active, found.last) == (orderly, True, record(1))

    keep(RunItem(Settings(mode=Mode.ADVISORY), FACTS, b"", 0, 3.0))
    later = ended(tmp_path)
    assert (later.orderly, later.active, later.last) == (False, False, None)


def test_what_an_earlier_run_left_says_nothing_of_a_later_one(keep: Keep) -> None:
    """A run of a version that notes no pair at its end is known by its last tick, not by an older mark."""
    assert ended(keep(RUN, EndItem(2.0, left=PARKED))).left == PARKED
    assert ended(keep(RUN, record(1, SET), EndItem(3.0))).left == SET.target
