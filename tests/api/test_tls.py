"""TLS over TCP: needed for a public address, renewed without a restart."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api import connections
from api.connections import CONNECTIONS, PROBE_PLACES
from api.problems import Refusal
from api.server import ApiServer, ApiServerError, Certificate
from tests.api.factory import CERTIFICATES, AnsweringLoop, application, free_port, put_certificate, serving
from tests.real.support import until
from tuner.config import credentials
from tuner.daemon.board import Board


@pytest.fixture
def served(loop: AnsweringLoop, tmp_path: Path) -> Iterator[tuple[int, ApiServer]]:
    """Serve with the first certificate; return port and server."""
    certificate = Certificate(put_certificate("one", tmp_path))
    with serving(application(loop.board), certificate=certificate) as server:
        yield server.port, server


def trusting(name: str) -> ssl.SSLContext:
    """Return a context that trusts one of the certificates alone."""
    context = ssl.create_default_context(cafile=str(CERTIFICATES / f"{name}.crt"))
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def get(port: int, name: str) -> int:
    """Return the status of a request by a client that trusts one certificate."""
    url = f"https://localhost:{port}/livez"
    return httpx.get(url, verify=trusting(name), trust_env=False, timeout=20.0).status_code


def test_a_renewed_certificate_is_taken_at_a_reload(served: tuple[int, ApiServer], tmp_path: Path) -> None:
    """After a reload new connections get the new certificate; nothing is restarted."""
    port, server = served
    assert get(port, "one") == 200

    put_certificate("two", tmp_path)
    assert get(port, "one") == 200
    server.reload()

    assert get(port, "two") == 200
    with pytest.raises(httpx.ConnectError):
        get(port, "one")


def test_a_key_that_every_account_can_read_is_told_unless_it_is_a_mounted_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a mounted secret, which only its container sees, nobody can change the mode."""
    certificate = Certificate(put_certificate("one", tmp_path))
    for file in tmp_path.iterdir():
        file.chmod(0o644)
    certificate.context()
    assert "can be read by every account" in caplog.text
    caplog.clear()
    monkeypatch.setattr(credentials, "SECRETS", tmp_path.resolve())
    certificate.context()

    assert not caplog.text


def test_a_renewed_certificate_may_have_another_type_of_key(
    served: tuple[int, ApiServer], tmp_path: Path
) -> None:
    """After ECDSA comes RSA, and ECDSA again: whoever connects, by name or by address, gets the newest."""
    port, server = served
    for name in ("rsa", "two", "rsa"):
        put_certificate(name, tmp_path)
        server.reload()

        assert get(port, name) == 200
        for said in ("localhost", None):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            plain = socket.create_connection(("127.0.0.1", port), timeout=20.0)
            with context.wrap_socket(plain, server_hostname=said) as peer:
                given = ssl.DER_cert_to_PEM_cert(peer.getpeercert(binary_form=True) or b"")

            assert given.strip() == (CERTIFICATES / f"{name}.crt").read_text().strip()


def test_a_bad_certificate_leaves_the_old_one(
    served: tuple[int, ApiServer], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A certificate whose key is another's is said at the reload, and the old one goes on."""
    port, server = served
    shutil.copy(CERTIFICATES / "two.key", tmp_path / "api.key")

    server.reload()

    assert "the old certificate stays in use" in caplog.text
    assert get(port, "one") == 200


def test_what_is_not_encrypted_is_not_answered(served: tuple[int, ApiServer]) -> None:
    """A client without TLS gets no answer, and the next one with TLS does."""
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://127.0.0.1:{served[0]}/livez", trust_env=False, timeout=20.0)
    assert get(served[0], "one") == 200


def test_probes_are_answered_beside_handshakes_that_are_never_done(served: tuple[int, ApiServer]) -> None:
    """Connections that begin no handshake hold no place that a probe needs, and the server ends in time."""
    port, _ = served
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS + PROBE_PLACES + 4):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20.0))

        assert [get(port, "one") for _ in range(3)] == [200] * 3


def test_a_peer_that_says_no_goodbye_loses_its_place(
    served: tuple[int, ApiServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is closed ends soon, though its peer does not answer the end of TLS."""
    monkeypatch.setattr(connections, "LINGER_SECONDS", 0.2)
    monkeypatch.setattr(connections, "LOOK_SECONDS", 0.05)
    plain = socket.create_connection(("127.0.0.1", served[0]), timeout=15.0)
    with plain.dup() as under, trusting("one").wrap_socket(plain, server_hostname="localhost") as peer:
        under.settimeout(15.0)  # asyncio alone waits for 30 s
        peer.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        while peer.recv(65_536):
            pass
        with contextlib.suppress(ConnectionResetError):
            assert under.recv(1) == b""


@pytest.mark.parametrize("missing", ["certificate", "key"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, missing: str) -> None:
    """A start with a missing file says which, and begins nothing."""
    files = put_certificate("one", tmp_path)
    (tmp_path / ("api.crt" if missing == "certificate" else "api.key")).unlink()

    with pytest.raises(ApiServerError, match=rf"api\.tls: the {missing} .* cannot be read"):
        Certificate(files).context()


def test_a_pipe_in_the_place_of_a_certificate_holds_nobody_up(
    served: tuple[int, ApiServer], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A reload reads no pipe, which nobody may ever write to."""
    port, server = served
    (tmp_path / "api.key").unlink()
    os.mkfifo(tmp_path / "api.key")

    server.reload()

    assert "api.key cannot be read: no regular file" in caplog.text
    assert get(port, "one") == 200


def test_one_file_may_hold_both(tmp_path: Path) -> None:
    """Certificate and key in one file will do."""
    both = tmp_path / "api.pem"
    both.write_text((CERTIFICATES / "one.crt").read_text() + (CERTIFICATES / "one.key").read_text())

    assert Certificate(str(both)).context().minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_public_address_needs_tls_or_a_second_word(board: Board, tmp_path: Path) -> None:
    """Without a certificate, only who says so explicitly listens on an address that others reach."""
    app, everywhere = application(board), "0.0.0.0"  # noqa: S104 - the point of this test
    with pytest.raises(ApiServerError, match="loopback"):
        ApiServer(app, everywhere, free_port(), None).start()
    for words in ({"certificate": Certificate(put_certificate("one", tmp_path))}, {"insecure": True}):
        with serving(app, host=everywhere, **words):
            pass


def test_a_handshake_that_fails_is_counted(loop: AnsweringLoop, tmp_path: Path) -> None:
    """Who speaks no TLS, or none that both know, is no request and shows in the metrics all the same."""
    noted: list[Refusal] = []
    certificate = Certificate(put_certificate("one", tmp_path))
    app = application(loop.board)
    app.state.refused = noted.append
    with serving(app, certificate=certificate) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20.0) as plain:
            plain.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until(lambda: noted, 60.0, "the refusal")
        assert get(server.port, "one") == 200

    assert noted == [Refusal.TLS]
