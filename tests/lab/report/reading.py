"""A page as its readers see it: text, tables, embedded data, and what it would ask for."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = frozenset({"meta", "link", "line", "circle", "br"})


class Page(HTMLParser):
    """One page.

    Attributes:
        asked: every address that a browser would fetch.
        words: what can be read, without scripts and styles.
        tables: cells by rows, one list a table.
        data: what the charts are drawn from.
        plots: labels of the charts.
        unclosed: elements that are open at the end.
    """

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.asked: list[str] = []
        self.words = ""
        self.tables: list[list[list[str]]] = []
        self.plots: list[str] = []
        self.policy = ""
        self.unclosed: list[str] = []
        self._data = ""
        self._in_data = False
        self.feed(text)
        self.data: dict[str, Any] = json.loads(self._data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element asks for and begins."""
        given = {name: value or "" for name, value in attrs}
        self.asked += [
            given[name] for name in ("src", "href", "xlink:href", "srcset", "data") if name in given
        ]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if given.get("class") == "plot":
            self.plots.append(given["aria-label"])
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")
        self._in_data = given.get("id") == "data"
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close an element; a page that closes another one than it opened is broken."""
        self._in_data = False
        if tag not in VOID:
            assert self.unclosed.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take text in."""
        if self._in_data:
            self._data += data
        elif self.unclosed and self.unclosed[-1] not in {"script", "style"}:
            self.words += data
            if {"td", "th"} & set(self.unclosed[-3:]):
                self.tables[-1][-1][-1] += data

    def table(self, head: str) -> list[list[str]]:
        """Return the first table that has a cell with this text in its first row."""
        return next(rows for rows in self.tables if any(head in cell for cell in rows[0]))
