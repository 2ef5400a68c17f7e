"""A bench's directory: what was asked for, and the finished rows, one JSON object a line."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

ROWS = "rows.jsonl"
ASKED = "bench.json"
"""Names of the files with the finished rows, and with what was asked for."""

Row = dict[str, Any]


def in_memory(row: Row) -> bool:
    """Return whether a row was measured on a disk that is memory."""
    return bool(row.get("conditions", {}).get("disk", {}).get("in_memory"))


class PlanError(Exception):
    """A plan that cannot be run; the message names the key, the value and what would be right."""


class HeldError(Exception):
    """A directory that another bench is at work in; the message says which process."""


class Ledger:
    """The finished rows of one file, so that what was interrupted goes on where it stopped."""

    def __init__(self, path: Path) -> None:
        """Open, with the rows that are there.

        Raises:
            ValueError: as ``numbered_rows``.
        """
        self._path = path
        self.rows: list[Row] = read_rows(path)

    def find(self, **key: object) -> Row | None:
        """Return the first row with these values, None when there is none."""
        for row in self.rows:
            if all(row.get(name) == value for name, value in key.items()):
                return row
        return None

    def add(self, row: Row) -> None:
        """Append a row; it is on the disk when this returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        whole = self._path.read_bytes() if self._path.exists() else b""
        if whole and not whole.endswith(b"\n"):  # a crash cut it off, and the next row must not stick to it
            os.truncate(self._path, whole.rfind(b"\n") + 1)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows.append(row)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, none where there is no file; raises as ``numbered_rows``."""
    return [row for _, row in numbered_rows(path)] if path.exists() else []


def numbered_rows(path: Path) -> list[tuple[int, Row]]:
    """Return the rows of a file, each with the number of its line; a last line that was cut off is no row.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no text, or another line is no row; the message has its number.
    """
    rows: list[tuple[int, Row]] = []
    whole, _newline, _cut = path.read_bytes().rpartition(b"\n")
    for number, line in enumerate(whole.decode().split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: not JSON: {error}") from error
        if not isinstance(row, dict):
            raise ValueError(f"{path}, line {number}: {line[:40]!r} is no row; a JSON object is")  # noqa: TRY004 - the file's content is wrong
        rows.append((number, row))
    return rows


@contextlib.contextmanager
def held(directory: Path, *, new: bool = False) -> Iterator[None]:
    """Keep others out of a directory; the kernel lets go of it also after ``kill -9``.

    Args:
        directory: a bench's own.
        new: make it where it is not there yet.

    Raises:
        HeldError: another one is at work in it.
        PlanError: it is no bench's directory, or cannot be written or locked.
    """
    if not new and not (directory / ASKED).exists():
        raise PlanError(f"{directory}: no bench's directory: it has no {ASKED}")
    try:
        if new:
            directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory / "bench.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise PlanError(f"{directory}: cannot be written: {os.strerror(error.errno or 0)}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                who = os.read(descriptor, 20).decode("ascii", "replace").strip() or "of unknown id"
                raise HeldError(
                    f"{directory}: process {who} runs a bench in it; wait for its end, or end it first"
                ) from error
            raise PlanError(
                f"{directory}: cannot be locked: {os.strerror(error.errno or 0)}; name one on a local disk"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def begin(directory: Path, asked: Struct) -> Ledger:
    """Make a directory, note in it what was asked for, and return its ledger.

    Raises:
        PlanError: it holds rows or what was asked for before, or cannot be written.
    """
    rows = (directory / ROWS).exists()
    if rows or (directory / ASKED).exists():
        why = "holds rows already" if rows else "a bench was begun there"
        raise PlanError(f"{directory}: {why}; go on with --resume {directory}, or name another --output")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        part = directory / f"{ASKED}.part"
        part.write_bytes(msgspec.json.format(msgspec.json.encode(asked)))
        part.replace(directory / ASKED)
    except OSError as error:
        raise PlanError(f"{directory}: cannot be written: {os.strerror(error.errno or 0)}") from error
    return Ledger(directory / ROWS)
