"""Who was turned away, and why, is counted in the metrics."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api import gate, protocol, stream
from api.access import Access
from api.limits import Places, Rate
from api.problems import Refusal
from api.server import ApiServer
from lab.servers.base import free_port
from tests.api.factory import EXPIRED, READER, AnsweringLoop, application, bearer, browser, tokens
from tests.real.support import until
from tuner.board import Board


def counted(text: str) -> dict[str, float]:
    """Return the reasons of a scrape that came, with how often."""
    found = {
        line.labels["reason"]: line.value
        for family in text_string_to_metric_families(text)
        for line in family.samples
        if line.name == "innobrim_api_refusals_total"
    }
    assert set(found) == set(Refusal)
    return {name: value for name, value in found.items() if value}


def refusals(board: Board, *requests: httpx.Request, **changes: object) -> dict[str, float]:
    """Return what a scrape says after these requests over TCP, each of which was refused."""

    async def all_of() -> str:
        app = application(board, **changes)
        async with browser(app) as client:
            for one in requests:
                assert (await client.send(one)).is_client_error
        async with browser(app, "unix") as client:
            return (await client.get("/metrics")).text

    return counted(asyncio.run(all_of()))


def request(method: str = "POST", path: str = "/v1/pause", **headers: str) -> httpx.Request:
    """Return a request with these headers, and Host among them."""
    given = {"Host": "localhost:8633"} | {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Request(method, f"http://localhost:8633{path}", headers=given)


@pytest.mark.parametrize(
    ("reason", "refused"),
    [
        ("no_token", request()),
        ("unknown_token", request(**bearer("not-one-of-the-daemons"))),
        ("unknown_token", request("GET", "/v1/status", **bearer("not-one-of-the-daemons"))),
        ("expired_token", request(**bearer(EXPIRED))),
        ("role", request(**bearer(READER))),
        ("host", request("GET", "/livez", Host="evil.example")),
        ("origin", request(Origin="https://evil.example", **bearer())),
        ("origin", request("GET", "/v1/status", Sec_Fetch_Site="cross-site")),
        ("header", request("GET", "/livez", X=20_000 * "y")),
        ("body", request(Content_Length="20000", Content_Type="application/json", **bearer())),
    ],
)
def test_each_reason_is_counted_under_its_name(
    board: Board, loop: AnsweringLoop, reason: str, refused: httpx.Request
) -> None:
    """One refused request is one of its reason, and nothing of another."""
    assert loop.board is board
    assert refusals(board, refused) == {reason: 1.0}


def test_what_is_let_in_is_not_counted(board: Board, loop: AnsweringLoop) -> None:
    """A request that is answered, or wrong in itself, was not turned away."""
    assert loop.board is board
    wrong = (
        request("GET", "/v1/history?step=0"),
        request("GET", "/nothing"),
        request("POST", "/v1/status", **bearer()),
    )
    assert refusals(board, *wrong) == {}


def test_a_flood_is_counted(board: Board, loop: AnsweringLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests beyond the rate are counted as such."""
    assert loop.board is board
    monkeypatch.setattr(gate, "DELAY", 0.0)
    monkeypatch.setattr(gate, "Rate", lambda: Rate(0.001, 2.0))
    three = [request("GET", "/v1/config") for _ in range(3)]

    async def all_of() -> tuple[list[int], str]:
        app = application(board, access=Access(tokens()))
        async with browser(app) as client:
            codes = [(await client.send(one)).status_code for one in three]
        async with browser(app, "unix") as client:
            return codes, (await client.get("/metrics")).text

    codes, text = asyncio.run(all_of())
    assert codes == [200, 200, 429]
    assert counted(text) == {"rate": 1.0}


def test_what_never_became_a_request_is_counted(
    board: Board, loop: AnsweringLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No HTTP, half a request, and a connection too many; one that says nothing is a browser's, not this."""
    assert loop.board is board
    monkeypatch.setattr(protocol, "REQUEST_SECONDS", 0.3)
    monkeypatch.setattr(protocol, "KEEP_ALIVE_SECONDS", 0.3)
    monkeypatch.setattr(protocol, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr("api.listener.Places", lambda: Places(2))
    app, port = application(board), free_port()
    serving = ApiServer(app, "127.0.0.1", port, None, refused=app.state.refused)
    serving.start()

    def scraped() -> dict[str, float]:
        answer = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, timeout=20.0)
        return counted(answer.text) if answer.is_success else {}

    try:
        for sent in (b"this is not HTTP\r\n\r\n", b"GET /livez HT", b""):
            with socket.create_connection(("127.0.0.1", port), timeout=20.0) as peer:
                peer.sendall(sent)
                with contextlib.suppress(ConnectionResetError):
                    while peer.recv(65_536):
                        continue
        until(lambda: scraped() == {"malformed": 1.0, "slow": 1.0}, 10.0, lambda: str(scraped()))
        with (
            socket.create_connection(("127.0.0.1", port), timeout=20.0),
            socket.create_connection(("127.0.0.1", port), timeout=20.0),
            socket.create_connection(("127.0.0.1", port), timeout=20.0) as third,
        ):
            assert b" 503 " in third.recv(65_536)
        until(lambda: scraped().get("connections", 0.0) >= 1.0, 10.0, "a place again")
    finally:
        assert serving.stop(timeout=10.0)


def test_a_stream_too_many_is_counted(
    board: Board, loop: AnsweringLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are as many streams as there may be, the next one is counted as refused."""
    assert loop.board is board
    monkeypatch.setattr(stream, "LARGEST_NUMBER_OF_STREAMS", 0)

    async def all_of() -> tuple[int, str]:
        async with browser(application(board)) as client:
            code = (await client.get("/v1/stream")).status_code
            return code, (await client.get("/metrics")).text

    code, text = asyncio.run(all_of())
    assert code == 503
    assert counted(text) == {"streams": 1.0}
