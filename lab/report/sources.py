"""What a page can be made of, told from what it cannot, and where the page goes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lab.experiment.store import BENCH
from lab.report.rows import FILE_NAME, ReportError
from tuner.journal.tables import FILE_NAME as JOURNAL_NAME

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
                    return path / name
            if (path / BENCH).exists():
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


def beside(sources: Sequence[Path], paths: Sequence[Path]) -> Path:
    """Return where a page goes unless told; nothing is put into a daemon's state directory.

    Args:
        sources: as they were named.
        paths: the files that were ``located`` for them.
    """
    if len(paths) > 1:
        return Path(PAGE_NAME)
    if not is_journal(paths[0]):
        return paths[0].parent / PAGE_NAME
    return Path(PAGE_NAME) if sources[0].is_dir() else paths[0].with_suffix(".html")


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
