"""The commands that speak to a running daemon, against a real unix socket."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from api.server import ApiServer
from api.token import token_sha256
from tests.api.factory import FACTS, START, AnsweringLoop, answering, application, record, sample
from tuner.board import Board
from tuner.cli import client, offline
from tuner.cli.client import Duration
from tuner.cli.main import cli
from tuner.cli.status_table import duration
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Decision, DecisionKind, Facts, Receipt, Sample
from tuner.servers.port import Unreachable
from tuner.settings import Settings

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a state directory with a short path; nothing listens on TCP."""
    monkeypatch.setenv("INNOBRIM_API_PORT", "0")
    return tmp_path_factory.mktemp("s")


@pytest.fixture
def run(folder: Path) -> Run:
    """Return a way to run a command on that state directory."""

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(cli, [*words, "--state-directory", str(folder)], prog_name="innobrim")

    return invoke


@pytest.fixture
def daemon(folder: Path) -> Iterator[AnsweringLoop]:
    """Serve the API on the state directory's socket, over a loop that accepts everything."""
    board = Board()
    with answering(board) as loop:
        serving = ApiServer(application(board), "127.0.0.1", 0, folder / "api.sock")
        serving.start()
        yield loop
        serving.stop(timeout=2.0)


def write_journal(folder: Path, *, originals: Capacity | None = None) -> None:
    """Leave behind the journal of a daemon that is gone."""
    journal = JournalWriter(folder, keep_ticks=3600, on_error=pytest.fail)
    journal.start()
    journal.begin_run(settings=Settings(), facts=FACTS, state=b"", tick_number=0, wall=START)
    journal.record(record(1))
    if originals is not None:
        saved = threading.Event()
        journal.save_originals(FACTS.identity, originals, FACTS.started, FACTS.version, START, saved.set)
        assert saved.wait(5.0)
    journal.close(5.0)


class FakeServer:
    """A server that takes every write, or does not answer at all."""

    def __init__(self, facts: Facts | None) -> None:
        self.capacity = Capacity(225, 450)
        self.claims_writer = False
        self.closed = False
        self._facts = facts

    def facts(self) -> Facts:
        """Return what this server is."""
        if self._facts is None:
            raise Unreachable("127.0.0.1:3306 refused the connection")
        return self._facts

    def read(self) -> Sample:
        """Return a reading with the pair in force."""
        return sample(1, io_capacity=self.capacity.io_capacity, io_capacity_max=self.capacity.io_capacity_max)

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Take a write; only a holder of the writer lock may."""
        assert self.claims_writer
        self.capacity = wanted
        return Receipt(1.0, wanted, wanted, len(steps), 0.01)

    def close(self) -> None:
        """Note that the connection was given back."""
        self.closed = True


def test_status_shows_the_loop_and_the_daemons_cost(daemon: AnsweringLoop, run: Run) -> None:
    """Status prints mode, decision, C and M, ages, rates, and the daemon's own memory and share of a core."""
    daemon.publish()

    result = run("status")

    assert result.exit_code == 0, result.output
    for part in (
        "advisory",
        "within_dead_band",
        "C 225, M 450",
        "set-point 0.720",
        "MiB resident",
        "of a core",
    ):
        assert part in result.output


def test_status_for_machines_is_one_object(daemon: AnsweringLoop, run: Run) -> None:
    """With --json status is one object that says that it comes from the daemon."""
    daemon.publish()

    found = json.loads(run("status", "--json").output)

    assert found["source"] == "daemon"
    assert found["in_force"] == {"io_capacity": 225, "io_capacity_max": 450}


def test_status_without_a_daemon_comes_from_the_journal(folder: Path, run: Run) -> None:
    """Without a daemon status shows the last tick on disk, and says that it is that."""
    write_journal(folder)

    result = run("status")
    found = json.loads(run("status", "--json").output)

    assert result.exit_code == 0, result.output
    assert "not reachable" in result.output.splitlines()[0]
    assert FACTS.version in result.output
    assert (found["source"], found["tick"], found["process"]) == ("journal", 1, None)


def test_nothing_to_ask_names_what_was_tried(folder: Path, run: Run) -> None:
    """With neither daemon nor journal the exit code is 3, and the message names the socket and the folder."""
    result = run("status")

    assert result.exit_code == 3
    assert "the daemon cannot be reached" in result.output
    assert str(folder / "api.sock") in result.output


def test_pause_and_resume_show_what_changed(daemon: AnsweringLoop, run: Run) -> None:
    """A change prints the loop's answer and old → new."""
    paused = run("pause", "--reason", "backup")
    resumed = run("resume")

    assert paused.exit_code == resumed.exit_code == 0
    assert "holds: none → paused" in paused.output
    assert "holds: paused → none" in resumed.output
    assert daemon.commands[0].reason == "backup"
    assert daemon.commands[0].who == f"uid {os.getuid()} over the unix socket"


def test_override_and_its_end(daemon: AnsweringLoop, run: Run) -> None:
    """An override takes a duration in words, and can be cancelled."""
    made = run("override", "--io-capacity-max", "4000", "--ttl", "1h30m")
    ended = run("override", "--cancel", "--json")

    assert made.exit_code == 0, made.output
    assert "override: none → 5400 s left" in made.output
    assert json.loads(ended.output)["command"] == "cancel_override"
    assert [command.ttl for command in daemon.commands] == [5400.0, None]


@pytest.mark.parametrize(
    "words",
    [
        ("override",),
        ("override", "--io-capacity-max", "4000"),
        ("override", "--ttl", "10m"),
        ("override", "--io-capacity-max", "4000", "--ttl", "600"),
        ("override", "--io-capacity-max", "4000", "--ttl", "10m", "--cancel"),
        ("override", "--io-capacity-max", "50", "--ttl", "10m"),
    ],
)
def test_wrong_usage_is_exit_2(daemon: AnsweringLoop, run: Run, words: tuple[str, ...]) -> None:
    """A command that makes no sense exits 2 and asks the loop for nothing."""
    assert run(*words).exit_code == 2
    assert daemon.commands == []


def test_refusal_is_exit_1_with_the_reason(folder: Path, run: Run) -> None:
    """What the loop refuses exits 1 with its reason; with --json as the problem it is."""
    board = Board()
    with answering(board, lambda _: "the mode is advisory, which writes nothing"):
        serving = ApiServer(application(board), "127.0.0.1", 0, folder / "api.sock")
        serving.start()
        plain, machine = run("park"), run("park", "--json")
        serving.stop(timeout=2.0)

    assert plain.exit_code == machine.exit_code == 1
    assert "the mode is advisory" in plain.output
    assert json.loads(machine.stdout)["status"] == 409


def test_park_waits_until_the_pair_is_in_force(daemon: AnsweringLoop, run: Run) -> None:
    """With --wait, park returns when the parked pair has been read back."""
    result = run("park", "--wait")

    assert result.exit_code == 0, result.output
    assert daemon.commands[0].name == "park"


def test_restore_wait_gives_up_with_the_state(
    daemon: AnsweringLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore that does not end in time exits 1 and says what is in force."""
    monkeypatch.setattr(client, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(client, "POLL_SECONDS", 0.01)

    result = run("restore", "--wait")

    assert result.exit_code == 1
    assert "in force: C 225, M 450" in result.output
    assert daemon.commands[0].name == "restore"


def test_restore_wait_ends_with_the_originals(daemon: AnsweringLoop, run: Run) -> None:
    """A restore is done when the originals are in force and the loop is advisory; it forgets them then."""
    daemon.template = record(50, originals=Capacity(225, 450))
    daemon.publish()
    done = Decision(kind=DecisionKind.KEEP, reason="restored", detail="originals are in force")
    daemon.template = record(51, originals=None, decision=done)

    assert run("restore", "--wait").exit_code == 0


def test_restore_without_a_daemon_uses_the_journal(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a daemon restore puts the journal's originals back itself, and says each step."""
    write_journal(folder, originals=Capacity(250, 500))
    server = FakeServer(FACTS)
    monkeypatch.setattr(offline, "real_server", lambda _config, _clock: server)

    result = run("restore")

    assert result.exit_code == 0, result.output
    assert "restored C 250, M 500" in result.output
    assert server.capacity == Capacity(250, 500)
    assert server.closed


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
    assert server.capacity == Capacity(225, 450)
    assert server.closed


def test_restore_without_originals_says_so(folder: Path, run: Run) -> None:
    """Where no daemon ever wrote there is nothing to restore, and the message says where it looked."""
    write_journal(folder)

    result = run("restore")

    assert result.exit_code == 3
    assert "holds no originals" in result.output


def test_named_daemon_has_no_stand_in(folder: Path, run: Run) -> None:
    """When a certain daemon is named, neither the journal nor another daemon answers for it."""
    write_journal(folder)

    result = run("status", "--socket", str(folder / "other.sock"))

    assert result.exit_code == 3
    assert "other.sock" in result.output


def test_tcp_uses_the_token_of_the_state_directory(folder: Path, run: Run) -> None:
    """Over TCP a change carries the token file's token; with another token it exits 2."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    wrong = folder / "wrong"
    wrong.write_text("x" * 43)
    board = Board()
    with answering(board) as loop:
        serving = ApiServer(application(board, token_sha256=token_sha256(folder)), "127.0.0.1", port, None)
        serving.start()
        url = f"http://127.0.0.1:{port}"
        good = run("pause", "--url", url)
        refused = run("resume", "--url", url, "--token-file", str(wrong))
        missing = run("resume", "--url", url, "--token-file", str(folder / "none"))
        serving.stop(timeout=2.0)

    assert good.exit_code == 0, good.output
    assert (refused.exit_code, missing.exit_code) == (2, 2)
    assert "not this daemon's" in refused.output
    assert "--token-file" in missing.output
    assert [command.name for command in loop.commands] == ["pause"]


@pytest.fixture
def stranger() -> Iterator[tuple[int, list[bytes]]]:
    """Listen on a free port as any account could while the daemon is down; note what is sent there."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen() -> None:
            while True:
                try:
                    caller, _ = listener.accept()
                except OSError:
                    return
                with caller:
                    heard.append(caller.recv(65_536))

        thread = threading.Thread(target=listen)
        thread.start()
        yield int(listener.getsockname()[1]), heard
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_no_stranger_is_sent_the_token(
    folder: Path, run: Run, stranger: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the daemon is down a change does not reach whoever took its port, and exits 3."""
    port, heard = stranger
    (folder / "token").write_text("x" * 43)
    monkeypatch.setenv("INNOBRIM_API_PORT", str(port))

    result = run("pause")

    assert result.exit_code == 3
    assert "api.sock" in result.output
    assert "with --url only" in result.output
    assert heard == []


def test_a_daemon_without_a_socket_is_changed_over_tcp(
    folder: Path, run: Run, stranger: tuple[int, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the configuration wants no unix socket, a change goes over TCP with the token."""
    port, heard = stranger
    (folder / "token").write_text("x" * 43)
    monkeypatch.setenv("INNOBRIM_API_PORT", str(port))
    monkeypatch.setenv("INNOBRIM_API_SOCKET", "-")

    run("pause")

    assert b"bearer " + b"x" * 43 in heard[0].lower()


@pytest.mark.parametrize("name", ["status", "pause", "resume", "override", "park", "restore"])
def test_help_has_an_example(name: str) -> None:
    """Every command's help shows how it is used."""
    result = CliRunner().invoke(cli, [name, "--help"], prog_name="innobrim")

    assert result.exit_code == 0
    assert f"Example: innobrim {name}" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("text", "seconds"), [("30s", 30), ("10m", 600), ("2h", 7200), ("1h30m", 5400), ("1.5m", 90)]
)
def test_durations_are_read(text: str, seconds: float) -> None:
    """Durations are written as people write them."""
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0.4 s"), (12, "12 s"), (600, "10m"), (5400, "1h 30m"), (90_000, "1d 1h")]
)
def test_durations_are_said(seconds: float, text: str) -> None:
    """Durations are shown in the two units that matter."""
    assert duration(seconds) == text
