"""How a picture is to look: its size, its characters, its colours, and lines of text that keep to them."""

from __future__ import annotations

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

    def labelled(self, label: str, words: str, style: str = "", *, most: int = 1) -> list[Text]:
        """Return words behind their label, in at most so many lines."""
        width = max(8, self.width - LABEL_WIDTH)
        rows = textwrap.wrap(self.glyphs.text(words), width, break_on_hyphens=False) or [""]
        if len(rows) > most:
            rows = [*rows[: most - 1], " ".join(rows[most - 1 :])]
        return [
            self.line((f"{label if index == 0 else '':<{LABEL_WIDTH}}", NAME), (row, style))
            for index, row in enumerate(rows)
        ]
