"""Who was turned away, and why, is counted in the metrics."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api import stream
from api.problems import Refusal
from tests.api.factory import EXPIRED, READER, AnsweringLoop, application, bearer, browser
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
        async with browser(app, over_socket=True) as client:
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
