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
from collections.abc import Iterator
from contextlib import contextmanager

import click
from msgspec.structs import replace
from rich.console import Console
from rich.live import Live

from api.models import Events, HistoryAnswer, Status
from tuner.cli.answer import CommandError, Ended, Unusable, exit_code, like_ctrl_c, say_json
from tuner.cli.client import DaemonClient, Where, daemon_options
from tuner.cli.options import Duration
from tuner.cli.picture import HISTORY, View, picture

LONGEST_INTERVAL = 3600.0
LONGEST_WAIT = 30.0
"""Between two questions to a daemon that does not answer, and between two for its numbers; seconds."""

LONGEST_SPAN = 6 * 3600.0
"""How far the chart can go back, seconds."""

POINTS = 120
"""Of the history that is asked for: a chart is seldom wider."""

EVENTS = 20
REFUSALS = (401, 403)
"""Status of an answer that says no to whoever asks, whatever is asked."""

WIDTH = 80
"""Columns of a picture that is not on a terminal."""

REDRAW_SECONDS = 0.25
SUSPEND, ESCAPE = "\x1a", b"\x1b"


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
    help="How far back the chart goes; at most 6h.",
)
@click.option("--once", is_flag=True, help="Print one picture and end.")
@daemon_options
def watch(where: Where, *, interval: float, span: float, once: bool, as_json: bool) -> None:
    """Show what the loop does and why, as a picture that is drawn again each second; also over --url.

    It shows whether the loop works, holds, the last decision and why, where the untouched server would be,
    the age as a chart with lines for set-point and sync flushing, and the last events. It only reads; q ends
    it.

    NO_COLOR turns colours off. While the daemon does not answer, the last picture stays, dimmed. --json
    prints what innobrim status --json does, and ends.

    Exit 0: ended by q or Ctrl-C. Exit 2: the output is no terminal. Exit 3: nothing answers at the beginning.

    \b
    Example: innobrim watch
             innobrim watch --url https://db1.example:8633 --range 1h
    """  # noqa: D301 - click's sign for lines that stay as they are
    watcher = Watcher(DaemonClient(where), interval=interval, span=span)
    first = watcher.ask()
    if as_json:
        say_json(first.status)
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # where the locale has no block elements
    console = Console(highlight=False, markup=False, emoji=False)
    terminal = sys.stdout.isatty() and not console.is_dumb_terminal
    if not (once or terminal):
        raise Unusable(
            "the output is no terminal, so a picture cannot go on there: --once prints one picture, "
            "innobrim status has the same in lines, and the daemon's log says what it does"
        )
    try:
        with like_ctrl_c():
            if once:
                width = console.width if terminal else WIDTH
                console.print(picture(first, width=width), width=width)
            else:
                _show(watcher, console)
    except Ended as error:
        raise click.exceptions.Exit(exit_code(error)) from error
    except KeyboardInterrupt:
        return


class Watcher:
    """Asks a daemon again and again, and keeps what is known of it.

    Attributes:
        view: what is known; None before the first answer.
        wait: seconds until the next question.
        failure: what ended ``follow``, None while it goes on.
    """

    def __init__(self, daemon: DaemonClient, *, interval: float, span: float) -> None:
        """Take whom to ask, how often, and how far back, both seconds."""
        self.view: View | None = None
        self.wait = interval
        self.failure: Exception | None = None
        self._daemon, self._interval, self._span = daemon, interval, span

    def ask(self) -> View:
        """Return what is known after one more question.

        Raises:
            CommandError: there was no answer, and never one before.
        """
        try:
            self.view, self.wait = self._answered(), self._interval
        except CommandError as error:
            if self.view is None:
                raise
            self.wait = min(LONGEST_WAIT, 2.0 * self.wait if self.view.gone else self._interval)
            self.view = replace(
                self.view,
                gone=error.message,
                gone_since=self.view.gone_since or time.time(),
                refused=(error.problem or {}).get("status") in REFUSALS,
            )
        return self.view

    def follow(self) -> None:
        """Ask without end."""
        try:
            while True:
                time.sleep(self.wait)
                self.ask()
        except Exception as error:  # noqa: BLE001 - whoever draws ends with it
            self.failure = error

    def _answered(self) -> View:
        """Return a new view; its history is the one before where no point can have come since."""
        status, before, now = self._daemon.get("/v1/status", Status), self.view, time.monotonic()
        events = self._daemon.get(f"/v1/events?limit={EVENTS}", Events).events
        step = max(self._span / POINTS, 1.0 if status.process is None else status.process.interval)
        if before is not None and not before.gone and now - before.asked < min(step, LONGEST_WAIT):
            return replace(before, status=status, events=events)
        path = f"/v1/history?start=-{self._span:g}&step={step:g}&columns={','.join(HISTORY)}"
        history = self._daemon.get(path, HistoryAnswer).columns
        return View(status=status, history=history, asked=now, span=self._span, events=events)


def _show(watcher: Watcher, console: Console) -> None:
    """Draw until somebody presses q; keys are heard while a slow daemon thinks."""
    threading.Thread(target=watcher.follow, daemon=True).start()
    while True:
        with (
            _keys(),
            Live(
                console=console,
                screen=True,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            ) as live,
        ):
            while SUSPEND not in (pressed := _pressed(REDRAW_SECONDS)):
                if "q" in pressed.lower():
                    return
                if watcher.failure is not None:
                    raise watcher.failure
                if watcher.view is not None:
                    live.update(picture(watcher.view, width=console.width, hint=", q quits"), refresh=True)
        os.kill(os.getpid(), signal.SIGTSTP)  # on the terminal as it was; the shell lets go on


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
