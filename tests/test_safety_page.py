"""The page for whoever is on call is current, and every test of a fault is on it."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.faults import page
from tests.faults.catalogue import ALSO, FAULTS
from tests.faults.promises import HOLDS, INVARIANTS
from tuner.records import HoldCode

ROOT = Path(__file__).parents[1]


def test_the_page_is_what_its_command_writes() -> None:
    """Whoever changes a fault, a hold or a budget generates the page again."""
    assert (ROOT / "docs" / "safety.md").read_text(encoding="utf-8") == page.document(), (
        f"run: {page.COMMAND}"
    )


def test_every_fault_test_is_on_the_page() -> None:
    """No test in ``tests/faults/`` is left out, and no row names a test that is not there."""
    page.load()
    there = {
        (path.stem, node.name)
        for path in sorted((ROOT / "tests" / "faults").glob("test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }

    assert {(one.module, one.test) for one in FAULTS.values()} | ALSO == there


def test_every_hold_and_invariant_is_explained() -> None:
    """Each hold has a cause and somebody who clears it, and each row names invariants that exist."""
    page.load()

    assert set(HOLDS) == set(HoldCode)
    assert all(set(one.invariants) <= set(INVARIANTS) and one.invariants for one in FAULTS.values())
