"""Every test of a fault is on the page for whoever is on call."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.faults.catalogue import EVERY, FAULTS
from tests.faults.promises import HOLDS, INVARIANTS
from tools.safety_page import load
from tuner.records import HoldCode

ROOT = Path(__file__).parents[2]


def test_every_fault_test_is_on_the_page() -> None:
    """No test in ``tests/faults/`` is left out, and no row names a test that is not there.

    What happens to every family has a test of its own for the others' servers.
    """
    load()
    there = {
        (path.stem, node.name)
        for path in sorted((ROOT / "tests" / "faults").glob("test_*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }

    others = {(module, test) for module, test in there if module == "test_families"}

    assert {(one.module, one.test) for one in FAULTS.values()} == there - others
    assert len(others) == sum(one.on == EVERY for one in FAULTS.values())


def test_every_hold_and_invariant_is_explained() -> None:
    """Each hold has a cause and somebody who clears it, and each row names invariants that exist."""
    load()

    assert set(HOLDS) == set(HoldCode)
    assert all(set(one.invariants) <= set(INVARIANTS) and one.invariants for one in FAULTS.values())
