r"""What a MySQL option file says, read by mysqld's own rules (mysys/my_default.cc).

A ``#`` outside quotes starts a comment anywhere; one pair of quotes around a value is taken
off; ``\n \t \r \b \s \" \' \\`` are escapes inside and outside quotes and any other
backslash stands for itself; dashes and underscores in names are the same, capitals in those of groups as
well; the last one wins. Bytes that are no UTF-8 are taken as they are.

What it says of encryption is obeyed, or refused by name, and never passed over. Of two options the one that
asks for more decides. One that asks for less by name, such as ``skip-ssl`` beside ``ssl-ca``, is a
contradiction and an error. Files for encryption are tried at once, not at the first connection.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tuner.config.schema import ConfigError
from tuner.servers.endpoint import USUAL, VERSIONS, TlsDetails, required
from tuner.system.files import read_whole, require_plain

_GROUP = re.compile(r"\[([^\]]*)\]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}
ESCAPED = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t", "\r": r"\r", "\b": r"\b"}
"""How ``written`` has a letter, the backslash first."""
_BARE = re.compile(r"[A-Za-z0-9_.@%+-]+")
_SPACE = " \t\r\n\v\f"
_PAIR = 2


class OptionFileError(ValueError):
    """A line that is no group, option or comment; the message names the line, never its value."""


def read_options(text: str, *groups: str) -> dict[str, str]:
    """Return the options of some groups, names with underscores, in the order in which they were last given.

    An option without value is "".

    Args:
        text: the whole file; bytes that are no UTF-8 as ``surrogateescape`` makes them.
        groups: names without brackets, in small letters.

    Raises:
        OptionFileError: an option before the first group, a group that does not end, or a zero byte.
    """
    found: dict[str, str] = {}
    current: str | None = None
    for number, line in _lines(text):
        if line.startswith("["):
            match = _GROUP.match(line)
            if match is None:
                raise OptionFileError(f"line {number}: a group must end with ]")
            current = match[1].strip(_SPACE)
        elif current is None:
            raise OptionFileError(f"line {number}: an option stands before the first [group]")
        elif current.lower() in groups:
            name, _, value = _without_comment(line).partition("=")
            name = name.strip(_SPACE).replace("-", "_").removeprefix("loose_")
            found.pop(name, None)
            if "\0" in line:
                raise OptionFileError(
                    f"line {number}: {name.replace('_', '-')}: has a zero byte; take it out"
                )
            found[name] = _plain(value.strip(_SPACE))
    return found


def includes(text: str) -> list[str]:
    """Return the ``!include`` lines, which are not followed."""
    return [line for _, line in _lines(text, directives=True) if line.startswith("!include")]


def written(value: str) -> str:
    """Return a value as a line of an option file has it, in quotes where it needs them."""
    if _BARE.fullmatch(value):
        return value
    for letter, escape in ESCAPED.items():
        value = value.replace(letter, escape)
    return f'"{value}"'


def _lines(text: str, *, directives: bool = False) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.strip(_SPACE)
        if line and line[0] not in "#;" and (directives or not line.startswith("!")):
            yield number, line


def _without_comment(line: str) -> str:
    quote = ""
    escaped = False
    for index, letter in enumerate(line):
        if letter in "\"'" and not escaped:
            if not quote:
                quote = letter
            elif quote == letter:
                quote = ""
        if not quote and letter == "#":
            return line[:index]
        escaped = bool(quote) and letter == "\\" and not escaped
    return line


def _plain(value: str) -> str:
    if len(value) >= _PAIR and value[0] in "\"'" and value[0] == value[-1]:
        value = value[1:-1]
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[0]), value)


BY_WHOM = "readable by the account that runs this command"

_HASHED = re.compile(r"[0-9a-f]{8}\.[0-9]+")
_NOT_USABLE: Mapping[type[OSError], str] = {
    FileNotFoundError: "no such file",
    IsADirectoryError: "a directory",
    NotADirectoryError: "no directory",
    PermissionError: "permission denied",
}

MODES = ("off", "preferred", "required", "verify_ca", "verify_identity")
"""What can be asked of a TCP connection, each more than the one before; the words of ``server.tls``."""

OFF, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY = range(len(MODES))

WORDS = {"DISABLED": OFF, "PREFERRED": PREFERRED, "REQUIRED": REQUIRED} | {
    "VERIFY_CA": VERIFY_CA,
    "VERIFY_IDENTITY": VERIFY_IDENTITY,
}
"""What ``ssl-mode`` takes."""

YES, NO = frozenset({"", "1", "on", "true"}), frozenset({"0", "off", "false"})

_SESSION = "every connection makes a session of its own"
WITHOUT_EFFECT = {
    "get_server_public_key": "whoever answers could send a key; server-public-key-path names the server's",
    "enable_cleartext_plugin": "clear text is for the unix socket and TLS that is checked, whatever it says",
    "ssl_session_data": _SESSION,
    "ssl_session_data_continue_on_failed_reuse": _SESSION,
}
"""Options that change nothing here, each with why; they weaken nothing either."""

_OF_TLS = re.compile(r"ssl|tls", re.IGNORECASE)
_NEGATED = ("skip_", "disable_")
_SWITCHES = frozenset({"ssl", "ssl_verify_server_cert"})
_KNOWN = _SWITCHES | {
    *("ssl_mode", "ssl_ca", "ssl_capath", "ssl_cert", "ssl_key", "ssl_cipher", "tls_version"),
    "server_public_key_path",
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
    found = FileTls()
    given: dict[str, str] = {}
    for name, value in options.items():
        plain = _plain_name(name)
        if plain in WITHOUT_EFFECT and value.lower() not in NO:
            found.warnings.append(f"{path}: {_dashed(name)} has no effect: {WITHOUT_EFFECT[plain]}")
        elif plain == "server_public_key_path" or _OF_TLS.match(plain):
            if plain not in _KNOWN | WITHOUT_EFFECT.keys() or (plain != name and plain not in _SWITCHES):
                known = ", ".join(sorted(map(_dashed, _KNOWN)))
                raise _refused(path, name, value, f"InnoBrim cannot obey it; it knows {known}")
            given.pop(plain, None)
            given[plain] = _truth(path, name, value) if plain in _SWITCHES else value
    for name, value in given.items():
        if name not in _SWITCHES and not value:
            raise _refused(path, name, value, "has no value; leave it out, or give it one")
    _levels(path, given, found)
    found.authority = given.get("ssl_ca")
    found.details = _details(path, given)
    if found.authority is not None:
        must_hold_certificates(f"{path}: ssl-ca", found.authority)
    if (key := given.get("server_public_key_path")) is not None:
        found.public_key = _public_key(f"{path}: server-public-key-path", key)
    return found


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
    said = f" = {value}" if value else ""
    return ConfigError([f"{path}: {_dashed(name)}{said}: {why}"])


def _truth(path: str, name: str, value: str) -> str:
    """Return what a switch says as "1" or "0"; skip- and disable- turn it around."""
    said = value.lower()
    if said not in YES | NO:
        raise _refused(path, name, value, "must be 1 or 0, ON or OFF, TRUE or FALSE")
    return "1" if (said in YES) != name.startswith(_NEGATED) else "0"


def _levels(path: str, given: Mapping[str, str], found: FileTls) -> None:
    """Find how much encryption is asked for at least, and at most, and that these do not contradict."""
    mode = [_mode(path, given["ssl_mode"])] if "ssl_mode" in given else []
    at_least = [_Bound(OFF, ""), *mode, *_asked(_LEAST, given)]
    at_most = [_Bound(VERIFY_IDENTITY, ""), *(one for one in mode if one.level < REQUIRED)]
    least = max(at_least, key=lambda bound: bound.level)
    most = min([*at_most, *_asked(_MOST, given)], key=lambda bound: bound.level)
    if least.level > most.level:
        raise ConfigError(
            [f"{path}: {most.by} contradicts {least.by}, which asks for more; leave one of them out"]
        )
    if least.level >= VERIFY_CA and not {"ssl_ca", "ssl_capath"} & set(given):
        what = "the file of the certificate authority to check the server against"
        raise ConfigError([f"{path}: {least.by} needs ssl-ca, {what}, or ssl-capath"])
    if least.by or most.level == OFF:
        found.mode = MODES[least.level]
        found.asked_by = least.by or most.by


def _asked(bounds: Mapping[tuple[str, str | None], _Bound], given: Mapping[str, str]) -> Iterator[_Bound]:
    for (name, value), (level, by) in bounds.items():
        if name in given and value in {None, given[name]}:
            yield _Bound(level, by.format(given[name]))


def _mode(path: str, value: str) -> _Bound:
    level = WORDS.get(value.upper())
    if level is None:
        raise _refused(path, "ssl_mode", value, f"must be one of {', '.join(WORDS)}")
    return _Bound(level, f"ssl-mode = {value}")


def _details(path: str, given: Mapping[str, str]) -> TlsDetails:
    capath, certificate, key = (given.get(f"ssl_{one}") for one in ("capath", "cert", "key"))
    ciphers = given.get("ssl_cipher", "")
    if key is not None and certificate is None:
        raise _refused(path, "ssl_key", key, "needs ssl-cert, the certificate that it is the key of")
    if capath is not None:
        _usable(
            f"{path}: ssl-capath = {capath}",
            f"a directory of certificate authorities, named as openssl rehash does, {BY_WHOM}",
            lambda: _require(any(map(_HASHED.fullmatch, os.listdir(capath)))),  # noqa: PTH208 - names are enough
            "no certificate by its hash in it",
        )
    if certificate is not None:
        _usable(
            f"{path}: ssl-cert = {certificate if key is None else f'{certificate} with the key {key}'}",
            f"a certificate (PEM) and its key without a passphrase, {BY_WHOM}",
            lambda: required(None, replace(USUAL, certificate=certificate, key=key)),
            "no certificate with its key",
        )
    if ciphers:
        _usable(
            f"{path}: ssl-cipher = {ciphers}",
            "a list of ciphers of TLS 1.2 with certificates, in OpenSSL's words",
            lambda: required(None, replace(USUAL, ciphers=ciphers)),
            "no cipher that OpenSSL has",
        )
    details = replace(USUAL, authorities=capath, certificate=certificate, key=key, ciphers=ciphers)
    if "tls_version" in given:
        lowest, highest = _versions(path, given["tls_version"])
        details = replace(details, lowest=lowest, highest=highest)
    return details


def _versions(path: str, value: str) -> tuple[str, str]:
    """Return the oldest and the newest of the versions in a list that are spoken here."""
    names = {name.strip().lower() for name in value.split(",")}
    allowed = [name for name in VERSIONS if name.lower() in names]
    wrong = names - {name.lower() for name in VERSIONS} - {"tlsv1", "tlsv1.0", "tlsv1.1"}
    if wrong or not allowed:
        raise _refused(path, "tls_version", value, f"must name {' or '.join(VERSIONS)}, with commas between")
    return allowed[0], allowed[-1]


def must_hold_certificates(named: str, path: str) -> None:
    """Refuse a file that has no certificate authority in it.

    Args:
        named: the key or option that names it.
        path: the file.

    Raises:
        ConfigError: it cannot be read or has no certificate.
    """

    def look() -> None:
        require_plain(path)
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)

    _usable(f"{named} = {path}", f"a file of certificates (PEM), {BY_WHOM}", look, "no certificate in it")


def _public_key(named: str, path: str) -> str:
    """Return a server's public key, PEM, as its file has it."""
    text = ""

    def read() -> None:
        nonlocal text
        text = read_whole(path).decode("ascii", "replace")
        _require("-----BEGIN PUBLIC KEY-----" in text)

    wanted = f"a file with the server's public key (PEM), its public_key.pem, {BY_WHOM}"
    _usable(f"{named} = {path}", wanted, read, "no public key in it")
    return text


def _require(there: bool) -> None:  # noqa: FBT001 - its name says what of
    if not there:
        raise ValueError("nothing that is looked for")


def _usable(named: str, wanted: str, look: Callable[[], object], empty: str) -> None:
    """Have a look at a file for encryption now, and not at the first connection.

    Raises:
        ConfigError: it is of no use; names the option, its value, why, and what would be right.
    """
    try:
        look()
    except (ssl.SSLError, ValueError) as error:  # ValueError: what is looked for is not in it, or no text is
        raise ConfigError([f"{named}: {empty}; it must be {wanted}"]) from error
    except OSError as error:
        why = _NOT_USABLE.get(type(error), error.strerror or str(error))
        raise ConfigError([f"{named}: {why}; it must be {wanted}"]) from error
