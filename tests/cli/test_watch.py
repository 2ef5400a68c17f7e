"""``innobrim watch`` on a terminal of its own, against a daemon that serves its API."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from api.access import Access
from api.server import ApiServer
from api.tokens import Role, Tokens, make, prepare, revoke
from tests.api.factory import AnsweringLoop, answering, application, record, sample
from tests.cli.support import free_port
from tests.cli.virtual import SOON, Virtual
from tuner.board import Board
from tuner.records import Decision, DecisionKind

Run = Callable[..., Result]

ALT_SCREEN, MAIN_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"
CURSOR = b"\x1b[?25h"


@contextmanager
def serving(folder: Path, board: Board) -> Iterator[None]:
    """Serve the API on a state directory's socket."""
    server = ApiServer(application(board), "127.0.0.1", 0, folder / "api.sock")
    server.start()
    try:
        yield
    finally:
        server.stop(timeout=2.0)


@contextmanager
def watching_while(folder: Path, board: Board) -> Iterator[tuple[Virtual, ApiServer]]:
    """Yield a terminal, and the server that it watches."""
    server = ApiServer(application(board), "127.0.0.1", 0, folder / "api.sock")
    server.start()
    try:
        with watching(folder, "--interval", "0.5s") as terminal:
            yield terminal, server
    finally:
        server.stop(timeout=2.0)


def watching(folder: Path, *words: str, columns: int = 80, lines: int = 24, **environ: str) -> Virtual:
    """Return a terminal on which somebody watches."""
    return Virtual("watch", "--state-directory", str(folder), *words, columns=columns, lines=lines, **environ)


def test_keys_a_new_size_and_the_end(folder: Path, daemon: AnsweringLoop) -> None:
    """The picture follows loop and window, p stops it, + and - range it, q gives the terminal back."""
    daemon.publish()
    with watching(folder) as terminal:
        terminal.until(lambda text: "450 pages/s hold the age" in text)
        assert terminal.colours
        terminal.resize(130, 40)
        terminal.until(lambda text: len(text.splitlines()) == 40 and "+/-" in text.splitlines()[-1])
        terminal.resize(80, 24)
        terminal.until(lambda text: len(text.splitlines()) == 24 and "+/-" in text.splitlines()[-1])

        terminal.press("p")
        terminal.until(lambda text: "PAUSED" in text)
        raised = Decision(DecisionKind.SET, "raise", "the age runs ahead")
        daemon.template = replace(record(), decision=raised)
        daemon.publish()
        assert "450 pages/s" in terminal.until(lambda text: "go on" in text)
        terminal.press("p")
        terminal.until(lambda text: "the age runs ahead" in text and "PAUSED" not in text)
        terminal.press("+")
        terminal.until(lambda text: "15m shown" in text)
        terminal.press("-")
        terminal.until(lambda text: "5m shown" in text and "15m shown" not in text)
        terminal.press("q")

        assert terminal.ended() == 0
        assert MAIN_SCREEN in terminal.raw
        assert CURSOR in terminal.raw
        assert terminal.modes_now() == terminal.modes
    assert daemon.commands == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_whatever_ends_it_the_terminal_is_as_it_was(
    folder: Path, daemon: AnsweringLoop, number: signal.Signals, code: int
) -> None:
    """Ctrl-C is a way to leave; an end from outside has the shell's exit code; neither leaves a trace."""
    daemon.publish()
    with watching(folder) as terminal:
        terminal.until(lambda text: "450 pages/s hold the age" in text)
        terminal.process.send_signal(number)

        assert terminal.ended() == code
        assert MAIN_SCREEN in terminal.raw
        assert CURSOR in terminal.raw
        assert terminal.modes_now() == terminal.modes
        assert b"Traceback" not in terminal.raw


def test_ctrl_z_gives_the_terminal_back_until_it_goes_on(folder: Path, daemon: AnsweringLoop) -> None:
    """A stopped picture leaves the shell its terminal, and is drawn anew when it goes on."""
    daemon.publish()
    with watching(folder) as terminal:
        terminal.until(lambda text: "450 pages/s hold the age" in text)
        terminal.press("\x1a")
        terminal.until(lambda _: MAIN_SCREEN in terminal.raw and terminal.modes_now() == terminal.modes)
        terminal.raw = b""
        terminal.process.send_signal(signal.SIGCONT)
        terminal.until(lambda _: ALT_SCREEN in terminal.raw and b"hold the age" in terminal.raw)
        terminal.press("q")

        assert terminal.ended() == 0


def test_a_daemon_that_is_gone_and_back(folder: Path) -> None:
    """Silence is said with its beginning, the last picture stays, and it goes on with the next answer."""
    board = Board()
    with answering(board), watching_while(folder, board) as (terminal, server):
        terminal.until(lambda text: "450 pages/s hold the age" in text)
        server.stop(timeout=2.0)
        silent = terminal.until(lambda text: "NO ANSWER" in text)
        assert " since " in silent.splitlines()[0]
        assert "450 pages/s hold the age" in silent

        with serving(folder, board):
            terminal.until(lambda text: "NO ANSWER" not in text and "+/-" in text)
            terminal.press("q")
            assert terminal.ended() == 0


def test_a_token_that_is_revoked_meanwhile(folder: Path, tmp_path: Path, daemon: AnsweringLoop) -> None:
    """A daemon that refuses is not called silent; another token in the same file is taken up."""
    register = prepare(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text(make(register.parent, "night", Role.READ, expires=None))
    port = free_port()
    access = Access(Tokens(register), open_reading=False)
    server = ApiServer(application(daemon.board, access=access), "127.0.0.1", port, None)
    server.start()
    words = ("--url", f"http://127.0.0.1:{port}", "--token-file", str(secret), "--interval", "0.5s")
    try:
        with watching(folder, *words) as terminal:
            terminal.until(lambda text: "450 pages/s hold the age" in text)
            revoke(register.parent, "night")
            refused = terminal.until(lambda text: "TOKEN REFUSED" in text)
            assert "was revoked" in " ".join(refused.split())
            assert "450 pages/s hold the age" in refused

            secret.write_text(make(register.parent, "morning", Role.READ, expires=None))
            terminal.until(lambda text: "REFUSED" not in text and "+/-" in text)
            terminal.press("q")
            assert terminal.ended() == 0
    finally:
        server.stop(timeout=2.0)


def test_without_colour_nothing_is_coloured(folder: Path, daemon: AnsweringLoop) -> None:
    """NO_COLOR is heeded; the words say all that colours do."""
    daemon.publish()
    with watching(folder, NO_COLOR="1") as terminal:
        terminal.until(lambda text: "450 pages/s hold the age" in text and "+/-" in text)

        assert terminal.colours == set()
        assert terminal.lines[0].strip().startswith(("ADVISORY", "LOOP STANDS"))


def test_a_dumb_terminal_gets_lines(folder: Path, daemon: AnsweringLoop) -> None:
    """Where no cursor can be moved there is a line a tick without an escape sequence."""
    daemon.publish()
    with watching(folder, columns=400, TERM="dumb") as terminal:
        terminal.until(lambda text: "450 pages/s hold the age" in text)
        terminal.process.send_signal(signal.SIGINT)

        assert terminal.ended() == 0
        assert b"\x1b" not in terminal.raw


def test_once_is_one_picture(daemon: AnsweringLoop, run: Run) -> None:
    """With --once one picture is printed, in a pipe without colours and keys, and 80 columns wide."""
    daemon.publish()

    result = run("watch", "--once")

    assert result.exit_code == 0, result.output
    assert "450 pages/s hold the age" in result.output
    assert "\x1b" not in result.output
    assert "q quit" not in result.output
    assert max(map(len, result.output.splitlines())) <= 80


def test_for_machines_it_is_the_status(daemon: AnsweringLoop, run: Run) -> None:
    """With --json and --once the object is the one that ``innobrim status --json`` prints."""
    daemon.publish()
    shown, wanted = (json.loads(run(*words, "--json").output) for words in (("watch", "--once"), ("status",)))

    assert shown.keys() == wanted.keys()
    assert shown["decision"] == wanted["decision"]


def test_nobody_there_is_exit_3(run: Run) -> None:
    """A daemon that never answered is said at once, with where it was looked for; as JSON too."""
    for words in ((), ("--once",)):
        result = run("watch", *words)
        assert result.exit_code == 3
        assert "the daemon cannot be reached: unix socket" in result.output
    assert "cannot be reached" in json.loads(run("watch", "--json").stdout)["detail"]


@pytest.mark.parametrize(
    "words",
    [
        ("--interval", "0s"),
        ("--interval", "5"),
        ("--range", "7h"),
    ],
)
def test_wrong_usage_is_exit_2(run: Run, words: tuple[str, ...]) -> None:
    """What makes no sense is said before anybody is asked."""
    assert run("watch", *words).exit_code == 2


def test_a_pipe_gets_a_line_for_each_tick(folder: Path, daemon: AnsweringLoop) -> None:
    """Where the output is no terminal there is a line for every new tick, and none twice."""
    daemon.publish()
    words = ["watch", "--interval", "0.1s", "--state-directory", str(folder)]
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", "from tuner.cli.main import main; main()", *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)},
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        daemon.template = record(reading=sample(io_capacity=400, io_capacity_max=800))
        daemon.publish()
        second = process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.wait(SOON)

    assert "; C 225, M 450; age " in first
    assert "C 400, M 800" in second


def test_no_daemon_carries_the_picture() -> None:
    """A daemon with its API does not import rich."""
    code = (
        "import sys, tuner.daemon, tuner.cli.run, api.app;"
        "print([name for name in sys.modules if name.split('.')[0] in {'rich', 'pygments', 'markdown_it'}])"
    )
    path = os.pathsep.join(one for one in sys.path if one)
    found = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=SOON,
        env={**os.environ, "PYTHONPATH": path},
    )

    assert found.stdout.strip() == "[]"
