"""The generated files of a checkout: what they should hold, which are stale, and writing them."""

from __future__ import annotations

from pathlib import Path

from lab.report.files import replace_text
from lab.report.rows import ReportError
from lab.results import headlines, page
from lab.results.suites import BENCH, read

README = Path("README.md")
PAGE = BENCH / "README.md"


def stale(root: Path) -> dict[Path, str]:
    """Return which generated files of a checkout are not what its rows say, with what they should hold.

    Raises:
        ReportError: rows or README.md cannot be read, or README.md has no place for the table.
    """
    return {path: wanted for path, wanted in _documents(root).items() if not _is(path, wanted)}


def write(root: Path) -> list[Path]:
    """Write the generated files that are stale, and return which.

    Raises:
        ReportError: as for ``stale``, or one of them cannot be written.
    """
    old = stale(root)
    for path, wanted in old.items():
        replace_text(path, wanted)
    return list(old)


def _documents(root: Path) -> dict[Path, str]:
    suites = read(root / BENCH)
    readme = root / README
    try:
        table = headlines.replaced(readme.read_text(encoding="utf-8"), suites)
    except OSError as error:
        raise ReportError(f"{readme}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise ReportError(str(error)) from error
    return {root / PAGE: page.document(suites), readme: table}


def _is(path: Path, wanted: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == wanted
