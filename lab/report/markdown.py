"""Pieces of a Markdown page, and the page put in its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def bullets(sentences: Iterable[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {one}" for one in sentences)


def verdict(text: str, *, met: bool) -> str:
    """Return one line of a list that says plainly whether a promise was kept."""
    return f"- {'met' if met else '**not met**'}: {text}"


def put(path: Path, parts: Sequence[str]) -> Path:
    """Write a page of these parts, empty ones left out, and return its path."""
    path.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return path
