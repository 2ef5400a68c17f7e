"""What the client's commands do where no daemon answers, or another one does."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from tests.api.factory import FACTS, START
from tests.cli.support import FakeServer, write_journal
from tuner.cli import offline
from tuner.core.ownership.standing import why_advisory
from tuner.core.state import State
from tuner.journal.writer import JournalWriter
from tuner.memory import look
from tuner.records import Capacity, Facts, Receipt
from tuner.settings import Mode, Settings

Run = Callable[..., Result]


def test_status_without_a_daemon_comes_from_the_journal(folder: Path, run: Run) -> None:
    """Without a daemon status shows the last tick on disk, and says that it is that."""
    write_journal(folder)

    result = run("status")
    found = json.loads(run("status", "--json").stdout)

    assert result.exit_code == 0, result.output
    assert "none at work, so it is not reachable" in result.stdout.splitlines()[0]
    assert time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(START + 1)) in result.stdout.splitlines()[0]
    assert str(folder / "api.sock") in result.stderr
    assert FACTS.version in result.output
    assert (found["source"], found["tick"], found["process"]) == ("journal", 1, None)


def test_nothing_to_ask_names_what_was_tried(folder: Path, run: Run) -> None:
    """With neither daemon nor journal the exit code is 3, and the message names the socket and the folder."""
    result = run("status")

    assert result.exit_code == 3
    assert "the daemon cannot be reached" in result.output
    assert str(folder / "api.sock") in result.output


def test_restore_without_a_daemon_uses_the_journal(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a daemon restore puts the journal's originals back itself, and says each step."""
    write_journal(folder, originals=Capacity(250, 500))
    server = FakeServer(replace(FACTS, unseen=("latency",)))
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    result = run("restore")

    assert result.exit_code == 0, result.output
    assert "restored C 250, M 500" in result.output
    assert "the next daemon is advisory until innobrim mode active" in result.output
    assert server.capacity == Capacity(250, 500)
    assert server.watches_latency
    assert server.closed


def next_start(folder: Path, facts: Facts) -> State:
    """Return what a daemon begins with whose configuration says active."""
    return look(folder, quietly=True).begin(Settings(mode=Mode.ACTIVE), facts, now=0.0)


@pytest.mark.parametrize("later", [0.0, 3600.0])
def test_restore_without_a_daemon_is_not_undone(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, later: float
) -> None:
    """After it the next daemon is advisory, as after one that a daemon did, also where nothing was to do."""
    write_journal(folder, originals=Capacity(250, 500), wrote=True, ended=True)
    facts = replace(FACTS, started=FACTS.started + later)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: FakeServer(facts))
    assert next_start(folder, facts).mode is Mode.ACTIVE
    run("restore")
    state = next_start(folder, facts)

    assert state.mode is Mode.ADVISORY
    assert why_advisory(state) == "restored by innobrim restore, without a daemon"
    assert state.originals is None


def test_restore_that_stops_on_the_way_is_not_undone(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that fails says what to type, and leaves the originals in the journal and an advisory daemon."""
    write_journal(folder, originals=Capacity(250, 500), wrote=True, ended=True)
    server = FakeServer(FACTS)
    refused = Receipt(1.0, Capacity(250, 500), Capacity(225, 450), 0, 0.01, error="access denied")
    monkeypatch.setattr(server, "apply", lambda _steps, _wanted: refused)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)
    result = run("restore")
    state = next_start(folder, FACTS)

    assert result.exit_code == 1
    assert "by hand" in result.output
    assert state.mode is Mode.ADVISORY
    assert state.originals is not None
    assert state.writes.known == ()


def test_restore_that_was_refused_changes_no_mode(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another daemon has the writer lock nothing was done, and nothing is noted."""
    write_journal(folder, originals=Capacity(250, 500))
    server = FakeServer(FACTS)
    locked = replace(server.read(), writer=False)
    monkeypatch.setattr(server, "read", lambda: locked)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    assert "writer lock" in run("restore").output
    assert next_start(folder, FACTS).mode is Mode.ACTIVE


def test_status_tells_what_a_restore_did_since_the_last_tick(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restore without a daemon the pair of its last tick is not passed off as the one in force."""
    write_journal(folder, originals=Capacity(250, 500))
    server = FakeServer(replace(FACTS, unseen=("latency",)))
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)
    assert run("restore").exit_code == 0

    result = run("status")

    assert f"restored C 250, M 500 on {FACTS.endpoint}" in result.stdout
    assert "C 225, M 450 at that tick" in result.stdout


def test_status_tells_a_daemon_without_api_from_none(folder: Path, run: Run) -> None:
    """A daemon that is at work and answers nobody is said to be alive."""
    write_journal(folder)
    living = JournalWriter(folder, keep_ticks=3600, on_error=pytest.fail)
    living.start()
    assert living.flush(5.0)

    result = run("status")

    assert living.close(5.0)
    assert "alive, but no API of it answers" in result.stdout.splitlines()[0]


def test_restore_leaves_a_restarted_server_alone(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was restarted since runs with its own values already: nothing is written."""
    write_journal(folder, originals=Capacity(250, 500))
    server = FakeServer(replace(FACTS, started=FACTS.started + 3600.0))
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    result = run("restore", "--json")

    assert result.exit_code == 0
    assert "nothing to restore" in json.loads(result.stdout)["message"]
    assert server.capacity == Capacity(225, 450)


@pytest.mark.parametrize(
    "case",
    [
        (None, 3, "the server cannot be reached"),
        (replace(FACTS, identity="another"), 1, "has no originals of"),
    ],
)
def test_restore_without_a_daemon_says_who_is_missing(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, case: tuple[Facts | None, int, str]
) -> None:
    """A server that does not answer, or is another one, is named, and nothing is written."""
    write_journal(folder, originals=Capacity(250, 500))
    facts, code, said = case
    server = FakeServer(facts)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    result = run("restore")

    assert result.exit_code == code
    assert said in result.output
    assert f"of a daemon at {FACTS.endpoint}" in result.output
    assert server.capacity == Capacity(225, 450)
    assert server.closed


def test_a_restore_that_cannot_be_says_what_to_type(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the server does not answer, the message has the statements that restore it by hand."""
    write_journal(folder, originals=Capacity(250, 500))
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: FakeServer(None))

    result = run("restore")

    assert result.exit_code == 3
    assert f"not restored: server {FACTS.identity}; by hand" in result.output
    pair = "innodb_io_capacity_max = 500, innodb_io_capacity = 250, innodb_io_capacity_max = 500"
    assert f"SET GLOBAL {pair};" in result.output


def test_restore_without_originals_says_so(folder: Path, run: Run) -> None:
    """Where no daemon ever wrote there is nothing to restore, and the message says where it looked."""
    write_journal(folder)

    result = run("restore")

    assert result.exit_code == 1
    assert f"the journal in {folder} holds no originals" in result.output


def test_restore_if_written_is_content_with_nothing(folder: Path, run: Run) -> None:
    """A package manager's restore is fine where the daemon never wrote."""
    write_journal(folder)

    result = run("restore", "--if-written")

    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"nothing to restore: the journal in {folder} holds no originals")


@pytest.mark.parametrize("name", ["status", "restore", "park"])
def test_a_mistyped_state_directory_is_a_wrong_usage(run: Run, folder: Path, name: str) -> None:
    """Of a directory that is not there nothing is claimed but that, and how to name the right one."""
    folder.rmdir()

    result = run(name)

    assert result.exit_code == 2
    assert f"{folder}: no such directory" in result.output
    assert "--state-directory or --config" in result.output


@pytest.mark.parametrize("name", ["status", "restore", "park"])
@pytest.mark.parametrize("what", ["nothing", "empty", "text", "database"])
def test_what_is_no_journal_is_named_as_what_it_is(run: Run, folder: Path, name: str, what: str) -> None:
    """Nothing, an empty file, a text and another program's database are told apart, by exit code 3."""
    path = folder / "journal.db"
    said = {
        "nothing": f"there is no journal in {folder}",
        "empty": f"{path} is empty",
        "text": f"{path}: no journal of InnoBrim's",
        "database": f"{path}: no journal of InnoBrim's",
    }
    if what == "database":
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE ticks (id INTEGER)")
    elif what != "nothing":
        path.write_text("hello " * 1000 if what == "text" else "")

    result = run(name)

    assert result.exit_code == 3
    assert said[what] in result.output


def test_a_journal_before_its_first_tick_is_no_missing_one(run: Run, folder: Path) -> None:
    """Where a daemon was started and stopped at once, status says that the journal has no tick yet."""
    write_journal(folder, ticks=0)

    result = run("status")

    assert result.exit_code == 3
    assert f"the journal in {folder} has no tick yet" in result.output


@pytest.mark.parametrize("name", ["status", "restore", "park"])
@pytest.mark.parametrize(
    ("option", "value"), [("--api-socket", "other.sock"), ("--url", "http://127.0.0.1:1")]
)
def test_named_daemon_has_no_stand_in(folder: Path, run: Run, name: str, option: str, value: str) -> None:
    """For a daemon that is named nothing answers, and the way to its journal is said."""
    write_journal(folder, originals=Capacity(250, 500))

    result = run(name, option, value)

    assert result.exit_code == 3
    assert value in result.output
    assert f"the journal was not tried: leave {option} out" in result.output


@pytest.mark.parametrize(
    ("kept", "calls_itself", "said"),
    [
        ("orders", "db1:3306:/var/lib/mysql/", True),
        ("db2:3306:/var/lib/mysql/", "db1:3306:/var/lib/mysql/", False),
        ("11111111-2222-3333-4444-555555555555", "", False),
    ],
)
@pytest.mark.parametrize("words", [("restore",), ("park",), ("park", "--if-crashed")])
def test_a_server_that_the_daemon_knew_by_a_name_is_asked_for_by_it(  # noqa: PLR0917 - fixtures and cases
    folder: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    kept: str,
    calls_itself: str,
    said: bool,  # noqa: FBT001 - a case
    words: tuple[str, ...],
) -> None:
    """Where the journal may have a server under a name that a person gave, the message says how."""
    write_journal(folder, originals=Capacity(250, 500), wrote=True, identity=kept)
    facts = replace(FACTS, identity=calls_itself or "another", calls_itself=calls_itself)
    server = FakeServer(facts)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    result = run(*words)

    assert ("INNOBRIM_IDENTITY=orders" in result.output) is said
    assert server.capacity == Capacity(225, 450)
