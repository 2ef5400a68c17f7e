"""The password itself reaches nobody but the server, whatever whoever answers asks for."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pymysql import _auth

from tests.servers.sockets.mysqld import (
    CERTIFICATES,
    LIMIT,
    PASSWORD,
    PUBLIC_KEY,
    SALT,
    Mysqld,
    refused,
    server_context,
)
from tuner.servers.endpoint import Endpoint
from tuner.servers.session import Session

CLEAR = ("mysql_clear_password", "dialog")
SHA2 = ("caching_sha2_password", "sha256_password")
NEVER = ("mysql_old_password", "authentication_ldap_sasl_client", "made\x1b[2J up")
SWITCH = b"\xfecaching_sha2_password\x00" + SALT + b"\x00"
ENCRYPTED = 256
"""Bytes of a password that is encrypted with a key of 2048 bits; the server's key may be anybody's."""

Reach = Callable[[str], tuple[Session, Mysqld]]
"""Returns a session to a server that is reached in a way, and the server."""


def given_away(heard: list[bytes]) -> bool:
    """Tell whether the password can be read in what a server has heard, or in what it could decrypt."""
    secret = PASSWORD.encode()
    masked = bytes(letter ^ SALT[at % len(SALT)] for at, letter in enumerate(secret))
    return any(secret in one or masked in one or len(one) >= ENCRYPTED for one in heard)


def asked_for_a_key(heard: list[bytes]) -> bool:
    """Tell whether anybody wanted a key from whoever answers."""
    return any(one in {b"\x01", b"\x02"} or one.endswith(b"\x01\x01sha256_password\x00") for one in heard)


@pytest.fixture
def reach(listener: socket.socket, mysqld: Mysqld, tmp_path: Path) -> Iterator[Reach]:
    """Return a way to reach one server: plain, over TLS that is unchecked or checked, or by socket."""
    ended: list[Mysqld] = []

    def session(**values: Any) -> Session:  # noqa: ANN401 - the endpoint's fields
        there: dict[str, Any] = {"port": listener.getsockname()[1], "timeout": LIMIT} | values
        return Session(Endpoint(user="innobrim", password=PASSWORD, **there))

    def make(way: str) -> tuple[Session, Mysqld]:
        if way == "socket":
            local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            local.bind(str(tmp_path / "s"))
            local.listen()
            ended.append(Mysqld(local))
            return session(socket=str(tmp_path / "s")), ended[0]
        if way != "plain":
            mysqld.tls = server_context()
        if way == "checked":
            return session(tls="verify_identity", tls_ca=str(CERTIFICATES / "ca.crt")), mysqld
        return session(tls="preferred"), mysqld

    yield make
    for one in ended:
        one.end()


@pytest.mark.parametrize("way", ["plain", "unchecked"])
@pytest.mark.parametrize("method", [*CLEAR, *NEVER])
def test_nobody_gets_the_password_who_is_not_known(reach: Reach, way: str, method: str) -> None:
    """Who asks for the password in clear text, or in a way that nobody knows, hears nothing of it."""
    session, mysqld = reach(way)
    mysqld.wants = method.encode()

    said, _ = refused(session)

    assert not given_away(mysqld.heard)
    assert method.replace("\x1b", "?") in said
    assert "sent" in said
    assert PASSWORD not in said


@pytest.mark.parametrize("way", ["plain", "unchecked"])
@pytest.mark.parametrize("method", SHA2)
@pytest.mark.parametrize("greets_with", ["mysql_native_password", *SHA2, *CLEAR])
def test_nobody_gets_it_by_the_methods_of_mysql_8(
    reach: Reach, way: str, method: str, greets_with: str
) -> None:
    """Nor does who asks for it by SHA-2, with a key of his own or over TLS that nobody has checked."""
    session, mysqld = reach(way)
    mysqld.plugin, mysqld.wants = greets_with.encode(), method.encode()

    said, _ = refused(session)

    assert not given_away(mysqld.heard)
    assert not asked_for_a_key(mysqld.heard)
    assert "unix socket" in said
    assert "tls_ca" in said


@pytest.mark.parametrize(
    ("way", "method"),
    [
        *((way, method) for way in ("checked", "socket") for method in (*CLEAR, "caching_sha2_password")),
        ("checked", "sha256_password"),
    ],
)
def test_the_server_itself_gets_it(reach: Reach, way: str, method: str) -> None:
    """Over the unix socket and over TLS that was checked, every method that is known works."""
    session, mysqld = reach(way)
    mysqld.wants = method.encode()

    assert session.query("SELECT 1") == (("1",),)
    assert mysqld.heard[-1] == PASSWORD.encode() + b"\x00"
    session.drop()


def test_sha256_over_the_unix_socket_goes_by_the_servers_key(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without TLS it is taken encrypted alone, also where nobody but mysqld can be at the end."""
    monkeypatch.setattr(_auth, "sha2_rsa_encrypt", lambda *given: b"encrypted by " + given[2])
    session, mysqld = reach("socket")
    mysqld.wants = b"sha256_password"

    assert session.query("SELECT 1") == (("1",),)
    assert mysqld.heard[-2:] == [b"\x01", b"encrypted by " + PUBLIC_KEY]
    session.drop()


def test_a_question_for_it_is_answered_as_none_is(reach: Reach) -> None:
    """A ``dialog`` that begins with a question gets the one answer as well, whatever its words are."""
    session, mysqld = reach("socket")
    mysqld.answers_login = [b"\xfedialog\x00\x04Passwort: "]

    assert session.query("SELECT 1") == (("1",),)
    assert mysqld.heard[-1] == PASSWORD.encode() + b"\x00"
    session.drop()


@pytest.mark.parametrize("way", ["checked", "socket"])
@pytest.mark.parametrize("method", NEVER)
def test_what_nobody_knows_is_not_followed_anywhere(reach: Reach, way: str, method: str) -> None:
    """A method that would give the password away for good, or is not known, is refused everywhere."""
    session, mysqld = reach(way)
    mysqld.wants = method.encode()

    refused(session)

    assert not given_away(mysqld.heard)


@pytest.mark.parametrize("method", ["mysql_native_password", *CLEAR, *SHA2])
def test_an_account_without_a_password_has_nothing_to_lose(
    listener: socket.socket, mysqld: Mysqld, method: str
) -> None:
    """Where there is no password, no method is refused."""
    mysqld.wants = method.encode()
    session = Session(Endpoint(user="innobrim", port=listener.getsockname()[1], tls="off", timeout=LIMIT))

    assert session.query("SELECT 1") == (("1",),)
    session.drop()


@pytest.mark.parametrize("method", SHA2)
def test_a_key_that_is_known_beforehand_is_the_only_one(
    listener: socket.socket, mysqld: Mysqld, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """With the server's public key at hand the password is encrypted with that one, and none is asked for."""
    used: list[bytes] = []

    def encrypt(_password: bytes, _salt: bytes, key: bytes) -> bytes:
        used.append(key)
        return b"encrypted"

    monkeypatch.setattr(_auth, "sha2_rsa_encrypt", encrypt)
    mysqld.wants = method.encode()
    port = listener.getsockname()[1]
    session = Session(
        Endpoint(user="innobrim", password=PASSWORD, port=port, tls="off", public_key="OURS", timeout=LIMIT)
    )

    assert session.query("SELECT 1") == (("1",),)
    assert used == [b"OURS"]
    assert PUBLIC_KEY not in used
    assert not given_away(mysqld.heard)
    assert not asked_for_a_key(mysqld.heard)
    session.drop()


@pytest.mark.parametrize(
    "said",
    [
        [SWITCH, SWITCH, b"\x01\x04", b"\x01" + PUBLIC_KEY],
        [b"\x01\x04", b"\x01" + PUBLIC_KEY],
        [b"\x01" + PUBLIC_KEY, b"\x01" + PUBLIC_KEY],
        [SWITCH, b"\x01" + PUBLIC_KEY, b"\x01\x04"],
        [b"\xfemysql_native_password\x00" + SALT + b"\x00", b"\x01\x04"],
        [b"\xfemysql_clear_password\x00", SWITCH, b"\x01\x04"],
        [b"\xfe", b"\x01\x04"],
        [SWITCH, *([b"\x01\x03"] * 20)],
    ],
)
@pytest.mark.parametrize("greets_with", ["mysql_native_password", *SHA2, *CLEAR])
def test_no_order_of_packets_gets_the_password(reach: Reach, greets_with: str, said: list[bytes]) -> None:
    """Whatever whoever answers says, and in whatever order, there is an end and no password in it."""
    session, mysqld = reach("plain")
    mysqld.plugin, mysqld.answers_login = greets_with.encode(), said

    refused(session)

    assert not given_away(mysqld.heard)
    assert not asked_for_a_key(mysqld.heard)
