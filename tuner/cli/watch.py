"""``innobrim watch``: what a daemon does, as a picture on a terminal that goes on."""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Protocol, TypeVar

import click
from msgspec.structs import replace
from rich.console import Console
from rich.live import Live

from api.models import Events, HistoryAnswer, Status
from tuner.cli.answer import CommandError, Ended, Unusable, exit_code, like_ctrl_c, say_json
from tuner.cli.client import Daemon, Where, daemon_options
from tuner.cli.options import Duration
from tuner.cli.picture import HISTORY, Picture, View

LONGEST_INTERVAL = 3600.0
LONGEST_WAIT = 30.0
"""Between two questions to a daemon that does not answer, and between two for its numbers; seconds."""

LONGEST_SPAN = 6 * 3600.0
"""How far charts can go back, seconds."""

POINTS = 120
"""Of the history that is asked for: a chart is seldom wider."""

EVENTS = 50
REFUSALS = (401, 403)
"""Status of an answer that says no to whoever asks, whatever is asked."""

COLUMNS, LINES = 80, 24
"""Size of a picture that is not on a terminal."""

ASKED_WAIT = 0.1
"""While an answer is awaited keys and it are looked for this often, seconds."""

SUSPEND, ESCAPE = "\x1a", b"\x1b"

AnswerT = TypeVar("AnswerT")


@click.command()
@click.option(
    "--interval",
    metavar="TIME",
    type=Duration(LONGEST_INTERVAL),
    default="1s",
    show_default=True,
    help="Ask the daemon so often, in s, m or h.",
)
@click.option(
    "--range",
    "span",
    metavar="TIME",
    type=Duration(LONGEST_SPAN),
    default="5m",
    show_default=True,
    help="How far back the charts go; at most 6h.",
)
@click.option("--once", is_flag=True, help="Print one picture and end.")
@daemon_options
def watch(where: Where, *, interval: float, span: float, once: bool, as_json: bool) -> None:
    """Show what the loop does and why, as a picture that goes on; on this machine or over --url.

    First whether it works, then holds, its last decision and why, and what would be without it; charts of
    the last minutes, with the age up to max checkpoint age; the last events. It only reads; q ends it.

    NO_COLOR is heeded. While the daemon does not answer, the last picture stays, dimmed, and is gone on with
    as soon as it answers again. --json prints what innobrim status --json does, and ends.

    Exit 0: ended by q or Ctrl-C. Exit 2: the output is no terminal on which a picture can go on. Exit 3:
    nothing answers at the beginning.

    \b
    Example: innobrim watch
             innobrim watch --url https://db1.example:8633 --range 1h
    """  # noqa: D301 - click's sign for lines that stay as they are
    follower = Follower(Daemon(where), interval=interval, span=span)
    first = follower.ask()
    if as_json:
        say_json(first.status)
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where the locale has no block elements
    console = Console(highlight=False, markup=False, emoji=False)
    drawn = sys.stdout.isatty() and not console.is_dumb_terminal
    if not (once or drawn):
        raise Unusable(
            "the output is no terminal on which a picture can go on: --once prints one picture, "
            "innobrim status has the same in lines, and the daemon's log says what it does"
        )
    try:
        with like_ctrl_c():
            if once:
                if not drawn:
                    console.size = console.size._replace(width=COLUMNS, height=LINES)
                console.print(Picture(first, live=False))
            else:
                Screen(follower, first, console).run()
    except Ended as error:
        raise click.exceptions.Exit(exit_code(error)) from error
    except KeyboardInterrupt:
        return


class Answering(Protocol):
    """Something that answers as a daemon does."""

    def get(self, path: str, answer: type[AnswerT]) -> AnswerT:
        """Return what a route says; raise ``CommandError`` where it says nothing of use."""
        ...


class Follower:
    """Asks again and again, and keeps the newest view."""

    def __init__(
        self,
        daemon: Answering,
        *,
        interval: float,
        span: float,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Take whom to ask, how often, and how far back, both seconds."""
        self.due = 0.0
        self._span = span
        self._daemon = daemon
        self._interval = interval
        self._monotonic, self._wall = monotonic, wall
        self._view: View | None = None
        self._failures = 0

    def ask(self) -> View:
        """Return what is known after one more question, and set when the next one is due.

        Raises:
            CommandError: there was no answer, and never one before.
        """
        try:
            self._view, self._failures, wait = self._asked(self._view), 0, self._interval
        except CommandError as error:
            if self._view is None:
                raise
            wait = min(LONGEST_WAIT, self._interval * 2.0**self._failures)
            self._failures += 1
            self._view = replace(
                self._view,
                gone=error.message,
                gone_since=self._view.gone_since or self._wall(),
                refused=(error.problem or {}).get("status") in REFUSALS,
            )
        now = self._monotonic()
        on_time = not self._failures and self.due > 0.0
        self.due = max(self.due + wait, now) if on_time else now + wait
        return self._view

    def _asked(self, before: View | None) -> View:
        """Return a view with another status; numbers and events are asked for where there may be new ones."""
        status, answered, span = self._daemon.get("/v1/status", Status), self._monotonic(), self._span
        step = max(span / POINTS, 1.0 if status.process is None else status.process.interval)
        if (
            before is not None
            and not before.gone
            and answered - before.asked < min(step, LONGEST_WAIT)
            and _told(before.status) == _told(status)
        ):
            return replace(before, status=status, answered=answered)
        path = f"/v1/history?start=-{span:g}&step={step:g}&columns={','.join(HISTORY)}"
        return View(
            status=status,
            answered=answered,
            history=self._daemon.get(path, HistoryAnswer),
            asked=answered,
            span=span,
            events=self._daemon.get(f"/v1/events?limit={EVENTS}", Events).events,
        )


def _told(status: Status) -> tuple[object, ...]:
    """Return what of a status does not change without an event."""
    started = None if status.process is None else status.process.started
    holds = tuple(hold.code for hold in status.holds)
    return started, status.mode, status.in_force, status.changes_last_hour, holds, status.occurrences


class Screen:
    """The picture on a terminal, and what keys make of it."""

    def __init__(self, follower: Follower, view: View, console: Console) -> None:
        """Take whom to follow, the first view, and the terminal."""
        self._follower, self._view, self._console = follower, view, console
        self._ended = False
        self._asked: Future[View] | None = None

    def run(self) -> None:
        """Show it until somebody presses q; the terminal is given back whatever ends it."""
        while not self._ended:
            with (
                _keys(),
                Live(
                    console=self._console,
                    screen=True,
                    auto_refresh=False,
                    redirect_stdout=False,
                    redirect_stderr=False,
                ) as live,
            ):
                self._show(live)
            if not self._ended:  # Ctrl-Z: the shell lets go on
                os.kill(os.getpid(), signal.SIGTSTP)

    def _show(self, live: Live) -> None:
        """Draw at every new view and key, and each second, as times count on; until q or Ctrl-Z."""
        while not self._ended:
            live.update(Picture(self._view), refresh=True)
            wait = ASKED_WAIT
            if self._asked is None:
                wait = min(1.0, max(0.0, self._follower.due - time.monotonic()))
            for key in _pressed(wait):
                if key in "qQ":
                    self._ended = True
                elif key == SUSPEND:
                    return
            self._follow()

    def _follow(self) -> None:
        """Take the answer that came, or ask when it is time; keys are heard while a slow daemon thinks."""
        if self._asked is not None and self._asked.done():
            self._view, self._asked = self._asked.result(), None
        if self._asked is None and time.monotonic() >= self._follower.due:
            self._asked = Future()
            threading.Thread(target=_answer, args=(self._follower, self._asked), daemon=True).start()


def _answer(follower: Follower, asked: Future[View]) -> None:
    try:
        asked.set_result(follower.ask())
    except Exception as error:  # noqa: BLE001 - whoever waits for the answer gets it
        asked.set_exception(error)


@contextmanager
def _keys() -> Iterator[None]:
    """Have keys come one by one and unseen, Ctrl-Z among them; give the terminal back as it was."""
    if not sys.stdin.isatty():
        yield
        return
    saved = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin, termios.TCSANOW)
        ours = termios.tcgetattr(sys.stdin)
        ours[6][termios.VSUSP] = b"\0"
        termios.tcsetattr(sys.stdin, termios.TCSANOW, ours)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, saved)


def _pressed(seconds: float) -> str:
    """Return the keys that were pressed within a time; empty for none, and for those with a sequence."""
    if not sys.stdin.isatty():
        time.sleep(seconds)
        return ""
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return ""
    pressed = os.read(sys.stdin.fileno(), 64)
    if not pressed:  # the terminal is gone
        raise Ended(signal.SIGHUP)
    return "" if pressed[:1] == ESCAPE and len(pressed) > 1 else pressed.decode("latin-1")
