"""The tables of docs/configuration.md: every configuration key, from the schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec import NODEFAULT, Struct

from tools.markdown import Parts, table
from tuner.config.keys import KEYS, SECTION_TYPES, TABLES_ALONE, Key, toml


def keys() -> str:
    """Return a section for each table of the file."""
    parts: list[str] = []
    for section, kind in SECTION_TYPES.items():
        rows = [(f"`{key.name}`", key.description, _accepts(key), _default(key)) for key in _keys(section)]
        head = ("key", "meaning", "takes", "default")
        parts += [f"## [{section}]", _about(kind), table(head, rows)]
    return "\n\n".join(parts)


def alone(keys: Mapping[str, Key]) -> str:
    """Return the keys of a table that stands in the file alone."""
    rows = [(f"`{key.name}`", key.description, _accepts(key), _default(key)) for key in keys.values()]
    return table(("key", "meaning", "takes", "default"), rows)


PARTS: Parts = {"keys": keys} | {name: partial(alone, keys) for name, keys in TABLES_ALONE.items()}


def _keys(section: str) -> list[Key]:
    return [key for key in KEYS.values() if key.section == section]


def _about(kind: type[Struct]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _accepts(key: Key) -> str:
    return " ".join(f"`{word}`" for word in key.choices) or key.accepts


def _default(key: Key) -> str:
    if key.default is NODEFAULT:
        return "must be given"
    return "left out" if key.default is None else f"`{toml(key.default)}`"
