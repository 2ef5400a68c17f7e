"""What a page can be made of, the page, and CSV and JSON beside it, each written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from lab.bench.store import ASKED
from lab.report.bench_page import bench_page, bench_summary
from lab.report.rows import FILE_NAME, ReportError, read_rows
from lab.report.trace import read_trace
from lab.report.trace_page import events_csv, series_csv, trace_page, trace_summary
from tuner.journal.tables import FILE_NAME as JOURNAL_NAME
from tuner.system.files import require_plain

SQLITE = b"SQLite format 3\x00"
PAGE_NAME = "report.html"
EXPECTED = (
    f"expected {FILE_NAME} of a bench, a trace of innobrim record, a daemon's {JOURNAL_NAME}, "
    "or the directory of one of them"
)


def located(path: Path) -> Path:
    """Return the file that a page can be made of, given it or the directory it lies in.

    Raises:
        ReportError: there is none; the message says what was looked for.
    """
    with _readable(path):
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
        if not path.is_file():
            what = "no file" if path.exists() else "no such file or directory"
            raise ReportError(f"{path}: {what}; {EXPECTED}")
        start = _start(path)
    if start == SQLITE or start.lstrip()[:1] == b"{":
        return path
    raise ReportError(f"{path}: {'something else' if start else 'empty'}; {EXPECTED}")


def is_journal(path: Path) -> bool:
    """Tell a journal from rows, by its first bytes.

    Raises:
        ReportError: it cannot be read.
    """
    with _readable(path):
        return _start(path) == SQLITE


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(SQLITE))


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReportError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def default_page(source: Path, path: Path) -> Path:
    """Return where the page of a ``located`` path goes unless told; never into a daemon's state directory."""
    if not is_journal(path):
        return path.parent / PAGE_NAME
    return Path(PAGE_NAME) if source.is_dir() else path.with_suffix(".html")


def write_bench(directory: Path) -> Path:
    """Write ``report.html`` and ``summary.json`` beside the rows of a bench; return the page.

    Raises:
        ReportError: the rows cannot be read, or nothing can be written there.
    """
    return write(directory / FILE_NAME, directory / PAGE_NAME, as_csv=False, as_json=True)[0]


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
    made = datetime.now(UTC).strftime("%Y-%m-%d")
    texts: dict[Path, str] = {}
    if is_journal(source):
        trace = read_trace(source, run)
        texts[output] = trace_page(trace, made=made)
        for name, write_csv in (("series", series_csv), ("events", events_csv)) if as_csv else ():
            write_csv(buffer := io.StringIO(), trace)
            texts[output.with_name(f"{output.stem}-{name}.csv")] = buffer.getvalue()
        # traces in one directory stay apart by their names
        summary, name = trace_summary(trace), f"{output.stem}-summary.json"
    else:
        rows = read_rows(source)
        texts[output] = bench_page(rows, made=made)
        summary, name = bench_summary(rows), "summary.json"
    if as_json:
        texts[output.with_name(name)] = msgspec.json.format(msgspec.json.encode(summary)).decode() + "\n"
    for path, text in texts.items():
        replace_text(path, text)
    return list(texts)


def replace_text(path: Path, text: str) -> None:
    """Put a text in a file's place, whole or not at all.

    Raises:
        ReportError: it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with fresh.open("x", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ReportError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from error
