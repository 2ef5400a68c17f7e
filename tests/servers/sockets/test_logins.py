"""Logging in over real sockets: refusals, encryption, and a password that is never shown."""

from __future__ import annotations

import importlib.util
import socket

import pytest

from tests.servers.sockets.mysqld import PASSWORD, Mysqld, endpoint, refused
from tuner.servers.session import Session


def test_a_refused_login_says_what_to_check(mysqld: Mysqld, session: Session) -> None:
    """A wrong password is named as such, without the password."""
    mysqld.denies = (1045, "Access denied for user 'innobrim'@'localhost' (using password: YES)")

    said, _ = refused(session)

    assert "(error 1045); check user and password" in said
    assert PASSWORD not in said


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
