"""Logins as MySQL option files have them."""

from __future__ import annotations

from pathlib import Path

from tuner.config.optiontls import MODES, PREFERRED, WORDS
from tuner.servers.endpoint import USUAL, VERSIONS, Endpoint


def write_private(path: Path, text: str) -> Path:
    """Write a file that only we can read, and return its path."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path


def quoted(value: str) -> str:
    """Return a value as an option file has it, whatever characters are in it."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(letter, letter) for letter in value) + '"'


def encryption(endpoint: Endpoint, directory: Path) -> str:
    """Return an endpoint's encryption as lines of an option file; the server's public key gets a file.

    Args:
        endpoint: whose.
        directory: for that file.
    """
    details = endpoint.tls_details
    level = MODES.index(endpoint.tls)
    given = {
        "ssl-mode": next(word for word, place in WORDS.items() if place == level)
        if level != PREFERRED
        else "",
        "ssl-ca": endpoint.tls_ca,
        "ssl-capath": details.authorities,
        "ssl-cert": details.certificate,
        "ssl-key": details.key,
        "ssl-cipher": details.ciphers,
    }
    words = {name: value for name, value in given.items() if value}
    if (details.lowest, details.highest) != (USUAL.lowest, USUAL.highest):
        spoken = list(VERSIONS)
        between = spoken[spoken.index(details.lowest) : spoken.index(details.highest) + 1]
        words["tls-version"] = ",".join(between)
    if endpoint.public_key:
        words["server-public-key-path"] = str(
            write_private(directory / "public_key.pem", endpoint.public_key)
        )
    return "".join(f"{name}={quoted(value)}\n" for name, value in words.items())
