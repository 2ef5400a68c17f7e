"""Where a host is: the system is asked beside the caller, who waits for no longer than told."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

KEPT_SECONDS = 30.0
"""An answer that came too late is good for so long for whoever asks next."""

Address = tuple[int, Any]
"""Address family, and what ``socket.connect`` takes."""

Lookup = Callable[[str, int], list[Address]]
"""Returns the addresses of a host and port; takes as long as it takes."""


class UnresolvedError(TimeoutError):
    """The system has not said in time where a host is."""


def asked_of_the_system(host: str, port: int) -> list[Address]:
    """Return what the system's resolver says, which has no time limit of ours.

    Raises:
        OSError: it knows no such host.
        UnicodeError: no host can have that name.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


class Resolver:
    """Looks up one host at a time, in a thread that lasts as long as the system takes.

    A thread that hangs in the system's resolver cannot be ended: whoever asks for the same host again waits
    for the answer to the same question, and for another one until then, so that no second thread hangs.
    """

    def __init__(
        self, lookup: Lookup = asked_of_the_system, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Ask nothing yet; ``now`` is a monotonic clock, seconds."""
        self._lookup = lookup
        self._now = now
        self._lock = threading.Lock()
        self._question: _Question | None = None

    def addresses(self, host: str, port: int, seconds: float) -> list[Address]:
        """Return where a host is, best address first; at once for an address in figures.

        Args:
            host: name or address.
            port: TCP port.
            seconds: to wait at most.

        Raises:
            UnresolvedError: no answer in that time; the message names the host and the limit.
            OSError: the system knows no such host.
            UnicodeError: no host can have that name.
        """
        with contextlib.suppress(socket.gaierror):
            figures = socket.AI_NUMERICHOST
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=figures)
            return [(family, address) for family, _, _, _, address in found]
        deadline = self._now() + seconds
        while True:
            question = self._asked(host, port)
            if not question.answered.wait(max(0.0, deadline - self._now())):
                before = (
                    "" if question.about == (host, port) else f" (still looking for {question.about[0]!r})"
                )
                raise UnresolvedError(f"host {host!r} was not resolved within {seconds:g} s{before}")
            if question.about == (host, port):
                self._taken(question)
                return question.result()

    def _asked(self, host: str, port: int) -> _Question:
        """Return the question to wait for: the one under way, one whose answer nobody took, or a new one."""
        with self._lock:
            question = self._question
            if question is not None and not question.answered.is_set():
                return question
            fresh = question is not None and self._now() - question.ended < KEPT_SECONDS
            if question is None or question.about != (host, port) or not fresh:
                question = _Question((host, port))
                question.ask(self._lookup, self._now)
                self._question = question
            return question

    def _taken(self, question: _Question) -> None:
        with self._lock:
            if self._question is question:
                self._question = None


class _Question:
    """One lookup and its answer."""

    def __init__(self, about: tuple[str, int]) -> None:
        self.about = about
        self.answered = threading.Event()
        self.ended = 0.0
        self._found: list[Address] = []
        self._error: Exception | None = None

    def ask(self, lookup: Lookup, now: Callable[[], float]) -> None:
        """Begin a thread that no exit of ours waits for."""
        threading.Thread(target=self._look, args=(lookup, now), name="innobrim-resolver", daemon=True).start()

    def result(self) -> list[Address]:
        """Return the answer, or raise what the lookup raised."""
        if self._error is not None:
            raise self._error
        return self._found

    def _look(self, lookup: Lookup, now: Callable[[], float]) -> None:
        try:
            self._found = lookup(*self.about)
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            self._error = error
        self.ended = now()
        self.answered.set()


RESOLVER = Resolver()
"""The one of this process."""
