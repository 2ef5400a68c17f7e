"""What a MySQL option file says of encryption: obeyed, or refused by name, and never passed over.

Of two options the one that asks for more decides. One that asks for less by name, such as ``skip-ssl`` beside
``ssl-ca``, is a contradiction and an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from tuner.config.errors import ConfigError
from tuner.config.tlsfiles import (
    must_be_ciphers,
    must_be_hashed,
    must_have_its_key,
    must_hold_certificates,
    public_key,
)
from tuner.servers.endpoint import USUAL, VERSIONS, TlsDetails

MODES = ("off", "preferred", "required", "verify_ca", "verify_identity")
"""What can be asked of a TCP connection, each more than the one before; the words of ``server.tls``."""

OFF, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY = range(len(MODES))

WORDS = {
    "DISABLED": OFF,
    "PREFERRED": PREFERRED,
    "REQUIRED": REQUIRED,
    "VERIFY_CA": VERIFY_CA,
    "VERIFY_IDENTITY": VERIFY_IDENTITY,
}
"""What ``ssl-mode`` takes."""

YES, NO = frozenset({"", "1", "on", "true"}), frozenset({"0", "off", "false"})

WITHOUT_EFFECT = {
    "get_server_public_key": "whoever answers could send a key; server-public-key-path names the server's",
    "enable_cleartext_plugin": "clear text is for the unix socket and TLS that is checked, whatever it says",
    "ssl_session_data": "every connection makes a session of its own",
    "ssl_session_data_continue_on_failed_reuse": "every connection makes a session of its own",
}
"""Options that change nothing here, each with why; they weaken nothing either."""

_OF_TLS = re.compile(r"ssl|tls", re.IGNORECASE)
_NEGATED = ("skip_", "disable_")


@dataclass(slots=True)
class FileTls:
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
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Bound:
    """How much or how little encryption one option asks for, by place in ``MODES``."""

    level: int
    by: str


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
                raise _refused(path, name, value, f"InnoBrim cannot obey it; it knows {_known()}")
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
        found.public_key = public_key(f"{path}: server-public-key-path", key)
    return found


_SWITCHES = frozenset({"ssl", "ssl_verify_server_cert"})
_KNOWN = _SWITCHES | {
    *("ssl_mode", "ssl_ca", "ssl_capath", "ssl_cert", "ssl_key", "ssl_cipher", "tls_version"),
    "server_public_key_path",
}


def _known() -> str:
    return ", ".join(sorted(map(_dashed, _KNOWN)))


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
    on = said in YES
    return "1" if on != name.startswith(_NEGATED) else "0"


def _levels(path: str, given: Mapping[str, str], found: FileTls) -> None:
    """Find how much encryption is asked for at least, and at most, and that these do not contradict."""
    least, most = _Bound(OFF, ""), _Bound(VERIFY_IDENTITY, "")
    for bound in _least(path, given):
        least = bound if bound.level > least.level else least
    for bound in _most(path, given):
        most = bound if bound.level < most.level else most
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


def _least(path: str, given: Mapping[str, str]) -> Iterable[_Bound]:
    if "ssl_mode" in given:
        yield _mode(path, given["ssl_mode"])
    if given.get("ssl") == "1":
        yield _Bound(REQUIRED, "ssl")
    for name in ("ssl_ca", "ssl_capath"):
        if name in given:
            yield _Bound(VERIFY_CA, f"{_dashed(name)} = {given[name]}")
    if given.get("ssl_verify_server_cert") == "1":
        yield _Bound(VERIFY_IDENTITY, "ssl-verify-server-cert")
    for name in ("ssl_cert", "ssl_key"):
        if name in given:
            yield _Bound(PREFERRED, f"{_dashed(name)} = {given[name]}")


def _most(path: str, given: Mapping[str, str]) -> Iterable[_Bound]:
    if "ssl_mode" in given and (mode := _mode(path, given["ssl_mode"])).level < REQUIRED:
        yield mode
    if given.get("ssl") == "0":
        yield _Bound(OFF, "ssl = 0 (skip-ssl)")
    if given.get("ssl_verify_server_cert") == "0":
        yield _Bound(VERIFY_CA, "ssl-verify-server-cert = 0")


def _mode(path: str, value: str) -> _Bound:
    level = WORDS.get(value.upper())
    if level is None:
        raise _refused(path, "ssl_mode", value, f"must be one of {', '.join(WORDS)}")
    return _Bound(level, f"ssl-mode = {value}")


def _details(path: str, given: Mapping[str, str]) -> TlsDetails:
    details = replace(
        USUAL,
        authorities=given.get("ssl_capath"),
        certificate=given.get("ssl_cert"),
        key=given.get("ssl_key"),
        ciphers=given.get("ssl_cipher", ""),
    )
    if details.key is not None and details.certificate is None:
        raise _refused(path, "ssl_key", details.key, "needs ssl-cert, the certificate that it is the key of")
    if details.authorities is not None:
        must_be_hashed(f"{path}: ssl-capath", details.authorities)
    if details.certificate is not None:
        must_have_its_key(f"{path}: ssl-cert", details.certificate, details.key)
    if details.ciphers:
        must_be_ciphers(f"{path}: ssl-cipher", details.ciphers)
    if "tls_version" in given:
        lowest, highest = _versions(path, given["tls_version"])
        details = replace(details, lowest=lowest, highest=highest)
    return details


def _versions(path: str, value: str) -> tuple[str, str]:
    """Return the oldest and the newest of the versions in a list that are spoken here."""
    names = [name.strip() for name in value.split(",")]
    spoken = {name.lower(): name for name in VERSIONS}
    older = {"tlsv1", "tlsv1.0", "tlsv1.1"}
    wrong = [name for name in names if name.lower() not in spoken.keys() | older]
    allowed = [name for name in VERSIONS if name.lower() in {one.lower() for one in names}]
    if wrong or not allowed:
        raise _refused(path, "tls_version", value, f"must name {' or '.join(VERSIONS)}, with commas between")
    return allowed[0], allowed[-1]
