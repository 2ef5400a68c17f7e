"""The demo tries its port first of all, and reads a DSN."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.servers import choose as chooser
from lab.servers import made
from lab.servers.base import free_port
from tests.cli.support import ended, innobrim
from tuner.cli import demo as demo_command
from tuner.cli.answer import Unusable
from tuner.cli.demo import parse_dsn


def test_a_taken_port_is_said_before_a_server_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started for a demo that could not be looked at, and no address is named."""
    monkeypatch.setattr("tuner.cli.client.ANSWER_SECONDS", 0.1)  # of whoever has the port
    monkeypatch.setattr(demo_command, "choose", lambda **_: pytest.fail("a server was looked for"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        found = innobrim("demo", "--port", port)

    ended(found, 2, f"port {port} on 127.0.0.1 is taken", "name a free one with --port")
    assert "http://" not in found.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            "mysql-8.4",
            3,
            "mysql-8.4 is not here; here are mysql-8.0.31, mysql-9.7; what make servers can make",
        ),
        ("simulatd", 2, "'simulatd' names no server"),
        ("/no/such/mysqld", 2, "/no/such/mysqld: no such file"),
    ],
)
def test_a_server_that_is_not_to_be_had_is_said_at_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str, code: int, said: str
) -> None:
    """Names of servers, images and paths are taken; one that is none of them is shown with what would be."""
    program = tmp_path / "mysql-8.0.31" / "bin" / "mysqld"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(made, "CACHE", tmp_path)
    monkeypatch.setattr(chooser, "_images", lambda: SimpleNamespace(tags=lambda: ["innobrim/mysql:9.7"]))
    monkeypatch.setattr(demo_command, "sysbench", lambda: "sysbench")
    found = innobrim("demo", "--server", words, "--port", str(free_port()))

    ended(found, code, said)


def test_a_server_of_ones_own_is_not_named_beside_one_to_throw_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody who asked for a throw-away server has their own written to."""
    monkeypatch.setattr(demo_command, "_own", lambda *_, **__: pytest.fail("it was gone to"))
    found = innobrim("demo", "--server", "mysql-8.0.31", "--dsn", "mysql://dba@db1", "--yes")

    ended(found, 2, "--dsn", "--server")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("mysql://dba@db1:3307/", "dba@db1:3307"),
        ("mysql://dba@db1", "dba@db1:3306"),
        ("mysql://d%40b@[::1]:3307", "d@b@::1:3307"),
        ("mysql://dba@/run/mysqld/mysqld.sock", "dba@/run/mysqld/mysqld.sock"),
        ("/run/mysqld/mysqld.sock", "innobrim@/run/mysqld/mysqld.sock"),
    ],
)
def test_an_address_is_read(text: str, where: str) -> None:
    """Over TCP or a unix socket, with or without an account; the password is the environment's."""
    client = {"MYSQL_PWD": "theirs"}
    passwords = [
        parse_dsn(text, environ=one).password for one in (client, client | {"INNOBRIM_PASSWORD": "ours"})
    ]

    assert str(parse_dsn(text, environ={})) == where
    assert passwords == ["theirs", "ours"]


@pytest.mark.parametrize(
    "text",
    [
        "mysql://",
        "mysql://dba@db1:port",
        "mysql://dba@db1:70000",
        "mysql://dba@db1/shop",
        "mysql://dba@db1?ssl=1",
        "mysql://a@%2Frun%2Fs",
        "mysql:///tmp/a%00b",
        "mysql://a%00b@db1",
        "db1:3306",
    ],
)
def test_an_address_that_is_none_is_shown(text: str) -> None:
    """The refusal says what would be right; nothing that follows the address is passed over."""
    with pytest.raises(Unusable, match="write mysql://USER@HOST:PORT") as refusal:
        parse_dsn(text, environ={})
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize("text", ["mysql://dba:geheim@db1", "mysql://dba:ge/heim@db1", "mysql://:geheim@db1"])
def test_a_password_in_a_dsn_is_refused_unshown(text: str) -> None:
    """Not even the refusal prints it."""
    with pytest.raises(Unusable, match="can be seen by everybody") as refusal:
        parse_dsn(text, environ={})
    assert "heim" not in str(refusal.value)
