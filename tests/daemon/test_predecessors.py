"""What a daemon knows of the one before it, whatever the disk does meanwhile."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import FACTS
from tuner.core.ownership.standing import Standing
from tuner.core.savings.ledger import Savings, SavingsState
from tuner.daemon import persistence
from tuner.daemon.persistence import Persistence
from tuner.daemon.predecessors import look
from tuner.journal.items import StandingItem
from tuner.journal.tables import FILE_NAME, Originals
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity
from tuner.settings import Settings

SOON = 10.0
PAIR = Capacity(10_000, 20_000)
PAUSED = Standing(identity=FACTS.identity, started=FACTS.started, paused="paused by a person")


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """Return a state directory in which an earlier daemon left originals and a pause."""
    journal = JournalWriter(tmp_path, keep_ticks=100, on_error=lambda _: None)
    journal.start()
    journal.put(Originals(FACTS.identity, PAIR, FACTS.started, FACTS.version, 0.0))
    journal.put(StandingItem(FACTS.identity, msgspec.json.encode(PAUSED).decode()))
    assert journal.close(SOON)
    return tmp_path


@pytest.fixture
def slow(left: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the state directory on a disk where the first commit of a new writer does not end."""
    monkeypatch.setattr(persistence, "READY_SECONDS", 0.1)
    monkeypatch.setattr("tuner.journal.readonly.BUSY_SECONDS", 0.1)
    start = JournalWriter.start
    with closing(sqlite3.connect(left / FILE_NAME, isolation_level=None)) as hanging:

        def start_slowly(self: JournalWriter) -> None:
            hanging.execute("BEGIN EXCLUSIVE")
            start(self)

        monkeypatch.setattr(JournalWriter, "start", start_slowly)
        yield left


def known(found: Persistence) -> tuple[Capacity, str]:
    """Return the originals and the pause that a daemon begins with."""
    state = found.state_at_start(Settings(), FACTS, now=0.0)
    assert state.originals is not None
    assert state.latches.paused is not None
    return state.originals.capacity, state.latches.paused.reason


def test_a_slow_disk_makes_no_daemon_forget(slow: Path) -> None:
    """While the first commit takes its time, originals and a pause from before are known all the same."""
    found = Persistence(slow, keep_ticks=100)
    found.open()

    assert known(found) == (PAIR, PAUSED.paused)
    found.close(0.1)


def test_a_journal_of_a_daemon_that_was_killed_is_copied_once(
    left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a killed daemon began to write is rolled back in one copy, however much is read."""
    path = left / FILE_NAME
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA cache_size = 1")  # so that it is written before its end
        db.execute("BEGIN")
        db.execute("UPDATE originals SET io_capacity = 1")
        db.executemany("INSERT INTO meta VALUES (?, ?)", [(f"{n}", "x" * 4000) for n in range(50)])
        killed = {name: (left / name).read_bytes() for name in (FILE_NAME, f"{FILE_NAME}-journal")}
        db.execute("ROLLBACK")
    for name, content in killed.items():
        (left / name).write_bytes(content)
    copied: list[str] = []
    copy = shutil.copyfile
    monkeypatch.setattr(shutil, "copyfile", lambda old, new: (copied.append(str(old)), copy(old, new)))
    found = look(left, quietly=False)

    assert found.originals_of(FACTS) == PAIR
    assert None not in found
    assert copied == [str(path), f"{path}-journal"]


def test_what_a_damaged_journal_still_gives_is_known(left: Path) -> None:
    """A journal that has to be set aside first is no reason to take what is in force for the originals."""
    path = left / FILE_NAME
    path.write_bytes(path.read_bytes()[:-4096])
    found = Persistence(left, keep_ticks=100)
    found.open()

    assert known(found) == (PAIR, PAUSED.paused)
    found.close(SOON)


def test_a_law_that_has_matched_is_on_disk_at_once(tmp_path: Path) -> None:
    """A daemon that is killed a minute after its first match leaves the next one knowing of it."""
    bench = Bench()
    kept = Persistence(tmp_path, keep_ticks=100)
    kept.open()
    for record in bench.in_control().records:
        kept.record(bench.state, record, originals_saved=lambda _: None)
    kept.close(SOON)
    again = Persistence(tmp_path, keep_ticks=100)
    again.open()
    gate = again.state_at_start(Settings(), FACTS, now=0.0).gate
    again.close(SOON)

    assert gate.proven == FACTS.version


def test_a_server_that_comes_back_behind_its_address_keeps_its_ledger(tmp_path: Path) -> None:
    """A daemon that began beside another server writes no empty ledger over that of months."""
    bench = Bench()
    months = SavingsState(Savings(since=1.0, seconds=7e6, written=9e6, least=1e6, likely=2e6, most=3e6))
    first = replace(bench.state, facts=replace(bench.state.facts, identity="a"), savings=months)
    kept = Persistence(tmp_path, keep_ticks=100)
    kept.open()
    kept.keep_learned(first)
    kept.close(SOON)
    kept = Persistence(tmp_path, keep_ticks=100)
    kept.open()
    bench.turns(2)
    bench.server.identity = "a"
    kept.record(bench.state, bench.turn(), originals_saved=lambda _: None)
    kept.keep_learned(bench.state)
    kept.close(SOON)
    again = Persistence(tmp_path, keep_ticks=100)
    again.open()
    found = again.state_at_start(Settings(), first.facts, now=0.0).savings
    again.close(SOON)

    assert found.total == months.total


def test_a_server_that_was_named_since_keeps_what_it_had(left: Path) -> None:
    """Originals and a pause that were kept under what a server calls itself are those of its name as well."""
    found = Persistence(left, keep_ticks=100)
    found.open()
    named = replace(FACTS, identity="orders", calls_itself=FACTS.identity)
    state = found.state_at_start(Settings(), named, now=0.0)
    other = found.state_at_start(Settings(), replace(named, calls_itself="db:3306:/srv/"), now=0.0)

    assert state.originals is not None
    assert state.originals.capacity == PAIR
    assert state.latches.paused is not None
    assert (state.facts.identity, state.previous_server) == ("orders", "")
    assert other.originals is None
    found.close(0.1)
