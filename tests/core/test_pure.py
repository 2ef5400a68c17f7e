"""The core knows codes: statements and commands are made where they are shown."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.factory import FACTS
from tuner.records import ENABLE_COUNTERS, Event, Hold, HoldCode, Remedy
from tuner.remedies import WAYS, clears, needs_resume, sql_of, told

ROOT = Path(__file__).parents[2]

STATEMENT = re.compile(
    r"\b(SET (GLOBAL|PERSIST|SESSION)|SELECT\b.*\bFROM|ALTER INSTANCE|SHOW (ENGINE|GLOBAL)|GRANT .* ON|CALL )"
)
COMMAND = re.compile(
    r"\binnobrim (resume|pause|mode|park|restore|override|drain|check|advise|status|run|setup-sql)"
)


def _strings(path: Path) -> Iterator[str]:
    """Yield the strings of a module that are no documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
            yield node.value


@pytest.mark.parametrize("room", ["policies", "tuner/core"])
def test_no_statement_and_no_command_is_in_the_pure_rooms(room: str) -> None:
    """Neither SQL nor the name of a command is in what the loop decides and says."""
    found = [
        (str(path.relative_to(ROOT)), text)
        for path in sorted((ROOT / room).rglob("*.py"))
        for text in _strings(path)
        if STATEMENT.search(text) or COMMAND.search(text)
    ]

    assert found == []


def test_every_remedy_has_its_words() -> None:
    """Whatever ends a hold can be said."""
    assert set(WAYS) == set(Remedy)


def test_what_a_person_ends_says_with_which_command() -> None:
    """A remedy that is a person's to give says so, also with a time left."""
    spent = Hold(HoldCode.FOREIGN_CHANGE, 0.0, "changed", (Remedy.BASELINE_UNTOUCHED,), seconds=12.0)

    assert needs_resume(spent)
    assert clears(spent) == "12 s more of the baseline left alone, or innobrim resume"
    assert not needs_resume(Hold(HoldCode.STALE, 0.0, "stale", (Remedy.GOOD_SAMPLE,)))


def test_an_event_says_what_ends_it() -> None:
    """An event is shown with the statements that end it, in order."""
    off = Event(0.0, "degraded", "the counters are off", remedies=(Remedy.ENABLE_COUNTERS,))

    assert told(off) == f"the counters are off; ended by {'; '.join(ENABLE_COUNTERS)}"
    assert sql_of(off.remedies) == ENABLE_COUNTERS
    assert told(Event(0.0, "set", "C/M → 100/200")) == "C/M → 100/200"
    assert clears(
        Hold(HoldCode.PRIVILEGE_LOST, 0.0, "denied", (Remedy.RESUME_WITH_GRANT,)), FACTS
    ).startswith("innobrim resume, after GRANT")
