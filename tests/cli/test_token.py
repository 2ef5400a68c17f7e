"""``innobrim token``: made once, listed without secrets, revoked for a running daemon."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.api.factory import answering
from tests.cli.support import Run, ended, on_tcp
from tuner.daemon.board import Board


def status(port: int, secret: str, *, change: bool = False) -> int:
    """Return the answer's status to somebody with that token."""
    headers = {"Authorization": f"Bearer {secret}"}
    method, path = ("POST", "/v1/pause") if change else ("GET", "/v1/status")
    url = f"http://127.0.0.1:{port}{path}"
    return httpx.request(method, url, headers=headers, trust_env=False, timeout=10.0).status_code


def test_a_token_is_made_listed_and_revoked(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that runs takes a token that is made, by its role, and refuses it when it is revoked."""
    monkeypatch.setattr("api.tokens.LOOK_SECONDS", 0.0)
    board = Board()
    with answering(board), on_tcp(folder, board) as port:
        made = run("token", "make", "grafana", "--role", "read", "--expires", "90d")
        secret = made.stdout.strip()
        listed = run("token", "list")
        reads, changes = status(port, secret), status(port, secret, change=True)
        revoked = run("token", "revoke", "grafana")
        after = status(port, secret)

    ended(made, 0, "only time")
    assert secret not in listed.output
    assert "grafana    read" in listed.stdout
    assert (reads, changes, revoked.exit_code, after) == (200, 403, 0, 401)


def test_reading_without_a_token_is_closed_and_opened(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may read without a token stands in the list like everybody else, and is revoked the same way."""
    monkeypatch.setattr("api.tokens.LOOK_SECONDS", 0.0)
    board = Board()
    with answering(board), on_tcp(folder, board) as port:
        url = f"http://127.0.0.1:{port}"
        before = run("token", "list").stdout
        run("token", "revoke", "anonymous")
        closed = [
            httpx.get(url + path, trust_env=False).status_code
            for path in ("/v1/status", "/metrics", "/livez", "/docs")
        ]
        during = run("token", "list").stdout
        run("token", "make", "anonymous", "--role", "read")
        opened = httpx.get(url + "/v1/status", trust_env=False).status_code

    assert "anonymous" in before
    assert "anonymous" not in during
    assert closed == [401, 401, 200, 200]
    assert opened == 200


def test_json_for_machines(folder: Path, run: Run) -> None:
    """Machines get the token, its name, role and expiry as one object, and a list without secrets."""
    made = json.loads(run("token", "make", "ci", "--role", "operate", "--json").stdout)
    listed = json.loads(run("token", "list", "--json").stdout)["tokens"]

    assert set(made) == {"name", "role", "expires", "token"}
    assert [one["name"] for one in listed] == ["anonymous", "first", "ci"]
    assert all("sha256" not in one for one in listed)
    assert (folder / "tokens.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("make", "x"), 2, "--role"),
        (("make", "x", "--role", "root"), 2, "'read', 'operate'"),
        (("make", "two words", "--role", "read"), 1, "no name for a token"),
        (("make", "anonymous", "--role", "operate"), 2, "--role read"),
        (("make", "x", "--role", "read", "--expires", "soon"), 2, "90d"),
        (("revoke", "nobody"), 1, "no token is called nobody"),
    ],
)
def test_a_wrong_word_is_told_what_is_right(
    run: Run, folder: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    """A bad name, role or time is refused with what would be right."""
    assert run("token", "make", "y", "--role", "read").exit_code == 0
    result = run("token", *words)

    assert result.exit_code == code
    assert said in result.output or "no duration" in result.output
    assert (folder / "token").exists()
