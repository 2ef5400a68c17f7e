"""The register of tokens as a running daemon sees it.

It looks at most once in ``LOOK_SECONDS``, and only when somebody asks, whether the file is another one now.
By a file that is gone or cannot be read nobody is let in.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import Callable
from pathlib import Path

from api.register import NOBODY, Register, Token, TokenError, load

LOOK_SECONDS = 1.0

_LOG = logging.getLogger("innobrim.api")


class Tokens:
    """The register as a running daemon sees it; for the API's thread."""

    def __init__(
        self,
        path: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Read a register.

        Args:
            path: of the file, which ``prepare`` has seen to.
            monotonic: when to look again is measured on this, seconds.
            wall: tokens expire by this, Unix time.
        """
        self._path = path
        self._monotonic = monotonic
        self._wall = wall
        self._seen: tuple[int, int, int] | None = None
        self._looked = monotonic()
        self._register = self._read()

    @property
    def anonymous(self) -> bool:
        """Tell whether reading may go without a token."""
        self._look()
        return self._register.anonymous

    def find(self, secret: str) -> Token | None:
        """Return the token with that secret, expired ones too; None where there is none.

        Every hash is compared, each in constant time, so that neither the answer's time nor its order says
        how near a guess came.
        """
        self._look()
        sent = hashlib.sha256(secret.encode(errors="replace")).hexdigest()
        found = None
        for one in self._register.tokens:
            if hmac.compare_digest(sent, one.sha256):
                found = one
        return found

    def expired(self, token: Token) -> bool:
        """Tell whether a token's time is over."""
        return token.expired(self._wall())

    def _look(self) -> None:
        now = self._monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        if _fingerprint(self._path) == self._seen:
            return
        before = {one.name: one for one in self._register.tokens}
        self._register = self._read()
        after = {one.name: one for one in self._register.tokens}
        gone = sorted(name for name, one in before.items() if after.get(name) != one)
        new = sorted(name for name, one in after.items() if before.get(name) != one)
        _LOG.info("tokens changed: revoked %s; new %s", ", ".join(gone) or "-", ", ".join(new) or "-")

    def _read(self) -> Register:
        self._seen = _fingerprint(self._path)
        try:
            return load(self._path)
        except TokenError as error:
            _LOG.error("nobody is let in over TCP by a token: %s", error)
            return NOBODY


def _fingerprint(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
