"""A server's version and release, from what it says of itself or what people write of it.

What a server says is no more to be trusted than what anybody else says: what is no version by ``version_of``
goes into no statement, no comment of a script and no page.
"""

from __future__ import annotations

import re

LONGEST = 120
"""Letters that a version has at most; the longest known has about 60."""

EXAMPLES = "such as 8.0.46 or 10.11.18-MariaDB"

_WORD = r"[A-Za-z0-9_.,:+=~@()-]+"
_VERSION = re.compile(rf"[0-9]{{1,2}}\.[0-9]{{1,3}}(?![0-9])(?:{_WORD})?(?: {_WORD})*")
"""Numbers, then marks of who built it; MariaDB of Debian has words after a blank, as does a proxy."""

_FOR_OLD_CLIENTS = re.compile(r"5\.5\.5-(?=[0-9]+\.[0-9]+\.[0-9].*-mariadb)", re.IGNORECASE)
"""What MariaDB puts before its version in the greeting, for clients that take 10 for less than 5."""

_AROUND = " \t|;'\"`"
"""What a table, a statement or quotes leave at the ends of a line that was copied."""

_LABEL = re.compile(
    r"(?:server version|(?:@@(?:global\.)?)?version(?:\(\))?|(?:.*[/\\])?(?:mysqld|mariadbd)(?:\.exe)? +ver)"
    r"[ \t|:]+",
    re.IGNORECASE,
)
"""What stands before a version, as clients show it and as the server's own program says it.

Other programs say what they are themselves.
"""

_TOLD_BESIDE = {"mariadb": "-MariaDB", "google": "-google", "enterprise - cloud": "-cloud"}
"""Marks that some builds have in ``version_comment`` alone, and how a version has them."""


def version_of(said: str) -> str:
    """Return the version that a server said, without what it says for old clients alone.

    Raises:
        ValueError: it is none: no numbers, letters that no version has, more than one line, too long.
    """
    version = _own(said)
    if len(version) > LONGEST or _VERSION.fullmatch(version) is None:
        shown = said if len(said) <= LONGEST else f"{said[:LONGEST]}…"
        raise ValueError(f"{shown!r} is no version; a version is {EXAMPLES}")
    return version


def version_in(banner: str) -> str:
    """Return the version out of what clients show: a label before it, the build's words after it.

    Args:
        banner: one line, as a person copied it.

    Raises:
        ValueError: it has no version, or is more than one line.
    """
    line = banner.strip(_AROUND)
    label = _LABEL.match(line)
    one = line.replace("\t", " ").isprintable()
    words = line[label.end() if label else 0 :].split(maxsplit=1) if one else []
    try:
        version = version_of(words[0] if words else "")
    except ValueError as error:
        said = f"a server's version is {EXAMPLES}, in one line"
        raise ValueError(f"{banner[:LONGEST]!r} is no version; {said}") from error
    beside = words[1].lower() if len(words) > 1 else ""
    marks = (mark for told, mark in _TOLD_BESIDE.items() if told in beside)
    return version + "".join(mark for mark in marks if mark.lower() not in version.lower())


def release_of(version: str) -> tuple[int, int, int]:
    """Return major, minor and patch release; zeros where the version says none."""
    found = re.match(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})", _own(version))
    return (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)


def _own(said: str) -> str:
    """Return what a server says without what it says for old clients; of what is no version the beginning."""
    shown = said[: 2 * LONGEST]
    found = _FOR_OLD_CLIENTS.match(shown)
    return shown[found.end() if found else 0 :]


def named(release: tuple[int, ...]) -> str:
    """Return a release, or a series, as people write it."""
    return ".".join(map(str, release))
