"""What a flood, a slow peer or a silent one may cost, over real connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from api import gate, limits, protocol
from api.limits import Places, Rate, peer_of
from api.server import ApiServer
from tests.api.factory import AnsweringLoop, application, browser
from tuner.board import Board

HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def port(board: Board, loop: AnsweringLoop, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve over TCP with short time limits; return the port."""
    assert loop.board is board
    for name in ("REQUEST_SECONDS", "KEEP_ALIVE_SECONDS", "STALLED_SECONDS", "LINGER_SECONDS"):
        monkeypatch.setattr(protocol, name, 0.3)
    monkeypatch.setattr(protocol, "LOOK_SECONDS", 0.05)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found = int(probe.getsockname()[1])
    serving = ApiServer(application(board), "127.0.0.1", found, None)
    serving.start()
    yield found
    assert serving.stop(timeout=10.0)


def connected(port: int) -> socket.socket:
    """Return a connection that waits twenty seconds for an answer at most."""
    return socket.create_connection(("127.0.0.1", port), timeout=20.0)


def rest(connection: socket.socket) -> bytes:
    """Return all that comes until the daemon closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            found += part
    return found


def answer(connection: socket.socket) -> bytes:
    """Return one answer to its end: head and body may come in parts."""
    found = b""
    while not found.endswith(b"}"):
        part = connection.recv(65536)
        assert part, found
        found += part
    return found


def answers(port: int) -> bool:
    """Tell whether the daemon answers a decent request."""
    return httpx.get(f"http://127.0.0.1:{port}/livez", trust_env=False, timeout=20.0).status_code == 200


def test_a_silent_connection_is_closed(port: int) -> None:
    """A peer that connects and says nothing loses its connection, with the reason."""
    with connected(port) as silent:
        assert b" 408 " in rest(silent)
    assert answers(port)


def test_a_header_that_never_ends_is_cut_off(port: int) -> None:
    """A peer that sends its header byte by byte is cut off in the time for a whole request."""
    with connected(port) as slow:
        slow.sendall(HEAD)
        with contextlib.suppress(OSError):
            for _ in range(200):
                slow.sendall(b"X")
                time.sleep(0.02)
        found = rest(slow)
    assert found == b"" or b" 408 " in found
    assert answers(port)


def test_a_body_that_never_comes_is_cut_off(port: int) -> None:
    """A peer that announces a body and keeps it is told so, and its request is not carried out."""
    head = b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
    head += b"a-token-of-more-than-thirty-two-characters\r\nContent-Type: application/json\r\n"
    with connected(port) as slow:
        slow.sendall(head + b"Content-Length: 100\r\n\r\n{")
        assert b" 408 " in rest(slow)
    assert answers(port)


def test_half_closed_requests_leave_nothing_behind(port: int) -> None:
    """Peers that close their side in the middle of a request, or after it, do no harm."""
    for sent in (
        b"",
        HEAD,
        HEAD + b"\r\n",
        b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ):
        with connected(port) as half:
            half.sendall(sent)
            half.shutdown(socket.SHUT_WR)
            rest(half)
    assert answers(port)


def test_a_header_that_is_too_large_is_refused(port: int) -> None:
    """A header beyond the limit ends in a problem that names it, and the connection is closed."""
    with connected(port) as large:
        with contextlib.suppress(OSError):
            large.sendall(HEAD + b"X: " + b"y" * (limits.HEADER_BYTES + 1024) + b"\r\n\r\n")
        found = rest(large)
    assert b" 431 " in found or b" 400 " in found
    assert b"application/problem+json" in found
    assert answers(port)


def test_what_is_no_http_is_refused_as_a_problem(port: int) -> None:
    """Bytes of another protocol end in a problem with the same headers as every answer."""
    with connected(port) as other:
        other.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
        found = rest(other).lower()
    assert b" 400 " in found
    assert b"x-content-type-options: nosniff" in found


def test_a_peer_that_takes_no_answer_is_cut_off(port: int) -> None:
    """A peer that asks and asks and reads nothing loses its connection, not the daemon's memory."""
    with connected(port) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        ended = False
        for _ in range(2000):
            try:
                deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
            except OSError:
                ended = True
                break
            time.sleep(0.01)
        assert ended
    assert answers(port)


def test_a_connection_ends_after_so_many_requests(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection is not kept for ever: after the last answer it is closed at once."""
    monkeypatch.setattr(protocol, "REQUESTS_OF_A_CONNECTION", 3)
    with connected(port) as one:
        for _ in range(3):
            one.sendall(HEAD + b"\r\n")
            assert b" 200 " in answer(one)
        one.settimeout(0.25)  # less than a quiet connection is kept
        assert rest(one) is not None


def test_a_peer_has_a_rate_of_its_own() -> None:
    """Who asks too often is refused until some time has passed; others are not."""
    rate = Rate(per_second=1.0, burst=2.0)

    assert [rate.allows("10.0.0.1", 5.0) for _ in range(3)] == [True, True, False]
    assert rate.allows("10.0.0.2", 5.0)
    assert rate.allows("10.0.0.1", 6.0)
    assert not rate.allows("10.0.0.3", 6.0, cost=3.0)


def test_a_flood_is_told_when_to_come_again(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request beyond the rate ends in a problem with the time to wait, after a delay that slows a flood."""
    monkeypatch.setattr(gate, "DELAY", 0.1)
    monkeypatch.setattr(Rate, "allows", lambda _self, _peer, _now, _cost=1.0: False)

    async def ask() -> httpx.Response:
        async with browser(application(board)) as client:
            return await client.get("/v1/status")

    begun = time.monotonic()
    refused = asyncio.run(ask())

    assert (refused.status_code, refused.json()["type"]) == (429, "/docs#too-many")
    assert refused.headers["retry-after"] == "2"
    assert time.monotonic() - begun >= 0.1


def test_the_memory_of_peers_is_bounded() -> None:
    """However many addresses ask, only the latest are remembered."""
    rate = Rate()
    for number in range(5000):
        rate.allows(number, 1.0)

    assert len(rate._buckets) <= 1024


def test_one_peer_does_not_take_every_connection() -> None:
    """Another machine gets its share of the connections; this one may take them all."""
    places = Places(most=5, most_of_a_peer=2)

    assert [places.take("10.0.0.1") for _ in range(3)] == [True, True, False]
    assert [places.take("127.0.0.1") for _ in range(4)] == [True, True, True, False]
    places.give_back("10.0.0.1")
    assert places.take("10.0.0.2")


def test_an_ipv6_network_is_one_peer() -> None:
    """Nobody gets around a limit by the addresses of one network."""
    assert peer_of("2001:db8::1") == peer_of("2001:db8::ffff:2")
    assert peer_of("2001:db8::1") != peer_of("2001:db8:1::1")
    assert peer_of("::ffff:10.0.0.1") == "10.0.0.1"
    assert peer_of("uid 1000") == "uid 1000"
