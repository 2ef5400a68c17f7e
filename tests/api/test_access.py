"""By which name, origin and role a request is let in; who is turned away is counted by the reason."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.access import Access
from api.problems import Refusal
from tests.api import factory
from tests.api.factory import (
    EXPIRED,
    READER,
    TOKEN,
    AnsweringLoop,
    application,
    bearer,
    browser,
    tokens,
)
from tuner.daemon.board import Board


def ask(access: Access, board: Board, method: str, path: str, **headers: str) -> httpx.Response:
    """Return the answer to one request with these headers, over TCP."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return factory.ask(application(board, access=access), method, path, headers=given)


@pytest.mark.parametrize("path", ["/v1/status", "/v1/config", "/v1/events", "/v1/advice", "/metrics"])
def test_a_public_address_shows_nothing_without_a_token(loop: AnsweringLoop, path: str) -> None:
    """Where reading is not open, whatever shows something of the server needs a token with any role."""
    access = Access(tokens(), open_reading=False)

    assert ask(access, loop.board, "GET", path).status_code == 401
    assert ask(access, loop.board, "GET", path, **bearer("wrong")).status_code == 401
    assert ask(access, loop.board, "GET", path, **bearer(READER)).status_code == 200
    assert ask(access, loop.board, "GET", path, **bearer(TOKEN)).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/docs", "/openapi.json"])
def test_probes_and_documentation_never_need_a_token(loop: AnsweringLoop, path: str) -> None:
    """What shows nothing of the server answers everybody."""
    assert (
        ask(Access(tokens(anonymous=False), open_reading=False), loop.board, "GET", path).status_code == 200
    )


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8633",
        "localhost@evil.example",
        "",
        "127.0.0.1:x",
        "127.0.0.1:80:80",
        "[::1",
        "[::2]",
    ],
)
@pytest.mark.parametrize("path", ["/livez", "/v1/status"])
def test_a_foreign_name_is_refused(board: Board, loop: AnsweringLoop, path: str, host: str) -> None:
    """A name that leads here by somebody else's choice reaches nothing, with a token neither."""
    answer = ask(Access(tokens()), board, "GET", path, Host=host, **bearer())

    assert (answer.status_code, answer.json()["type"]) == (421, "/docs#foreign-host")
    assert loop.commands == []


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8633",
        "127.0.0.1:1",
        "[::1]:8633",
        "DB1.example.com.",
        "10.0.0.5",
        "127.0.0.5:8633",
    ],
)
def test_own_names_are_known(board: Board, host: str) -> None:
    """Loopback's names and the configured ones are answered to, in any case and with any port."""
    access = Access(tokens(), names=frozenset({"db1.example.com", "10.0.0.5", "127.0.0.5"}))

    assert ask(access, board, "GET", "/livez", Host=host).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Origin": "ftp://localhost:8633"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
    ],
)
def test_another_origin_changes_nothing(board: Board, loop: AnsweringLoop, headers: dict[str, str]) -> None:
    """A page from elsewhere makes no change, with a good token neither."""
    answer = ask(Access(tokens()), board, "POST", "/v1/pause", **bearer(), **headers)

    assert answer.status_code == 403
    assert answer.json()["type"] == "/docs#cross-origin"
    assert loop.commands == []


def test_the_own_page_may_change_and_a_link_may_be_followed(board: Board, loop: AnsweringLoop) -> None:
    """Our own origin is let in; so is a person who comes by a link, but not what another page loads."""
    own = {"Origin": "http://localhost:8633", "Sec_Fetch_Site": "same-origin"}
    assert ask(Access(tokens()), board, "POST", "/v1/pause", **bearer(), **own).status_code == 200
    proxied = {"Origin": "https://localhost:8633"}
    assert ask(Access(tokens()), board, "POST", "/v1/resume", **bearer(), **proxied).status_code == 200
    assert len(loop.commands) == 2
    link = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert ask(Access(tokens()), board, "GET", "/docs", **link).status_code == 200
    loaded = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    assert ask(Access(tokens()), board, "GET", "/v1/status", **loaded).status_code == 403


@pytest.mark.parametrize("path", ["/docs", "/v1/status", "/nothing"])
def test_no_answer_allows_inline_script(loop: AnsweringLoop, path: str) -> None:
    """Every answer has a policy that allows no script of its own, no frame and no form."""
    policy = ask(Access(tokens()), loop.board, "GET", path).headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for rule in ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"):
        assert rule in policy


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


def refusals(board: Board, *requests: httpx.Request) -> dict[str, float]:
    """Return what a scrape says after these requests over TCP, each of which was refused."""
    app = application(board)

    async def all_of() -> None:
        async with browser(app) as client:
            for one in requests:
                assert (await client.send(one)).is_client_error

    asyncio.run(all_of())
    return counted(factory.ask(app, "GET", "/metrics", over_socket=True).text)


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
    loop: AnsweringLoop, reason: str, refused: httpx.Request
) -> None:
    """One refused request is one of its reason, and nothing of another."""
    assert refusals(loop.board, refused) == {reason: 1.0}


def test_what_is_let_in_is_not_counted(loop: AnsweringLoop) -> None:
    """A request that is answered, or wrong in itself, was not turned away."""
    wrong = (
        request("GET", "/v1/history?step=0"),
        request("GET", "/nothing"),
        request("POST", "/v1/status", **bearer()),
    )
    assert refusals(loop.board, *wrong) == {}
