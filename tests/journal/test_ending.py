"""What is known after a daemon was killed: how it ended, and which pairs its writes may have left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, IDENTITY, command, held
from tests.journal.conftest import SET, MakeRecord, MakeWriter
from tests.journal.written import rows
from tuner.daemon.predecessors import Predecessors
from tuner.journal import store
from tuner.journal.ending import Write, ending, last_writes, left_by
from tuner.journal.items import EndItem, RunItem
from tuner.journal.tables import Originals
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Decision, Event, Facts, TickRecord
from tuner.settings import Mode, Settings

SOON = 10.0
OURS, PARKED = Capacity(225, 450), Capacity(400, 800)


def begun(writer: MakeWriter, facts: Facts) -> JournalWriter:
    """Return a journal in which a run beside a server has begun."""
    journal = writer()
    journal.put(RunItem(settings=Settings(), facts=facts, state=b"", tick=0, wall=1.0))
    return journal


def killed_in(bench: Bench, ask: str, kind: str) -> tuple[TickRecord, Capacity]:
    """Ask for something; return the tick that decides on its write, and the pair in force before."""
    record = bench.turn(command(ask))
    if record.decision.kind.value != kind:
        record = bench.until(kind)
    return record, bench.server.applied[-1][2]


def write(bench: Bench) -> tuple[TickRecord, Capacity]:
    """Go on to the loop's next own write."""
    return bench.until("set"), bench.server.applied[-1][2]


def park(bench: Bench) -> tuple[TickRecord, Capacity]:
    """Go on to the park that a person asks for."""
    return killed_in(bench, "park", "park")


def restore(bench: Bench) -> tuple[TickRecord, Capacity]:
    """Go on to the first step of a restore."""
    return killed_in(bench, "restore", "restore")


@pytest.mark.parametrize("what", [write, park, restore])
def test_killed_at_any_statement_the_next_start_knows_its_own(
    tmp_path: Path, writer: MakeWriter, what: Callable[[Bench], tuple[TickRecord, Capacity]]
) -> None:
    """After a kill between any two statements the pair in force is known as ours, no foreign change."""
    bench = Bench().in_control()
    last, before = what(bench)
    journal = begun(writer, bench.server.facts())
    for record in bench.records:
        journal.record(record)
    assert journal.close(SOON)

    for done in range(len(last.decision.steps) + 1):
        server = FakeServer(before)
        server.now, server.lsn, server.oldest = bench.server.now, bench.server.lsn, bench.server.oldest
        target = last.decision.target
        assert target is not None
        server.apply(last.decision.steps[:done], target)
        following = Bench(ACTIVE, server, originals=DEFAULT, left=left_by(last_writes(tmp_path)[IDENTITY]))
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


def test_the_last_writes_are_not_what_was_only_advised(
    tmp_path: Path,
    writer: MakeWriter,
    record: MakeRecord,
    facts: Facts,
    set_decision: Decision,
) -> None:
    """What was decided and not written, or somebody else set, is told from what was written."""
    assert last_writes(tmp_path) == {}
    journal = begun(writer, facts)
    journal.record(record(1, set_decision))
    journal.record(record(2, replace(set_decision, steps=(), target=Capacity(500, 1000))))
    journal.record(record(3))
    assert journal.close(SOON)

    (only,) = last_writes(tmp_path)[facts.identity]
    assert only.target == set_decision.target


def test_what_was_written_to_one_server_is_not_left_to_another(
    tmp_path: Path, writer: MakeWriter, record: MakeRecord, facts: Facts, set_decision: Decision
) -> None:
    """Each server has its own last writes, also where another one answered in the middle of a run."""
    elsewhere = replace(set_decision, target=Capacity(300, 600))
    there = Event("other_server", "another one answers", subject="theirs", wall=1.0)
    journal = begun(writer, facts)
    journal.record(record(1, set_decision))
    journal.record(replace(record(2), events=(there,)))
    journal.record(record(3, elsewhere))
    assert journal.close(SOON)
    journal = begun(writer, replace(facts, identity="theirs as well"))
    journal.record(record(1, elsewhere))
    assert journal.close(SOON)

    found = last_writes(tmp_path)
    targets = {identity: [one.target for one in writes] for identity, writes in found.items()}
    assert targets == {
        facts.identity: [set_decision.target],
        "theirs": [elsewhere.target],
        "theirs as well": [elsewhere.target],
    }
    originals = [Originals(facts.identity, DEFAULT, facts.started, facts.version, 1.0)]
    state = Predecessors(originals, found).begin(ACTIVE, facts, now=1.0)
    assert set_decision.target in state.writes.left
    assert elsewhere.target not in state.writes.left


def test_an_address_that_flaps_for_years_leaves_no_more_names_than_events(
    tmp_path: Path, writer: MakeWriter, record: MakeRecord, facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server's name is kept as long as the event that says from when on it answered."""
    monkeypatch.setattr(store, "KEEP_ROWS", 20)
    monkeypatch.setattr(store, "SLACK", 5)
    journal = begun(writer, facts)
    for number in range(1, 101):
        there = Event("other_server", "another one answers", subject=f"server {number}", wall=1.0)
        journal.record(replace(record(number), events=(there,)))
        assert journal.flush(SOON)
    assert journal.close(SOON)

    ((events,),) = rows(tmp_path, "SELECT count(*) FROM events")
    ((names,),) = rows(tmp_path, "SELECT count(*) FROM meta WHERE name LIKE 'server:%'")
    assert names == events
    assert int(str(names)) < 30
    found = ending(tmp_path)
    assert found is not None
    assert found.identity == "server 100"


def test_whose_a_write_was_is_known_longer_than_events_are_kept(
    tmp_path: Path, writer: MakeWriter, record: MakeRecord, facts: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a run that goes on for years after a failover its last writes are still the new server's."""
    monkeypatch.setattr(store, "KEEP_ROWS", 20)
    monkeypatch.setattr(store, "SLACK", 5)
    journal = begun(writer, facts)
    there = Event("other_server", "another one answers", subject="theirs", wall=1.0)
    journal.record(replace(record(1), events=(there,)))
    for number in range(2, 61):
        journal.record(replace(record(number, SET), events=(Event("role", "another one", wall=1.0),)))
        assert journal.flush(SOON)
    assert journal.close(SOON)

    assert rows(tmp_path, "SELECT 1 FROM events WHERE code = 'other_server'") == []
    assert list(last_writes(tmp_path)) == ["theirs"]
    found = ending(tmp_path)
    assert found is not None
    assert found.identity == "theirs"


@pytest.mark.parametrize("orderly", [True, False])
def test_an_orderly_end_leaves_a_mark(
    tmp_path: Path, writer: MakeWriter, record: MakeRecord, facts: Facts, *, orderly: bool
) -> None:
    """A run that ended in order is told from one that was killed, and a later one counts for itself."""
    assert ending(tmp_path) is None
    journal = writer()
    journal.put(RunItem(settings=Settings(), facts=facts, state=b"", tick=0, wall=1.0))
    journal.record(record(1))
    if orderly:
        journal.put(EndItem(2.0))
    assert journal.close(SOON)

    found = ending(tmp_path)
    assert found is not None
    assert (found.orderly, found.active, found.last) == (orderly, True, record(1))

    journal = writer()
    journal.put(RunItem(settings=Settings(mode=Mode.ADVISORY), facts=facts, state=b"", tick=0, wall=3.0))
    assert journal.close(SOON)
    later = ending(tmp_path)
    assert later is not None
    assert (later.orderly, later.active, later.last) == (False, False, None)


def test_what_an_earlier_run_left_says_nothing_of_a_later_one(
    tmp_path: Path, writer: MakeWriter, record: MakeRecord, facts: Facts, set_decision: Decision
) -> None:
    """A run of a version that notes no pair at its end is known by its last tick, not by an older mark."""
    journal = begun(writer, facts)
    journal.put(EndItem(2.0, left=PARKED))
    assert journal.close(SOON)
    first = ending(tmp_path)
    assert first is not None
    assert first.left == PARKED

    journal = begun(writer, facts)
    journal.record(record(1, set_decision))
    journal.put(EndItem(3.0))
    assert journal.close(SOON)
    later = ending(tmp_path)
    assert later is not None
    assert later.left == set_decision.target
