"""A bench's directory: what was asked for, the finished rows, and the pages made from them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from lab.bench.ledger import Ledger
from lab.bench.plan import Plan, PlanError, Suite, check
from lab.bench.refusals import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKED = "bench.json"
ROWS = "rows.jsonl"


class HeldError(Exception):
    """A directory that another bench is at work in; the message says which process."""


class Asked(Struct, frozen=True, forbid_unknown_fields=True):
    """What a bench was started with, so that it can be gone on with.

    Attributes:
        name: of the suite.
        about: its sentence.
        seed: of the order.
        server: the server in the user's words.
        plans: what is run.
    """

    name: str
    about: str
    seed: int
    server: str
    plans: tuple[Plan, ...]

    @property
    def suite(self) -> Suite:
        """Return the suite."""
        return Suite(name=self.name, about=self.about, plans=self.plans)


@contextlib.contextmanager
def held(directory: Path, *, new: bool = False, asked: str = ASKED, what: str = "bench") -> Iterator[None]:
    """Keep other benches out of a directory; the kernel lets go of it also after ``kill -9``.

    Args:
        directory: a bench's own.
        new: make it where it is not there yet.
        asked: name of the file with what was asked for.
        what: a word for what is at work there.

    Raises:
        HeldError: another bench is at work in it.
        PlanError: it is no bench's directory, or cannot be written or locked.
    """
    if not new and not (directory / asked).exists():
        raise PlanError(f"{directory}: no {what}'s directory: it has no {asked}")
    try:
        if new:
            directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory / f"{what}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise PlanError(f"{directory}: cannot be written: {os.strerror(error.errno or 0)}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                who = os.read(descriptor, 20).decode("ascii", "replace").strip() or "of unknown id"
                raise HeldError(
                    f"{directory}: process {who} runs a {what} in it; wait for its end, or end it first"
                ) from error
            raise PlanError(
                f"{directory}: cannot be locked: {os.strerror(error.errno or 0)}; name one on a local disk"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def begin(
    directory: Path, asked: Struct, name: str = ASKED, *, opened: Ledger | None = None, what: str = "bench"
) -> Ledger:
    """Make a directory, note in it what was asked for, and return its ledger.

    Args:
        directory: for the rows.
        asked: what is to be gone on with.
        name: of the file with it.
        opened: rows that are there and count, whatever was asked for; without one there may be none.
        what: a word for what is begun.

    Raises:
        PlanError: it holds other rows already, or what was asked for before, or cannot be written.
    """
    others = (directory / ROWS).exists() and not (opened is not None and opened.rows)
    if others or (directory / name).exists():
        why = "holds rows already" if others else f"a {what} was begun there"
        raise PlanError(f"{directory}: {why}; go on with --resume {directory}, or name another --output")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        part = directory / f"{name}.part"
        part.write_bytes(msgspec.json.format(msgspec.json.encode(asked)))
        part.replace(directory / name)
    except OSError as error:
        raise PlanError(f"{directory}: cannot be written: {os.strerror(error.errno or 0)}") from error
    return opened or Ledger(directory / ROWS)


def go_on(directory: Path) -> tuple[Asked, Ledger]:
    """Return what a bench was started with, and its ledger.

    Raises:
        PlanError: it is no bench's directory, or its files are wrong.
    """
    try:
        asked = msgspec.json.decode((directory / ASKED).read_bytes(), type=Asked)
    except FileNotFoundError as error:
        raise PlanError(f"{directory}: no bench's directory: it has no {ASKED}") from error
    except OSError as error:
        raise PlanError(f"{directory / ASKED}: cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PlanError(f"{directory / ASKED}: {in_words(str(error), Asked)}") from error
    check(asked.plans, str(directory / ASKED))
    try:
        ledger = Ledger(directory / ROWS)
    except ValueError as error:
        raise PlanError(f"{error}; without that line its row is measured again") from error
    digest = asked.suite.digest
    for row in ledger.rows:
        if row.get("plan_hash") != digest:
            raise PlanError(
                f"{directory / ROWS}: has a row of another plan ({row.get('plan_hash')}, not {digest}); "
                f"the two cannot be compared"
            )
    return asked, ledger
