"""The demo tries its port first of all, and reads a DSN."""

from __future__ import annotations

import socket

import pytest

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
