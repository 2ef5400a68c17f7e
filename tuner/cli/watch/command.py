"""``innobrim watch``: a picture on a terminal, a line a tick anywhere else."""

from __future__ import annotations

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
from types import FrameType

import click
from rich.console import Console
from rich.live import Live

from tuner.cli.answer import say, say_json
from tuner.cli.client import Daemon
from tuner.cli.options import Duration, Where, daemon_configuration, daemon_options
from tuner.cli.watch.follow import SPANS, Follower
from tuner.cli.watch.picture import Picture, is_ascii
from tuner.cli.watch.view import View, line_of

LONGEST_INTERVAL = 3600.0
DUMB = {"", "dumb", "unknown"}
COLUMNS, LINES = 80, 24
"""Size of a picture that is not on a terminal."""

LOOK_SECONDS = 0.2
"""A key, a new size or a new view is seen within this time."""

SUSPEND = "\x1a"
SHELL = 128
"""A program that a signal ended exits with this and the signal's number."""


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
    type=Duration(SPANS[-1]),
    default="5m",
    show_default=True,
    help="How far back the charts go; at most 6h.",
)
@click.option("--once", is_flag=True, help="Print one picture and end.")
@click.option("--ascii", "plain", is_flag=True, help="Use ASCII alone, as where the locale is not UTF-8.")
@daemon_options
def watch(where: Where, *, interval: float, span: float, once: bool, plain: bool, as_json: bool) -> None:
    """Show what the loop does and why, as a picture that goes on; on this machine or over --url.

    First whether it works, then holds, its last decision and why, and what would be without it; charts of
    the last minutes, with the age up to max checkpoint age; the last events. It only reads: no key changes
    anything.

    Keys: q quit, p pause the picture, + and - the range of the charts.

    Where the output is no terminal, or one that cannot move its cursor (TERM=dumb), it prints a line a tick,
    until Ctrl-C. --json prints what innobrim status --json does: with --once one object, else one a line each
    time. NO_COLOR is heeded. While the daemon does not answer, the last picture stays, dimmed, and is gone on
    with as soon as it answers again.

    Exit 0: ended by q or Ctrl-C. Exit 3: nothing answers at the beginning.

    \b
    Example: innobrim watch
             innobrim watch --url https://db1.example:8633 --range 1h
             innobrim watch --interval 10s >> innobrim.log
    """  # noqa: D301 - click's sign for lines that stay as they are
    follower = Follower(Daemon(where, daemon_configuration(where)), interval=interval, span=span)
    first = follower.ask()
    drawn = sys.stdout.isatty() and os.environ.get("TERM", "") not in DUMB
    plain = plain or is_ascii()
    try:
        if once and not as_json:
            console = console_for(plain=plain)
            if not drawn:
                console.size = console.size._replace(width=COLUMNS, height=LINES)
            console.print(Picture(first, first.answered, span, plain=plain, live=False))
        elif drawn and not as_json:
            Screen(follower, first, plain=plain).run()
        else:
            _stream(follower, first, once=once, as_json=as_json)
    except KeyboardInterrupt:
        return


def console_for(*, plain: bool) -> Console:
    """Return the terminal as rich sees it; colours by what it can do, and none with ``NO_COLOR``."""
    return Console(highlight=False, markup=False, emoji=False, safe_box=plain)


def _stream(follower: Follower, first: View, *, once: bool, as_json: bool) -> None:
    """Print a line for each tick that is seen and one for a daemon that is gone, or the status each time."""
    told: list[tuple[int, bool]] = []

    def tell(view: View) -> None:
        what = (view.status.tick, view.gone is not None)
        if as_json and view.gone is None:
            say_json(view.status)
        elif not as_json and told[-1:] != [what]:
            told[:] = [what]
            say(line_of(view, time.monotonic()))

    tell(first)
    if not once:
        follower.run(tell)


class Screen:
    """The picture on a terminal, and what keys make of it."""

    def __init__(self, follower: Follower, view: View, *, plain: bool) -> None:
        """Take whom to follow, the first view, and whether the terminal shows ASCII alone."""
        self._follower = follower
        self._newest = self._shown = view
        self._plain = plain
        self._paused = self._ended = False
        self._failed: BaseException | None = None

    def run(self) -> None:
        """Show it until somebody presses q; the terminal is given back whatever ends it."""
        threading.Thread(target=self._ask, name="watch", daemon=True).start()
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _end)
        try:
            while not self._ended:
                with (
                    _keys(),
                    Live(
                        console=console_for(plain=self._plain),
                        screen=True,
                        auto_refresh=False,
                        redirect_stdout=False,
                        redirect_stderr=False,
                    ) as live,
                ):
                    self._show(live)
                if not self._ended:  # Ctrl-Z: the shell lets go on
                    os.kill(os.getpid(), signal.SIGTSTP)
        finally:
            self._follower.end()

    def _ask(self) -> None:
        def tell(view: View) -> None:
            self._newest = view

        try:
            self._follower.run(tell)
        except BaseException as error:  # noqa: BLE001 - a defect here has to end the program, not the thread
            self._failed = error

    def _show(self, live: Live) -> None:
        """Draw at every new view, size and key, and each second, as times count on; until q or Ctrl-Z."""
        before: object = None
        while not self._ended:
            if self._failed is not None:
                raise self._failed
            self._shown = self._shown if self._paused else self._newest
            what = (
                self._shown,
                int(time.monotonic()),
                live.console.size,
                self._paused,
                self._follower.span,
            )
            if what != before:
                before = what
                live.update(
                    Picture(
                        self._shown,
                        time.monotonic(),
                        self._follower.span,
                        plain=self._plain,
                        paused=self._paused,
                    ),
                    refresh=True,
                )
            for key in _pressed():
                if key in "qQ":
                    self._ended = True
                elif key == SUSPEND:
                    return
                elif key in "pP ":
                    self._paused = not self._paused
                elif key in "+=-_":
                    self._follower.widen(1 if key in "+=" else -1)


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(SHELL + number)


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


def _pressed() -> str:
    """Return the keys that were pressed, within a moment; empty for none, and for those with a sequence."""
    if not sys.stdin.isatty():
        time.sleep(LOOK_SECONDS)
        return ""
    if not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
        return ""
    pressed = os.read(sys.stdin.fileno(), 64)
    if not pressed:  # the terminal is gone
        raise SystemExit(SHELL + signal.SIGHUP)
    return "" if pressed[:1] == b"\x1b" and len(pressed) > 1 else pressed.decode("latin-1")
