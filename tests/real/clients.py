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
from typing import Self

READ_SECONDS = 10.0
ASKING_THREADS = 4
REQUESTS_OF_A_CONNECTION = 500
INTERVAL = 1.0


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


def ticks(port: int, seconds: float) -> Ticks:
    """Listen to a daemon on loopback for so long; return its ticks."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=READ_SECONDS)
    numbers, walls = [], []
    try:
        connection.request("GET", "/v1/stream")
        answer = connection.getresponse()
        assert answer.status == http.HTTPStatus.OK, answer.read()
        end = time.monotonic() + seconds
        name = b""
        while time.monotonic() < end:
            line = answer.readline()
            assert line, "the stream ended"
            if line.startswith(b"event: "):
                name = line[7:].strip()
            elif line.startswith(b"data: ") and name == b"tick":
                tick = json.loads(line[6:])
                numbers.append(tick["number"])
                walls.append(tick["wall"])
    finally:
        connection.close()
    apart = [abs(later - earlier - INTERVAL) for earlier, later in itertools.pairwise(walls)]
    return Ticks(tuple(numbers), tuple(sorted(apart)))


class Asking:
    """Asks for the status so many times a second, from a few threads.

    Attributes:
        answers: how many answers by status code; 0: none came.
    """

    def __init__(self, port: int, rate: float) -> None:
        self.answers: dict[int, int] = {}
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

    def _ask(self) -> None:
        due = time.monotonic()
        while not self._over.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=READ_SECONDS)
            for _ in range(REQUESTS_OF_A_CONNECTION):
                due = max(due + self._pause, time.monotonic() - 1.0)
                if self._over.wait(max(0.0, due - time.monotonic())):
                    break
                self._note(_status(connection))
            connection.close()

    def _note(self, code: int) -> None:
        with self._lock:
            self.answers[code] = self.answers.get(code, 0) + 1


class Listening:
    """Keeps so many streams open and reads them all, from one thread.

    Attributes:
        ended: how many of them the daemon ended.
    """

    def __init__(self, port: int, count: int) -> None:
        self.ended = 0
        self._received = [0] * count
        self._port = port
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)

    @property
    def least(self) -> int:
        """Return the bytes of the stream that had least."""
        return min(self._received)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read(self) -> None:
        with contextlib.ExitStack() as stack, selectors.DefaultSelector() as ready:
            for number in range(len(self._received)):
                peer = stack.enter_context(socket.create_connection(("127.0.0.1", self._port), READ_SECONDS))
                peer.sendall(f"GET /v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n\r\n".encode())
                ready.register(peer, selectors.EVENT_READ, number)
            while not self._over.is_set():
                for key, _ in ready.select(timeout=0.2):
                    assert isinstance(key.fileobj, socket.socket)
                    had = len(key.fileobj.recv(65_536))
                    self._received[key.data] += had
                    if not had:
                        self.ended += 1
                        ready.unregister(key.fileobj)


def _status(connection: http.client.HTTPConnection) -> int:
    try:
        connection.request("GET", "/v1/status")
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException):
        connection.close()
        return 0
    return answer.status
