"""``innobrim token``: made once, listed without secrets, revoked for a running daemon."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.cli.support import Run, ended


def status(port: int, secret: str, *, change: bool = False) -> int:
    """Return the answer's status to somebody with that token."""
    headers = {"Authorization": f"Bearer {secret}"}
    method, path = ("POST", "/v1/pause") if change else ("GET", "/v1/status")
    url = f"http://127.0.0.1:{port}{path}"
    return httpx.request(method, url, headers=headers, trust_env=False, timeout=10.0).status_code


def test_a_token_is_made_listed_and_revoked(run: Run, over_tcp: tuple[object, int]) -> None:
    """A daemon that runs takes a token that is made, by its role, and refuses it when it is revoked."""
    made = run("token", "make", "grafana", "--role", "read", "--expires", "90d")
    secret, port = made.stdout.strip(), over_tcp[1]
    listed = run("token", "list")

    ended(made, 0, "only time")
    ended(listed, 0, "grafana read")
    assert secret not in listed.output
    assert (status(port, secret), status(port, secret, change=True)) == (200, 403)
    ended(run("token", "revoke", "grafana"), 0)
    assert status(port, secret) == 401


def test_reading_without_a_token_is_closed_and_opened(run: Run, over_tcp: tuple[object, int]) -> None:
    """Who may read without a token stands in the list like everybody else, and is revoked the same way."""

    def reads(*paths: str) -> list[int]:
        url = f"http://127.0.0.1:{over_tcp[1]}"
        return [httpx.get(url + path, trust_env=False).status_code for path in paths]

    ended(run("token", "list"), 0, "anonymous")
    run("token", "revoke", "anonymous")
    assert reads("/v1/status", "/metrics", "/livez", "/docs") == [401, 401, 200, 200]
    assert "anonymous" not in run("token", "list").stdout
    run("token", "make", "anonymous", "--role", "read")
    assert reads("/v1/status") == [200]


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
