"""Whether a file for encryption can be used: said when a command begins, not at the first connection."""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from tuner.config.errors import ConfigError
from tuner.servers.endpoint import USUAL, required

T = TypeVar("T")

BY_WHOM = "readable by the account that runs this command"

_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
_NOT_USABLE: Mapping[type[OSError], str] = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "a directory",
    NotADirectoryError: "no directory",
    PermissionError: "permission denied",
}


class _NothingInItError(Exception):
    """A file can be read, and what is looked for is not in it."""


def must_hold_certificates(named: str, path: str) -> None:
    """Refuse a file that has no certificate authority in it.

    Args:
        named: the key or option that names it.
        path: the file.

    Raises:
        ConfigError: it cannot be read or has no certificate.
    """
    _usable(
        f"{named} = {path}",
        f"a file of certificates (PEM), {BY_WHOM}",
        lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path),
        "no certificate in it",
    )


def must_be_hashed(named: str, path: str) -> None:
    """Refuse a directory in which OpenSSL would find no certificate authority; else as the first one here."""

    def look() -> None:
        if not any(map(_HASHED.fullmatch, os.listdir(path))):  # noqa: PTH208 - names are enough
            raise _NothingInItError

    _usable(
        f"{named} = {path}",
        f"a directory of certificate authorities, named as openssl rehash does, {BY_WHOM}",
        look,
        "no certificate by its hash in it",
    )


def must_have_its_key(named: str, path: str, key: str | None) -> None:
    """Refuse a certificate of our own without its key, or with another's; else as the first one here."""
    both = path if key is None else f"{path} with the key {key}"
    _usable(
        f"{named} = {both}",
        f"a certificate (PEM) and its key without a passphrase, {BY_WHOM}",
        lambda: required(None, replace(USUAL, certificate=path, key=key)),
        "no certificate with its key",
    )


def must_be_ciphers(named: str, words: str) -> None:
    """Refuse a list of ciphers of which OpenSSL has none; else as the first one here."""
    _usable(
        f"{named} = {words}",
        "a list of ciphers of TLS 1.2 with certificates, in OpenSSL's words",
        lambda: required(None, replace(USUAL, ciphers=words)),
        "no cipher that OpenSSL has",
    )


def public_key(named: str, path: str) -> str:
    """Return a server's public key, PEM, as its file has it; raises as the first one here."""

    def read() -> str:
        text = Path(path).read_text(encoding="ascii", errors="replace")
        if "-----BEGIN PUBLIC KEY-----" not in text:
            raise _NothingInItError
        return text

    wanted = f"a file with the server's public key (PEM), its public_key.pem, {BY_WHOM}"
    return _usable(f"{named} = {path}", wanted, read, "no public key in it")


def _usable(named: str, wanted: str, look: Callable[[], T], empty: str) -> T:
    """Return what can be made of something.

    Raises:
        ConfigError: nothing; names the option, its value, why, and what would be right.
    """
    try:
        return look()
    except (ssl.SSLError, ValueError, _NothingInItError) as error:  # ValueError: it is no text
        raise ConfigError([f"{named}: {empty}; it must be {wanted}"]) from error
    except OSError as error:
        why = _NOT_USABLE.get(type(error), error.strerror or str(error))
        raise ConfigError([f"{named}: {why}; it must be {wanted}"]) from error
