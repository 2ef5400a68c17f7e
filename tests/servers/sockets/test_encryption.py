"""What encryption costs a daemon whose server is down for hours: an attempt a second, each thrown away."""

from __future__ import annotations

import os
import socket
import ssl
from pathlib import Path

import pytest

from tests.servers.sockets.mysqld import Mysqld, endpoint, refused
from tuner.servers.endpoint import required
from tuner.servers.session import Session

ATTEMPTS = 3


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
