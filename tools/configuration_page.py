"""The tables of docs/configuration.md: every configuration key, from the schema."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import NODEFAULT, Struct

from tools.markdown import Parts, table
from tuner.config.keys import FLEET_KEYS, HOSTED_KEYS, KEYS, SCHEDULE_KEYS, SECTION_TYPES, Key, toml


def keys() -> str:
    """Return a section for each table of the file."""
    parts: list[str] = []
    for section, kind in SECTION_TYPES.items():
        rows = [(f"`{key.name}`", key.description, _accepts(key), _default(key)) for key in _keys(section)]
        head = ("key", "meaning", "takes", "default")
        parts += [f"## [{section}]", _about(kind), table(head, rows)]
    return "\n\n".join(parts)


def _table(keys: Mapping[str, Key]) -> str:
    """Return the keys of a table that stands in the file alone."""
    rows = [
        (
            f"`{key.name}`",
            key.description,
            _accepts(key),
            "must be given" if key.default is NODEFAULT else _default(key),
        )
        for key in keys.values()
    ]
    return table(("key", "meaning", "takes", "default"), rows)


PARTS: Parts = {
    "keys": keys,
    "fleet": lambda: _table(FLEET_KEYS),
    "schedule": lambda: _table(SCHEDULE_KEYS),
    "hosted": lambda: _table(HOSTED_KEYS),
}


def _keys(section: str) -> list[Key]:
    return [key for key in KEYS.values() if key.section == section]


def _about(kind: type[Struct]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _accepts(key: Key) -> str:
    return " ".join(f"`{word}`" for word in key.choices) or key.accepts


def _default(key: Key) -> str:
    return "left out" if key.default is None else f"`{toml(key.default)}`"
