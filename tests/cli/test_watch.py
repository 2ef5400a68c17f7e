"""``innobrim watch`` on a terminal of its own, against a daemon that serves its API."""

from __future__ import annotations

import io
import json
import signal
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from api.access import Access
from api.server import ApiServer
from api.tokens import Role, Tokens, make, prepare, revoke
from tests.api.factory import AnsweringLoop, answering, application, record
from tests.cli.support import Run, ended, free_port
from tests.cli.virtual import Virtual
from tuner.cli import watch
from tuner.cli.answer import Unreachable
from tuner.cli.client import DaemonClient, Where
from tuner.cli.watch import LONGEST_WAIT, Watcher
from tuner.daemon.board import Board
from tuner.records import Decision, DecisionKind

ALT_SCREEN, MAIN_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
CURSOR = b"\x1b[?25h"
WHY = "no change: age 71 % of the flush limit"


def watching(folder: Path) -> Virtual:
    """Return a terminal on which somebody watches."""
    return Virtual("watch", "--state-directory", str(folder))


def watcher(folder: Path, *, url: str | None = None, token: Path | None = None) -> Watcher:
    """Return one who asks the daemon of a state directory, or of a URL, every second."""
    where = Where(
        url=url,
        api_socket=None,
        token_file=None if token is None else str(token),
        config_path=None,
        state_directory=str(folder),
    )
    return Watcher(DaemonClient(where), interval=1.0, span=60.0)


def given_back(terminal: Virtual) -> bool:
    """Tell whether the terminal is as it was found."""
    return MAIN_SCREEN in terminal.raw and CURSOR in terminal.raw and terminal.modes_now() == terminal.modes


def test_keys_a_new_size_and_the_end(folder: Path, daemon: AnsweringLoop) -> None:
    """The picture follows loop and window; Ctrl-Z and q give the terminal back."""
    daemon.publish()
    with watching(folder) as terminal:
        terminal.until(lambda text: WHY in text)
        assert terminal.colours
        terminal.resize(130, 40)
        terminal.until(
            lambda text: text.splitlines()[0].endswith("q quits") and len(text.splitlines()[0]) > 120
        )
        raised = Decision(DecisionKind.SET, "raise", "the age runs ahead")
        daemon.template = replace(record(), decision=raised)
        daemon.publish()
        terminal.until(lambda text: "the age runs ahead" in text)

        terminal.press("\x1a")
        terminal.until(lambda _: given_back(terminal))
        terminal.raw = b""
        terminal.process.send_signal(signal.SIGCONT)
        terminal.until(lambda _: ALT_SCREEN in terminal.raw and b"runs ahead" in terminal.raw)
        terminal.press("q")

        assert terminal.ended() == 0
        assert given_back(terminal)
    assert daemon.commands == []


def test_whatever_ends_it_the_terminal_is_as_it_was(folder: Path, daemon: AnsweringLoop) -> None:
    """An end from outside has the shell's exit code, and leaves no trace."""
    daemon.publish()
    with watching(folder) as terminal:
        terminal.until(lambda text: WHY in text)
        terminal.process.send_signal(signal.SIGHUP)

        assert terminal.ended() == 129
        assert given_back(terminal)
        assert b"Traceback" not in terminal.raw


def test_keys_are_heard_while_a_slow_daemon_thinks(
    folder: Path, daemon: AnsweringLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever presses q does not wait for an answer that may never come."""
    daemon.publish()
    found, answered = watcher(folder), threading.Event()

    def slow(*_: object) -> None:
        answered.wait(60.0)
        raise ValueError("nobody looks any more")

    found.ask()
    found.wait = 0.0
    monkeypatch.setattr(found._daemon, "get", slow)
    keys = iter(["", "", "q"])
    monkeypatch.setattr(watch, "_pressed", lambda _: next(keys))

    watch._show(found, Console(file=io.StringIO(), force_terminal=True))

    assert found.failure is None
    answered.set()


def test_a_fault_of_its_own_is_not_taken_for_silence(
    folder: Path, daemon: AnsweringLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A picture that can never change again is not shown on."""
    daemon.publish()
    found = watcher(folder)
    found.ask()
    found.wait = 0.0
    monkeypatch.setattr(found._daemon, "get", lambda *_: 1 // 0)
    monkeypatch.setattr(watch, "_pressed", lambda _: "")

    with pytest.raises(ZeroDivisionError):
        watch._show(found, Console(file=io.StringIO(), force_terminal=True))


def test_a_daemon_that_is_gone_and_back(folder: Path) -> None:
    """Silence leaves the last answer and is asked later and later; it goes on with the next answer."""
    board = Board()

    def serving() -> ApiServer:
        server = ApiServer(application(board), "127.0.0.1", 0, folder / "api.sock")
        server.start()
        return server

    with answering(board):
        server, found = serving(), watcher(folder)
        before = found.ask()
        server.stop(timeout=2.0)
        waits = [(found.ask(), found.wait)[1] for _ in range(6)]
        silent = found.view
        server = serving()
        back = found.ask()
        server.stop(timeout=2.0)

    assert silent is not None
    assert (silent.status, before.gone, back.gone, found.wait) == (before.status, "", "", 1.0)
    assert "api.sock" in silent.gone
    assert not silent.refused
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, LONGEST_WAIT]


def test_a_daemon_may_be_gone_for_a_weekend(
    folder: Path, daemon: AnsweringLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often nobody answered, it is asked again."""

    def silent(*_: object) -> None:
        raise Unreachable("nobody there")

    daemon.publish()
    found = watcher(folder)
    found.ask()
    monkeypatch.setattr(found._daemon, "get", silent)
    for _ in range(1100):
        found.ask()

    assert found.wait == LONGEST_WAIT


def test_the_numbers_are_asked_for_when_there_may_be_new_ones(
    folder: Path, daemon: AnsweringLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chart of six hours costs the daemon no six hours of numbers every second."""
    daemon.publish()
    found, asked = watcher(folder), list[str]()
    get = found._daemon.get
    monkeypatch.setattr(found._daemon, "get", lambda path, kind: (asked.append(path), get(path, kind))[1])
    for seconds in (0.0, 0.4, 1.0):
        if found.view is not None:
            found.view = replace(found.view, asked=time.monotonic() - seconds)
        found.ask()

    paths = [path.partition("?")[0].rpartition("/")[2] for path in asked]
    assert paths == ["status", "events", "history", "status", "events", "status", "events", "history"]


def test_a_token_that_is_revoked_meanwhile(
    folder: Path, tmp_path: Path, daemon: AnsweringLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that refuses is not called silent; another token in the same file is taken up."""
    monkeypatch.setattr("api.tokens.LOOK_SECONDS", 0.0)
    register = prepare(tmp_path)
    secret, port = tmp_path / "secret", free_port()
    secret.write_text(make(register.parent, "night", Role.READ, expires=None))
    access = Access(Tokens(register), open_reading=False)
    server = ApiServer(application(daemon.board, access=access), "127.0.0.1", port, None)
    server.start()
    try:
        found = watcher(folder, url=f"http://127.0.0.1:{port}", token=secret)
        found.ask()
        revoke(register.parent, "night")
        refused = found.ask()
        secret.write_text(make(register.parent, "morning", Role.READ, expires=None))
        again = found.ask()
    finally:
        server.stop(timeout=2.0)

    assert (refused.refused, again.refused, again.gone) == (True, False, "")
    assert "was revoked" in refused.gone


def test_once_is_one_picture(daemon: AnsweringLoop, run: Run) -> None:
    """With --once one picture is printed, in a pipe without colours, and 80 columns wide."""
    daemon.publish()

    result = run("watch", "--once")

    assert result.exit_code == 0, result.output
    assert WHY in result.output
    assert "\x1b" not in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def test_for_machines_it_is_the_status(daemon: AnsweringLoop, run: Run) -> None:
    """With --json it prints the object that ``innobrim status --json`` prints, and ends."""
    daemon.publish()
    shown, wanted = (json.loads(run(word, "--json").output) for word in ("watch", "status"))

    assert shown.keys() == wanted.keys()
    assert shown["decision"] == wanted["decision"]


def test_nobody_there_is_exit_3(run: Run) -> None:
    """A daemon that never answered is said at once, with where it was looked for; as JSON too."""
    result = run("watch", "--json")

    ended(result, 3, "the daemon cannot be reached: unix socket")
    assert "cannot be reached" in json.loads(result.stdout)["detail"]


@pytest.mark.parametrize("words", [("--interval", "0s"), ("--interval", "5"), ("--range", "7h")])
def test_wrong_usage_is_exit_2(run: Run, words: tuple[str, ...]) -> None:
    """What makes no sense is said before anybody is asked."""
    assert run("watch", *words).exit_code == 2


def test_where_no_picture_can_go_on_it_says_what_there_is(
    daemon: AnsweringLoop, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a pipe, and on a terminal that cannot move its cursor."""
    daemon.publish()
    monkeypatch.setenv("TERM", "dumb")
    ended(run("watch"), 2, "--once prints one picture")
