"""Which revision of the program measured a row, and which code decided in a simulated one."""

from __future__ import annotations

import functools
import hashlib
import subprocess
from itertools import chain
from pathlib import Path

import lab
import policies
import tuner.core
import tuner.records
from tuner.optimiser import child

FOLDERS = ("policies", "tuner", "lab")
"""What a measured figure depends on; results that are written beside them change nothing."""

DECIDING = (policies, tuner.core, tuner.records)
"""What a decision depends on, the settings aside; and the answers of the process that suggests."""

SECONDS = 10.0


def revision(root: Path | None = None) -> str:
    """Return a checkout's commit, with ``-dirty`` where its code differs; empty where it is no checkout.

    Args:
        root: of the checkout; None for the one that this program runs from.
    """
    place = root or Path(lab.__file__).parents[1]
    if not (place / ".git").exists():
        return ""  # installed: a repository further up would be somebody else's
    commit = git(place, "rev-parse", "--short=10", "HEAD")
    dirty = commit and git(place, "status", "--porcelain", "--untracked-files=no", "--", *FOLDERS)
    return f"{commit}-dirty" if dirty else commit


def git(place: Path, *words: str) -> str:
    """Return what git says in a directory; empty where it refuses or is not there."""
    return said(place, *words) or ""


def said(place: Path, *words: str) -> str | None:
    """Return what git says in a directory; None where it refuses, is not there, or takes too long."""
    try:
        found = subprocess.run(
            ["git", *words], cwd=place, capture_output=True, text=True, timeout=SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip()


@functools.cache
def policies_revision() -> str:
    """Return the hash of all code that decides; a simulated row of another one is not compared."""
    found = hashlib.sha256()
    rooms = (sorted(Path(str(room.__file__)).parent.rglob("*.py")) for room in DECIDING)
    for path in (*chain.from_iterable(rooms), Path(child.__file__)):
        found.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:12]
