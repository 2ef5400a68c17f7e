"""A server's release, from what it says of its version."""

from __future__ import annotations

import re


def release_of(version: str) -> tuple[int, int, int]:
    """Return major, minor and patch release; zeros where the version says none."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


def named(release: tuple[int, ...]) -> str:
    """Return a release, or a series, as people write it."""
    return ".".join(map(str, release))
