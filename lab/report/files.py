"""The page and what lies beside it, written so that whoever opens them never sees half of one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from lab.report import exports
from lab.report.page import build
from lab.report.rows import FILE_NAME, ReportError, Row, read_rows
from lab.report.sources import PAGE_NAME, is_journal
from lab.report.together import rows_of_traces
from lab.report.trace import read_trace

Fill = Callable[[IO[str]], Iterable[object] | None]


class Made(Struct, frozen=True):
    """All that can be written of one source.

    Attributes:
        page: HTML.
        tables: what fills each CSV file, by its name without the ending.
        summary: figures for machines.
        named: the CSV and JSON files begin with the page's name, so that traces in one directory stay apart.
    """

    page: str
    tables: dict[str, Fill]
    summary: dict[str, Any]
    named: bool


def write_bench(directory: Path, *, output: Path | None = None, beside: bool = True) -> list[Path]:
    """Write the page of a bench, and ``rows.csv``, ``series.csv`` and ``summary.json`` beside it.

    Args:
        directory: with ``rows.jsonl`` in it; or that file.
        output: the page; None for ``report.html`` beside the rows.
        beside: write JSON and CSV too.

    Returns:
        What was written, the page first.

    Raises:
        ReportError: the rows cannot be read, or nothing can be written there.
    """
    rows = directory / FILE_NAME if directory.is_dir() else directory
    return write([rows], output or rows.parent / PAGE_NAME, as_csv=beside, as_json=beside)


def write(
    sources: Sequence[Path], output: Path, *, as_csv: bool, as_json: bool, run: int | None = None
) -> list[Path]:
    """Write the page of rows, of a journal or of several, and CSV and JSON beside it where they are wanted.

    Args:
        sources: files as ``lab.report.sources.located`` returns them; several have to be journals.
        output: the page; replaced where there is one.
        as_csv: beside it, every second, and rows or events.
        as_json: beside it, the figures.
        run: of a journal; None for the newest.

    Returns:
        What was written, the page first.

    Raises:
        ReportError: it cannot be read, or nothing can be written there.
    """
    made = _made(sources, run)
    before = f"{output.stem}-" if made.named else ""
    replace_text(output, made.page)
    written = [output]
    for name, fill in made.tables.items() if as_csv else ():
        written.append(output.with_name(f"{before}{name}.csv"))
        replace(written[-1], fill)
    if as_json:
        written.append(output.with_name(f"{before}summary.json"))
        replace_text(written[-1], msgspec.json.format(msgspec.json.encode(made.summary)).decode() + "\n")
    return written


def _made(sources: Sequence[Path], run: int | None) -> Made:
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    if len(sources) > 1:
        return _of_rows(rows_of_traces([read_trace(source) for source in sources]), day, "InnoDB, compared")
    (source,) = sources
    if not is_journal(source):
        rows = read_rows(source)
        return _of_rows(rows, day, _title(rows))
    trace = read_trace(source, run)
    return Made(
        page=build(f"Trace of InnoDB at {trace.run.facts.endpoint}", trace, made=day),
        tables={
            "series": partial(exports.trace_series_csv, trace=trace),
            "events": partial(exports.trace_events_csv, trace=trace),
        },
        summary=exports.trace_summary(trace),
        named=True,
    )


def _of_rows(rows: list[Row], day: str, title: str) -> Made:
    return Made(
        page=build(title, rows, made=day),
        tables={
            "rows": partial(exports.rows_csv, rows=rows),
            "series": partial(exports.series_csv, rows=rows),
        },
        summary=exports.bench_summary(rows),
        named=False,
    )


def _title(rows: Sequence[Row]) -> str:
    suite = next((row.suite for row in rows if row.suite), "")
    server = next((str(row.conditions["server"]) for row in rows if "server" in row.conditions), "")
    return " ".join(part for part in ("InnoBrim bench", suite, f"on {server}" if server else "") if part)


def replace_text(path: Path, text: str) -> None:
    """Put a text in a file's place, whole or not at all.

    Raises:
        ReportError: it cannot be written.
    """
    replace(path, lambda to: to.writelines((text,)))


def replace(path: Path, fill: Fill) -> None:
    """Put what ``fill`` writes in a file's place, whole or not at all.

    Raises:
        ReportError: it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with fresh.open("x", encoding="utf-8", newline="") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ReportError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from error
