"""What root's commands do in a state directory that belongs to the service, and do not let it do to them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from tests.api.factory import FACTS
from tests.cli.support import FakeServer, ended, free_port, innobrim, write_journal
from tuner.daemon.daemon import Daemon
from tuner.journal.items import NoteItem
from tuner.journal.keeper import claimed
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity
from tuner.system import statedir
from tuner.system.statedir import as_caller, as_owner, read_text

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="what root does can be seen by root alone")

SERVICE = 54_321
MAKE = ("token", "make", "oncall", "--role", "read")
Run = Callable[..., Result]


@pytest.fixture(params=["reached by its owner", "beyond its owner's reach"])
def folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a state directory of the service's with what a dead daemon left, all of it the service's."""
    monkeypatch.setenv("INNOBRIM_API_PORT", "0")
    monkeypatch.setattr(statedir, "_PROGRAM", ())  # of these tests' own, which may lie below /root
    above = Path(tempfile.mkdtemp(prefix="innobrim-"))
    above.chmod(0o755 if request.param == "reached by its owner" else 0o700)
    place = above / "state"
    place.mkdir(mode=0o750)
    write_journal(place, originals=Capacity(250, 500), wrote=True)
    for one in (place, *place.iterdir()):
        os.chown(one, SERVICE, SERVICE)
    yield place
    shutil.rmtree(above)


@pytest.fixture
def run(folder: Path, quick: None, put_server: Callable[..., FakeServer]) -> Run:  # noqa: ARG001 - no waiting
    """Return a way to run a command on that state directory, beside a server that takes every write."""
    put_server(replace(FACTS, flush_law="legacy", unseen=("latency",)))
    return lambda *words: innobrim(*words, "--state-directory", folder)


@pytest.fixture
def victim(folder: Path) -> Path:
    """Return a file of root's beside the state directory."""
    found = folder.parent / "victim"
    found.write_text("root's alone\n")
    found.chmod(0o600)
    return found


def untouched(victim: Path) -> bool:
    """Tell whether root's file is as it was."""
    found = victim.stat()
    return (victim.read_text(), found.st_uid, found.st_mode & 0o777) == ("root's alone\n", 0, 0o600)


@pytest.mark.parametrize("words", [("restore",), ("park",), MAKE, ("status",)])
def test_whatever_a_command_makes_is_the_services(folder: Path, run: Run, words: tuple[str, ...]) -> None:
    """After any command of root's every file of the directory can be used by the service."""
    ended(run(*words), 0)
    assert {(one.lstat().st_uid, one.lstat().st_gid) for one in folder.iterdir()} == {(SERVICE, SERVICE)}
    assert (os.geteuid(), os.getegid()) == (0, 0)


@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "named pipe"])
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("restore",), "journal.db"),
        (("restore",), "journal.db-journal"),
        (("restore",), "journal.db-wal"),
        (("restore",), "journal.lock"),
        (MAKE, "tokens.json"),
        (MAKE, "token"),
    ],
)
def test_nothing_leads_root_astray(  # noqa: PLR0917 - fixtures and cases
    folder: Path, run: Run, victim: Path, words: tuple[str, ...], kind: str, name: str
) -> None:
    """Whatever the service puts in a file's place, no file of root's is changed or given away."""
    (folder / name).unlink(missing_ok=True)
    if kind == "symbolic link":
        (folder / name).symlink_to(victim)
    elif kind == "hard link":
        (folder / name).hardlink_to(victim)
    else:
        os.mkfifo(folder / name)

    run(*words)

    assert untouched(victim)


def test_a_directory_that_is_a_link_of_the_services_is_refused(folder: Path, run: Run, victim: Path) -> None:
    """Only root's own links lead to a state directory."""
    shutil.rmtree(folder)
    other = folder.parent / "other"
    other.mkdir()
    folder.symlink_to(other)
    os.lchown(folder, SERVICE, SERVICE)

    ended(run(*MAKE), 2, "symbolic link")
    assert list(other.iterdir()) == []
    assert untouched(victim)


def test_a_directory_of_roots_that_others_may_write_is_refused(folder: Path, run: Run) -> None:
    """Who may write there could put anything in root's way, and it is nobody's account."""
    os.chown(folder, 0, SERVICE)
    folder.chmod(0o770)

    ended(run("restore"), 2, "chown it to the daemon's account")


def test_a_server_may_let_root_in_for_being_root(folder: Path) -> None:
    """Logging in is done as whoever runs the command; everything else as the owner."""
    with as_owner(folder):
        inside = os.geteuid()
        with as_caller():
            assert os.geteuid() == 0
        assert os.geteuid() == inside


def test_the_token_of_a_link_is_sent_to_nobody(folder: Path, victim: Path) -> None:
    """What a link in the token's place leads to is not read."""
    (folder / "token").symlink_to(victim)

    with pytest.raises(OSError, match="symbolic links"):
        read_text(folder / "token")


def test_a_pipe_in_place_of_the_lock_holds_nobody_up(folder: Path) -> None:
    """Who asks whether a daemon lives there gets an answer."""
    (folder / "journal.lock").unlink()
    os.mkfifo(folder / "journal.lock")

    assert not claimed(folder)


def test_a_journal_is_the_services_from_the_moment_that_it_is_there(folder: Path) -> None:
    """Root that is killed while it writes has locked the service out of nothing."""
    for one in folder.iterdir():
        one.unlink()
    journal = JournalWriter(folder, keep_ticks=3600, on_error=pytest.fail)
    journal.start()
    journal.put(NoteItem(wall=1.0, code="offline", message="done", who="root"))
    assert journal.flush(10.0)
    while_open = {one.name: one.stat().st_uid for one in folder.iterdir()}
    assert journal.close(10.0)

    assert {"journal.db", "journal.lock", "journal.db-journal"} <= while_open.keys()
    assert set(while_open.values()) == {SERVICE}


def test_a_program_that_the_owner_cannot_read_goes_on_as_root(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the owner cannot run this program, root does its work all the same, for the service."""
    secret = folder.parent / "program.py"
    secret.write_text("")
    secret.chmod(0o600)
    monkeypatch.setattr(statedir, "_PROGRAM", (str(secret),))

    ended(run("restore"), 0)
    assert {one.lstat().st_uid for one in folder.iterdir()} == {SERVICE}


@pytest.fixture
def secret(folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Return the words that give a command root's own credentials, of a server that is down."""
    where = {"HOST": "127.0.0.1", "PORT": str(free_port()), "USER": "root"}
    file = folder.parent / "secret"
    if request.param == "option file":
        lines = [f"{name.lower()} = {value}" for name, value in where.items()]
        file.write_text("\n".join(["[client]", "password = x", *lines]))
        file.chmod(0o600)
        return ("--defaults-file", str(file))
    file.write_text("x\n")
    file.chmod(0o400)
    for name, value in where.items():
        monkeypatch.setenv(f"INNOBRIM_SERVER_{name}", value)
    monkeypatch.setenv("INNOBRIM_PASSWORD_FILE", str(file))
    return ()


@pytest.mark.parametrize("secret", ["option file", "password file"], indirect=True)
@pytest.mark.parametrize("words", [("restore",), ("park",)])
def test_credentials_of_roots_are_read_as_root(
    folder: Path, secret: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """With credentials that root alone may read, a command of root's gets as far as the server."""
    result = innobrim(*words, "--state-directory", str(folder), *secret)

    ended(result, 3, "the server cannot be reached")
    assert os.geteuid() == 0


@pytest.mark.parametrize("secret", ["option file", "password file"], indirect=True)
def test_a_daemon_of_roots_reads_roots_credentials(
    folder: Path, secret: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that root starts takes root's credentials along, and works as the directory's owner."""
    accounts: list[int] = []
    monkeypatch.setattr(Daemon, "run", lambda _: accounts.append(os.geteuid()))
    monkeypatch.setattr("tuner.cli.run.program_version", lambda: "0")  # of a Python that may lie below /root

    ended(innobrim("run", "--no-api", "--state-directory", folder, *secret), 0)
    assert accounts == [SERVICE if folder.parent.stat().st_mode & 0o077 else 0]
