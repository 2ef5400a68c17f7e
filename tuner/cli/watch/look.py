"""How a picture is to look: its size, its characters, its colours, and lines of text that keep to them."""

from __future__ import annotations

import math
import textwrap

from msgspec import Struct
from rich.text import Text

from tuner.cli.watch.glyphs import BLOCKS, Glyphs

GOOD = "green"
CAREFUL = "yellow"
BAD = "bold red"
NAME = "bold"
QUIET = "dim"
OURS = "cyan"
"""What the loop sets and holds."""

LABEL_WIDTH = 15

HANGING = 2
"""Columns before the further lines of what has a label, on a narrow terminal."""

NARROW = 60
"""With fewer columns words take more lines, and figures stand above what is drawn of them."""

WORDS = 65
"""Columns that words have beside their label on a terminal of 80."""


class Look(Struct, frozen=True):
    """How a picture is to look.

    Attributes:
        width: columns of the terminal.
        height: its lines.
        glyphs: its characters.
        colour: it has colours.
        live: somebody looks at it who can press a key.
        paused: it was stopped by hand.
    """

    width: int = 80
    height: int = 24
    glyphs: Glyphs = BLOCKS
    colour: bool = True
    live: bool = True
    paused: bool = False

    def line(self, *parts: str | tuple[str, str]) -> Text:
        """Return one line of words, each alone or with its style, cut at the right edge."""
        made = Text(no_wrap=True)
        for part in parts:
            words, style = (part, "") if isinstance(part, str) else part
            made.append(self.glyphs.text(words), style)
        return self.cut(made)

    def cut(self, line: Text, width: int | None = None) -> Text:
        """Return a line that is no longer than the terminal is wide, or than so many columns."""
        most = self.width if width is None else width
        if line.cell_len > most:
            sign = "..." if self.glyphs.ascii else "…"
            line.truncate(max(0, most - len(sign)))
            line.append(sign)
            line.truncate(most)
        return line

    @property
    def narrow(self) -> bool:
        """Tell whether words and drawings have no room beside each other."""
        return self.width < NARROW

    def labelled(self, label: str, words: str, style: str = "", *, most: int = 1) -> list[Text]:
        """Return words behind their label.

        Args:
            label: what they are about.
            words: are wrapped; on a narrow terminal they go on below their label.
            style: of them.
            most: lines that they may take on a terminal of 80 columns; a narrower one has as many more.
        """
        indent = HANGING if self.narrow else LABEL_WIDTH
        before = f"{label}: " if self.narrow and label else f"{label:<{indent}}"
        most *= max(1, math.ceil(WORDS / max(8, self.width - indent)))
        rows = textwrap.wrap(
            before + self.glyphs.text(words),
            max(indent + 8, self.width),
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        ) or [before]
        if len(rows) > most:
            rows = [*rows[: most - 1], " ".join([rows[most - 1], *(row[indent:] for row in rows[most:])])]
        named = min(len(before), len(rows[0]))
        parts = [(rows[0][:named], rows[0][named:]), *((row[:indent], row[indent:]) for row in rows[1:])]
        return [self.line((name, NAME), (said, style)) for name, said in parts]
