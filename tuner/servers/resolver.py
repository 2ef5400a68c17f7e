"""Finding a server's host and reaching it, in bounded time: the system's resolver knows no limit of ours."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any

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
    """Looks hosts up, each in a thread that lasts as long as the system takes.

    A thread that hangs in the system's resolver cannot be ended: whoever asks for the same host again waits
    for the answer to the same question, so that no second thread hangs.
    """

    def __init__(self, lookup: Lookup = asked_of_the_system) -> None:
        """Ask nothing yet."""
        self._lookup = lookup
        self._lock = threading.Lock()
        self._asked: dict[tuple[str, int], Future[list[Address]]] = {}

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
        with self._lock:
            answer = self._asked.get((host, port))
            if answer is None:
                answer = self._asked[host, port] = Future()
                # no exit of ours waits for this thread
                threading.Thread(
                    target=self._look, args=(answer, host, port), name="innobrim-resolver", daemon=True
                ).start()
        if not wait([answer], seconds).done:
            raise UnresolvedError(f"host {host!r} was not resolved within {seconds:g} s")
        with self._lock:
            self._asked.pop((host, port), None)
        return answer.result()

    def _look(self, answer: Future[list[Address]], host: str, port: int) -> None:
        try:
            answer.set_result(self._lookup(host, port))
        except Exception as error:  # noqa: BLE001 - raised where the answer is waited for
            answer.set_exception(error)


RESOLVER = Resolver()
"""The one of this process."""


def first_of(addresses: Sequence[Address], deadline: float) -> socket.socket:
    """Return a connection to the first of some addresses that takes one.

    Each is given its share of the time that is left, so that one that swallows everything leaves some for the
    next.

    Args:
        addresses: in the order in which they are tried.
        deadline: by ``time.monotonic``, seconds.

    Raises:
        OSError: none takes one; what the last one said.
    """
    failure = OSError("the host has no address")
    for number, (family, address) in enumerate(addresses):
        share = (deadline - time.monotonic()) / (len(addresses) - number)
        if share <= 0.0:
            raise failure if number else TimeoutError("finding the host took all of the time")
        try:
            return _connected(family, address, share)
        except OSError as error:
            failure = error
    raise failure


def _connected(family: int, address: Any, seconds: float) -> socket.socket:  # noqa: ANN401 - depends on the family
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.settimeout(seconds)
        found.connect(address)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    except OSError:
        found.close()
        raise
    return found
