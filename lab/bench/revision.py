"""Which revision of the program measured a row."""

from __future__ import annotations

import subprocess
from pathlib import Path

import lab

ROOMS = ("policies", "tuner", "lab")
"""What a figure depends on; results that are written beside them change nothing."""

SECONDS = 10.0


def revision(root: Path | None = None) -> str:
    """Return a checkout's commit, with ``-dirty`` where its code differs; empty where it is no checkout.

    Args:
        root: of the checkout; None for the one that this program runs from.
    """
    place = root or Path(lab.__file__).parents[1]
    if not (place / ".git").exists():
        return ""  # installed: a repository further up would be somebody else's
    commit = _git(place, "rev-parse", "--short=10", "HEAD")
    dirty = commit and _git(place, "status", "--porcelain", "--untracked-files=no", "--", *ROOMS)
    return f"{commit}-dirty" if dirty else commit


def _git(place: Path, *words: str) -> str:
    try:
        found = subprocess.run(
            ["git", *words], cwd=place, capture_output=True, text=True, timeout=SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
