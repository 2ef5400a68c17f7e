"""What the fault tests stand on: a referee that calls a breach, and a proxy that goes dead as asked."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.faults.verdict import judge_run
from tests.life import ORIGINALS, Life
from tests.real.proxy import Proxy
from tuner.journal.codec import decode, encode
from tuner.journal.tables import FILE_NAME
from tuner.records import Capacity, DecisionKind
from tuner.settings import Mode, Settings

ACTIVE = Settings(mode=Mode.ACTIVE, set_point=0.7)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state directory of a daemon that has written, and has parked at its end."""
    directory = tmp_path_factory.mktemp("lived")
    life = Life(directory, ACTIVE)
    life.live(life.wait_for_write)
    return directory


def test_a_good_run_is_judged_whole(lived: Path) -> None:
    """The referee follows a journal from its first tick to the park at its end."""
    found = judge_run(lived, 1)

    assert found[0].tick.number == 1
    assert found[-1].decision.kind in {DecisionKind.PARK, DecisionKind.KEEP}
    assert any(one.decision.kind is DecisionKind.SET for one in found)
    assert found[-1].originals == ORIGINALS


def test_a_write_that_was_not_decided_is_called(lived: Path, tmp_path: Path) -> None:
    """A journal with a SET that the loop would not have made does not pass."""
    copy = tmp_path / FILE_NAME
    with (
        contextlib.closing(sqlite3.connect(lived / FILE_NAME)) as source,
        contextlib.closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
        number, blob = target.execute("SELECT number, record FROM ticks ORDER BY id LIMIT 1").fetchone()
        record = decode(blob)
        forged = replace(
            record.decision,
            kind=DecisionKind.SET,
            target=Capacity(50_000, 100_000),
            steps=(("innodb_io_capacity_max", 100_000), ("innodb_io_capacity", 50_000)),
        )
        changed = encode(replace(record, decision=forged))
        target.execute("UPDATE ticks SET record = ? WHERE number = ?", (changed, number))
        target.commit()

    with pytest.raises(AssertionError):
        judge_run(tmp_path, 1)


@pytest.fixture
def echo() -> Iterator[int]:
    """Yield the port of a server that sends everything back, to one connection after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                while data := connection.recv(1024):
                    connection.sendall(data)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)


PACKET = b"\x02\x00\x00\x00\x0ex"
"""Two bytes of a command that is no query."""


def test_a_silent_proxy_swallows_everything(echo: int) -> None:
    """A black hole passes nothing and says nothing, and a connection from before it stays dead after it."""
    with Proxy(echo) as proxy, _connected(proxy) as old:
        old.sendall(PACKET)
        assert old.recv(100) == PACKET
        proxy.fall_silent()
        for one in (old, _connected(proxy)):
            with one:
                one.sendall(PACKET)
                with pytest.raises(TimeoutError):
                    one.recv(100)
        proxy.speak()
        with _connected(proxy) as new:
            new.sendall(PACKET)
            assert new.recv(100) == PACKET


def test_a_reset_is_a_reset(echo: int) -> None:
    """A reset ends a connection with RST, not with a goodbye, and the next one passes."""
    with Proxy(echo) as proxy:
        with _connected(proxy) as old:
            old.sendall(PACKET)
            assert old.recv(100) == PACKET
            proxy.reset()
            with pytest.raises(ConnectionResetError):
                old.recv(100)
        with _connected(proxy) as new:
            new.sendall(PACKET)
            assert new.recv(100) == PACKET


def _connected(proxy: Proxy) -> socket.socket:
    return socket.create_connection(("127.0.0.1", proxy.port), 0.5)
