"""Words that others chose, as a terminal may have them: a reason, a host's name, a server's error message."""

from __future__ import annotations

import re
import unicodedata

ERROR_CHARACTERS = 512
"""Most of an error's text: mysqld's own are no longer (``MYSQL_ERRMSG_SIZE``)."""

_BEYOND_ASCII = re.compile(r"[\x7f-\U0010ffff]")


def printable(words: str) -> str:
    """Return words as one line that steers no terminal.

    Blanks of every kind are one; what else is not to be seen is a question mark: control characters and with
    them line ends, marks that turn the direction of writing, and halves of characters.
    """
    return words if words.isprintable() else "".join(map(_seen, words))


def shortened(words: str, most: int = ERROR_CHARACTERS) -> str:
    """Return what somebody said as one line of at most so many of its characters."""
    if len(words) <= most:
        return printable(words)
    return f"{printable(words[:most])}… ({len(words)} characters)"


def _seen(one: str) -> str:
    if one.isprintable():
        return one
    return " " if one == "\t" or unicodedata.category(one) == "Zs" else "?"


def escaped(json: str) -> str:
    r"""Return JSON text with what is not to be seen as \u escapes: the same value for whoever reads it.

    JSON itself escapes no control characters but those below a blank.
    """
    return _BEYOND_ASCII.sub(_as_escape, json)


def _as_escape(found: re.Match[str]) -> str:
    one = found[0]
    if one.isprintable():
        return one
    units = one.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
