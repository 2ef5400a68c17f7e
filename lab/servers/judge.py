"""Which servers are supported, judged by what they say of themselves."""

from __future__ import annotations

import re

IMAGES = ("innobrim/mysql:9.7", "mysql:9.7", "mysql:8.4", "mysql:8.0")
OLDEST = (8, 0, 30)
_LATER = "is not supported yet"


def judge_version(text: str) -> str | None:
    """Return why a ``mysqld --version`` line is refused, None when the server is supported."""
    found = re.search(r"Ver (\d+)\.(\d+)\.(\d+)", text)
    if found is None:
        return f"its version is not understood: {text.strip()!r}"
    version = (int(found[1]), int(found[2]), int(found[3]))
    for other in ("MariaDB", "Percona"):
        if other.lower() in text.lower():
            return f"{other} {dotted(version)} {_LATER}"
    if version < OLDEST:
        return f"MySQL {dotted(version)} {_LATER}: {dotted(OLDEST)} is the oldest"
    return None


def judge_image(tag: str, environment: list[str]) -> str | None:
    """Return why an image is refused by its tag and environment, None when it can be taken."""
    if "mariadb:" in tag or "percona" in tag:
        return _LATER
    for entry in environment:
        name, _, value = entry.partition("=")
        if name == "MYSQL_VERSION":
            return judge_version(f"Ver {value}")
    return None if tag in IMAGES else "not one of " + ", ".join(IMAGES)


def dotted(version: tuple[int, int, int]) -> str:
    """Return a version as people write it."""
    return ".".join(map(str, version))
