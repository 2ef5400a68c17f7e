"""docs/safety.md, for whoever is on call: what the loop does when something breaks, from the fault tests."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import get_type_hints

from msgspec import Meta

from tests.faults.catalogue import EVERY, FAULTS, Fault, Group
from tests.faults.promises import BUDGETS, HOLDS, INVARIANTS, parked
from tuner.records import LOW_WATER_MARK, SET_GLOBAL, HoldCode
from tuner.servers.writing import WRITABLE
from tuner.settings import Settings

TESTS = Path(__file__).parents[1] / "tests" / "faults"

_INTRODUCTION = f"""\
# What it does when

For each fault: what the server is left at, and whether the loop comes back by itself or what it waits for.
Every row is a test of that name in `tests/faults/`, on a real server under load with a daemon in active
mode: MySQL 9.7, and where it says *{EVERY}* MySQL 5.6.24, MariaDB 10.11 and MariaDB 11.8 as well. After
each, every tick in the journal is replayed beside a referee that keeps books of its own, and its `SET`s are
compared with the statements that the server recorded. The numbers name the invariants, listed below, that a
row is about; the referee looks at all of them each time.

- *By itself* means: without a person, and within 30 seconds of the end of the cause, unless a row says more.
- *Parked* means: an M with room for a load `park_slack` times as high, so that it is safe without a daemon.
- "Waits for a person" means: the hold is in `innobrim status`, the log and the API, and says what clears it.
"""


def document() -> str:
    """Return the page."""
    load()
    return "\n".join([*_faults(), *_invariants(), *_holds(), *_budgets(), *_writable()])


def load() -> None:
    """Import every module of fault tests, so that their faults are in the list."""
    for path in sorted(TESTS.glob("test_*.py")):
        importlib.import_module(f"tests.faults.{path.stem}")


def _faults() -> Iterable[str]:
    yield _INTRODUCTION
    for group in Group:
        rows = [one for one in FAULTS.values() if one.group is group]
        if not rows:
            continue
        yield from _table(
            f"## {group}", ("what happens", "the server is left at", "the loop", "on", "test"), ()
        )
        yield from (_row(one) for one in sorted(rows, key=lambda one: (one.module, one.test)))
        yield ""


def _row(one: Fault) -> str:
    numbers = ", ".join(map(str, one.invariants))
    return _line((one.what, one.left, f"{one.back} ({numbers})", one.on, f"`{one.test}`"))


def _invariants() -> Iterable[str]:
    yield "## Invariants"
    yield from (f"{number}. {text}" for number, text in INVARIANTS.items())
    yield ""


def _holds() -> Iterable[str]:
    rows = [(f"`{code}`", HOLDS[code][0], parked(code), HOLDS[code][1]) for code in HoldCode]
    yield from _table("## Holds", ("hold", "why", "what stays in force", "what clears it"), rows)
    yield ""


def _budgets() -> Iterable[str]:
    hints = get_type_hints(Settings, include_extras=True)
    rows = [
        (f"`loop.{name}`", _shown(getattr(Settings(), name)), _description(hints[name])) for name in BUDGETS
    ]
    yield from _table("## Budgets and limits", ("key", "default", "meaning"), rows)
    yield ""


def _shown(default: float | None) -> str:
    return "left out" if default is None else f"{default:g}"


def _writable() -> Iterable[str]:
    names = " and ".join(f"`{name}`" for name in WRITABLE)
    yield "## What can be written"
    yield f"{names}, with `SET GLOBAL`, or through `{SET_GLOBAL}`, which sets nothing else and nothing beyond"
    yield "its [bounds](security-model.md), and nothing else. Only with `daemon.enable_counters` also"
    yield "`innodb_monitor_enable`, to turn on the InnoDB counters that the loop reads; only with"
    yield f"`loop.low_water_mark`, on MariaDB, also `{LOW_WATER_MARK}`, to 0.001, and back"
    yield "to [what it was](decisions/low-water-mark.md)."
    yield ""


def _description(hint: object) -> str:
    return next(
        one.description
        for one in getattr(hint, "__metadata__", ())
        if isinstance(one, Meta) and one.description is not None
    )


def _table(title: str, head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterable[str]:
    yield title
    yield _line(head)
    yield "|" + "---|" * len(head)
    yield from map(_line, rows)


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
