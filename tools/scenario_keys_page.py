"""The tables of docs/lab/scenario-keys.md: a scenario's keys, from the schema and its docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from lab.keys import kind_of
from lab.plant.parameters import (
    Credits,
    DiskChange,
    DiskParameters,
    LoadChange,
    LoadParameters,
    RedoChange,
    ServerParameters,
)
from lab.scenarios.schema import Bursts, Scenario
from tools.markdown import Parts, table

TABLES: dict[str, type[Struct]] = {
    "Above the first table": Scenario,
    "`[server]`": ServerParameters,
    "An entry of `resizes` in `[server]`": RedoChange,
    "`[disk]`": DiskParameters,
    "An entry of `timeline` in `[disk]`": DiskChange,
    "`credits` in `[disk]`": Credits,
    "`[load]`": LoadParameters,
    "An entry of `timeline` in `[load]`": LoadChange,
    "`[bursts]`": Bursts,
}
NOTHING = "–"
ATTRIBUTE = re.compile(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", re.MULTILINE | re.DOTALL)
WITHOUT = re.compile(r"; (?:None|Empty): ((?:[^.]|\.(?=\d))+)")
"""What a docstring says of a key that is left out."""


def keys() -> str:
    """Return a section for each table of a scenario's file."""
    head = ("key", "takes", "without it", "meaning")
    return "\n\n".join(f"## {title}\n\n{table(head, _rows(kind))}" for title, kind in TABLES.items())


PARTS: Parts = {"keys": keys}


def meanings(kind: type[Struct]) -> dict[str, str]:
    """Return what the docstring of a table says of each key."""
    _, _, listed = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    return {name: " ".join(text.split()) for name, text in ATTRIBUTE.findall(listed)}


def _rows(kind: type[Struct]) -> Iterator[tuple[str, ...]]:
    meant, hints = meanings(kind), get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        takes = kind_of(hints[field.name])
        if takes.table and not takes.listed and kind is Scenario:
            continue  # [server], [disk] and [load] have tables of their own
        words = meant[field.name].replace("``", "`").rstrip(".")
        default = _default(field)
        if default == NOTHING and (without := WITHOUT.search(words)):
            default, words = without[1], WITHOUT.sub("", words)
        elif default == NOTHING and kind is ServerParameters and not takes.listed:
            default = "the flavour's"
        yield f"`{field.name}`", takes.words, default, words


def _default(field: msgspec.structs.FieldInfo) -> str:
    """Return the value that counts where a key is left out."""
    if field.required:
        return "needed"
    value: Any = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    if value is None or value in ("", ()):
        return NOTHING
    if isinstance(value, tuple):
        return f"`[{', '.join(_entry(one) for one in value)}]`"
    if isinstance(value, str):
        return f'`"{value}"`'
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"{value:,.15g}"


def _entry(value: Struct) -> str:
    """Return a default entry of a list as TOML has it."""
    given = {name: getattr(value, name) for name in value.__struct_fields__}
    return f"{{ {', '.join(f'{name} = {one:g}' for name, one in given.items() if one is not None)} }}"
