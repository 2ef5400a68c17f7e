"""The one token: written by the first start, read again by later ones, kept in memory only as a hash."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path

NAME = "token"
_LENGTH = 32


class TokenError(Exception):
    """The token file cannot be used; the message says why and what to do."""


def token_sha256(state_directory: str | Path) -> str:
    """Return the hex SHA-256 of the state directory's token, writing the token first where there is none.

    Raises:
        TokenError: the file cannot be read or written, is empty, or is readable by everybody.
    """
    path = Path(state_directory) / NAME
    try:
        token = _read(path) if path.exists() else _create(path)
    except OSError as error:
        raise TokenError(f"the token file {path} cannot be used: {error.strerror or error}") from error
    return hashlib.sha256(token.encode()).hexdigest()


def _read(path: Path) -> str:
    if path.stat().st_mode & stat.S_IRWXO:
        raise TokenError(
            f"the token file {path} is open to everybody and may have leaked; remove it, "
            "the next start writes a new one"
        )
    token = path.read_text(encoding="ascii", errors="replace").strip()
    if len(token) < _LENGTH:
        raise TokenError(f"the token file {path} holds no token; remove it, the next start writes a new one")
    return token


def _create(path: Path) -> str:
    """Write a new token whole or not at all; where another start was faster, take its token."""
    token = secrets.token_urlsafe(_LENGTH)
    draft = path.with_name(f".{NAME}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(
            os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
        ) as file:
            file.write(token + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return _read(path)
