"""A terminal that is read key by key and given back as it was, whatever ends the program."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import termios
import tty
from types import FrameType
from typing import Any, Self

READ = 64
"""Bytes of keys that are taken at a time."""

_SHELL = 128
"""A program that a signal ended exits with this and the signal's number."""


class Terminal:
    """Keys, a new size, and a bell that another thread may ring: whatever comes first.

    Raw signals do no work: they wake the one who waits. Ctrl-C raises ``KeyboardInterrupt`` as ever, and an
    end from outside ``SystemExit``, so that every ``finally`` on the way is gone through.
    """

    def __init__(self) -> None:
        self._keys = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
        self._saved: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._heard, self._bell = socket.socketpair()
        self._resized = self._suspended = False
        self._wakeup = -1

    def __enter__(self) -> Self:
        """Take the terminal."""
        self._heard.settimeout(0.0)
        self._bell.settimeout(0.0)
        for number in (signal.SIGWINCH, signal.SIGTSTP, signal.SIGTERM, signal.SIGHUP):
            self._handlers[number] = signal.signal(number, self._signalled)
        self._wakeup = signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        self.give()
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._heard.close()
        self._bell.close()

    def take(self) -> None:
        """Have keys come one by one, and not seen."""
        if self._keys is not None:
            self._saved = termios.tcgetattr(self._keys)
            tty.setcbreak(self._keys, termios.TCSANOW)

    def give(self) -> None:
        """Have it as it was."""
        if self._keys is not None and self._saved is not None:
            termios.tcsetattr(self._keys, termios.TCSANOW, self._saved)
            self._saved = None

    def ring(self) -> None:
        """Wake whoever waits, from any thread."""
        try:
            self._bell.send(b"\0")
        except OSError:  # full of rings that nobody has heard yet, or the end
            return

    def wait(self, seconds: float) -> str:
        """Return the keys that were pressed, empty for none, after so long or as soon as there is news."""
        sources: list[Any] = [self._heard] if self._keys is None else [self._heard, self._keys]
        ready, _, _ = select.select(sources, [], [], seconds)
        if self._heard in ready:
            while self._drained():
                pass
        if self._keys is None or self._keys not in ready:
            return ""
        pressed = os.read(self._keys, READ)
        if not pressed:  # the terminal is gone
            raise SystemExit(_SHELL + signal.SIGHUP)
        return "" if pressed[:1] == b"\x1b" and len(pressed) > 1 else pressed.decode("latin-1")

    def was_resized(self) -> bool:
        """Tell whether it has another size since the last question."""
        resized, self._resized = self._resized, False
        return resized

    def was_suspended(self) -> bool:
        """Tell whether Ctrl-Z was pressed since the last question."""
        suspended, self._suspended = self._suspended, False
        return suspended

    def suspend(self) -> None:
        """Stop as Ctrl-Z wants it; return when the shell lets go on."""
        self.give()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._signalled)
        self.take()

    def _drained(self) -> bool:
        try:
            return bool(self._heard.recv(READ))
        except BlockingIOError:
            return False

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGWINCH:
            self._resized = True
        elif number == signal.SIGTSTP:
            self._suspended = True
        else:
            raise SystemExit(_SHELL + number)
