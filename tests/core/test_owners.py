"""Who may write which field of the loop's state."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tuner.core.state import State

CORE = Path(__file__).parents[2] / "tuner/core"

OWNERSHIP = (
    *("mode", "advisory_until_said", "why_advisory", "lifecycle", "lock_asked", "latches"),
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
    "estimate": {"observe", "targets"},
    "occurrences": {"observe"},
    "last_good": {"observe"},
    "good_since_restart": {"observe"},
    "missed": {"step"},
    "gate": {"observe", "laws"},
    "policy": {"decide/precedence", "decide/carry_out", "decide/drain", "laws"},
    "relief": {"decide/precedence", "laws"},
    "unanswered": {"decide/precedence", "observe", "laws"},
    "set_point": {"targets", "laws", "commands/overlay"},
    "set_point_source": {"targets"},
    "set_point_window": {"targets"},
    "park_target": {"targets", "observe", "commands/overlay"},
    "caution": {"observe"},
    "announced": {"targets"},
    "sawtooth": {"targets"},
    "baseline_guard": {"baseline/way_back", "observe", "ownership/transitions"},
    "holds": {"step"},
    "drain": {"decide/drain", "commands/handlers", "laws"},
    "returning": {"decide/drain", "laws"},
    "schedule": {"commands/schedule", "decide/drain", "commands/handlers"},
    "trials": {"trials/optimising", "observe", "targets"},
    "low_water": {"leaving/lowwater"},
    "settings": {"commands/overlay"},
    "configured": {"commands/overlay"},
    "overlay": {"commands/overlay"},
    "pending_events": {"step"},
    "unheard": {"commands/handlers"},
    "unrecorded": {"commands/handlers"},
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
