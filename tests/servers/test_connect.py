"""What the driver is told about a connection."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pymysql
import pytest

from tuner.servers.endpoint import Endpoint
from tuner.servers.port import Unreachable
from tuner.servers.session import Session


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the driver is given; it refuses every connection."""
    given: dict[str, Any] = {}

    def connect(**arguments: Any) -> None:  # noqa: ANN401 - the driver's own arguments
        given.update(arguments)
        raise pymysql.OperationalError(2003, "refused")

    monkeypatch.setattr("tuner.servers.session.DriverConnection", connect)
    return given


def test_a_password_may_have_any_letters(told: dict[str, Any]) -> None:
    """A password with letters outside latin-1 reaches the server as mysql's own client sends it: UTF-8."""
    with pytest.raises(Unreachable, match="refused"):
        Session(Endpoint(user="innobrim", password="pa§ż€")).query("SELECT 1")

    assert told["password"] == "pa§ż€".encode()


@pytest.mark.parametrize("seconds", [0.3, 1.0, 1.6, 2.5])
def test_connecting_takes_no_longer_than_configured(told: dict[str, Any], seconds: float) -> None:
    """The limit on connecting is the configured one to the fraction: the watchdog is computed from it."""
    with pytest.raises(Unreachable):
        Session(Endpoint(user="innobrim", timeout=seconds)).query("SELECT 1")

    assert told["connect_timeout"] == seconds


def test_required_encryption_checks_what_it_can(told: dict[str, Any]) -> None:
    """Required encryption without a certificate authority encrypts; over a socket it is left out."""
    with pytest.raises(Unreachable):
        Session(Endpoint(user="innobrim", tls="required")).query("SELECT 1")
    assert told["ssl"].verify_mode is ssl.CERT_NONE

    with pytest.raises(Unreachable):
        Session(Endpoint(user="innobrim", tls="required", socket="/s")).query("SELECT 1")
    assert told["ssl"] is None


def test_an_unreadable_certificate_authority_is_named(told: dict[str, Any], tmp_path: Path) -> None:
    """A missing or damaged certificate authority is a message that names the key and the file."""
    broken = tmp_path / "ca.pem"
    broken.write_text("no certificate")
    for path in (broken, tmp_path / "none.pem"):
        with pytest.raises(Unreachable, match=rf"server\.tls_ca = {path}"):
            Session(Endpoint(user="innobrim", tls="required", tls_ca=str(path))).query("SELECT 1")
    assert told == {}
