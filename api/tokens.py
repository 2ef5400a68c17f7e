"""Who may use the API over TCP: named tokens, each with a role, of which only hashes are stored.

One file says it, ``tokens.json`` in the state directory. The first start writes it, with one token that may
operate; ``innobrim token`` changes it. A running daemon looks at most once in ``LOOK_SECONDS``, and only when
somebody asks, whether it has changed. By a file that is gone or cannot be read nobody is let in.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import hmac
import logging
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from tuner.system.statedir import read_plain, write_private

NAME = "tokens.json"
FIRST = "first"
"""The token of the first start; the command line finds it in ``FIRST_FILE``."""

FIRST_FILE = "token"
ANONYMOUS = "anonymous"
"""Whoever reads without a token, where the listener lets people in without one."""

MOST_TOKENS = 200
LOOK_SECONDS = 1.0
LOCK_SECONDS = 5.0
_LARGEST = 256 * 1024
_LENGTH = 32
_LOG = logging.getLogger("innobrim.api")


class TokenError(Exception):
    """The tokens cannot be used or changed; the message says why and what to do."""


class Role(StrEnum):
    """What a token is good for."""

    READ = "read"
    OPERATE = "operate"

    def covers(self, needed: Role) -> bool:
        """Tell whether this role may do what needs another; who may operate may read."""
        return self is Role.OPERATE or needed is Role.READ


class Token(Struct, frozen=True, forbid_unknown_fields=True):
    """One token, without its secret."""

    name: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$(?!\n)",
            description="how the audit events call who used it",
        ),
    ]
    role: Role
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)", description="of the secret, hex")]
    made: Annotated[float, Meta(description="Unix time")]
    expires: Annotated[float | None, Meta(description="Unix time; none for never")] = None

    def expired(self, wall: float) -> bool:
        """Tell whether its time is over."""
        return self.expires is not None and wall >= self.expires


class Register(Struct, frozen=True, forbid_unknown_fields=True):
    """All that the file says.

    Attributes:
        version: of the file's layout.
        anonymous: reading needs no token where the listener is loopback's.
        tokens: in the order in which they were made.
    """

    version: Annotated[int, Meta(ge=1, le=1)] = 1
    anonymous: bool = True
    tokens: tuple[Token, ...] = ()

    def named(self, name: str) -> Token | None:
        """Return the token of that name."""
        return next((one for one in self.tokens if one.name == name), None)


NOBODY = Register(anonymous=False)
"""What counts where the file cannot be read."""


def prepare(state_directory: str | Path) -> Path:
    """Return the path of the register, writing it with the first token where there is none.

    A secret that is in ``FIRST_FILE`` already stays the first token's: others may hold it.

    Raises:
        TokenError: a file cannot be read or written, or is open to accounts that it must not be open to.
    """
    directory = Path(state_directory)
    path = directory / NAME
    try:
        with locked(directory):
            _require_private(directory / FIRST_FILE)
            if os.path.lexists(path):
                load(path)
            else:
                secret = _first_secret(directory / FIRST_FILE)
                _save(path, Register(tokens=(_made(FIRST, Role.OPERATE, secret, expires=None),)))
    except OSError as error:
        raise TokenError(f"{path} cannot be used: {error.strerror}") from error
    return path


def load(path: Path) -> Register:
    """Return what a register says.

    Raises:
        TokenError: it cannot be read, others may write it, or it is no register.
    """
    try:
        mode, raw = read_plain(path, _LARGEST)
        theirs = mode & stat.S_IWOTH or (mode & stat.S_IWGRP and not _group_has_directory(path))
    except OSError as error:
        raise TokenError(f"{path} cannot be read: {error.strerror}") from error
    if theirs:
        raise TokenError(f"{path} can be written by others than its owner; chmod 600 after a look into it")
    try:
        return msgspec.json.decode(raw, type=Register)
    except msgspec.DecodeError as error:
        raise TokenError(
            f"{path} is no register of tokens ({error}); remove it, and the next start writes a new one"
        ) from error


def make(state_directory: Path, name: str, role: Role, *, expires: float | None) -> str:
    """Add a token to a register and return its secret, which is stored nowhere.

    Args:
        state_directory: where the register is.
        name: how the audit events call it.
        role: what it is good for.
        expires: Unix time, None for never.

    Raises:
        TokenError: the name is taken or no name, or the register cannot be changed.
    """
    secret = secrets.token_urlsafe(_LENGTH)
    token = _made(name, role, secret, expires=expires)

    def add(register: Register) -> Register:
        if register.named(name) is not None:
            raise TokenError(
                f"there is a token called {name} already: innobrim token revoke {name}, or another name"
            )
        if len(register.tokens) >= MOST_TOKENS:
            raise TokenError(f"there are {MOST_TOKENS} tokens, the most there can be; revoke some")
        return replace(register, tokens=(*register.tokens, token))

    _change(state_directory, add)
    return secret


def revoke(state_directory: Path, name: str) -> None:
    """Take a token out of a register; with the first one goes the file that has its secret.

    Raises:
        TokenError: there is none of that name, or the register cannot be changed.
    """

    def remove(register: Register) -> Register:
        if register.named(name) is None:
            known = ", ".join(one.name for one in register.tokens) or "none"
            raise TokenError(f"no token is called {name}; there are: {known}")
        return replace(register, tokens=tuple(one for one in register.tokens if one.name != name))

    _change(state_directory, remove)
    if name == FIRST:
        with contextlib.suppress(OSError):
            (state_directory / FIRST_FILE).unlink()


def let_anonymous_read(state_directory: Path, *, allowed: bool) -> None:
    """Say whether reading may go without a token.

    Raises:
        TokenError: it is so already, or the register cannot be changed.
    """

    def turn(register: Register) -> Register:
        if register.anonymous is allowed:
            raise TokenError(f"reading without a token is {'open' if allowed else 'closed'} already")
        return replace(register, anonymous=allowed)

    _change(state_directory, turn)


def _change(directory: Path, change: Callable[[Register], Register]) -> None:
    path = directory / NAME
    try:
        with locked(directory):
            _save(path, change(load(path)))
    except TimeoutError as error:
        raise TokenError(f"{path} cannot be changed: {error.strerror}; try again") from error
    except OSError as error:
        account = ""
        with contextlib.suppress(OSError, KeyError):
            account = f", {directory.owner()}"
        raise TokenError(
            f"{path} cannot be changed: {error.strerror}; run this as the daemon's account{account}"
        ) from error


def _made(name: str, role: Role, secret: str, *, expires: float | None) -> Token:
    token = Token(
        name=name,
        role=role,
        sha256=hashlib.sha256(secret.encode()).hexdigest(),
        made=time.time(),
        expires=expires,
    )
    try:
        return msgspec.convert(msgspec.to_builtins(token), Token)
    except msgspec.ValidationError:
        raise TokenError(
            f"{name!r} is no name for a token: letters, digits and ._@- after a letter or digit, at most 64"
        ) from None


def _save(path: Path, register: Register) -> None:
    write_private(path, msgspec.json.format(msgspec.json.encode(register), indent=1) + b"\n")


def _first_secret(path: Path) -> str:
    """Return the secret in the file of the first token, writing one where there is no file."""
    if not os.path.lexists(path):
        write_private(path, f"{secrets.token_urlsafe(_LENGTH)}\n".encode())
    secret = read_plain(path, _LARGEST)[1].decode(errors="replace").strip()
    if len(secret) < _LENGTH:
        raise TokenError(
            f"the token file {path} holds no token; remove it, and the next start writes a new one"
        )
    return secret


def _group_has_directory(path: Path) -> bool:
    """Tell whether the file's group can replace it anyway, as Kubernetes gives it a volume with fsGroup."""
    file, directory = path.lstat(), path.parent.stat()
    same = file.st_gid == directory.st_gid
    return same and bool(directory.st_mode & stat.S_IWGRP) and not directory.st_mode & stat.S_ISVTX


def _require_private(path: Path) -> None:
    if os.path.lexists(path) and path.lstat().st_mode & stat.S_IRWXO:
        raise TokenError(
            f"the token file {path} is open to everybody and may have leaked: innobrim token revoke {FIRST} "
            f"takes it back and removes the file; where there is no {NAME} yet, remove the file yourself"
        )


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
        match = None
        for one in self._register.tokens:
            if hmac.compare_digest(sent, one.sha256):
                match = one
        return match

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
        file = path.stat()
    except OSError:
        return None
    return file.st_ino, file.st_mtime_ns, file.st_size


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep other writers out for as long as it takes; the lock is the directory's own and leaves no file.

    Raises:
        OSError: the directory cannot be opened.
        TimeoutError: another writer has held the lock for ``LOCK_SECONDS``.
    """
    place = os.open(directory, os.O_DIRECTORY)
    try:
        ends = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= ends:
                    raise TimeoutError(
                        errno.EBUSY,
                        f"another program holds the lock on {directory}, for {LOCK_SECONDS:.0f} s now",
                    ) from None
                time.sleep(0.05)  # flock cannot wait with a time limit, nor tell when it is free
        yield
    finally:
        os.close(place)
