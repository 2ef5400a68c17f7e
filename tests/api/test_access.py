"""By which name, from which origin, and with which role a request is let in."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from api.access import Access, host_name
from tests.api.factory import READER, TOKEN, AnsweringLoop, application, bearer, browser, tokens
from tuner.board import Board


def ask(access: Access, board: Board, method: str, path: str, **headers: str) -> httpx.Response:
    """Return the answer to one request with these headers, over TCP."""

    async def once() -> httpx.Response:
        async with browser(application(board, access=access)) as client:
            given = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.request(method, path, headers=given)

    return asyncio.run(once())


@pytest.mark.parametrize("path", ["/v1/status", "/v1/config", "/v1/events", "/v1/advice", "/metrics"])
def test_a_public_address_shows_nothing_without_a_token(board: Board, loop: AnsweringLoop, path: str) -> None:
    """Where reading is not open, whatever shows something of the server needs a token with any role."""
    assert loop.board is board
    access = Access(tokens(), open_reading=False)

    assert ask(access, board, "GET", path).status_code == 401
    assert ask(access, board, "GET", path, **bearer("wrong")).status_code == 401
    assert ask(access, board, "GET", path, **bearer(READER)).status_code == 200
    assert ask(access, board, "GET", path, **bearer(TOKEN)).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/docs", "/openapi.json"])
def test_probes_and_documentation_never_need_a_token(board: Board, loop: AnsweringLoop, path: str) -> None:
    """What shows nothing of the server answers everybody."""
    assert loop.board is board
    assert ask(Access(tokens(anonymous=False), open_reading=False), board, "GET", path).status_code == 200


def test_a_wrong_token_is_refused_where_none_is_needed(board: Board, loop: AnsweringLoop) -> None:
    """A client with a bad token finds out, rather than reading as anybody may."""
    assert loop.board is board
    assert ask(Access(tokens()), board, "GET", "/v1/status").status_code == 200
    assert ask(Access(tokens()), board, "GET", "/v1/status", **bearer("wrong")).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1:x", "[::1"])
def test_a_foreign_name_is_refused(board: Board, host: str) -> None:
    """A name that leads here by somebody else's choice reaches nothing, with a token neither."""
    answer = ask(Access(tokens()), board, "GET", "/livez", Host=host, **bearer())

    assert answer.status_code == 421


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:8633", "[::1]:8633", "DB1.example.com.", "10.0.0.5"]
)
def test_own_names_are_known(board: Board, host: str) -> None:
    """Loopback's names and the configured ones are answered to, in any case and with any port."""
    access = Access(tokens(), names=frozenset({"db1.example.com", "10.0.0.5"}))

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
def test_no_answer_allows_inline_script(board: Board, loop: AnsweringLoop, path: str) -> None:
    """Every answer has a policy that allows no script of its own, no frame and no form."""
    assert loop.board is board
    policy = ask(Access(tokens()), board, "GET", path).headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for rule in ("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"):
        assert rule in policy


def test_host_names_are_read_whole() -> None:
    """A port and brackets are taken off; what is no host is no name."""
    assert host_name("[::1]:80") == "::1"
    assert host_name("db1.") == "db1"
    assert host_name("a:b") == ""
    assert host_name("[::1]x") == ""
    assert host_name("[::1") == ""
