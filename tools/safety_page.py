"""The tables of docs/safety.md: what the loop does when something breaks, from the fault tests."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.faults.catalogue import EVERY, FAULTS, Group
from tests.faults.promises import HOLDS, INVARIANTS, parked
from tools.markdown import Parts, table
from tuner.records import HoldCode

TESTS = Path(__file__).parents[1] / "tests" / "faults"


def load() -> None:
    """Import every module of fault tests, so that their faults are in the list."""
    for path in sorted(TESTS.glob("test_*.py")):
        importlib.import_module(f"tests.faults.{path.stem}")


def faults() -> str:
    """Return a section for each group of faults."""
    load()
    head = ("what happens", "the server is left at", "the daemon goes on", "test")
    parts: list[str] = []
    for group in Group:
        known = sorted(
            (one for one in FAULTS.values() if one.group is group), key=lambda one: (one.module, one.test)
        )
        rows = [
            (
                f"{one.what} ({EVERY})" if one.on == EVERY else one.what,
                one.left,
                one.back,
                f"`{one.test}`",
            )
            for one in known
        ]
        parts += [f"## {group}", table(head, rows)] if rows else []
    return "\n\n".join(parts)


def invariants() -> str:
    """Return the invariants by their numbers."""
    return "\n".join(f"{number}. {text}" for number, text in INVARIANTS.items())


def holds() -> str:
    """Return each hold with its cause, what stays in force, and what clears it."""
    rows = [(f"`{code}`", HOLDS[code][0], parked(code), HOLDS[code][1]) for code in HoldCode]
    return table(("hold", "why", "what stays in force", "what clears it"), rows)


PARTS: Parts = {"faults": faults, "invariants": invariants, "holds": holds}
