"""What somebody without a token can do to those who watch: probes, streams, bodies, and HEAD for GET."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from api import gate, limits, stream
from api.limits import PROBES, Rate, is_of_this_machine
from api.server import ApiServer
from tests.api.factory import AnsweringLoop, application, bearer, browser
from tests.cli.support import free_port
from tuner.board import Board


def ask(app: object, method: str, path: str, **given: object) -> httpx.Response:
    """Return one answer."""

    async def asked() -> httpx.Response:
        async with browser(app) as client:  # type: ignore[arg-type]  # what application returns
            return await client.request(method, path, **given)  # type: ignore[arg-type]  # httpx's own

    return asyncio.run(asked())


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", sorted(PROBES))
def test_probes_are_answered_whatever_others_ask(
    board: Board, loop: AnsweringLoop, monkeypatch: pytest.MonkeyPatch, path: str, method: str
) -> None:
    """A peer beyond its rate, on a daemon with no turn to give, still learns whether the loop is well."""
    assert loop.board is board
    monkeypatch.setattr(gate, "DELAY", 0.01)
    monkeypatch.setattr(limits, "TURN_SECONDS", 0.01)
    monkeypatch.setattr(Rate, "allows", lambda _self, _peer, _now, _cost=1.0: False)
    app = application(board)

    assert ask(app, method, path).status_code == 200
    assert ask(app, "GET", "/v1/status").status_code == 429


@pytest.fixture
def full(board: Board, loop: AnsweringLoop) -> Iterator[int]:
    """Serve over TCP with every place of a connection taken; return the port."""
    assert loop.board is board
    port = free_port()
    serving = ApiServer(application(board), "127.0.0.1", port, None)
    serving.start()
    with contextlib.ExitStack() as stack:
        for _ in range(limits.CONNECTIONS):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10.0))
        yield port
    assert serving.stop(timeout=10.0)


def test_probes_have_places_of_their_own(full: int) -> None:
    """With all connections taken a probe is answered, and anything else is told that there is no room."""
    url = f"http://127.0.0.1:{full}"

    assert httpx.get(f"{url}/livez", trust_env=False, timeout=10.0).status_code == 200
    refused = httpx.get(f"{url}/v1/status", trust_env=False, timeout=10.0)
    assert (refused.status_code, refused.headers["connection"]) == (503, "close")
    assert "probes" in refused.json()["detail"]


@pytest.mark.parametrize("sent", [b"", b"GET /liv"], ids=["silent", "half a request"])
def test_probes_are_answered_beside_peers_that_keep_them_waiting(full: int, sent: bytes) -> None:
    """However many hold connections without a whole request, or come anew at once, a probe is answered."""
    url, over = f"http://127.0.0.1:{full}/livez", threading.Event()

    def holds() -> None:
        while not over.is_set():
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", full), timeout=10.0) as held,
            ):
                held.sendall(sent)
                while not over.is_set() and held.recv(4096):
                    continue

    threads = [threading.Thread(target=holds, daemon=True) for _ in range(limits.PROBE_PLACES + 4)]
    for thread in threads:
        thread.start()
    try:
        codes = [httpx.get(url, trust_env=False, timeout=10.0).status_code for _ in range(20)]
    finally:
        over.set()

    assert codes == [200] * 20


def test_a_peer_of_another_machine_has_few_places_of_probes() -> None:
    """One machine leaves most of them to others; this machine may have all."""
    places = limits.ProbePlaces()

    assert [places.take("10.0.0.1") for _ in range(5)] == [True] * 4 + [False]
    assert all(places.take("127.0.0.1") for _ in range(limits.PROBE_PLACES - 4))
    assert not places.take("10.0.0.2")


def test_no_peer_takes_every_stream(board: Board) -> None:
    """Another machine gets its share, this machine most, and there is room for somebody else then."""
    refusals = stream.Refusals()
    streams = stream.Streams(board, "a", refusals)

    def opened(peer: str) -> int:
        count = 0
        with contextlib.suppress(stream.ApiError):
            while True:
                streams.enter(stream.EventStream(streams, streams.messages(0, None)), peer)
                count += 1
        return count

    assert opened("127.0.0.1") == stream.STREAMS_OF_THIS_MACHINE
    assert opened("10.0.0.1") == stream.STREAMS_OF_A_PEER
    assert 0 < opened("uid 1000") < stream.STREAMS_OF_THIS_MACHINE
    assert refusals.counts["streams"] == 3


def test_who_is_of_this_machine() -> None:
    """Loopback and the users of the unix socket are; no address of a network is."""
    assert all(map(is_of_this_machine, ("127.0.0.1", "127.8.9.1", "::1", "uid 1000", "")))
    assert not any(map(is_of_this_machine, ("10.0.0.1", "2001:db8::/64", "fe80::/64")))


DEEP = 7_000


@pytest.mark.parametrize(
    "body",
    [
        b"[" * DEEP,
        b"[" * DEEP + b"]" * DEEP,
        b'{"a":' * 2_500 + b"1" + b"}" * 2_500,
        b'{"reason":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"reason":' + b"9" * 5_000 + b"}",
        b'{"reason":-' + b"9" * 5_000 + b"}",
        b'{"reason":1e400}',
        b'{"reason":-1e999999999}',
        b'{"reason":NaN}',
        b'{"reason":"\xff"}',
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/pause"), ("PATCH", "/v1/settings"), ("PUT", "/v1/override")]
)
def test_json_beyond_all_bounds_is_malformed(
    board: Board, loop: AnsweringLoop, method: str, path: str, body: bytes
) -> None:
    """What is nested too deep, or has a number that is none, is the sender's fault and changes nothing."""
    headers = {**bearer(), "Content-Type": "application/json"}

    answer = ask(application(board), method, path, content=body, headers=headers)

    assert answer.status_code == 400
    assert answer.json()["type"] == "/docs#malformed"
    assert loop.commands == []


@pytest.mark.parametrize("depth", [1, 10, 100, 300, 500, 700, 800, 900, 950, 990])
@pytest.mark.parametrize("field", ["reason", "unknown", "io_capacity_max"])
def test_json_of_any_depth_is_answered(board: Board, loop: AnsweringLoop, field: str, depth: int) -> None:
    """However deep a value is, its sender is told what is wrong with it."""
    body = b'{"%s":' % field.encode() + b"[" * depth + b"]" * depth + b"}"
    headers = {**bearer(), "Content-Type": "application/json"}

    answer = ask(application(board), "PUT", "/v1/override", content=body, headers=headers)

    assert answer.status_code in {400, 422}
    assert loop.commands == []


@pytest.mark.parametrize("number", [2**63, 2**64, 2**64 + 1, 10**23, -(2**63) - 1, 10**300])
@pytest.mark.parametrize("field", ["io_capacity_max", "ttl"])
def test_a_number_that_is_too_large_is_named(
    board: Board, loop: AnsweringLoop, field: str, number: int
) -> None:
    """A whole number of any size is refused with the bounds of its field."""
    body = {"io_capacity_max": 4000, "ttl": 600, field: number}

    answer = ask(application(board), "PUT", "/v1/override", json=body, headers=bearer())

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert loop.commands == []


@pytest.mark.parametrize("value", ["9" * 5_000, "1e999", "-1e999", "nan", "inf", "1e400", str(2**64)])
@pytest.mark.parametrize(
    "path", ["/v1/history?start=", "/v1/history?step=", "/v1/events?after=", "/v1/events?limit="]
)
def test_a_parameter_beyond_all_bounds_is_no_defect(
    board: Board, loop: AnsweringLoop, path: str, value: str
) -> None:
    """A number in a query that nobody can mean is the sender's fault."""
    assert loop.board is board

    assert ask(application(board), "GET", path + value).status_code < 500


PATHS = [
    "/",
    "/docs",
    "/livez",
    "/metrics",
    "/openapi.json",
    "/readyz",
    "/static/page.css",
    "/v1/advice",
    "/v1/config",
    "/v1/decisions",
    "/v1/events",
    "/v1/history",
    "/v1/policies",
    "/v1/status",
]


@pytest.mark.parametrize("path", PATHS)
def test_head_works_wherever_get_does(board: Board, loop: AnsweringLoop, path: str) -> None:
    """HEAD has the status and the header of GET, and no body."""
    assert loop.board is board
    app = application(board)
    got, head = ask(app, "GET", path), ask(app, "HEAD", path)

    assert head.status_code == got.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == got.headers["content-type"]
    assert "content-length" in head.headers


def test_head_of_the_stream_ends_at_once(board: Board, loop: AnsweringLoop) -> None:
    """HEAD of the stream has its header, and keeps no stream open."""
    assert loop.board is board
    head = ask(application(board), "HEAD", "/v1/stream")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")


def test_head_needs_what_get_needs(board: Board, loop: AnsweringLoop) -> None:
    """HEAD of what is not there, or is only changed, is refused as GET is."""
    assert loop.board is board
    app = application(board)

    assert ask(app, "HEAD", "/v1/nothing").status_code == 404
    assert ask(app, "HEAD", "/v1/override").status_code == 405
    assert ask(app, "POST", "/v1/status", headers=bearer()).headers["allow"] == "GET, HEAD"


def test_head_over_a_connection_leaves_the_next_request_whole(board: Board, loop: AnsweringLoop) -> None:
    """After a HEAD with the length of a body that was not sent the connection goes on."""
    assert loop.board is board
    port = free_port()
    serving = ApiServer(application(board), "127.0.0.1", port, None)
    serving.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=10.0) as client:
            codes = [client.request(method, "/v1/status").status_code for method in ("HEAD", "GET", "HEAD")]
    finally:
        assert serving.stop(timeout=10.0)

    assert codes == [200, 200, 200]
