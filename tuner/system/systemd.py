"""What the service manager wants to hear: ready, alive, stopping. No library needed."""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Mapping

from tuner.system.printable import printable


class Notifier:
    """Sends to ``$NOTIFY_SOCKET``; silent where there is none. Never blocks and never raises."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        path = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + path[1:] if path.startswith("@") else path
        self._socket: socket.socket | None = None
        if self._address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.settimeout(0)
        self._started = False
        self._owed = False
        self._early: deque[None] = deque()
        """Reloads that began before the service was up."""

    def send(self, *assignments: str) -> bool:
        """Send ``NAME=value`` lines in one message; tell whether they went out."""
        if self._socket is None:
            return False
        try:
            self._socket.sendto("\n".join(assignments).encode(), self._address)
        except OSError:
            return False
        return True

    def ready(self, status: str) -> bool:
        """Say that start-up, or a reload, is over; ``alive`` says it again where it did not go out.

        The end of a reload that came before start-up was over is kept back: it would end start-up.
        """
        try:
            self._early.pop()  # of two threads that come at once only one finds it
        except IndexError:
            self._started = True
        else:
            return False
        sent = self.send("READY=1", f"STATUS={_one_line(status)}")
        self._owed = not sent
        return sent

    def alive(self, status: str) -> bool:
        """Feed the watchdog and say in one line how things are."""
        lines = ["WATCHDOG=1", f"STATUS={_one_line(status)}"]
        if not self._owed:
            return self.send(*lines)
        sent = self.send("READY=1", *lines)
        self._owed = not sent
        return sent

    def reloading(self) -> bool:
        """Say that the configuration is being read again; ``ready`` ends it."""
        if not self._started:
            self._early.append(None)
            return False
        return self.send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, status: str) -> bool:
        """Say that the daemon is on its way out."""
        return self.send("STOPPING=1", f"STATUS={_one_line(status)}")

    def close(self) -> None:
        """Give the socket back."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def watchdog_seconds(environ: Mapping[str, str], pid: int | None = None) -> float | None:
    """Return after how many silent seconds the service manager kills us.

    None when it does not watch, or watches another process than ``pid`` (default: this one).
    """
    if environ.get("WATCHDOG_PID") not in (None, str(os.getpid() if pid is None else pid)):
        return None
    try:
        microseconds = int(environ.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return microseconds / 1e6 if microseconds > 0 else None


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
