"""The table of configuration keys, read off the schema.

Loading, error messages, environment names and the reference page all come from ``KEYS``; a
key is written down once, in ``tuner.config.schema`` or ``tuner.settings``.
"""

from __future__ import annotations

import difflib
import json
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from tuner.config.schema import Config, FleetTable, HookTable, HostedTable, ScheduleTable
from tuner.settings import REMOVED_POLICIES

PREFIX = "INNOBRIM_"
PASSWORD_VARIABLE = "INNOBRIM_PASSWORD"  # noqa: S105 - the name of a variable, not a password
PASSWORD_FILE_VARIABLE = "INNOBRIM_PASSWORD_FILE"  # noqa: S105 - the name of a variable, not a password
IDENTITY_VARIABLE = "INNOBRIM_IDENTITY"
OTHER_VARIABLES = frozenset({PASSWORD_VARIABLE, PASSWORD_FILE_VARIABLE, IDENTITY_VARIABLE, f"{PREFIX}IMAGE"})
"""``INNOBRIM_*`` variables that are no configuration key; the image is the compose file's."""

NONE_WORDS = ("none", "null")
CLOSE = 0.6
"""Likeness from which a name is offered for a misspelt one; below it the offer would be a riddle."""


class KeyValueError(ValueError):
    """A value that a key does not take; the message says what it would take."""


@dataclass(frozen=True, slots=True)
class Key:
    """One configuration key.

    Attributes:
        section: TOML table.
        name: key inside the table.
        kind: the plain type without None and bounds.
        bounds: limits on a number or a text's length.
        description: one line for people; carries the unit.
        default: value when nobody says anything.
        optional: may be left out, which is not the same as any value.
    """

    section: str
    name: str
    kind: Any
    bounds: Meta
    description: str
    default: object
    optional: bool

    @property
    def dotted(self) -> str:
        """Return ``section.name``."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """Return the environment variable that sets this key."""
        return f"{PREFIX}{self.section}_{self.name}".upper()

    @property
    def reloads(self) -> bool:
        """Tell whether a change takes effect while the daemon runs, with a reload."""
        return self.section in {"loop", "redo", *TABLES_ALONE} or self.dotted == "daemon.on_stop"

    @property
    def is_path(self) -> bool:
        """Tell whether the text is a path."""
        return bool((self.bounds.extra or {}).get("path"))

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the words that this key takes; empty when it is not a choice."""
        if get_origin(self.kind) is Literal:
            return tuple(str(word) for word in get_args(self.kind))
        if isinstance(self.kind, type) and issubclass(self.kind, Enum):
            return tuple(str(member.value) for member in self.kind)
        return ()

    @property
    def accepts(self) -> str:
        """Return in words what this key takes, without the None of an optional key."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        plain = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
        words = plain.get(self.kind, 'a list of texts such as ["name"]')
        words = "a path" if self.is_path else (self.bounds.extra or {}).get("accepts", words)
        limits = [
            # Whole or not, as 1 and 1.0 are the same limit to whatever keeps types in a cache
            f"{word} {int(limit):,}" if limit == int(limit) else f"{word} {limit}"
            for word, limit in (
                ("above", self.bounds.gt),
                ("from", self.bounds.ge),
                ("below", self.bounds.lt),
                ("up to", self.bounds.le),
            )
            if limit is not None
        ]
        if self.bounds.min_length and not self.bounds.examples:
            words += ", not empty"
        if self.bounds.examples:
            words += f" such as {self.bounds.examples[0]}"
        return " ".join([words, *limits])

    def read(self, value: object, *, from_text: bool) -> Any:  # noqa: ANN401 - as many types as keys
        """Return the value as this key's type.

        Args:
            value: what the source gave.
            from_text: the source only knows text (a variable or a flag): "7" may be a number.

        Raises:
            KeyValueError: wrong type, or out of bounds.
        """
        lenient = from_text and isinstance(value, str)
        if self.optional and (value is None or (lenient and str(value).lower() in NONE_WORDS)):
            return None
        try:
            read = msgspec.convert(value, Annotated[self.kind, self.bounds], strict=not lenient)
        except msgspec.ValidationError as error:
            raise KeyValueError(f"must be {self.accepts}{self._near(value)}") from error
        if isinstance(read, float) and not math.isfinite(read):
            raise KeyValueError(f"must be {self.accepts}")
        if isinstance(read, str) and "\0" in read:
            raise KeyValueError(f"has a zero byte; must be {self.accepts}, without one")
        return _at_home(read) if self.is_path else read

    def _near(self, value: object) -> str:
        if not self.choices or not isinstance(value, str):
            return ""
        close = difflib.get_close_matches(value.lower(), self.choices, n=1, cutoff=0.5)
        return f"; did you mean {close[0]}?" if close else ""


def _at_home(path: str) -> str:
    """Return the path with a leading ~ as the home of the user who runs this."""
    if not path.startswith("~"):
        return path
    if path.partition("/")[0] != "~":
        raise KeyValueError(
            "the home of another user is not looked up; write the whole path, or ~/ for your own home"
        )
    try:
        return str(Path(path).expanduser())
    except RuntimeError as error:
        raise KeyValueError("this user has no home directory; write the whole path") from error


def _split(hint: Any) -> tuple[Any, Meta, str, bool]:  # noqa: ANN401 - a type hint has no type
    """Take a type hint apart, wherever None and Annotated are nested in it."""
    optional = False
    bounds: dict[str, Any] = {}
    description = ""
    pending = hint
    while True:
        origin = get_origin(pending)
        if origin is Annotated:
            pending, *notes = get_args(pending)
            for note in notes:
                if isinstance(note, Meta):
                    description = note.description or description
                    for name in ("gt", "ge", "lt", "le", "min_length", "pattern", "examples", "extra"):
                        if getattr(note, name) is not None:
                            bounds[name] = getattr(note, name)
        elif origin in (Union, types.UnionType):
            members = [member for member in get_args(pending) if member is not type(None)]
            optional = optional or len(members) < len(get_args(pending))
            (pending,) = members
        else:
            return pending, Meta(**bounds), description, optional


def _read_section(section: str, section_type: type[Struct]) -> Iterable[Key]:
    defaults = {field.name: field.default for field in msgspec.structs.fields(section_type)}
    for name, hint in get_type_hints(section_type, include_extras=True).items():
        kind, bounds, description, optional = _split(hint)
        if not description:
            continue  # no key: it follows from others
        yield Key(
            section=section,
            name=name,
            kind=kind,
            bounds=bounds,
            description=description,
            default=defaults[name],
            optional=optional,
        )


SCHEDULE = "schedule"
HOOK = "hook"
FLEET, HOSTED = "fleet", "hosted"

NO_SECTIONS = frozenset({SCHEDULE, HOOK, FLEET, HOSTED, "files"})
SECTION_TYPES: Mapping[str, type[Struct]] = {
    name: kind for name, kind in get_type_hints(Config).items() if name not in NO_SECTIONS
}
SECTIONS: tuple[str, ...] = tuple(SECTION_TYPES)
KEYS: Mapping[str, Key] = {
    key.dotted: key for section, kind in SECTION_TYPES.items() for key in _read_section(section, kind)
}
"""The plain keys: each has one value, a variable of its own, and a place in a section."""

ARRAYS: Mapping[str, Mapping[str, Key]] = {
    array: {key.name: key for key in _read_section(array, kind)}
    for array, kind in ((SCHEDULE, ScheduleTable), (HOOK, HookTable))
}
"""The arrays of tables beside the sections, and what each of their tables takes."""

FLEET_KEYS: Mapping[str, Key] = {key.dotted: key for key in _read_section(FLEET, FleetTable)}
"""What the table of a group takes."""

HOSTED_KEYS: Mapping[str, Key] = {key.name: key for key in _read_section(HOSTED, HostedTable)}

TABLES_ALONE: Mapping[str, Mapping[str, Key]] = {FLEET: FLEET_KEYS, HOSTED: HOSTED_KEYS, **ARRAYS}
ALONE: Mapping[str, Key] = {key.dotted: key for keys in TABLES_ALONE.values() for key in keys.values()}
"""The keys that stand in the file alone: no variable and no flag sets them."""

BRACKETS: Mapping[str, str] = {
    **{name: f"[{name}]" for name in (*SECTIONS, FLEET, HOSTED)},
    **{name: f"[[{name}]]" for name in ARRAYS},
}
"""How each table, and each array of them, is written."""

BY_VARIABLE: Mapping[str, Key] = {key.variable: key for key in KEYS.values()}

REMOVED: Mapping[str, str] = {
    "api.enabled": 'port = 0 and socket = "-" in [api] serve no API',
    "server.connect_timeout": "server.timeout is for connecting and for each statement",
    "server.query_timeout": "server.timeout is for connecting and for each statement",
}
"""Keys that there once were, and what says the same now."""

WITHOUT_EFFECT: Mapping[str, str] = {
    dotted: f"has no effect any more, leave it out; {why}"
    for dotted, why in {
        "loop.dead_band": "a change below 1 % is never worth a write",
        "loop.baseline_cooldown_seconds": "a baseline is taken over again after 300 s, always",
        "loop.emergency_seconds": "it is 8, or two daemon.interval where that is more",
        "loop.stale_seconds": "it is 5, or two daemon.interval where that is more",
        f"{SCHEDULE}.learn": "nothing is learned from a backup, DDL or a restart, whenever it comes",
    }.items()
}
"""Keys that there once were and that nothing depends on any more: an upgrade goes on, with a note."""

NO_KEYS: Mapping[str, str] = {
    f"{PREFIX}{dotted.replace('.', '_').upper()}": note
    for dotted, note in WITHOUT_EFFECT.items()
    if not dotted.startswith(SCHEDULE)
} | {
    f"{PREFIX}PORT": "is the compose file's, and no key; the keys are "
    f"{PREFIX}SERVER_PORT, the server's, and {PREFIX}API_PORT"
}
"""Variables that set nothing and stop nothing, each with the note that says so."""

REMOVED_VALUES: Mapping[str, Mapping[str, str]] = {"loop.policy": REMOVED_POLICIES}
"""Values that keys once took, each with what to write instead."""


def nearest_key(dotted: str) -> str | None:
    """Return the dotted name of the key that a misspelt one most likely meant; None where none is close."""
    return _nearest(dotted, (*KEYS, *FLEET_KEYS), ".")


def nearest_variable(name: str) -> str | None:
    """Return the ``INNOBRIM_*`` variable that a misspelt one most likely meant; None where none is close."""
    candidates = {one.removeprefix(PREFIX): one for one in (*BY_VARIABLE, *sorted(OTHER_VARIABLES))}
    near = _nearest(name.removeprefix(PREFIX), candidates, "_")
    return None if near is None else candidates[near]


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the one of some names that a misspelt one most likely meant; None where none is close."""
    return next(iter(difflib.get_close_matches(name.lower(), names, n=1, cutoff=CLOSE)), None)


def _nearest(asked: str, candidates: Iterable[str], separator: str) -> str | None:
    scores = {one: _likeness(asked, one, separator) for one in candidates}
    best = max(scores, key=lambda one: scores[one])
    return best if scores[best] >= CLOSE else None


def _likeness(asked: str, candidate: str, separator: str) -> float:
    """Compare two names, from 0 to 1; a section that both have makes them no more alike."""
    asked, candidate = asked.lower(), candidate.lower()
    section, _, mine = asked.partition(separator)
    other_section, _, yours = candidate.partition(separator)
    if section == other_section:
        return _ratio(mine, yours)
    return max(
        _ratio(asked, candidate) - 0.01,
        *(_ratio(one, yours or candidate) - 0.01 for one in (asked, mine or asked)),
    )


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def toml(value: object) -> str:
    """Return a value as a TOML file has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False) if isinstance(value, str) else str(value)
