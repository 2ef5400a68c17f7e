"""The tables of docs/configuration.md: every configuration key, from the schema."""

from __future__ import annotations

from msgspec import Struct

from tools.markdown import Parts, table
from tuner.config.keys import KEYS, SCHEDULE_KEYS, SECTION_TYPES, Key, toml
from tuner.config.schedule import REQUIRED


def keys() -> str:
    """Return a section for each table of the file."""
    parts: list[str] = []
    for section, kind in SECTION_TYPES.items():
        rows = [
            (f"`{key.name}`", key.description, _accepts(key), _default(key), f"`{key.variable}`")
            for key in _keys(section)
        ]
        head = ("key", "meaning", "takes", "default", "variable")
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


def example() -> str:
    """Return a configuration file that says the defaults; what may be left out is a comment."""
    tables: list[str] = []
    for section in SECTION_TYPES:
        lines = [
            f"# {key.name} = …" if key.default is None else f"{key.name} = {toml(key.default)}"
            for key in _keys(section)
        ]
        tables.append("\n".join([f"[{section}]", *lines, ""]))
    return "\n".join(tables)


PARTS: Parts = {"keys": keys, "schedule": schedule, "example": lambda: f"```toml\n{example()}```"}


def _keys(section: str) -> list[Key]:
    return [key for key in KEYS.values() if key.section == section]


def _about(kind: type[Struct]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def _accepts(key: Key) -> str:
    return " ".join(f"`{word}`" for word in key.choices) or key.accepts


def _default(key: Key) -> str:
    return "left out" if key.default is None else f"`{toml(key.default)}`"
