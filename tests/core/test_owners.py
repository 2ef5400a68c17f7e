"""Who may write which field of the loop's state."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.factory import FACTS
from tuner.core.state import State
from tuner.findings.remedies import WAYS, clears, needs_resume, sql_of, told
from tuner.records import ENABLE_COUNTERS, Event, Hold, HoldCode, Remedy

CORE = Path(__file__).parents[2] / "tuner/core"

OWNERSHIP = (
    *(
        "mode",
        "advisory_until_said",
        "active_until_said",
        "why_advisory",
        "lifecycle",
        "lock_asked",
        "latches",
    ),
    *("writes", "originals", "override", "restoring", "pace"),
    *("park_owed", "unpaid_since", "handed_over"),
)
"""Whose values are in force, and may the loop write: all of that has one writer."""

OWNERS: dict[str, set[str]] = {
    **{name: {"ownership/transitions"} for name in OWNERSHIP},
    "readopted": {"ownership/foreign"},
    "role": {"ownership/handover"},
    "previous_server": set(),
    "other_servers": set(),
    "facts": {"observe", "laws"},
    "facts_due": {"observe"},
    "clocks": {"observe"},
    "estimator": {"observe", "decide/drain"},
    "estimate": {"observe", "setpoint/choose"},
    "occurrences": {"observe"},
    "last_good": {"observe"},
    "good_since_restart": {"observe"},
    "missed": {"step"},
    "gate": {"observe", "laws"},
    "policy": {"decide/wishes", "decide/carry_out", "decide/drain", "decide/proving", "laws"},
    "relief": {"decide/wishes", "laws"},
    "unanswered": {"decide/wishes", "observe", "laws"},
    "set_point": {"setpoint/choose", "laws", "commands/overlay"},
    "set_point_source": {"setpoint/choose"},
    "set_point_window": {"setpoint/choose"},
    "park_target": {"leaving/park", "observe", "commands/overlay"},
    "caution": {"observe"},
    "announced": {"setpoint/choose"},
    "sawtooth": {"setpoint/choose"},
    "baseline_guard": {"baseline/reverting", "observe", "ownership/transitions"},
    "savings": {"savings/reckoning"},
    "holds": {"holds"},
    "drain": {"decide/drain", "commands/handlers", "laws"},
    "returning": {"decide/drain", "laws"},
    "schedule": {"commands/schedule", "decide/drain", "commands/handlers"},
    "trials": {"trials/optimising", "observe", "setpoint/choose"},
    "proof": {"decide/proving"},
    "low_water": {"leaving/lowwater"},
    "settings": {"commands/overlay"},
    "configured": {"commands/overlay"},
    "overlay": {"commands/overlay"},
    "pending_events": {"step"},
    "unheard": {"commands/handlers"},
    "unrecorded": {"commands/handlers"},
    "group_paused": {"commands/handlers"},
}
"""Each field with the modules that write it: its owner, and who begins its slice afresh; none where only a
beginning does."""

BEGINNINGS = frozenset({("step", "start"), ("ownership/standing", ""), ("ownership/restarts", "")})
"""Where a run, or one beside another start of mysqld, begins: there any field may be set."""

AS_BYTES = "state"
"""Encodes a policy's memory by its field names, for bytes alone."""


def _writes(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each function of a module that writes a field of the state, with the field."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        of_state = any(
            argument.annotation is not None and ast.unparse(argument.annotation) == "State"
            for argument in function.args.args
        )
        for call in ast.walk(function):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            made = call.func.id == "State"
            if made or (of_state and call.func.id == "replace" and _is_state(call.args[0])):
                yield from ((function.name, each.arg) for each in call.keywords if each.arg is not None)


def _is_state(first: ast.expr) -> bool:
    """Tell whether what is replaced is the state: by its name, or what a function made of it."""
    if isinstance(first, ast.Name):
        return first.id == "state"
    return not isinstance(first, ast.Attribute)


def test_each_field_of_the_state_has_its_owner() -> None:
    """Whoever looks for what changes a field finds it in its owner, and all of ownership in one module."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(CORE.rglob("*.py")):
        module = path.relative_to(CORE).with_suffix("").as_posix()
        for function, field in _writes(path):
            begins = BEGINNINGS & {(module, function), (module, "")}
            if field in OWNERS and not begins and module != AS_BYTES:
                found[field].add(module)

    assert {name: found[name] for name in OWNERS} == OWNERS


def test_no_field_is_without_an_owner() -> None:
    """A new field is not forgotten in the table."""
    assert set(OWNERS) == set(State.__struct_fields__)


# The core knows codes: statements and commands are made where they are shown.


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
    off = Event(code="degraded", message="the counters are off", remedies=(Remedy.ENABLE_COUNTERS,))

    assert told(off) == f"the counters are off; ended by {'; '.join(ENABLE_COUNTERS)}"
    assert sql_of(off.remedies) == ENABLE_COUNTERS
    assert told(Event(code="set", message="C/M → 100/200")) == "C/M → 100/200"
    assert clears(
        Hold(HoldCode.PRIVILEGE_LOST, 0.0, "denied", (Remedy.RESUME_WITH_GRANT,)), FACTS
    ).startswith("innobrim resume, after GRANT")
