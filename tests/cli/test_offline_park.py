"""``innobrim park`` where no daemon answers, and as a service manager runs it after a crash."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from click.testing import Result
from msgspec.structs import replace

from tests.api import factory
from tests.api.factory import AnsweringLoop
from tests.cli.support import FakeServer, write_journal
from tuner import without_daemon
from tuner.cli import offline
from tuner.journal.ending import ending
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Facts

Run = Callable[..., Result]
FACTS = replace(factory.FACTS, flush_law="legacy")
ORIGINALS, OURS = Capacity(250, 500), Capacity(225, 450)
BOTH = pytest.mark.parametrize("flags", [(), ("--if-crashed",)], ids=["asked", "crashed"])


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let two readings be enough."""
    for name in ("READ_SECONDS", "WAIT_SECONDS", "INTERVAL"):
        monkeypatch.setattr(without_daemon, name, 0.01)
    monkeypatch.setattr(offline, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(offline, "RETRY_SECONDS", 0.01)


def beside(monkeypatch: pytest.MonkeyPatch, facts: Facts | None = FACTS) -> FakeServer:
    """Put a server where the command connects to."""
    server = FakeServer(facts)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)
    return server


def never(*_: object) -> NoReturn:
    """Stand for a connection that must not be made."""
    raise AssertionError("a server was asked")


@BOTH
def test_a_crashed_daemons_values_are_parked(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    """After a crash one line says at which pair the server was parked, and the journal has it."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    server = beside(monkeypatch)

    result = run("park", *flags)

    assert result.exit_code == 0, result.output
    pair = server.capacity
    assert pair.io_capacity_max > OURS.io_capacity_max
    assert result.stdout == f"parked at {pair.io_capacity}/{pair.io_capacity_max} on {FACTS.endpoint}\n"
    assert server.closed
    status = run("status").stdout
    assert result.stdout.strip() in status
    assert "C 225, M 450 at that tick" in status
    assert "stopping" not in status
    found = ending(folder)
    assert found is not None
    newest = found.writes[FACTS.identity][0]
    assert (found.orderly, newest.target, newest.parks) == (True, pair, True)


def test_after_an_orderly_end_only_a_person_parks(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a stopped daemon left is left alone, and its server not asked, unless a person says so."""
    write_journal(folder, originals=ORIGINALS, wrote=True, ended=True)
    monkeypatch.setattr(offline, "real_server", never)

    result = run("park", "--if-crashed", "--json")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["message"] == "nothing to park: the last daemon ended in order"
    beside(monkeypatch)
    assert run("park").stdout.startswith("parked at ")


@pytest.mark.parametrize("what", ["no journal", "no write", "restarted", "another server"])
def test_nothing_to_do_is_no_failure(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Where nothing of a daemon's can be in force the exit code is 0, nothing is written, and it says why."""
    if what != "no journal":
        write_journal(folder, originals=ORIGINALS, wrote=what != "no write")
    other = {"restarted": {"started": FACTS.started + 3600.0}, "another server": {"identity": "another"}}
    server = beside(monkeypatch, replace(FACTS, **other.get(what, {})))

    result = run("park", "--if-crashed")

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("nothing to park: ")
    assert server.capacity == OURS


@BOTH
def test_parking_turns_no_counters_on(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    """Whoever only finds out whether to park sets nothing on the server, not even InnoDB's counters."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    monkeypatch.setenv("INNOBRIM_DAEMON_ENABLE_COUNTERS", "true")
    server = beside(monkeypatch, replace(FACTS, disabled_counters=("log_lsn_current",)))

    assert run("park", *flags).exit_code == 0
    assert not server.enables_counters


@BOTH
def test_a_living_daemon_is_not_taken_for_a_dead_one(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    """A daemon that answers nobody still has its journal: nothing is done behind its back."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    monkeypatch.setattr(offline, "real_server", never)
    living = JournalWriter(folder, keep_ticks=3600, on_error=pytest.fail)
    living.start()
    assert living.flush(5.0)

    result = run("park", *flags)

    assert result.exit_code == (0 if flags else 1)
    assert "a daemon is at work" in result.output or "journal.lock" in result.output
    assert living.close(5.0)


def test_a_daemon_that_answers_is_not_held_by_the_service_manager(run: Run, daemon: AnsweringLoop) -> None:
    """The service manager's command parks in place of a dead daemon, and never holds a living one."""
    result = run("park", "--if-crashed")

    assert result.exit_code == 0, result.output
    assert daemon.commands == []


@BOTH
def test_a_server_that_is_down_is_named(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    """Exit code 3 and the reason, and the connection is given back."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    server = beside(monkeypatch, None)

    result = run("park", *flags)

    assert result.exit_code == 3
    assert "the server cannot be reached: 127.0.0.1:3306 refused the connection" in result.output
    assert server.closed


def test_a_journal_that_cannot_be_written_is_no_reason_not_to_park(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full or read-only disk costs the note, which is said, and not the park."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    server = beside(monkeypatch)
    monkeypatch.setattr("tuner.journal.keeper.Store", never_opened)

    result = run("park", "--if-crashed")

    assert result.exit_code == 0, result.output
    assert server.capacity != OURS
    assert "will not know these values as its own" in result.stderr


def never_opened(*_: object, **__: object) -> NoReturn:
    """Stand for a disk that lets no file be opened."""
    raise OSError("read-only file system")


def test_a_typo_in_the_unit_is_a_wrong_usage(folder: Path, run: Run) -> None:
    """A state directory that is not there is no "nothing to park": nobody would ever notice."""
    folder.rmdir()

    result = run("park", "--if-crashed")

    assert result.exit_code == 2
    assert f"{folder}: no such directory" in result.output


def test_an_emptied_journal_is_not_taken_for_nothing_written(folder: Path, run: Run) -> None:
    """After a crash a journal without content says that something was lost, and the exit code is 3."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    (folder / "journal.db").write_bytes(b"")

    result = run("park", "--if-crashed")

    assert result.exit_code == 3
    assert "is not known" in result.output
