"""The ids of findings, as the modules name them."""

from __future__ import annotations

import ast
from pathlib import Path


def ids_in(path: Path) -> set[str]:
    """Return the ids that a module names; one made of a value ends before it, and check's stand first."""
    found, text = set(), path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "Finding(" in text else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            for said in (one.value for one in node.keywords if one.arg == "id"):
                begins = said.values[0] if isinstance(said, ast.JoinedStr) else said
                assert isinstance(begins, ast.Constant)
                found.add(str(begins.value))
    return found
