"""Logging in over real sockets: encryption, what it is checked against, and a password that nobody sees."""

from __future__ import annotations

import importlib.util
import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers.sockets.mysqld import (
    CERTIFICATES,
    LIMIT,
    PASSWORD,
    Local,
    Mysqld,
    Reach,
    endpoint,
    refused,
    server_context,
)
from tuner.servers.endpoint import Endpoint, TlsDetails, required
from tuner.servers.port import Unreachable
from tuner.servers.session import Session

ATTEMPTS = 3
CA = str(CERTIFICATES / "ca.crt")
ANOTHER = str(CERTIFICATES / "other.crt")
NAMED = TlsDetails(certificate=str(CERTIFICATES / "named.crt"), key=str(CERTIFICATES / "named.key"))
"""A certificate of ours, and its key."""

TLS_12 = {"maximum_version": ssl.TLSVersion.TLSv1_2}


def old_tls() -> ssl.SSLContext:
    """Return the TLS of a server that has nothing newer than 1.1."""
    context = server_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1 is deprecated"):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    return context


class YaSSL(ssl.SSLContext):
    """The TLS of MySQL 5.7.22 at a client without TLS 1.1: an error in plain, as it was recorded."""

    def wrap_socket(self, sock: socket.socket, *_: Any, **__: Any) -> ssl.SSLSocket:  # noqa: ANN401 - its arguments
        """Hear the client, and refuse it."""
        sock.recv(4096)
        sock.sendall(b"\x16\x00\x00\x02\xff\x13\x04#08S01Bad handshake")
        raise EOFError


def yassl() -> ssl.SSLContext:
    """Return that one."""
    return YaSSL(ssl.PROTOCOL_TLS_SERVER)


def broken_tls() -> ssl.SSLContext:
    """Return the TLS of a server with which no handshake comes to its end."""
    context = server_context(**TLS_12)
    context.set_ciphers("ECDHE-RSA-AES256-GCM-SHA384")
    return context


def asking_tls(authority: str, **changes: Any) -> ssl.SSLContext:  # noqa: ANN401 - the context's attributes
    """Return the TLS of a server that asks for a certificate of ours, signed by that authority."""
    context = server_context(verify_mode=ssl.CERT_REQUIRED, **changes)
    context.load_verify_locations(authority)
    return context


@pytest.mark.parametrize(
    ("tls", "client"),
    [
        pytest.param(None, {"tls": "preferred"}, id="preferred, and there is none"),
        pytest.param(old_tls, {}, id="off, where it is too old"),
        pytest.param(
            lambda: server_context("nameless"),
            {"tls": "verify_ca", "tls_ca": CA},
            id="a certificate as MySQL makes it, which names no host",
        ),
        pytest.param(server_context, {"tls": "verify_identity", "tls_ca": CA}, id="the host's certificate"),
        pytest.param(
            lambda: asking_tls(CA), {"tls": "preferred", "tls_details": NAMED}, id="a certificate of ours"
        ),
    ],
)
def test_a_server_is_reached(
    mysqld: Mysqld, reach: Reach, tls: Callable[[], ssl.SSLContext] | None, client: dict[str, Any]
) -> None:
    """Each kind of encryption that both sides can have, and the lack of one where that may be."""
    mysqld.version, mysqld.tls = b"5.7.23-log", tls and tls()

    assert reach(**client).query("SELECT 1") == (("1",),)
    assert len(mysqld.logins) == 1


CHECKS = [
    {"tls": "preferred"},
    {"tls": "required"},
    {"tls": "verify_ca", "tls_ca": CA},
    {"tls": "verify_identity", "tls_ca": CA},
]
TOO_OLD = ("5.7.23-log", "TLS 1.0 or 1.1", 'tls = "off"', "unix socket", "upgrade the server")


@pytest.mark.parametrize(
    ("tls", "client", "said"),
    [
        pytest.param(None, {"tls": "required"}, (), id="none, where it is required"),
        *(
            pytest.param(tls, one, TOO_OLD, id=f"{tls.__name__}")
            for tls in (old_tls, yassl)
            for one in CHECKS
        ),
        pytest.param(
            lambda: server_context(**TLS_12),
            {"tls": "preferred", "tls_details": TlsDetails(lowest="TLSv1.3")},
            ("tls-version", "TLS 1.3"),
            id="a version that the option file rules out",
        ),
        pytest.param(
            broken_tls,
            {"tls": "preferred"},
            ("encryption with this server (5.7.23-log) failed", "unix socket"),
            id="a handshake that the server ends",
        ),
        *(
            pytest.param(
                lambda: server_context("nameless"),
                {"tls": one, "tls_ca": CA},
                ('tls = "verify_ca"',),
                id=f"no host name, {one}",
            )
            for one in ("verify_identity", "required")
        ),
        *(
            pytest.param(
                server_context,
                {"tls": one, "tls_ca": ANOTHER},
                ("correct server.tls_ca",),
                id=f"another authority, {one}",
            )
            for one in ("verify_ca", "verify_identity", "required")
        ),
        pytest.param(
            lambda: asking_tls(CA, **TLS_12), {"tls": "preferred"}, ("certificate",), id="none of ours"
        ),
        pytest.param(
            lambda: asking_tls(ANOTHER, **TLS_12),  # by which its word comes before ours
            {"tls": "preferred", "tls_details": NAMED},
            (f"does not take our certificate {NAMED.certificate}: unknown ca; ssl-cert",),
            id="ours of another authority",
        ),
    ],
)
def test_a_server_that_cannot_be_trusted_hears_nothing(
    mysqld: Mysqld,
    reach: Reach,
    tls: Callable[[], ssl.SSLContext] | None,
    client: dict[str, Any],
    said: tuple[str, ...],
) -> None:
    """Where encryption does not come about as asked for, there is no login, and the ways out are said."""
    mysqld.version, mysqld.tls = b"5.7.23-log", tls and tls()
    words, _ = refused(reach(**client))

    assert [one for one in said if one not in words] == []
    assert mysqld.logins == []


@pytest.mark.parametrize("tls", [old_tls, broken_tls])
def test_a_greeting_of_any_words_is_one_short_line(
    mysqld: Mysqld, reach: Reach, tls: Callable[[], ssl.SSLContext]
) -> None:
    """What a server calls its version fills no log and steers no terminal, however encryption fails."""
    mysqld.version, mysqld.tls = b"5.7.23\x1b[2J\nFAKE LOG LINE " + b"A" * 1_000_000, tls()
    said, _ = refused(reach(tls="preferred"))

    assert "this server (5.7.23?[2J?FAKE" in said
    assert said.isprintable()
    assert len(said) < 1000


def test_a_login_that_needs_cryptography_names_the_ways_out(mysqld: Mysqld, session: Session) -> None:
    """Where a password would have to be encrypted without TLS, socket, TLS and the extra are named."""
    if importlib.util.find_spec("cryptography") is not None:
        pytest.skip("cryptography is installed: there is nothing to say")
    mysqld.plugin = b"caching_sha2_password"
    said, _ = refused(session)

    assert [one for one in ("unix socket", "TLS", "pip install '.[rsa]'") if one not in said] == []


def test_the_password_is_never_shown(listener: socket.socket) -> None:
    """Neither the endpoint's text nor a container's text nor an error holds the password."""
    there = endpoint(listener)
    listener.close()
    said, _ = refused(Session(there))

    for text in (repr(there), str(there), f"{there}", repr([there]), repr({"server": there}), said):
        assert PASSWORD not in text
        assert "innobrim@" in text


def test_a_password_may_have_any_letters(tmp_path: Path, local: Local) -> None:
    """A password with letters outside latin-1 reaches the server as mysql's own client sends it: UTF-8."""
    server = local(tmp_path / "s")
    server.wants = b"mysql_clear_password"
    session = Session(Endpoint(user="u", password="pa§ż€\udce4", socket=str(tmp_path / "s"), timeout=LIMIT))
    session.query("SELECT 1")
    session.close()

    assert server.heard[-1] == "pa§ż€".encode() + b"\xe4\x00"


@pytest.mark.parametrize("content", ["no certificate", None], ids=["damaged", "missing"])
def test_an_unreadable_certificate_authority_is_named(tmp_path: Path, content: str | None) -> None:
    """A missing or damaged certificate authority is a message that names the key and the file."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Unreachable, match=rf"server\.tls_ca = {path}"):
        Session(Endpoint(user="innobrim", tls="required", tls_ca=str(path))).query("SELECT 1")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[ssl.SSLContext]:
    """Return the TLS contexts made with certificate authorities in them, the driver's own included."""
    contexts: list[ssl.SSLContext] = []

    def create(**_: object) -> ssl.SSLContext:
        contexts.append(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        return contexts[-1]

    monkeypatch.setattr(ssl, "create_default_context", create)
    return contexts


@pytest.mark.parametrize("tls", ["preferred", "required"])
def test_a_server_that_is_down_costs_no_certificates(
    listener: socket.socket, reach: Reach, made: list[ssl.SSLContext], tls: str
) -> None:
    """No attempt to connect loads the system's authorities, of which each would keep 0.8 MiB for a while."""
    session = reach(tls=tls)
    listener.close()
    for _ in range(ATTEMPTS):
        refused(session)

    assert made == []


def test_no_reconnect_costs_certificates(mysqld: Mysqld, reach: Reach, made: list[ssl.SSLContext]) -> None:
    """A session that is lost and made again with tls = preferred loads no authorities either."""
    session = reach(tls="preferred")
    for _ in range(ATTEMPTS):
        session.query("SELECT 1")
        session.drop()

    assert len(mysqld.logins) == ATTEMPTS
    assert made == []


def test_a_certificate_authority_is_read_once(made: list[ssl.SSLContext], tmp_path: Path) -> None:
    """The configured authority is read at the first attempt, and again only when its file has changed."""
    path = tmp_path / "ca.pem"
    path.write_text("one")
    first = [required(str(path)) for _ in range(ATTEMPTS)]
    (tmp_path / "new").write_text("another")
    os.replace(tmp_path / "new", path)  # noqa: PTH105 - as a certificate is renewed
    second = [required(str(path)) for _ in range(ATTEMPTS)]

    assert [*map(id, first), *map(id, second)] == [id(one) for one in made for _ in range(ATTEMPTS)]


def test_an_unchecked_context_still_encrypts() -> None:
    """Without an authority any certificate is taken, and nothing older than TLS 1.2."""
    context = required(None)

    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
