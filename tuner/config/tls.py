"""What a MySQL option file says of encryption: obeyed, or refused by name, and never passed over.

Of two options the one that asks for more decides. One that asks for less by name, such as ``skip-ssl``
beside ``ssl-ca``, is a contradiction and an error. Files are tried at once, not at the first connection.
"""

from __future__ import annotations

import contextlib
import os
import re
import ssl
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tuner.config.schema import ConfigError
from tuner.servers.endpoint import USUAL, VERSIONS, TlsDetails, required
from tuner.system.files import read_whole, require_plain

MODES = ("off", "preferred", "required", "verify_ca", "verify_identity")
"""What can be asked of a TCP connection, each more than the one before; the words of ``server.tls``."""

OFF, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY = range(len(MODES))

SSL_MODES = {"DISABLED": OFF} | {mode.upper(): level for level, mode in enumerate(MODES) if level != OFF}
"""The words of ``ssl-mode``, with their place in ``MODES``."""

YES, NO = frozenset({"", "1", "on", "true"}), frozenset({"0", "off", "false"})

_SESSION = "every connection makes a session of its own"
WITHOUT_EFFECT = {
    "get_server_public_key": "whoever answers could send a key; server-public-key-path names the server's",
    "enable_cleartext_plugin": "clear text is for the unix socket and TLS that is checked, whatever it says",
    "ssl_session_data": _SESSION,
    "ssl_session_data_continue_on_failed_reuse": _SESSION,
}
"""Options that change nothing here, each with why; they weaken nothing either."""

_OF_TLS = re.compile(r"(ssl|tls|server_public_key_path$)", re.IGNORECASE)
_NEGATED = ("skip_", "disable_")
_SWITCHES = frozenset({"ssl", "ssl_verify_server_cert"})
_KNOWN = _SWITCHES | {
    *("ssl_mode", "ssl_ca", "ssl_capath", "ssl_cert", "ssl_key", "ssl_cipher", "tls_version"),
    "server_public_key_path",
}
_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
_BY_WHOM = "readable by the account that runs this command"
_NOT_USABLE: Mapping[type[OSError], str] = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "a directory",
    NotADirectoryError: "no directory",
    PermissionError: "permission denied",
}


class _Bound(NamedTuple):
    """How much or how little encryption one option asks for, by place in ``MODES``."""

    level: int
    by: str


_LEAST: Mapping[tuple[str, str | None], _Bound] = {
    ("ssl", "1"): _Bound(REQUIRED, "ssl"),
    ("ssl_ca", None): _Bound(VERIFY_CA, "ssl-ca = {}"),
    ("ssl_capath", None): _Bound(VERIFY_CA, "ssl-capath = {}"),
    ("ssl_verify_server_cert", "1"): _Bound(VERIFY_IDENTITY, "ssl-verify-server-cert"),
    ("ssl_cert", None): _Bound(PREFERRED, "ssl-cert = {}"),
    ("ssl_key", None): _Bound(PREFERRED, "ssl-key = {}"),
}
_MOST: Mapping[tuple[str, str | None], _Bound] = {
    ("ssl", "0"): _Bound(OFF, "ssl = 0 (skip-ssl)"),
    ("ssl_verify_server_cert", "0"): _Bound(VERIFY_CA, "ssl-verify-server-cert = 0"),
}
"""Options, with their value or None for any, and what they ask for at least and at most."""


class FileTls(Struct):
    """What an option file says of encryption.

    Attributes:
        mode: a word of ``MODES``; None where it says nothing.
        asked_by: the option that decided the mode, with its value.
        authority: file of certificate authorities.
        details: the rest.
        public_key: the server's, PEM; empty without one.
        warnings: one line each: options that have no effect here.
    """

    mode: str | None = None
    asked_by: str = ""
    authority: str | None = None
    details: TlsDetails = USUAL
    public_key: str = ""
    warnings: list[str] = msgspec.field(default_factory=list)


def read_tls(path: str, options: Mapping[str, str]) -> FileTls:
    """Return what an option file says of encryption.

    Args:
        path: the file, for messages.
        options: its options, names with underscores, in the order in which they were last given.

    Raises:
        ConfigError: an option that cannot be obeyed, or two that contradict each other.
    """
    given, warnings = _given(path, options)
    mode, asked_by = _mode(path, given)
    details = _details(path, given)
    if (authority := given.get("ssl_ca")) is not None:
        require_certificates(f"{path}: ssl-ca", authority)
    key = given.get("server_public_key_path")
    public_key = "" if key is None else _public_key(f"{path}: server-public-key-path", key)
    return FileTls(mode, asked_by, authority, details, public_key, warnings)


def require_certificates(named: str, path: str) -> None:
    """Refuse a file that has no certificate authority in it.

    Args:
        named: the key or option that names it.
        path: the file.

    Raises:
        ConfigError: it cannot be read or has no certificate.
    """
    with _usable(f"{named} = {path}", f"a file of certificates (PEM), {_BY_WHOM}", "no certificate in it"):
        require_plain(path)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)


def _given(path: str, options: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the options of encryption by their plain names, switches as "1" or "0", and the warnings."""
    given: dict[str, str] = {}
    warnings: list[str] = []
    for name, value in options.items():
        plain = _plain_name(name)
        if plain in WITHOUT_EFFECT and value.lower() not in NO:
            warnings.append(f"{path}: {_dashed(name)} has no effect: {WITHOUT_EFFECT[plain]}")
        elif _OF_TLS.match(plain) and plain not in WITHOUT_EFFECT:
            if plain not in _KNOWN or (plain != name and plain not in _SWITCHES):
                known = ", ".join(sorted(map(_dashed, _KNOWN)))
                raise _refused(path, name, value, f"InnoBrim cannot obey it; it knows {known}")
            given.pop(plain, None)
            given[plain] = _switch(path, name, value) if plain in _SWITCHES else value
    for name, value in given.items():
        if not value:
            raise _refused(path, name, value, "has no value; leave it out, or give it one")
    return given, warnings


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _plain_name(name: str) -> str:
    """Return an option's name without what turns it on or off."""
    for prefix in (*_NEGATED, "enable_"):
        rest = name.removeprefix(prefix)
        if rest != name and _OF_TLS.match(rest):
            return rest
    return name


def _refused(path: str, name: str, value: str, why: str) -> ConfigError:
    shown = f" = {value}" if value else ""
    return ConfigError([f"{path}: {_dashed(name)}{shown}: {why}"])


def _switch(path: str, name: str, value: str) -> str:
    """Return what a switch says as "1" or "0"; skip- and disable- turn it around."""
    word = value.lower()
    if word not in YES | NO:
        raise _refused(path, name, value, "must be 1 or 0, ON or OFF, TRUE or FALSE")
    return "1" if (word in YES) != name.startswith(_NEGATED) else "0"


def _mode(path: str, given: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the mode that the options ask for together, None for none, and the one that decided it."""
    at_least, at_most = [_Bound(OFF, "")], [_Bound(VERIFY_IDENTITY, "")]
    if (word := given.get("ssl_mode")) is not None:
        if word.upper() not in SSL_MODES:
            raise _refused(path, "ssl_mode", word, f"must be one of {', '.join(SSL_MODES)}")
        named = _Bound(SSL_MODES[word.upper()], f"ssl-mode = {word}")
        at_least.append(named)
        if named.level < REQUIRED:
            at_most.append(named)
    for table, bounds in ((_LEAST, at_least), (_MOST, at_most)):
        for (name, value), (level, by) in table.items():
            if name in given and value in {None, given[name]}:
                bounds.append(_Bound(level, by.format(given[name])))
    least = max(at_least, key=lambda bound: bound.level)
    most = min(at_most, key=lambda bound: bound.level)
    if least.level > most.level:
        raise ConfigError(
            [f"{path}: {most.by} contradicts {least.by}, which asks for more; leave one of them out"]
        )
    if least.level >= VERIFY_CA and not {"ssl_ca", "ssl_capath"} & set(given):
        what = "the file of the certificate authority to check the server against"
        raise ConfigError([f"{path}: {least.by} needs ssl-ca, {what}, or ssl-capath"])
    if not least.by and most.level != OFF:
        return None, ""
    return MODES[least.level], least.by or most.by


def _details(path: str, given: Mapping[str, str]) -> TlsDetails:
    capath, certificate, key = (given.get(f"ssl_{one}") for one in ("capath", "cert", "key"))
    ciphers = given.get("ssl_cipher", "")
    if key is not None and certificate is None:
        raise _refused(path, "ssl_key", key, "needs ssl-cert, the certificate that it is the key of")
    if capath is not None:
        wanted = f"a directory of certificate authorities, named as openssl rehash does, {_BY_WHOM}"
        with _usable(f"{path}: ssl-capath = {capath}", wanted, "no certificate by its hash in it"):
            if not any(map(_HASHED.fullmatch, os.listdir(capath))):  # noqa: PTH208 - names are enough
                raise ValueError(capath)
    if certificate is not None:
        pair = certificate if key is None else f"{certificate} with the key {key}"
        wanted = f"a certificate (PEM) and its key without a passphrase, {_BY_WHOM}"
        with _usable(f"{path}: ssl-cert = {pair}", wanted, "no certificate with its key"):
            required(None, replace(USUAL, certificate=certificate, key=key))
    if ciphers:
        wanted = "a list of ciphers of TLS 1.2 with certificates, in OpenSSL's words"
        with _usable(f"{path}: ssl-cipher = {ciphers}", wanted, "no cipher that OpenSSL has"):
            required(None, replace(USUAL, ciphers=ciphers))
    lowest, highest = _versions(path, given.get("tls_version", ",".join(VERSIONS)))
    return TlsDetails(capath, certificate, key, ciphers, lowest, highest)


def _versions(path: str, value: str) -> tuple[str, str]:
    """Return the oldest and the newest of the versions in a list that are spoken here."""
    names = {name.strip().lower() for name in value.split(",")}
    allowed = [name for name in VERSIONS if name.lower() in names]
    wrong = names - {name.lower() for name in VERSIONS} - {"tlsv1", "tlsv1.0", "tlsv1.1"}
    if wrong or not allowed:
        raise _refused(path, "tls_version", value, f"must name {' or '.join(VERSIONS)}, with commas between")
    return allowed[0], allowed[-1]


def _public_key(named: str, path: str) -> str:
    """Return a server's public key, PEM, as its file has it."""
    wanted = f"a file with the server's public key (PEM), its public_key.pem, {_BY_WHOM}"
    with _usable(f"{named} = {path}", wanted, "no public key in it"):
        text = read_whole(path).decode("ascii", "replace")
        if "-----BEGIN PUBLIC KEY-----" not in text:
            raise ValueError(path)
    return text


@contextlib.contextmanager
def _usable(named: str, wanted: str, nothing: str) -> Iterator[None]:
    """Look at a file for encryption, where ``ValueError`` and OpenSSL's own errors say that it has nothing.

    Raises:
        ConfigError: it is of no use; names the option, its value, why, and what would be right.
    """
    try:
        yield
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError([f"{named}: {nothing}; it must be {wanted}"]) from error
    except OSError as error:
        why = _NOT_USABLE.get(type(error), error.strerror or str(error))
        raise ConfigError([f"{named}: {why}; it must be {wanted}"]) from error
