"""The password itself reaches nobody but the server, whatever whoever answers asks for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pymysql import _auth

from tests.servers.sockets.mysqld import (
    CERTIFICATES,
    PASSWORD,
    PUBLIC_KEY,
    SALT,
    Local,
    Mysqld,
    Reach,
    refused,
    server_context,
)
from tuner.servers.session import Session

CLEAR = ("mysql_clear_password", "dialog")
SHA2 = ("caching_sha2_password", "sha256_password")
NEVER = ("mysql_old_password", "authentication_ldap_sasl_client", "made\x1b[2J up")
SWITCH = b"\xfecaching_sha2_password\x00" + SALT + b"\x00"
ENCRYPTED = 256
"""Bytes of a password that is encrypted with a key of 2048 bits; the server's key may be anybody's."""

By = Callable[[str], tuple[Session, Mysqld]]
"""Returns a session to a server that is reached in a way, and the server."""


def gave_nothing_away(mysqld: Mysqld) -> bool:
    """Tell whether a server heard no password, none that it could decrypt, and no question for its key."""
    secret = PASSWORD.encode()
    masked = bytes(letter ^ SALT[at % len(SALT)] for at, letter in enumerate(secret))
    keys = (b"\x01", b"\x02")
    return not any(
        secret in one
        or masked in one
        or len(one) >= ENCRYPTED
        or one in keys
        or one.endswith(b"\x01\x01sha256_password\x00")
        for one in mysqld.heard
    )


@pytest.fixture
def by(mysqld: Mysqld, reach: Reach, local: Local, tmp_path: Path) -> By:
    """Return a way to reach a server: plain, over TLS that is unchecked or checked, or by socket."""

    def make(way: str) -> tuple[Session, Mysqld]:
        if way == "socket":
            return reach(socket=str(tmp_path / "s")), local(tmp_path / "s")
        if way != "plain":
            mysqld.tls = server_context()
        if way == "checked":
            return reach(tls="verify_identity", tls_ca=str(CERTIFICATES / "ca.crt")), mysqld
        return reach(tls="preferred"), mysqld

    return make


@pytest.mark.parametrize(
    ("way", "method"),
    [
        *((way, method) for way in ("plain", "unchecked") for method in CLEAR),
        *((way, method) for way in ("plain", "unchecked", "checked", "socket") for method in NEVER),
    ],
)
def test_nobody_gets_the_password_who_is_not_known(by: By, way: str, method: str) -> None:
    """Who asks for it in clear text hears nothing of it; who asks in a way that nobody knows never does."""
    session, mysqld = by(way)
    mysqld.wants = method.encode()
    said, _ = refused(session)

    assert gave_nothing_away(mysqld)
    assert method.replace("\x1b", "?") in said
    assert "sent" in said
    assert PASSWORD not in said


@pytest.mark.parametrize("way", ["plain", "unchecked"])
@pytest.mark.parametrize("method", SHA2)
@pytest.mark.parametrize("greets_with", ["mysql_native_password", *SHA2, *CLEAR])
def test_nobody_gets_it_by_the_methods_of_mysql_8(by: By, way: str, method: str, greets_with: str) -> None:
    """Nor does who asks for it by SHA-2, with a key of his own or over TLS that nobody has checked."""
    session, mysqld = by(way)
    mysqld.plugin, mysqld.wants = greets_with.encode(), method.encode()
    said, _ = refused(session)

    assert gave_nothing_away(mysqld)
    assert "unix socket" in said
    assert "tls_ca" in said


@pytest.mark.parametrize(
    ("way", "method"),
    [
        *((way, method) for way in ("checked", "socket") for method in (*CLEAR, "caching_sha2_password")),
        ("checked", "sha256_password"),
    ],
)
def test_the_server_itself_gets_it(by: By, way: str, method: str) -> None:
    """Over the unix socket and over TLS that was checked, every method that is known works."""
    session, mysqld = by(way)
    mysqld.wants = method.encode()

    assert session.query("SELECT 1") == (("1",),)
    assert mysqld.heard[-1] == PASSWORD.encode() + b"\x00"


def test_another_password_is_used_from_the_next_connection_on(by: By) -> None:
    """A session that goes on stays as it is, and the next login has the new password."""
    session, mysqld = by("socket")
    mysqld.wants = b"mysql_clear_password"
    session.query("SELECT 1")
    session.password = "renewed"  # noqa: S105 - of this test

    session.query("SELECT 1")
    assert mysqld.heard[-1] == PASSWORD.encode() + b"\x00"
    session.drop()
    session.query("SELECT 1")
    assert mysqld.heard[-1] == b"renewed\x00"


def test_sha256_over_the_unix_socket_goes_by_the_servers_key(by: By, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS it is taken encrypted alone, also where nobody but mysqld can be at the end."""
    monkeypatch.setattr(_auth, "sha2_rsa_encrypt", lambda *given: b"encrypted by " + given[2])
    session, mysqld = by("socket")
    mysqld.wants = b"sha256_password"

    assert session.query("SELECT 1") == (("1",),)
    assert mysqld.heard[-2:] == [b"\x01", b"encrypted by " + PUBLIC_KEY]


def test_a_question_for_it_is_answered_as_none_is(by: By) -> None:
    """A ``dialog`` that begins with a question gets the one answer as well, whatever its words are."""
    session, mysqld = by("socket")
    mysqld.answers_login = [b"\xfedialog\x00\x04Passwort: "]

    assert session.query("SELECT 1") == (("1",),)
    assert mysqld.heard[-1] == PASSWORD.encode() + b"\x00"


@pytest.mark.parametrize("method", ["mysql_native_password", *CLEAR, *SHA2])
def test_an_account_without_a_password_has_nothing_to_lose(mysqld: Mysqld, reach: Reach, method: str) -> None:
    """Where there is no password, no method is refused."""
    mysqld.wants = method.encode()

    assert reach(password="").query("SELECT 1") == (("1",),)


@pytest.mark.parametrize("method", SHA2)
def test_a_key_that_is_known_beforehand_is_the_only_one(
    mysqld: Mysqld, reach: Reach, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """With the server's public key at hand the password is encrypted with that one, and none is asked for."""
    used: list[bytes] = []
    monkeypatch.setattr(_auth, "sha2_rsa_encrypt", lambda *given: used.append(given[2]) or b"encrypted")
    mysqld.wants = method.encode()

    assert reach(public_key="OURS").query("SELECT 1") == (("1",),)
    assert used == [b"OURS"]
    assert gave_nothing_away(mysqld)


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
def test_no_order_of_packets_gets_the_password(by: By, greets_with: str, said: list[bytes]) -> None:
    """Whatever whoever answers says, and in whatever order, there is an end and no password in it."""
    session, mysqld = by("plain")
    mysqld.plugin, mysqld.answers_login = greets_with.encode(), said
    refused(session)

    assert gave_nothing_away(mysqld)
