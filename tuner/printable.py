"""Words that others chose, as a terminal may have them: a reason, a host's name, a server's error message."""

from __future__ import annotations

import unicodedata


def printable(words: str) -> str:
    """Return words as one line that steers no terminal.

    Blanks of every kind are one; what else is not to be seen is a question mark: control characters and with
    them line ends, marks that turn the direction of writing, and halves of characters.
    """
    return words if words.isprintable() else "".join(map(_seen, words))


def _seen(one: str) -> str:
    if one.isprintable():
        return one
    return " " if one == "\t" or unicodedata.category(one) == "Zs" else "?"
