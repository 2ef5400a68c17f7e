"""A virtual terminal: a program on a pseudo-terminal, and the screen that it draws."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from typing import Any, Self

import pyte

SOON = 240.0
"""A machine that is busy with other things gets there in this time, seconds."""

RUN = """
import signal, sys
from tuner.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as nohup does this one
sys.exit(main())
"""


class Virtual:
    """A terminal of some size that runs ``innobrim`` with some words."""

    def __init__(self, *words: str, columns: int = 80, lines: int = 24) -> None:
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self._ours, self._theirs = pty.openpty()
        self.raw = b""
        self.resize(columns, lines)
        self.modes = termios.tcgetattr(self._theirs)
        inherited = {
            name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS", "LINES"}
        }
        terminal = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        path = os.pathsep.join(one for one in sys.path if one)
        self.process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", RUN, *words],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            process_group=0,  # in this session: a group without a parent in it is never stopped by Ctrl-Z
            env={**inherited, **terminal, "PYTHONPATH": path},
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the program, if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(SOON)
        os.close(self._ours)
        os.close(self._theirs)

    @property
    def lines(self) -> list[str]:
        """Return what is on the screen."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def colours(self) -> set[str]:
        """Return the colours that are on the screen."""
        return {cell.fg for row in self._screen.buffer.values() for cell in row.values()} - {"default"}

    def resize(self, columns: int, lines: int) -> None:
        """Make the terminal another size, as a window that is dragged does."""
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._screen.resize(lines, columns)
        if hasattr(self, "process"):
            self.process.send_signal(signal.SIGWINCH)

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def until(self, enough: Callable[[str], bool]) -> str:
        """Return the screen as soon as it is what is waited for."""
        deadline = time.monotonic() + SOON
        while not enough(text := "\n".join(self.lines)):
            assert time.monotonic() < deadline, text
            self._take(0.2)
        return text

    def ended(self) -> int:
        """Return the exit code, with all that was written on the screen."""
        deadline = time.monotonic() + SOON
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "\n".join(self.lines)
            self._take(0.2)
        self._take(0.2)
        return self.process.returncode

    def modes_now(self) -> list[Any]:
        """Return how the terminal takes keys."""
        return termios.tcgetattr(self._theirs)

    def _take(self, seconds: float) -> None:
        with contextlib.suppress(OSError):
            while select.select([self._ours], [], [], seconds)[0]:
                read = os.read(self._ours, 65_536)
                self.raw += read
                self._stream.feed(read)
                seconds = 0.0
