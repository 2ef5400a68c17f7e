"""Finished rows, one JSON object a line, so that a part that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


class Ledger:
    """The rows of one part in one file."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        """Open; without ``resume`` an older file is kept aside under ``.cache/prove``."""
        self._path = path
        if not resume and path.exists():
            aside = Path(".cache/prove")
            aside.mkdir(parents=True, exist_ok=True)
            path.replace(aside / f"{path.stem}-{time.strftime('%Y%m%dT%H%M%S')}.jsonl")
        self.rows: list[dict[str, Any]] = read_rows(path)

    def find(self, **key: object) -> dict[str, Any] | None:
        """Return the first row with these values, None when there is none."""
        for row in self.rows:
            if all(row.get(name) == value for name, value in key.items()):
                return row
        return None

    def add(self, row: dict[str, Any]) -> None:
        """Append a row; it is on the disk when this returns."""
        self.rows.append(row)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file, none where there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
