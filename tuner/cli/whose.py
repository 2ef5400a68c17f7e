"""Whose daemon it is that listens somewhere: anybody may listen on a port."""

from __future__ import annotations

import os
import ssl

import msgspec

from tuner.cli.errors import Unreachable
from tuner.cli.exchange import UNAUTHORISED, Request, send


class Stranger(Exception):  # noqa: N818 - reads as what it names
    """No daemon of ours listens there; the message says what does.

    Attributes:
        closed: it says nothing without a token.
    """

    def __init__(self, said: str, *, closed: bool = False) -> None:
        super().__init__(said)
        self.closed = closed


class _StateDirectory(msgspec.Struct):
    state_directory: str


class _Identity(msgspec.Struct):
    """The part of a configuration that says whose daemon it is, of any version."""

    daemon: _StateDirectory


def daemon_at(url: str) -> str:
    """Return the state directory of the daemon that listens there; empty where no daemon does."""
    try:
        return directory_at(url, []) or ""
    except Stranger:
        return ""


def directory_at(url: str, tried: list[str], *, verify: ssl.SSLContext | None = None) -> str | None:
    """Return the state directory of the daemon that listens there.

    Args:
        url: of an API over TCP.
        tried: gets a line where nobody listens, which is None.
        verify: whom to trust for https.

    Raises:
        Stranger: somebody else listens.
    """
    try:
        response = send(Request("GET", "/v1/config"), url=url, name=url, tried=tried, verify=verify)
    except Unreachable:
        raise Stranger("it does not answer") from None
    if response is None:
        return None
    try:
        found = msgspec.json.decode(response.content if response.is_success else b"", type=_Identity)
    except msgspec.DecodeError:
        said = f"{response.status_code} {response.reason_phrase}"
        closed = response.status_code == UNAUTHORISED
        raise Stranger(f"it answers GET /v1/config with {said}", closed=closed) from None
    return found.daemon.state_directory


def same_place(one: str, other: str) -> bool:
    """Tell whether two paths are of one directory."""
    try:
        return os.path.realpath(one) == os.path.realpath(other)
    except ValueError:  # what a stranger calls its directory need not be a path
        return False
