"""Finished rows, one JSON object a line, so that a part that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Stray = Callable[[str], None]
Fault = Callable[[dict[str, Any]], str]


def _none(_row: dict[str, Any]) -> str:
    return ""


class Ledger:
    """The rows of one part in one file."""

    def __init__(
        self,
        path: Path,
        *,
        stray: Stray | None = None,
        fault: Fault = _none,
    ) -> None:
        """Open, with the rows that are there.

        Args:
            path: the file.
            stray: as for ``numbered_rows``; a line that is left out stays in the file.
            fault: the same.

        Raises:
            ValueError: as ``numbered_rows``.
        """
        self._path = path
        self.rows: list[dict[str, Any]] = read_rows(path, stray, fault)

    def find(self, **key: object) -> dict[str, Any] | None:
        """Return the first row with these values, None when there is none."""
        for row in self.rows:
            if all(row.get(name) == value for name, value in key.items()):
                return row
        return None

    def add(self, row: dict[str, Any]) -> None:
        """Append a row; it is on the disk when this returns."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        _mend(self._path)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows.append(row)


def _mend(path: Path) -> None:
    """Take away a last line that a crash cut off, so that the next row does not stick to it."""
    whole = path.read_bytes() if path.exists() else b""
    if whole and not whole.endswith(b"\n"):
        os.truncate(path, whole.rfind(b"\n") + 1)


def read_rows(path: Path, stray: Stray | None = None, fault: Fault = _none) -> list[dict[str, Any]]:
    """Return the rows of a file, none where there is no file; a last line that was cut off is no row.

    Args:
        path: the file.
        stray: as for ``numbered_rows``.
        fault: the same.

    Raises:
        ValueError: another line is no row, and nobody is told of it; the message has its number.
    """
    return [row for _, row in numbered_rows(path, stray, fault)] if path.exists() else []


def numbered_rows(
    path: Path, stray: Stray | None = None, fault: Fault = _none
) -> list[tuple[int, dict[str, Any]]]:
    """Return the rows of a file, each with the number of its line; a last line that was cut off is no row.

    Args:
        path: the file.
        stray: told of every other line that is no row, with its number; that line is left out then.
        fault: says why an object is no row of this file; empty where it is one.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no text, or another line is no row, and nobody is told of it.
    """
    rows: list[tuple[int, dict[str, Any]]] = []
    whole, _newline, _cut = path.read_bytes().rpartition(b"\n")
    if stray is None:
        whole.decode()
    for number, line in enumerate(whole.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append((number, _row(line, fault)))
        except ValueError as error:
            if stray is None:
                raise ValueError(f"{path}, line {number}: {error}") from error
            stray(f"{path}, line {number}: {error}")
    return rows


def _row(line: bytes, fault: Fault) -> dict[str, Any]:
    """Return a line as a row.

    Raises:
        ValueError: it is none.
    """
    try:
        row = json.loads(line.decode())
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise ValueError(f"{line[:40].decode(errors='replace')!r} is no row; a JSON object is")  # noqa: TRY004 - what is wrong is the file's content
    if why := fault(row):
        raise ValueError(f"no row: {why}")
    return row
