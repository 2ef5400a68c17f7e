"""Reads the tables that stand in a configuration file alone, among them arrays of any number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from msgspec import NODEFAULT, Struct

from tuner.config.keys import ARRAYS, BRACKETS, WITHOUT_EFFECT, Key, KeyValueError, nearest, toml

TableT = TypeVar("TableT", bound=Struct)


def read_tables(
    place: str,
    tables: object,
    kind: Callable[..., TableT],
    *,
    array: str,
    values_wrong: Callable[[str, Mapping[str, Any]], Iterator[str]],
    table_wrong: Callable[[str, TableT], Iterator[str]],
) -> tuple[tuple[TableT, ...], list[str], list[str]]:
    """Return the tables, a line for everything that is wrong, and one for each key of before.

    Args:
        place: file and array, for the messages.
        tables: what the file says.
        kind: makes a table of its values.
        array: its name in ``ARRAYS``; each table has a ``name`` of its own.
        values_wrong: yields what is wrong with values that are each inside their own bounds.
        table_wrong: yields what is wrong with a table whose values are all right.
    """
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        return (), [f"{place} must be an array of tables: write {BRACKETS[array]} before each"], []
    made: list[TableT] = []
    problems: list[str] = []
    notes: list[str] = []
    names: dict[object, int] = {}
    for number, table in enumerate(tables, 1):
        name = table.get("name")
        called = f' "{name}"' if isinstance(name, str) else ""
        here = f"{place}[{number}]{called}"
        present = {name: value for name, value in table.items() if f"{array}.{name}" not in WITHOUT_EFFECT}
        notes.extend(
            f"{here}.{name}: {WITHOUT_EFFECT[f'{array}.{name}']}" for name in table.keys() - present.keys()
        )
        values, wrong = values_of(here, present, ARRAYS[array], f"a {array}")
        if "name" in values and names.setdefault(values["name"], number) != number:
            taken = f"{array}[{names[name]}] has this name; each needs one of its own"
            wrong.append(f"{here}.name = {toml(name)}: {taken}")
        wrong.extend(values_wrong(here, values))
        if not wrong:
            made.append(kind(**values))
            wrong.extend(table_wrong(here, made[-1]))
        problems.extend(wrong)
    return tuple(made), problems, notes


def values_of(
    here: str, table: Mapping[str, object], keys: Mapping[str, Key], noun: str
) -> tuple[dict[str, Any], list[str]]:
    """Return the values of one table, each inside its own bounds, and a line for everything that is wrong.

    Args:
        here: file and table, for the messages.
        table: what the file says.
        keys: what the table takes.
        noun: what such a table is, with its article.
    """
    values, problems = {}, []
    for name, value in table.items():
        key = keys.get(name)
        if key is None:
            near = nearest(name, keys)
            hint = f"did you mean {near}?" if near else f"{noun} has {', '.join(keys)}"
            problems.append(f"{here}.{name}: unknown key; {hint}")
            continue
        try:
            values[name] = key.read(value, from_text=False)
        except KeyValueError as error:
            problems.append(f"{here}.{name} = {toml(value)}: {error}")
    problems.extend(
        f"{here}.{name} is missing; it must be {key.accepts}"
        for name, key in keys.items()
        if key.default is NODEFAULT and name not in table
    )
    return values, problems
