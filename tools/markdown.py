"""Parts of a page of docs/ that are made from tables of the program, between two comments in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

Parts = Mapping[str, Callable[[], str]]
"""What makes each part of a page, by the name in its first comment."""

PART = re.compile(r"<!-- generated: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def filled(page: str, parts: Parts) -> str:
    """Return a page with each of its parts made anew.

    Raises:
        KeyError: the page has a part that nothing makes.
    """

    def made(found: re.Match[str]) -> str:
        return f"<!-- generated: {found[1]} -->\n\n{parts[found[1]]().strip()}\n\n<!-- end -->"

    return PART.sub(made, page)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
