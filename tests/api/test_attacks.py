"""What a flood, a slow peer, a silent one or an endless one may cost, over real connections."""

from __future__ import annotations

import contextlib
import gc
import itertools
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import h11
import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from api import admission, connections
from api.admission import PROBES
from api.connections import Listener, TokenBuckets, is_of_this_machine, peer_of
from api.problems import ApiError, Refusal
from api.server import ApiServer
from tests.api.factory import TOKEN, AnsweringLoop, ask, serving
from tests.real.support import until

HEAD = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
POST += b"Authorization: Bearer %s\r\n" % TOKEN.encode()
PATIENT = 20.0


@pytest.fixture
def port(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve over TCP with short time limits; return the port."""
    for name in ("REQUEST_SECONDS", "KEEP_ALIVE_SECONDS", "STALLED_SECONDS", "LINGER_SECONDS"):
        monkeypatch.setattr(connections, name, 0.3)
    monkeypatch.setattr(connections, "LOOK_SECONDS", 0.05)
    with serving(app) as server:
        yield server.port
        assert httpx.get(f"http://127.0.0.1:{server.port}/livez", trust_env=False, timeout=PATIENT).is_success


def connected(port: int) -> socket.socket:
    """Return a connection that waits a while for an answer at most."""
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENT)


def rest(connection: socket.socket) -> bytes:
    """Return all that comes until the daemon closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while part := connection.recv(65536):
            found += part
    return found


def kept_errors() -> list[object]:
    """Return the errors that something still holds, and with each its request and connection."""
    gc.collect()
    return [one for one in gc.get_objects() if type(one) is ApiError]


def counted(port: int) -> dict[str, float]:
    """Return what was refused so far, by reason."""
    answer = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, timeout=PATIENT)
    return {
        line.labels["reason"]: line.value
        for family in text_string_to_metric_families(answer.text)
        for line in family.samples
        if line.name == "innobrim_api_refusals_total" and line.value
    }


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"", b" 408 ", None),
        (b"GET /livez HT", b" 408 ", Refusal.SLOW),
        (HEAD, b" 408 ", Refusal.SLOW),
        (POST + b"Content-Length: 100\r\n\r\n{", b" 408 ", Refusal.SLOW),
        (HEAD + b"\r\n" + POST + b"Content-Length: 100\r\n\r\n{", b" 408 ", Refusal.SLOW),
        (HEAD + b"Content-Length: 9\r\n\r\n{", b" 200 ", None),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b" 400 ", Refusal.MALFORMED),
        (b"this is not HTTP\r\n\r\n", b" 400 ", Refusal.MALFORMED),
        (HEAD + b"X: " + b"y" * 17_000 + b"\r\n\r\n", b" 431 ", Refusal.HEADER),
        (HEAD + b"X: " + b"y" * 17_000, b" 400 ", Refusal.MALFORMED),
        (POST + b"Content-Length: 20000\r\n\r\n{", b" 413 ", Refusal.BODY),
        (
            POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HEAD + b"\r\n",
            b" 400 ",
            Refusal.MALFORMED,
        ),
    ],
    ids=[
        "silent",
        "half a line",
        "half a header",
        "half a body",
        "half a body behind another request",
        "a body that nobody reads",
        "TLS",
        "no HTTP",
        "a large header",
        "a large header that goes on",
        "a large body",
        "two ends of a body, and a request behind it",
    ],
)
def test_what_is_no_decent_request_is_answered_and_cut_off(
    port: int, loop: AnsweringLoop, sent: bytes, status: bytes, reason: Refusal | None
) -> None:
    """Whatever a peer sends and keeps back, its connection ends in time, with a problem that is counted."""
    with connected(port) as peer:
        with contextlib.suppress(OSError):
            peer.sendall(sent)
        found = rest(peer).lower()

    assert found == b"" or status in found  # where more was sent than read, the system may drop the answer
    assert found == b"" or b"x-content-type-options: nosniff" in found
    assert loop.commands == []
    until(lambda: counted(port) == ({reason: 1.0} if reason else {}), PATIENT, lambda: str(counted(port)))


@pytest.mark.parametrize("begun", [HEAD, POST + b"Content-Length: 10000\r\n\r\n"], ids=["header", "body"])
def test_a_request_that_comes_byte_by_byte_is_cut_off(port: int, begun: bytes) -> None:
    """A peer that keeps sending a little is cut off in the time for a whole request."""
    with connected(port) as slow:
        slow.sendall(begun)
        with contextlib.suppress(OSError):
            for _ in range(500):
                slow.sendall(b"X")
                time.sleep(0.02)
            pytest.fail("it may go on for ever")


@contextlib.contextmanager
def watched(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[socket.socket, Watched]]:
    """Serve to one peer, looking at its connection only when told to."""
    monkeypatch.setattr(connections, "LOOK_SECONDS", 3600.0)
    with serving(app) as server, connected(server.port) as peer:
        yield peer, Watched(server)


class Watched:
    """The only connection of a server, whose time goes by when told to."""

    def __init__(self, server: ApiServer) -> None:
        (self._server,) = server._servers
        until(lambda: self._server.listener.open, PATIENT, "the connection")
        (self._place,) = self._server.listener.open.values()
        until(lambda: self._place.protocol, PATIENT, "its protocol")
        self._begun = time.monotonic()

    def has_come(self, state: type[h11.Sentinel], part: bytes = b"") -> None:
        """Wait until the peer's request has come so far, and a part of what follows."""

        def so_far() -> bool:
            conn = self._place.protocol.conn  # type: ignore[union-attr]  # it has one
            return conn.their_state is state and conn.trailing_data[0].endswith(part)

        until(so_far, PATIENT, "the request")

    def ends_at(self, seconds: float) -> bool:
        """Look at the connection so long after its beginning; tell whether it is over then."""
        looked = threading.Event()

        def look() -> None:
            self._server.listener.look(self._begun + seconds)
            looked.set()

        loop = self._place.protocol.loop  # type: ignore[union-attr]  # it has one
        loop.call_soon_threadsafe(look)
        assert looked.wait(PATIENT)
        protocol = self._place.protocol
        return protocol is None or protocol.transport.is_closing()


def test_half_closed_requests_leave_nothing_behind(port: int) -> None:
    """Peers that close their side in the middle of a request, or after it, do no harm."""
    for sent in (b"", HEAD, HEAD + b"\r\n", POST + b"Content-Length: 9\r\n\r\n{"):
        with connected(port) as half:
            half.sendall(sent)
            half.shutdown(socket.SHUT_WR)
            rest(half)


def test_a_peer_that_takes_no_answer_is_cut_off(port: int) -> None:
    """A peer that asks and asks and reads nothing loses its connection, not the daemon's memory."""
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", port))
        deaf.settimeout(PATIENT)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(2000):
                deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
                time.sleep(0.01)
            pytest.fail("it may go on for ever")


def test_header_and_body_share_the_time_of_a_request(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that dribbles has the time for one whole request, not for a header and then for a body."""
    with watched(app, monkeypatch) as (peer, connection):
        peer.sendall(POST)
        connection.has_come(h11.IDLE, b"\n")
        assert not connection.ends_at(9.0)
        peer.sendall(b"Content-Length: 100\r\n\r\n{")
        connection.has_come(h11.SEND_BODY)
        assert not connection.ends_at(9.5)
        assert connection.ends_at(11.0)


def test_a_body_behind_its_answer_has_no_time_of_its_own(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered before its body came must come whole in the time of its request all the same."""
    with watched(app, monkeypatch) as (peer, connection):
        peer.sendall(HEAD)
        connection.has_come(h11.IDLE, b"\n")
        assert not connection.ends_at(9.0)
        peer.sendall(b"Content-Length: 9\r\n\r\n{")
        assert b" 200 " in peer.recv(65_536)
        assert connection.ends_at(11.0)


def test_each_request_has_a_time_of_its_own(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow request that follows a slow one at once is not charged with the first one's time."""
    with watched(app, monkeypatch) as (peer, connection):
        peer.sendall(POST)
        connection.has_come(h11.IDLE, b"\n")
        assert not connection.ends_at(9.0)
        peer.sendall(b"Content-Length: 0\r\n\r\n" + POST)
        assert b" 200 " in peer.recv(65_536)
        connection.has_come(h11.IDLE, b"\n")
        assert not connection.ends_at(12.0)
        assert not connection.ends_at(21.0)
        assert connection.ends_at(23.0)


@pytest.fixture
def full(app: FastAPI) -> Iterator[ApiServer]:
    """Serve over TCP with every place of a connection taken."""
    with serving(app) as server, contextlib.ExitStack() as stack:
        for _ in range(connections.CONNECTIONS):
            stack.enter_context(connected(server.port))
        yield server


def test_probes_have_places_of_their_own(full: ApiServer) -> None:
    """With all connections taken a probe is answered, and anything else is told that there is no room."""
    url = f"http://127.0.0.1:{full.port}"

    assert httpx.get(f"{url}/livez", trust_env=False, timeout=PATIENT).status_code == 200
    refused = httpx.get(f"{url}/v1/status", trust_env=False, timeout=PATIENT)
    assert (refused.status_code, refused.headers["connection"]) == (503, "close")
    assert "probes" in refused.json()["detail"]
    until(lambda: kept_errors() == [], PATIENT, "the refusal to be forgotten")


@pytest.mark.parametrize("sent", [b"", b"GET /liv"], ids=["silent", "half a request"])
def test_probes_are_answered_beside_peers_that_keep_them_waiting(full: ApiServer, sent: bytes) -> None:
    """A probe is answered, however many hold connections without a whole request, before it and behind it.

    The server stands still until all of them wait at its door, as it does for a flood.
    """
    (served,) = full._servers
    for _ in range(3):
        until(lambda: len(served.listener.open) == connections.CONNECTIONS, PATIENT, "the crowd to be gone")
        goes_on, stands = threading.Event(), threading.Event()

        def stand(stands: threading.Event = stands, goes_on: threading.Event = goes_on) -> None:
            stands.set()
            goes_on.wait(PATIENT)

        assert served._loop is not None
        served._loop.call_soon_threadsafe(stand)
        assert stands.wait(PATIENT)
        with contextlib.ExitStack() as stack:

            def crowd(stack: contextlib.ExitStack = stack) -> None:
                for _ in range(connections.PROBE_PLACES + 4):
                    stack.enter_context(connected(full.port)).sendall(sent)

            crowd()
            probe = stack.enter_context(connected(full.port))
            probe.sendall(HEAD + b"\r\n")
            crowd()
            goes_on.set()
            assert b" 200 " in probe.recv(65_536)


def test_a_flood_of_connections_takes_no_more_places_than_there_are(app: FastAPI) -> None:
    """A flood of connections that say nothing is turned away at the door, with a word of why."""
    most = connections.CONNECTIONS + connections.PROBE_PLACES
    with serving(app) as server, contextlib.ExitStack() as stack:
        held = [stack.enter_context(connected(server.port)) for _ in range(300)]
        for one in held:
            one.settimeout(0.0)

        def ended() -> int:
            count = 0
            for one in held:
                with contextlib.suppress(BlockingIOError, ConnectionResetError):
                    one.recv(65_536)
                    count += 1
            return count

        until(lambda: ended() >= 300 - most, PATIENT, lambda: f"{ended()} of 300 were turned away")


@pytest.mark.parametrize(
    ("encrypted", "whole"), [(False, HEAD + b"\r\n"), (True, b"\x16\x03\x01\x00\x04\x01\x00\x00\x00")]
)
def test_of_a_crowd_the_first_is_let_in_that_says_something_whole(
    monkeypatch: pytest.MonkeyPatch, *, encrypted: bool, whole: bytes
) -> None:
    """With places for probes alone, who says nothing, or half of it, costs no handshake."""
    monkeypatch.setattr(connections, "CONNECTIONS", 0)
    away: list[Refusal | None] = []
    with contextlib.ExitStack() as stack:
        door = Listener(socket.create_server(("127.0.0.1", 0)), away.append, encrypted=encrypted)
        stack.callback(door.close_all)
        port = door.getsockname()[1]
        crowd = [stack.enter_context(connected(port)) for _ in range(12)]
        for number, sent in ((3, whole[:-1]), (5, whole)):
            crowd[number].sendall(sent)
        first, second = (door.accept() for _ in range(2))

        assert (first[1], first[0].prompt) == (crowd[5].getsockname(), True)
        assert (second[1], second[0].prompt) == (crowd[-1].getsockname(), False)
        assert len(away) == 10


class Door(Listener):
    """A listener that nobody serves, at which peers are made up."""

    def __init__(self) -> None:
        super().__init__(socket.socket(), lambda _: None, encrypted=False)
        self.came: list[connections.Accepted] = []

    def lets_in(self, peer: str, *, probe: bool = False) -> bool:
        """Take a place for one more of a peer, for a probe alone or anything; tell whether there was one."""
        one, other = socket.socketpair()
        other.close()
        made = connections.Accepted(one, self, peer)
        self.came.append(made)
        if (self._no_place(peer) is not None) is not probe or (probe and not self._has_place_for_probe(peer)):
            return False
        made.for_probes = probe
        self.open[made.fileno()] = made
        return True


@pytest.fixture
def door() -> Iterator[Door]:
    """Return such a listener; whoever leaves gives the place back."""
    with Door() as found:
        yield found
        for one in found.came:
            one.close()
        assert not found.open


def test_another_machine_gets_its_share(door: Door) -> None:
    """One machine leaves most places to others; this machine may have them all, and gives them back."""
    assert sum(door.lets_in("10.0.0.1") for _ in range(60)) == connections.CONNECTIONS_OF_A_PEER
    assert sum(door.lets_in("127.0.0.1") for _ in range(150)) == connections.CONNECTIONS - 32
    assert not door.lets_in("10.0.0.2")
    next(iter(door.open.values())).close()
    assert door.lets_in("10.0.0.2")


def test_a_machine_with_its_share_of_probes_makes_room_among_its_own(door: Door) -> None:
    """Its own that wait go before those of others, and it never has more than its share."""
    for _ in range(connections.CONNECTIONS):
        door.lets_in("127.0.0.1")
    for _ in range(10):
        assert door.lets_in("10.0.0.1", probe=True)
    assert door.lets_in("10.0.0.2", probe=True)
    probes = [one.peer for one in door.open.values() if one.for_probes and not one.dropped]
    assert sorted(probes) == ["10.0.0.1"] * connections.PROBE_PLACES_OF_A_PEER + ["10.0.0.2"]


def test_a_peer_has_a_rate_of_its_own_and_few_are_remembered() -> None:
    """Who asks too often is refused until some time has passed; others are not; memory is bounded."""
    rate = TokenBuckets(per_second=1.0, burst=2.0)

    assert [rate.take("10.0.0.1", 5.0) for _ in range(3)] == [True, True, False]
    assert rate.take("10.0.0.2", 5.0)
    assert rate.take("10.0.0.1", 6.0)
    assert not rate.take("10.0.0.3", 6.0, tokens=3.0)
    for number in range(5000):
        rate.take(number, 7.0)
    assert len(rate._buckets) <= 1024


def test_who_counts_as_one_peer_and_as_of_this_machine() -> None:
    """Nobody gets around a limit by the addresses of one IPv6 network."""
    assert peer_of("2001:db8::1") == peer_of("2001:db8::ffff:2") != peer_of("2001:db8:1::1")
    assert peer_of("::ffff:10.0.0.1") == "10.0.0.1"
    assert peer_of("uid 1000") == "uid 1000"
    assert all(map(is_of_this_machine, ("127.0.0.1", "127.8.9.1", "::1", "uid 1000", "")))
    assert not any(map(is_of_this_machine, ("10.0.0.1", "2001:db8::/64", "fe80::/64")))


def test_a_flood_of_requests_is_slowed_and_told_when_to_come_again(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request beyond the rate ends in a problem with the time to wait, after a delay; it is counted."""
    monkeypatch.setattr(admission, "DELAY", 0.1)
    monkeypatch.setattr(admission, "TokenBuckets", lambda: TokenBuckets(0.001, 2.0))
    begun = time.monotonic()
    with serving(app) as server, httpx.Client(trust_env=False) as client:
        url = f"http://127.0.0.1:{server.port}"
        answers = [client.get(f"{url}/v1/config") for _ in range(3)]
        probe = client.get(f"{url}/livez")

    assert [one.status_code for one in answers] == [200, 200, 429]
    assert answers[2].json()["type"] == "/docs#too-many"
    assert answers[2].headers["retry-after"] == "2"
    assert time.monotonic() - begun >= 0.1
    assert probe.status_code == 200
    assert app.state.refused.__self__.counts[Refusal.RATE] == 1


async def in_parts() -> AsyncIterator[bytes]:
    """Yield a large body whose length no header says."""
    for _ in range(20):
        yield b"x" * 1024


@pytest.mark.parametrize(
    "case",
    [
        (429, {"DELAY": 0.0, "TokenBuckets": lambda: TokenBuckets(0.001, 0.5)}, {}),
        (503, {"TURN_SECONDS": 0.01, "IN_HAND": 0}, {}),
        (413, {}, {"content": b"x" * 20_000}),
        (413, {}, {"content": in_parts()}),
    ],
    ids=["rate", "turn", "body", "body in parts"],
)
def test_what_is_refused_leaves_nothing_in_memory(
    app: FastAPI,
    loop: AnsweringLoop,
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[int, dict[str, Any], dict[str, Any]],
) -> None:
    """A flood that is refused is forgotten: no error holds on to its request and its connection."""
    status, changes, request_ = case
    for name, value in changes.items():
        monkeypatch.setattr(admission, name, value)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}

    assert ask(app, "POST", "/v1/pause", headers=headers, **request_).status_code == status
    assert loop.commands == []
    assert kept_errors() == []


def test_probes_wait_for_no_turn(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a daemon with no turn to give, a probe learns whether the loop is well, and others come later."""
    monkeypatch.setattr(admission, "TURN_SECONDS", 0.01)
    monkeypatch.setattr(admission, "IN_HAND", 0)

    for path, method in itertools.product(PROBES, ("GET", "HEAD")):
        assert ask(app, method, path).status_code == 200
    busy = ask(app, "GET", "/v1/status")
    assert (busy.status_code, busy.json()["type"]) == (503, "/docs#busy")
