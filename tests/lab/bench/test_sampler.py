"""Watching a server costs it one connection, however long it is watched."""

from __future__ import annotations

import time
from typing import Any, Self

from lab.bench.sampler import Sampler
from lab.servers.existing import DsnServer
from tuner.servers.connect import Endpoint

LIMIT = 20.0


class Connection:
    """A connection that answers every counter with seven."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def cursor(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_given: object) -> None:
        pass

    def close(self) -> None:
        pass

    def execute(self, statement: str) -> None:
        self.asked.append(statement)

    def fetchall(self) -> list[tuple[str, int]]:
        text = self.asked[-1]
        names = [part for part in text.split("'")[1::2] if part.isidentifier()]
        return [(name, 7) for name in names]


class Server(DsnServer):
    """A server of the user's own that counts who connects to it."""

    def __init__(self) -> None:
        super().__init__(Endpoint(user="ann"), confirmed=True)
        self.made: list[Connection] = []

    def connect(self, *_given: object, **_named: object) -> Any:  # noqa: ANN401 - stands for pymysql's
        self.made.append(Connection())
        return self.made[-1]


def test_the_disk_of_a_users_own_server_is_counted_over_the_samplers_connection() -> None:
    """No connection a second on a server that others use."""
    server = Server()
    with Sampler(server, interval=0.001) as sampler:
        end = time.monotonic() + LIMIT
        while len(sampler.readings()) < 5 and time.monotonic() < end:
            time.sleep(0.001)  # readings come from another thread, and nothing announces them
    device = sampler.readings()[-1].device
    assert device is not None
    assert device.writes == 7
    assert len(server.made) == 1
