"""docs/scenario-keys.md: a scenario's keys, from the schema and the docstrings of its tables."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from msgspec import Struct

TABLES: tuple[tuple[str, type[Struct]], ...] = (
    ("Above the first table", Scenario),
    ("`[server]`", ServerParameters),
    ("An entry of `resizes` in `[server]`", RedoChange),
    ("`[disk]`", DiskParameters),
    ("An entry of `timeline` in `[disk]`", DiskChange),
    ("`credits` in `[disk]`", Credits),
    ("`[load]`", LoadParameters),
    ("An entry of `timeline` in `[load]`", LoadChange),
    ("`[bursts]`", Bursts),
)

_INTRODUCTION = """\
# The keys of a scenario

Of a file for `innobrim simulate --scenario FILE`; [scenarios](scenarios.md) says how yours is made.

"""

NOTHING = "–"

ATTRIBUTE = re.compile(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", re.MULTILINE | re.DOTALL)


WITHOUT = re.compile(r"; (?:None|Empty): ((?:[^.]|\.(?=\d))+)")
"""What a docstring says of a key that is left out."""


def document() -> str:
    """Return the whole page, Markdown."""
    return _INTRODUCTION + "\n\n".join("\n".join(_table(title, table)) for title, table in TABLES) + "\n"


def meanings(table: type[Struct]) -> dict[str, str]:
    """Return what the docstring of a table says of each key."""
    _, _, listed = inspect.cleandoc(table.__doc__ or "").partition("Attributes:\n")
    return {name: " ".join(said.split()) for name, said in ATTRIBUTE.findall(listed)}


def _table(title: str, table: type[Struct]) -> Iterator[str]:
    meant = meanings(table)
    hints = get_type_hints(table, include_extras=True)
    yield f"## {title}\n"
    yield "| key | takes | without it | meaning |"
    yield "|---|---|---|---|"
    for field in msgspec.structs.fields(table):
        kind = kind_of(hints[field.name])
        if kind.table and not kind.listed and table is Scenario:
            continue  # [server], [disk] and [load] have tables of their own
        words = meant[field.name].replace("``", "`").rstrip(".")
        default = _default(field)
        if default == NOTHING and (said := WITHOUT.search(words)):
            default, words = said[1], WITHOUT.sub("", words)
        elif default == NOTHING and table is ServerParameters and not kind.listed:
            default = "the flavour's"
        yield f"| `{field.name}` | {kind.words} | {default} | {words} |"


def _default(field: msgspec.structs.FieldInfo) -> str:
    """Return the value that counts where a key is left out."""
    if field.required:
        return "needed"
    value: Any = field.default
    if value is msgspec.NODEFAULT:
        value = field.default_factory()
    if value is None or value in ("", ()):
        return NOTHING
    if isinstance(value, tuple):
        return f"`[{', '.join(_entry(one) for one in value)}]`"
    if isinstance(value, str):
        return f'`"{value}"`'
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"{value:,.15g}"


def _entry(value: Struct) -> str:
    """Return a default entry of a list as TOML has it."""
    said = ((name, getattr(value, name)) for name in value.__struct_fields__)
    return f"{{ {', '.join(f'{name} = {one:g}' for name, one in said if one is not None)} }}"
