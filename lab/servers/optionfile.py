"""Logins as MySQL option files have them."""

from __future__ import annotations

from pathlib import Path


def write_private(path: Path, text: str) -> Path:
    """Write a file that only we can read, and return its path."""
    path.touch(mode=0o600)
    path.write_text(text, encoding="utf-8")
    return path


def quoted(value: str) -> str:
    """Return a value as an option file has it, whatever characters are in it."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return '"' + "".join(escapes.get(letter, letter) for letter in value) + '"'
