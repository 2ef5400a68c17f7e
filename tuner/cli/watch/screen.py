"""The picture on a terminal: drawn anew with each answer, key and new size, until q is pressed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Span, Text

from tuner.cli.watch.follow import SPANS, Follower, View
from tuner.cli.watch.glyphs import Glyphs
from tuner.cli.watch.helping import helping
from tuner.cli.watch.look import Look
from tuner.cli.watch.picture import picture
from tuner.cli.watch.terminal import Terminal

SECOND = 1.0
"""So long at most is a time in the picture that counts on wrong."""

REDRAW = "\x0c"

Drawn = tuple[str, str, tuple[Span, ...]]
"""A line as it is on the screen: words, and their styles."""


def console_for(glyphs: Glyphs) -> Console:
    """Return the terminal as rich sees it; colours by what it can do, and none with ``NO_COLOR``."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=False, safe_box=glyphs.ascii)


def colours(console: Console) -> bool:
    """Tell whether colours are shown."""
    return console.color_system is not None and not console.no_color


@contextmanager
def _emptied(console: Console) -> Iterator[None]:
    """Leave an empty screen: tmux hands lines of it to the shell where the window was resized meanwhile."""
    try:
        yield
    finally:
        console.clear()


class Screen:
    """What is shown, and what keys make of it."""

    def __init__(self, follower: Follower, view: View, glyphs: Glyphs) -> None:
        """Take whom to follow, the first view and the characters."""
        self._follower = follower
        self._newest = self._shown = view
        self._glyphs = glyphs
        self._span = view.span
        self._drawn: list[Drawn] = []
        self._paused = self._helping = self._ended = False
        self._failed: BaseException | None = None

    def run(self) -> None:
        """Show it until somebody presses q."""
        console = console_for(self._glyphs)
        with Terminal() as terminal:
            asking = threading.Thread(target=self._ask, args=(terminal,), name="watch", daemon=True)
            asking.start()
            try:
                self._loop(console, terminal)
            finally:
                self._follower.end()

    def _loop(self, console: Console, terminal: Terminal) -> None:
        while not self._ended:
            with console.screen(), _emptied(console):
                self._drawn = []
                while not self._ended:
                    if self._failed is not None:
                        raise self._failed
                    if terminal.was_resized():
                        self._clear(console)
                    self._draw(console)
                    for key in terminal.wait(SECOND):
                        self._press(key, console)
                    if terminal.was_suspended():
                        break
            if not self._ended:
                terminal.suspend()

    def _ask(self, terminal: Terminal) -> None:
        def tell(view: View) -> None:
            self._newest = view
            terminal.ring()

        try:
            self._follower.run(tell)
        except BaseException as error:  # noqa: BLE001 - a defect here has to end the program, not the thread
            self._failed = error
            terminal.ring()

    def _press(self, key: str, console: Console) -> None:
        if key in "qQ":
            self._ended = True
        elif self._helping:
            self._helping = False
        elif key in "hH?":
            self._helping = True
        elif key in "pP ":
            self._paused = not self._paused
        elif key in "+=":
            self._widen(1)
        elif key in "-_":
            self._widen(-1)
        elif key == REDRAW:
            self._clear(console)

    def _clear(self, console: Console) -> None:
        """Have all of it drawn anew."""
        console.clear()
        self._drawn = []

    def _widen(self, steps: int) -> None:
        """Take the next longer or shorter time for the charts."""
        longer = [one for one in SPANS if one > self._span]
        shorter = [one for one in SPANS if one < self._span]
        if steps > 0 and longer:
            self._span = longer[0]
        elif steps < 0 and shorter:
            self._span = shorter[-1]
        self._follower.widen(self._span)

    def _draw(self, console: Console) -> None:
        """Draw what there is."""
        if not self._paused:
            self._shown = self._newest
        width, height = console.size
        look = Look(
            width=width,
            height=height,
            glyphs=self._glyphs,
            colour=colours(console),
            paused=self._paused,
        )
        lines = helping(look) if self._helping else picture(self._shown, look, time.monotonic())
        self._put(lines, console)

    def _put(self, lines: list[Text], console: Console) -> None:
        """Write the lines that are not on the screen already, at once: no flicker, and little over ssh."""
        options = console.options.update(height=1, no_wrap=True)
        drawn: list[Drawn] = [(line.plain, str(line.style), tuple(line.spans)) for line in lines]
        with console:
            for row, line in enumerate(lines):
                if self._drawn[row : row + 1] != drawn[row : row + 1]:
                    console.update_screen_lines(console.render_lines(line, options), 0, row)
        self._drawn = drawn
