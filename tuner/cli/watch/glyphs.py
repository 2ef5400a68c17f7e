"""The characters that a picture is made of: block elements, or ASCII where the locale has no others."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from msgspec import Struct

from tuner.printable import printable


class Glyphs(Struct, frozen=True):
    """One set of characters.

    Attributes:
        levels: a cell filled from its bottom, from nothing but a base line to full.
        line: a reference line across a chart.
        bar: cells of a bar that lies: full, nearly, and empty.
        marks: types of pages in a chart without colour: by age, from the LRU tail, sync.
        up: points to a mark in the line above it.
        rule: separates parts.
        ascii: every text is to be of ASCII alone.
    """

    levels: str
    line: str
    bar: str
    marks: str
    up: str
    rule: str
    ascii: bool

    def text(self, words: str) -> str:
        """Return words as this terminal can show them, and nothing that would steer it."""
        words = printable(words)
        if self.ascii:
            words = "".join(_PLAIN.get(one, one) for one in words)
            words = words.encode("ascii", "replace").decode()
        return words


BLOCKS = Glyphs(levels="▁▁▂▃▄▅▆▇█", line="┄", bar="█▓░", marks="█▒▓", up="▲", rule="─", ascii=False)
ASCII = Glyphs(levels="_.:-=+*#@", line="-", bar="#=.", marks="#LS", up="^", rule="-", ascii=True)

_PLAIN = {
    "→": "->",
    "×": "x",
    "·": ".",
    "–": "-",
    "—": "-",
    "…": "...",
    "≤": "<=",
    "≥": ">=",
}
_COERCED = {"C.UTF-8", "C.utf8", "UTF-8"}


def glyphs_for(environ: Mapping[str, str], *, utf8_mode: bool | None = None) -> Glyphs:
    """Return what a terminal of this locale can show.

    Python itself makes ``LC_CTYPE`` of the locale C a UTF-8 one (PEP 538) and tells by its UTF-8 mode; a name
    that this machine does not have, as ssh brings them along, is believed: the terminal is the person's.

    Args:
        environ: the environment.
        utf8_mode: of the interpreter; None: of this one.
    """
    mode = bool(sys.flags.utf8_mode) if utf8_mode is None else utf8_mode
    own = environ.get("LC_CTYPE", "")
    named = environ.get("LC_ALL") or ("" if mode and own in _COERCED else own) or environ.get("LANG", "")
    unicode = named.lower().replace("-", "").endswith("utf8") and environ.get("TERM") != "linux"
    return BLOCKS if unicode else ASCII
