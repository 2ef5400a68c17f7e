"""What doctor saw of real servers under load, as ``tests.real.record_doctor`` recorded it."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import msgspec

from tuner.cli.doctor import report
from tuner.findings.doctor import examine
from tuner.findings.evidence import Evidence

FOLDER = Path(__file__).parents[1] / "fixtures" / "doctor"


def names() -> list[str]:
    """Return the names of what is recorded."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def evidence(name: str) -> Evidence:
    """Return what was seen of a server."""
    return msgspec.json.decode((FOLDER / f"{name}.json").read_bytes(), type=Evidence)


def text(seen: Evidence) -> str:
    """Return what doctor prints of it with --all."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        report(seen, examine(seen), everything=True)
    return printed.getvalue()
