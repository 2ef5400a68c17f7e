"""``status``, ``restore`` and ``park`` where no daemon answers, and ``park`` as a service manager runs it."""

from __future__ import annotations

import contextlib
import gc
import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec.structs import replace

from tests.api import factory
from tests.api.factory import START, AnsweringLoop
from tests.cli import support
from tests.cli.redo_growth_outputs import BEGUN
from tests.cli.support import FakeServer, Run, ended, write_journal
from tuner.cli import offline
from tuner.cli.wording import stamp
from tuner.core.ownership.standing import why_advisory
from tuner.core.state import State
from tuner.daemon.predecessors import look
from tuner.journal.ending import ending
from tuner.journal.resized import keep
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Facts, Receipt
from tuner.settings import Mode, Settings

pytestmark = pytest.mark.usefixtures("quick")

PutServer = Callable[..., FakeServer]
FACTS = replace(factory.FACTS, flush_law="legacy")
UNTIMED = replace(FACTS, unseen=("latency",))
LATER = replace(FACTS, started=FACTS.started + 3600.0)
ANOTHER = replace(FACTS, identity="another")
ORIGINALS, OURS = Capacity(250, 500), Capacity(225, 450)
EACH = pytest.mark.parametrize("name", ["status", "restore", "park"])
BOTH = pytest.mark.parametrize("flags", [(), ("--if-crashed",)], ids=["asked", "crashed"])


@pytest.fixture
def living(folder: Path) -> Iterator[None]:
    """Have a daemon at work that answers nobody."""
    journal = JournalWriter(folder, keep_ticks=3600, on_error=pytest.fail)
    journal.start()
    assert journal.flush(5.0)
    yield
    assert journal.close(5.0)


def never(*_: object, **__: object) -> NoReturn:
    """Stand for a connection that must not be made, and for a disk that lets no file be opened."""
    raise OSError("read-only file system")


def next_start(folder: Path, facts: Facts = FACTS) -> State:
    """Return what a daemon begins with whose configuration says active."""
    return look(folder, quietly=True).begin(Settings(mode=Mode.ACTIVE), facts, now=0.0)


def test_status_without_a_daemon_comes_from_the_journal(folder: Path, run: Run) -> None:
    """Without a daemon status shows the last tick on disk, and says so, or that there is none."""
    write_journal(folder, ticks=0)
    ended(run("status"), 3, f"the journal in {folder} has no tick yet")
    write_journal(folder)
    found = json.loads(run("status", "--json").stdout)

    ended(run("status"), 0, "none is running", stamp(START + 1), str(folder / "api.sock"))
    assert (found["source"], found["tick"], found["process"]) == ("journal", 1, None)


@EACH
@pytest.mark.parametrize("what", ["no directory", "nothing", "empty", "text", "database"])
def test_what_is_no_journal_is_named_as_what_it_is(run: Run, folder: Path, name: str, what: str) -> None:
    """No directory is a wrong usage; nothing, an empty file, a text and another database are exit code 3."""
    path = folder / "journal.db"
    said = {
        "no directory": f"{folder}: no such directory; name the daemon's with --state-directory or --config",
        "nothing": f"there is no journal in {folder}",
        "empty": f"{path} is empty",
        "text": f"{path}: no journal of InnoBrim's",
        "database": f"{path}: no journal of InnoBrim's",
    }
    if what == "no directory":
        folder.rmdir()
    elif what == "database":
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE ticks (id INTEGER)")
    elif what != "nothing":
        path.write_text("hello " * 1000 if what == "text" else "")
    ended(run(name), 2 if what == "no directory" else 3, said[what], str(folder / "api.sock"))


@EACH
@pytest.mark.parametrize(
    ("option", "value"), [("--api-socket", "other.sock"), ("--url", "http://127.0.0.1:1")]
)
def test_named_daemon_has_no_stand_in(folder: Path, run: Run, name: str, option: str, value: str) -> None:
    """For a daemon that is named nothing answers, and the way to its journal is said."""
    write_journal(folder, originals=ORIGINALS)
    ended(run(name, option, value), 3, value, f"the journal was not tried: leave {option} out")


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"  # the driver closes no socket that failed
)
@pytest.mark.parametrize("words", [("restore",), ("park",), ("park", "--if-crashed")])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("was_at", ["/nowhere/s.sock", "127.0.0.1:1", "::1:1"])
def test_the_server_of_the_journal_is_asked_where_none_is_named(
    folder: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    *,
    words: tuple[str, ...],
    named: bool,
    was_at: str,
) -> None:
    """Not what listens on 127.0.0.1:3306; which one it is, is said, and an address of one's own counts."""
    monkeypatch.setattr(support, "FACTS", replace(FACTS, endpoint=f"io@{was_at}"))
    write_journal(folder, originals=ORIGINALS, wrote=True)
    result = run(*words, *(("--socket", "/elsewhere/s.sock") if named else ()))
    code, said = result.exit_code, result.output
    del result
    gc.collect()

    assert code == 3
    assert f"innobrim@{'/elsewhere/s.sock' if named else was_at}: " in said
    assert ("no server is named: asking" in said) is not named


def test_restore_without_a_daemon_uses_the_journal(folder: Path, run: Run, put_server: PutServer) -> None:
    """It puts the journal's originals back itself, and status tells of it since the last tick."""
    write_journal(folder, originals=ORIGINALS)
    server = put_server(UNTIMED)
    result, status = run("restore"), run("status").stdout

    ended(result, 0, "restored io_capacity 250, io_capacity_max 500")
    assert (server.capacity, server.watches_latency, server.closed) == (ORIGINALS, True, True)
    assert f"restored io_capacity 250, io_capacity_max 500 on {FACTS.endpoint}" in status
    assert "io_capacity 225, io_capacity_max 450 at that tick" in status


@pytest.mark.parametrize("undone", [False, True])
def test_restore_without_a_daemon_says_how_the_redo_log_goes_back(
    folder: Path, run: Run, put_server: PutServer, *, undone: bool
) -> None:
    """A log that a daemon grew stays, and the command that sets back what was found is named; once."""
    write_journal(folder, originals=ORIGINALS)
    put_server(UNTIMED)
    grown = replace(BEGUN, identity=UNTIMED.identity, goal=BEGUN.wanted, undone=undone)
    keep(folder, grown)
    said = run("restore").output

    assert ("innobrim redo --undo sets 100 MiB back" in said) is not undone


@pytest.mark.parametrize("facts", [FACTS, LATER], ids=["written", "restarted since"])
def test_restore_without_a_daemon_is_not_undone(
    folder: Path, run: Run, put_server: PutServer, facts: Facts
) -> None:
    """After it the next daemon is advisory, as after one that a daemon did, also where nothing was to do."""
    write_journal(folder, originals=ORIGINALS, wrote=True, ended=True)
    server = put_server(facts)
    assert next_start(folder, facts).mode is Mode.ACTIVE
    result, state = run("restore", "--json"), next_start(folder, facts)

    assert ("nothing to restore" in json.loads(result.stdout)["message"]) is (facts is LATER)
    assert server.capacity == (OURS if facts is LATER else ORIGINALS)
    assert why_advisory(state) == "restored by innobrim restore, without a daemon"
    assert state.originals is None


def test_restore_that_stops_on_the_way_is_not_undone(
    folder: Path, run: Run, put_server: PutServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step that fails says what to type, and leaves the originals in the journal and an advisory daemon."""
    write_journal(folder, originals=ORIGINALS, wrote=True, ended=True)
    refused = Receipt(1.0, ORIGINALS, OURS, 0, 0.01, error="access denied")
    monkeypatch.setattr(put_server(), "apply", lambda _steps, _wanted: refused)
    result, state = run("restore"), next_start(folder)

    ended(result, 1, "by hand")
    assert state.mode is Mode.ADVISORY
    assert state.originals is not None
    assert state.writes.known == ()


def test_restore_that_was_refused_changes_no_mode(
    folder: Path, run: Run, put_server: PutServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another daemon has the writer lock nothing was done, and nothing is noted."""
    write_journal(folder, originals=ORIGINALS)
    server = put_server()
    locked = replace(server.read(), writer=False)
    monkeypatch.setattr(server, "read", lambda: locked)

    assert "writer lock" in run("restore").output
    assert next_start(folder).mode is Mode.ACTIVE


@pytest.mark.parametrize("facts", [None, ANOTHER], ids=["silent", "another"])
def test_restore_without_a_daemon_says_who_is_missing(
    folder: Path, run: Run, put_server: PutServer, facts: Facts | None
) -> None:
    """A server that does not answer, with what to type, or is another one, is named; nothing is written."""
    by_hand = f"not restored: server {FACTS.identity}; by hand"
    code, said = (3, by_hand) if facts is None else (1, "has no originals of")
    write_journal(folder, originals=ORIGINALS)
    server = put_server(facts)
    result = run("restore")

    assert (result.exit_code, server.capacity, server.closed) == (code, OURS, True)
    assert said in result.output
    assert f"of a daemon at {FACTS.endpoint}" in result.output
    pair = "innodb_io_capacity_max = 500, innodb_io_capacity = 250, innodb_io_capacity_max = 500"
    assert (f"SET GLOBAL {pair};" in result.output) is (facts is None)


def test_restore_without_originals_says_so(folder: Path, run: Run) -> None:
    """Where no daemon ever wrote there is nothing to restore, which is fine for a package manager."""
    write_journal(folder)
    said = f"the journal in {folder} holds no originals"
    ended(run("restore"), 1, said)
    ended(run("restore", "--if-written"), 0, f"nothing to restore: {said}")


@pytest.mark.parametrize(
    ("kept", "calls_itself", "said"),
    [
        ("orders", "db1:3306:/var/lib/mysql/", True),
        ("db2:3306:/var/lib/mysql/", "db1:3306:/var/lib/mysql/", False),
        ("11111111-2222-3333-4444-555555555555", "", False),
    ],
)
@pytest.mark.parametrize("words", ["restore", "park", "park --if-crashed"])
def test_a_server_that_the_daemon_knew_by_a_name_is_asked_for_by_it(  # noqa: PLR0917 - fixtures and cases
    folder: Path,
    run: Run,
    put_server: PutServer,
    kept: str,
    calls_itself: str,
    said: bool,  # noqa: FBT001 - a case
    words: str,
) -> None:
    """Where the journal may have a server under a name that a person gave, the message says how."""
    write_journal(folder, originals=ORIGINALS, wrote=True, identity=kept)
    server = put_server(replace(FACTS, identity=calls_itself or "another", calls_itself=calls_itself))
    result = run(*words.split())

    assert ("INNOBRIM_IDENTITY=orders" in result.output) is said
    assert server.capacity == OURS


@BOTH
def test_a_crashed_daemons_values_are_parked(
    folder: Path, run: Run, put_server: PutServer, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    """One line says at which pair, the journal has it, and nothing else is set, not even counters."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    monkeypatch.setenv("INNOBRIM_DAEMON_ENABLE_COUNTERS", "true")
    server = put_server(replace(FACTS, disabled_counters=("log_lsn_current",)))
    result = run("park", *flags)
    pair, status, found = server.capacity, run("status").stdout, ending(folder)

    assert result.exit_code == 0, result.output
    assert pair.io_capacity_max > OURS.io_capacity_max
    assert result.stdout == f"parked at {pair.io_capacity}/{pair.io_capacity_max} on {FACTS.endpoint}\n"
    assert (server.closed, server.enables_counters) == (True, False)
    assert result.stdout.strip() in status
    assert "io_capacity 225, io_capacity_max 450 at that tick" in status
    assert found is not None
    newest = found.writes[FACTS.identity][0]
    assert (found.orderly, newest.target, newest.parks) == (True, pair, True)


def test_after_an_orderly_end_only_a_person_parks(
    folder: Path, run: Run, put_server: PutServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a stopped daemon left is left alone, and its server not asked, unless a person says so."""
    write_journal(folder, originals=ORIGINALS, wrote=True, ended=True)
    monkeypatch.setattr(offline, "real_server", never)
    result = run("park", "--if-crashed", "--json")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["message"] == "nothing to park: the last daemon ended in order"
    put_server()
    assert run("park").stdout.startswith("parked at ")


@pytest.mark.parametrize("what", ["no journal", "no write", "restarted", "another server"])
def test_nothing_to_do_is_no_failure(folder: Path, run: Run, put_server: PutServer, what: str) -> None:
    """Where nothing of a daemon's can be in force the exit code is 0, nothing is written, and it says why."""
    if what != "no journal":
        write_journal(folder, originals=ORIGINALS, wrote=what != "no write")
    server = put_server({"restarted": LATER, "another server": ANOTHER}.get(what, FACTS))
    ended(run("park", "--if-crashed"), 0, "nothing to park: ")
    assert server.capacity == OURS


@BOTH
def test_a_living_daemon_is_not_taken_for_a_dead_one(
    folder: Path,
    run: Run,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
) -> None:
    """A daemon that answers nobody still has its journal: status says so, and nothing is done about it."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    monkeypatch.setattr(offline, "real_server", never)
    request.getfixturevalue("living")
    code, said = (0, "a daemon is at work") if flags else (1, "journal.lock")
    ended(run("park", *flags), code, said)
    ended(run("status"), 0, "running, but its API does not answer")


def test_a_daemon_that_answers_is_not_held_by_the_service_manager(run: Run, daemon: AnsweringLoop) -> None:
    """The service manager's command parks in place of a dead daemon, and never holds a living one."""
    ended(run("park", "--if-crashed"), 0)
    assert daemon.commands == []


@BOTH
def test_a_server_that_is_down_is_named(
    folder: Path, run: Run, put_server: PutServer, flags: tuple[str, ...]
) -> None:
    """Exit code 3 and the reason, and the connection is given back."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    server = put_server(None)
    said = "the server cannot be reached: 127.0.0.1:3306 refused the connection"
    ended(run("park", *flags), 3, said)
    assert server.closed


def test_a_journal_that_cannot_be_written_is_no_reason_not_to_park(
    folder: Path, run: Run, put_server: PutServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full or read-only disk costs the note, which is said, and not the park."""
    write_journal(folder, originals=ORIGINALS, wrote=True)
    server = put_server()
    monkeypatch.setattr("tuner.journal.keeper.Store", never)
    ended(run("park", "--if-crashed"), 0, "will not know these values as its own")
    assert server.capacity != OURS


@pytest.mark.parametrize("what", ["no directory", "emptied"])
def test_what_was_lost_is_not_taken_for_nothing_written(folder: Path, run: Run, what: str) -> None:
    """For the service manager a typo is a wrong usage, and a journal without content is exit code 3."""
    if what == "no directory":
        folder.rmdir()
    else:
        write_journal(folder, originals=ORIGINALS, wrote=True)
        (folder / "journal.db").write_bytes(b"")
    code, said = (2, f"{folder}: no such directory") if what == "no directory" else (3, "is not known")
    ended(run("park", "--if-crashed"), code, said)
