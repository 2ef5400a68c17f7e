"""What a page can be made of, the page, and CSV and JSON beside it, each written whole or not at all."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from lab.bench.store import ASKED
from lab.report.figures import clock
from lab.report.page import build
from lab.report.rows import FILE_NAME, ReportError, Row, read_rows
from lab.report.summary import best_static, groups
from lab.report.trace import COLUMNS as TRACE_COLUMNS
from lab.report.trace import Trace, read_trace
from lab.report.tracefigures import figures, know_first
from tuner.journal.tables import FILE_NAME as JOURNAL_NAME
from tuner.system.files import require_plain

SQLITE = b"SQLite format 3\x00"
PAGE_NAME = "report.html"


def located(path: Path) -> Path:
    """Return the file that a page can be made of, given it or the directory it lies in.

    Raises:
        ReportError: there is none; the message says what was looked for.
    """
    try:
        if path.is_dir():
            for name in (FILE_NAME, JOURNAL_NAME):
                if (path / name).exists():
                    require_plain(path / name)
                    return path / name
            if (path / ASKED).exists():
                raise ReportError(
                    f"{path}: a bench without a finished row yet; innobrim bench --resume {path}"
                )
            raise ReportError(
                f"{path}: neither {FILE_NAME} of a bench nor {JOURNAL_NAME} of a daemon is in this directory"
            )
        if not path.exists():
            raise ReportError(f"{path}: no such file or directory; {EXPECTED}")
        if not path.is_file():
            raise ReportError(f"{path}: no file; {EXPECTED}")
        with path.open("rb") as file:
            start = file.read(len(SQLITE))
    except OSError as error:
        raise ReportError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    if start == SQLITE or start.lstrip()[:1] == b"{":
        return path
    raise ReportError(f"{path}: {'empty' if not start else 'something else'}; {EXPECTED}")


EXPECTED = (
    f"expected {FILE_NAME} of a bench, a trace of innobrim record, a daemon's {JOURNAL_NAME}, "
    "or the directory of one of them"
)


def beside(source: Path, path: Path) -> Path:
    """Return where the page of a ``located`` path goes unless told; never into a daemon's state directory."""
    if not is_journal(path):
        return path.parent / PAGE_NAME
    return Path(PAGE_NAME) if source.is_dir() else path.with_suffix(".html")


def is_journal(path: Path) -> bool:
    """Tell a journal from rows, by its first bytes.

    Raises:
        ReportError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise ReportError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def bench_summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what the rows come to, for machines."""
    return {
        "schema": 1,
        "suite": next((row.suite for row in rows if row.suite), ""),
        "plan_hash": next((row.plan_hash for row in rows if row.plan_hash), ""),
        "rows": len(rows),
        "groups": [
            {
                "variant": group.variant,
                "conditions": group.conditions,
                "not_limited": group.not_limited,
                "left_out": dict(group.left_out),
                "blocks": group.blocks,
                "contenders": group.contenders,
                "verdicts": group.verdicts,
                "best_static": best_static(group.search),
            }
            for group in groups(rows)
        ],
    }


def trace_summary(trace: Trace) -> dict[str, Any]:
    """Return what a trace comes to, for machines."""
    return {
        "schema": 1,
        "server": trace.run.facts,
        "began": trace.wall[0],
        "ended": trace.wall[-1],
        "figures": {one.name: one.value for one in figures(trace)},
        "know_first": know_first(trace),
        "decisions": trace.decisions,
        "holds": trace.holds,
        "events": trace.events,
    }


def trace_series_csv(to: IO[str], trace: Trace) -> None:
    table = csv.writer(to, lineterminator="\n")
    table.writerow(("at", "wall", *TRACE_COLUMNS))
    for index, (at, wall) in enumerate(zip(trace.at, trace.wall, strict=True)):
        values = (trace.columns[name][index] for name in TRACE_COLUMNS)
        table.writerow((round(at, 3), round(wall, 3), *values))


def trace_events_csv(to: IO[str], trace: Trace) -> None:
    table = csv.writer(to, lineterminator="\n")
    table.writerow(("at", "utc", "what", "code", "said"))
    lines = [(one.at, one.wall, "event", one.code, one.said) for one in (*trace.events, *trace.missed)]
    lines += [
        (one.at, one.wall, "decision", one.kind, f"{one.before} → {one.after}: {one.detail}")
        for one in trace.decisions
    ]
    for at, wall, what, code, said in sorted(lines, key=lambda line: line[0]):
        table.writerow((round(at, 3), clock(wall), what, code, said))


Fill = Callable[[IO[str]], Iterable[object] | None]


def write_bench(directory: Path) -> list[Path]:
    """Write ``report.html`` and ``summary.json`` beside the rows of a bench; return them, the page first.

    Raises:
        ReportError: the rows cannot be read, or nothing can be written there.
    """
    return write(directory / FILE_NAME, directory / PAGE_NAME, as_csv=False, as_json=True)


def write(source: Path, output: Path, *, as_csv: bool, as_json: bool, run: int | None = None) -> list[Path]:
    """Write the page of rows or of a journal, and CSV and JSON beside it where they are wanted.

    Args:
        source: a file as ``located`` returns it.
        output: the page; replaced where there is one.
        as_csv: of a journal, every second and what happened.
        as_json: beside it, the figures.
        run: of a journal; None for the newest.

    Returns:
        What was written, the page first.

    Raises:
        ReportError: it cannot be read, or nothing can be written there.
    """
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    written, before, summary = [output], "", {}
    if is_journal(source):
        trace, before = read_trace(source, run), f"{output.stem}-"  # traces in one directory stay apart
        replace_text(output, build(f"Trace of InnoDB at {trace.run.facts.endpoint}", trace, made=day))
        for name, fill in (("series", trace_series_csv), ("events", trace_events_csv)) if as_csv else ():
            written.append(output.with_name(f"{before}{name}.csv"))
            replace(written[-1], partial(fill, trace=trace))
        summary = trace_summary(trace) if as_json else {}
    else:
        rows = read_rows(source)
        replace_text(output, build(_title(rows), rows, made=day))
        summary = bench_summary(rows)
    if as_json:
        written.append(output.with_name(f"{before}summary.json"))
        replace_text(written[-1], msgspec.json.format(msgspec.json.encode(summary)).decode() + "\n")
    return written


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
