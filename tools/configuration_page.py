"""The tables of docs/configuration.md: every configuration key, from the schema."""

from __future__ import annotations

from msgspec import Struct

from tools.markdown import Parts, table
from tuner.config.keys import FLEET_KEYS, KEYS, SCHEDULE_KEYS, SECTION_TYPES, Key, toml
from tuner.config.schedule import REQUIRED


def keys() -> str:
    """Return a section for each table of the file."""
    parts: list[str] = []
    for section, kind in SECTION_TYPES.items():
        rows = [(f"`{key.name}`", key.description, _accepts(key), _default(key)) for key in _keys(section)]
        head = ("key", "meaning", "takes", "default")
        parts += [f"## [{section}]", _about(kind), table(head, rows)]
    return "\n\n".join(parts)


def schedule() -> str:
    """Return the keys of a ``[[schedule]]``."""
    rows = [
        (
            f"`{key.name}`",
            key.description,
            _accepts(key),
            "must be given" if key.name in REQUIRED else _default(key),
        )
        for key in SCHEDULE_KEYS.values()
    ]
    return table(("key", "meaning", "takes", "default"), rows)


def fleet() -> str:
    """Return the keys of ``[fleet]``."""
    rows = [(f"`{key.name}`", key.description, _accepts(key), _default(key)) for key in FLEET_KEYS.values()]
    return table(("key", "meaning", "takes", "default"), rows)


PARTS: Parts = {"keys": keys, "schedule": schedule, "fleet": fleet}


def _keys(section: str) -> list[Key]:
    return [key for key in KEYS.values() if key.section == section]


def _about(kind: type[Struct]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _accepts(key: Key) -> str:
    return " ".join(f"`{word}`" for word in key.choices) or key.accepts


def _default(key: Key) -> str:
    return "left out" if key.default is None else f"`{toml(key.default)}`"
