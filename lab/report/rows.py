"""The rows of a bench as the report reads them: JSON Lines, one object a row, schema 1."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from lab.bench import store

SCHEMA = 1
FILE_NAME = "rows.jsonl"
COLUMNS = (
    "commits",
    "latency_p99",
    "modified_age",
    "checkpoint_age",
    "io_capacity",
    "io_capacity_max",
    "pages_flushed",
    "sync_pages",
    "device_writes",
    "device_reads",
)
"""What a series has for each second, besides the second itself."""

SETTLING = "settle_seconds"
"""A figure that stands beside the others in a row: seconds from a contender's begin to its count."""

Values = list[float | None]


class ReportError(Exception):
    """Something that no page can be made of; the message names the file and what was expected."""


class Series(Struct, frozen=True):
    """What was read once a second; a None is a gap.

    Attributes:
        at: seconds since the row began.
        counted_from: where counting begins, on the same clock.
        flush_limit: bytes; None where it is not known.
        max_checkpoint_age: the same.
        redo_capacity: the same.
        commits: in that second, 1/s; the columns after it are in bytes, pages, pages/s and seconds.
    """

    at: list[float] = []
    counted_from: float = 0.0
    commits: Values = []
    latency_p99: Values = []
    modified_age: Values = []
    checkpoint_age: Values = []
    io_capacity: Values = []
    io_capacity_max: Values = []
    pages_flushed: Values = []
    sync_pages: Values = []
    device_writes: Values = []
    device_reads: Values = []
    flush_limit: float | None = None
    max_checkpoint_age: float | None = None
    redo_capacity: float | None = None

    def column(self, name: str) -> Values:
        """Return one of ``COLUMNS``; all gaps where it was not recorded."""
        found: Values = getattr(self, name)
        return found or [None] * len(self.at)


class Row(Struct, frozen=True):
    """One contender in one block, or one value of the static search.

    ``docs/lab/bench.md`` says what each field means; figures that are not known are None.
    """

    contender: str
    schema: int = SCHEMA
    suite: str = ""
    variant: str = ""
    plan: dict[str, Any] = {}
    plan_hash: str = ""
    seed: int | None = None
    stage: str = "block"
    block: int = 1
    position: int = 0
    kind: str = ""
    io_capacity: int | None = None
    io_capacity_max: int | None = None
    conditions: dict[str, Any] = {}
    settled: bool | None = None
    settle_seconds: float | None = None
    reset: str = ""
    reset_ratio: float | None = None
    figures: dict[str, Any] = {}
    series: Series = Series()
    events: list[tuple[float, str]] = []
    why: str = ""
    version: str = ""
    revision: str = ""
    when: str = ""

    def figure(self, name: str) -> float | None:
        """Return a figure as a number, the time to settle among them; None where it is not known."""
        found = self.settle_seconds if name == SETTLING else self.figures.get(name)
        return float(found) if isinstance(found, int | float) else None


def rows_of(given: Iterable[object]) -> list[Row]:
    """Return rows from what a bench has in memory: structs, or objects as they stand in the file.

    Raises:
        ReportError: one of them is no row.
    """
    return [_row(msgspec.to_builtins(one), f"row {number}") for number, one in enumerate(given, 1)]


def read_rows(path: Path) -> list[Row]:
    """Return the finished rows of a file; a last line that was cut short is no row yet.

    Raises:
        ReportError: it cannot be read, or is something else.
    """
    try:
        found = store.numbered_rows(path)
    except OSError as error:
        raise ReportError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: no rows of a bench: not text") from error
    except ValueError as error:
        raise ReportError(str(error)) from error
    if not found:
        raise ReportError(f"{path}: no finished row in it yet")
    return [_row(one, f"{path}: line {number}") for number, one in found]


def _row(given: object, where: str) -> Row:
    if not isinstance(given, dict) or "schema" not in given:
        raise ReportError(f"{where}: no row of innobrim bench, which would say schema {SCHEMA}")
    if given["schema"] != SCHEMA:
        raise ReportError(f"{where}: schema {given['schema']}; this version reads {SCHEMA}")
    try:
        row = msgspec.convert(given, Row)
    except msgspec.ValidationError as error:
        raise ReportError(f"{where}: {error}") from error
    for name in COLUMNS:
        values: Values = getattr(row.series, name)
        if values and len(values) != len(row.series.at):
            raise ReportError(
                f"{where}: series.{name} has {len(values)} values, series.at {len(row.series.at)}"
            )
    return row
