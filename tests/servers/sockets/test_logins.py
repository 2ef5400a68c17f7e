"""Logging in over real sockets: encryption, what it is checked against, and a password that nobody sees."""

from __future__ import annotations

import importlib.util
import os
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.servers.sockets.mysqld import (
    CERTIFICATES,
    LIMIT,
    PASSWORD,
    Mysqld,
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


def test_a_login_that_needs_cryptography_names_the_ways_out(mysqld: Mysqld, session: Session) -> None:
    """Where a password would have to be encrypted without TLS, socket, TLS and the extra are named."""
    if importlib.util.find_spec("cryptography") is not None:
        pytest.skip("cryptography is installed: there is nothing to say")
    mysqld.plugin = b"caching_sha2_password"

    said, _ = refused(session)

    assert "unix socket" in said
    assert "TLS" in said
    assert "pip install 'innobrim[rsa]'" in said


def test_required_encryption_never_falls_back(mysqld: Mysqld, listener: socket.socket) -> None:
    """With tls = required a server without TLS is refused before anything is sent to it."""
    session = Session(endpoint(listener, tls="required"))

    refused(session)

    assert mysqld.logins == []


def test_preferred_encryption_falls_back(mysqld: Mysqld, listener: socket.socket) -> None:
    """With tls = preferred a server without TLS is still reached."""
    session = Session(endpoint(listener, tls="preferred"))

    assert session.query("SELECT 1") == (("1",),)
    assert len(mysqld.logins) == 1
    session.drop()


def test_the_password_is_never_shown(listener: socket.socket) -> None:
    """Neither the endpoint's text nor a container's text nor an error holds the password."""
    there = endpoint(listener)
    listener.close()
    said, _ = refused(Session(there))

    for text in (repr(there), str(there), f"{there}", repr([there]), repr({"server": there}), said):
        assert PASSWORD not in text
        assert "innobrim@" in text


def test_a_password_may_have_any_letters(tmp_path: Path) -> None:
    """A password with letters outside latin-1 reaches the server as mysql's own client sends it: UTF-8."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as local:
        local.bind(str(tmp_path / "s"))
        local.listen()
        server = Mysqld(local)
        server.wants = b"mysql_clear_password"
        session = Session(
            Endpoint(user="u", password="pa§ż€\udce4", socket=str(tmp_path / "s"), timeout=LIMIT)
        )
        session.query("SELECT 1")
        session.close()
        server.end()

    assert server.heard[-1] == "pa§ż€".encode() + b"\xe4\x00"


def test_an_unreadable_certificate_authority_is_named(tmp_path: Path) -> None:
    """A missing or damaged certificate authority is a message that names the key and the file."""
    broken = tmp_path / "ca.pem"
    broken.write_text("no certificate")
    for path in (broken, tmp_path / "none.pem"):
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
    listener: socket.socket, made: list[ssl.SSLContext], tls: str
) -> None:
    """No attempt to connect loads the system's authorities, of which each would keep 0.8 MiB for a while."""
    session = Session(endpoint(listener, tls=tls))
    listener.close()
    for _ in range(ATTEMPTS):
        refused(session)

    assert made == []


def test_no_reconnect_costs_certificates(
    listener: socket.socket, mysqld: Mysqld, made: list[ssl.SSLContext]
) -> None:
    """A session that is lost and made again with tls = preferred loads no authorities either."""
    session = Session(endpoint(listener, tls="preferred"))
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

    assert made == [first[0], second[0]]
    assert set(map(id, first)) == {id(made[0])}
    assert set(map(id, second)) == {id(made[1])}


def test_an_unchecked_context_still_encrypts() -> None:
    """Without an authority any certificate is taken, and nothing older than TLS 1.2."""
    context = required(None)

    assert context.verify_mode is ssl.CERT_NONE
    assert not context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2


def session(listener: socket.socket, **values: Any) -> Session:  # noqa: ANN401 - the endpoint's fields
    """Return a session to a server of ours."""
    port = listener.getsockname()[1]
    return Session(Endpoint(user="innobrim", password=PASSWORD, port=port, timeout=LIMIT, **values))


def old_context() -> ssl.SSLContext:
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


@pytest.mark.parametrize("yassl", [False, True])
@pytest.mark.parametrize(
    "values",
    [
        {"tls": "preferred"},
        {"tls": "required"},
        {"tls": "verify_ca", "tls_ca": CA},
        {"tls": "verify_identity", "tls_ca": CA},
    ],
)
def test_a_server_with_old_tls_alone_is_told(
    listener: socket.socket, mysqld: Mysqld, values: dict[str, str], *, yassl: bool
) -> None:
    """Where a server offers TLS 1.0 or 1.1 alone, that is said with the ways out, and nothing is sent."""
    mysqld.version = b"5.7.23-log"
    mysqld.tls = YaSSL(ssl.PROTOCOL_TLS_SERVER) if yassl else old_context()

    said, _ = refused(session(listener, **values))

    assert "5.7.23-log" in said
    assert "TLS 1.0 or 1.1" in said
    assert 'tls = "off"' in said
    assert "unix socket" in said
    assert "upgrade the server" in said
    assert mysqld.logins == []


def test_a_server_with_old_tls_alone_works_without(listener: socket.socket, mysqld: Mysqld) -> None:
    """On loopback tls = off is a way to such a server, as the message says."""
    mysqld.version, mysqld.tls = b"5.7.23-log", old_context()
    there = session(listener, tls="off")

    assert there.query("SELECT 1") == (("1",),)
    there.drop()


def test_a_version_that_the_option_file_rules_out_is_named(listener: socket.socket, mysqld: Mysqld) -> None:
    """Where tls-version asks for more than the server has, tls-version is what the message names."""
    mysqld.tls = server_context()
    mysqld.tls.maximum_version = ssl.TLSVersion.TLSv1_2

    said, _ = refused(session(listener, tls_details=TlsDetails(lowest="TLSv1.3")))

    assert "tls-version" in said
    assert "TLS 1.3" in said


def test_a_server_that_ends_the_handshake_is_told(listener: socket.socket) -> None:
    """A server whose encryption breaks off is not taken for one that is down."""
    mysqld = Mysqld(listener)
    mysqld.tls = server_context()
    mysqld.tls.set_ciphers("ECDHE-RSA-AES256-GCM-SHA384")
    mysqld.tls.maximum_version = ssl.TLSVersion.TLSv1_2
    try:
        said, _ = refused(session(listener))
    finally:
        mysqld.end()

    assert "encryption with this server (9.7.4) failed" in said
    assert "unix socket" in said


@pytest.mark.parametrize("versions", ["old", "broken"])
def test_a_greeting_of_any_words_is_one_short_line(
    listener: socket.socket, mysqld: Mysqld, versions: str
) -> None:
    """What a server calls its version fills no log and steers no terminal, however encryption fails."""
    mysqld.version = b"5.7.23\x1b[2J\nFAKE LOG LINE " + b"A" * 1_000_000
    if versions == "old":
        mysqld.tls = old_context()
    else:
        mysqld.tls = server_context()
        mysqld.tls.set_ciphers("ECDHE-RSA-AES256-GCM-SHA384")
        mysqld.tls.maximum_version = ssl.TLSVersion.TLSv1_2

    said, _ = refused(session(listener))

    assert "this server (5.7.23?[2J?FAKE" in said
    assert said.isprintable()
    assert len(said) < 1000


def test_a_certificate_without_a_host_name_can_be_checked(listener: socket.socket, mysqld: Mysqld) -> None:
    """Certificates as MySQL makes them for itself name no host: verify_ca takes them."""
    mysqld.tls = server_context("nameless")
    there = session(listener, tls="verify_ca", tls_ca=CA)

    assert there.query("SELECT 1") == (("1",),)
    there.drop()


@pytest.mark.parametrize("tls", ["verify_identity", "required"])
def test_a_certificate_without_a_host_name_says_how_it_can_be_checked(
    listener: socket.socket, mysqld: Mysqld, tls: str
) -> None:
    """Where the name is wanted and there is none, the message names the check that does without."""
    mysqld.tls = server_context("nameless")

    said, _ = refused(session(listener, tls=tls, tls_ca=CA))

    assert 'tls = "verify_ca"' in said
    assert mysqld.logins == []


@pytest.mark.parametrize("tls", ["verify_ca", "verify_identity", "required"])
def test_another_authority_is_never_taken(listener: socket.socket, mysqld: Mysqld, tls: str) -> None:
    """A certificate that the named authority has not signed ends it before the login, by every check."""
    mysqld.tls = server_context()

    said, _ = refused(session(listener, tls=tls, tls_ca=ANOTHER))

    assert "correct server.tls_ca" in said
    assert mysqld.logins == []


def test_a_certificate_of_the_host_is_taken(listener: socket.socket, mysqld: Mysqld) -> None:
    """With the right name and the right authority the strictest check passes."""
    mysqld.tls = server_context()
    there = session(listener, tls="verify_identity", tls_ca=CA)

    assert there.query("SELECT 1") == (("1",),)
    there.drop()


def test_a_server_may_ask_for_a_certificate_of_ours(listener: socket.socket, mysqld: Mysqld) -> None:
    """An account that REQUIREs a certificate gets the one that the option file names; preferred is enough."""
    mysqld.tls = server_context()
    mysqld.tls.verify_mode = ssl.CERT_REQUIRED
    mysqld.tls.load_verify_locations(CA)
    ours = TlsDetails(certificate=str(CERTIFICATES / "named.crt"), key=str(CERTIFICATES / "named.key"))
    there = session(listener, tls_details=ours)

    assert there.query("SELECT 1") == (("1",),)
    there.drop()
    said, _ = refused(session(listener))
    assert "certificate" in said
    mysqld.tls = server_context()
    mysqld.tls.maximum_version = ssl.TLSVersion.TLSv1_2  # by which its word comes before ours
    mysqld.tls.verify_mode = ssl.CERT_REQUIRED
    mysqld.tls.load_verify_locations(ANOTHER)
    said, _ = refused(session(listener, tls_details=ours))
    assert f"does not take our certificate {ours.certificate}: unknown ca; ssl-cert" in said
