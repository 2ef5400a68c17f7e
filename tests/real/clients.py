"""Clients that ask and listen all the time, and what a daemon's ticks look like meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import selectors
import socket
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from lab.servers.spec import LabServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

READ_SECONDS = 10.0
ASKING_THREADS = 4
REQUESTS_OF_A_CONNECTION = 500
INTERVAL = 1.0
LATE_SECONDS = 1.0
"""So far a client that was held up makes up for; what it could not ask before that is left out."""

TICK = b"event: tick\n"
SOME = 65_536
LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Ticks:
    """The ticks of a phase, as one stream told them.

    Attributes:
        numbers: of the ticks, in the order in which they came.
        jitter: distance of each tick from one interval after the one before, seconds, sorted.
    """

    numbers: tuple[int, ...]
    jitter: tuple[float, ...]

    def at(self, share: float) -> float:
        """Return the jitter that this share of the ticks stays at or below, seconds."""
        return self.jitter[min(len(self.jitter) - 1, int(share * len(self.jitter)))]

    @property
    def missed(self) -> int:
        """Return how many numbers were left out."""
        return self.numbers[-1] - self.numbers[0] + 1 - len(self.numbers)

    def __str__(self) -> str:
        """Return the figures that count."""
        shares = (("p50", self.at(0.5)), ("p99", self.at(0.99)), ("max", self.jitter[-1]))
        figures = ", ".join(f"{name} {1000 * value:.1f}" for name, value in shares)
        return f"{len(self.numbers)} ticks, jitter {figures} ms"


def ticks(port: int, seconds: float, each: Callable[[], None] = lambda: None) -> Ticks:
    """Listen to a daemon on loopback for so long; return its ticks.

    Args:
        port: of its API.
        seconds: how long.
        each: called after each tick.

    Raises:
        LabServerError: the stream was refused, or ended, or too little came to tell a jitter.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READ_SECONDS)
    numbers: list[int] = []
    walls: list[float] = []
    try:
        connection.request("GET", "/v1/stream")
        answer = connection.getresponse()
        if answer.status != http.HTTPStatus.OK:
            raise LabServerError(f"GET /v1/stream: {answer.status}, {answer.read(500).decode()}")
        end = time.monotonic() + seconds
        name = b""
        while time.monotonic() < end:
            line = answer.readline()
            if not line:
                raise LabServerError(f"the stream of ticks ended after {len(numbers)}")
            if line.startswith(b"event: "):
                name = line[7:].strip()
            elif line.startswith(b"data: ") and name == b"tick":
                tick = json.loads(line[6:])
                numbers.append(tick["number"])
                walls.append(tick["wall"])
                each()
    except (OSError, http.client.HTTPException) as error:
        raise LabServerError(f"the stream of ticks broke off after {len(numbers)}: {error}") from error
    finally:
        connection.close()
    apart = [abs(later - earlier - INTERVAL) for earlier, later in itertools.pairwise(walls)]
    if not apart:
        raise LabServerError(f"{len(numbers)} ticks came in {seconds:.0f} s; two are needed")
    return Ticks(tuple(numbers), tuple(sorted(apart)))


class Asking:
    """Asks for the status so many times a second, from a few threads.

    Attributes:
        seconds: how long each answer took, in no certain order.
    """

    def __init__(self, port: int, rate: float) -> None:
        """Take the port on loopback, and how many requests a second; nothing begins yet."""
        self.seconds: list[float] = []
        self._answers: dict[int, int] = {}
        self._port = port
        self._pause = ASKING_THREADS / rate
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask) for _ in range(ASKING_THREADS)]

    def __enter__(self) -> Self:
        """Begin."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    @property
    def answers(self) -> Mapping[int, int]:
        """Return how many answers there were by status code; 0: none came."""
        with self._lock:
            return dict(self._answers)

    def count_anew(self) -> None:
        """Forget what was counted so far."""
        with self._lock:
            self._answers.clear()
            self.seconds.clear()

    def _ask(self) -> None:
        due = time.monotonic()
        while not self._over.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=READ_SECONDS)
            for _ in range(REQUESTS_OF_A_CONNECTION):
                due = max(due + self._pause, time.monotonic() - LATE_SECONDS)
                if self._over.wait(max(0.0, due - time.monotonic())):
                    break
                began = time.monotonic()
                self._note(_status(connection), time.monotonic() - began)
            connection.close()

    def _note(self, code: int, seconds: float) -> None:
        with self._lock:
            self._answers[code] = self._answers.get(code, 0) + 1
            self.seconds.append(seconds)


class Listening:
    """Keeps so many streams open and reads them all, from one thread.

    Attributes:
        ended: how many of them the daemon ended.
    """

    def __init__(self, port: int, count: int) -> None:
        """Take the port on loopback, and how many streams; nothing begins yet."""
        self.ended = 0
        self._ticks = [0] * count
        self._rest = [b""] * count
        self._port = port
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self._failed: OSError | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def fewest(self) -> int:
        """Return how many ticks the stream had that had fewest.

        Raises:
            LabServerError: not all of them could be opened or read.
        """
        if self._failed is not None:
            raise LabServerError(f"{len(self._ticks)} streams cannot be had: {self._failed}")
        return min(self._ticks)

    def count_anew(self) -> None:
        """Forget what was counted so far."""
        self._ticks = [0] * len(self._ticks)

    def _read(self) -> None:
        try:
            with contextlib.ExitStack() as stack, selectors.DefaultSelector() as ready:
                for number in range(len(self._ticks)):
                    peer = stack.enter_context(
                        socket.create_connection(("127.0.0.1", self._port), READ_SECONDS)
                    )
                    peer.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n\r\n".encode())
                    ready.register(peer, selectors.EVENT_READ, number)
                while not self._over.is_set():
                    for key, _ in ready.select(timeout=LOOK_SECONDS):
                        if not self._take(key):
                            ready.unregister(key.fileobj)
        except OSError as error:
            self._failed = error

    def _take(self, key: selectors.SelectorKey) -> bool:
        """Count what came on one stream; False where it has ended."""
        data: bytes = key.fileobj.recv(SOME)  # type: ignore[union-attr]  # a socket is what was registered
        if not data:
            self.ended += 1
            return False
        came = self._rest[key.data] + data
        self._ticks[key.data] += came.count(TICK)
        self._rest[key.data] = came[-len(TICK) + 1 :]
        return True


def _status(connection: http.client.HTTPConnection) -> int:
    try:
        connection.request("GET", "/v1/status")
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0
    return answer.status
