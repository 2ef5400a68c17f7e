"""What is wrong with a plan, in the words of the file that it was read from."""

from __future__ import annotations

import difflib
import re
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

_TYPES = {"object": "table", "str": "string", "int": "integer", "float": "number", "null": "nothing"}
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)


class PlanError(Exception):
    """A plan that cannot be run; the message names the key, the value and what would be right."""


def in_words(message: str, top: type, *beside: str) -> str:
    """Turn msgspec's ``... - at `$.disk.x``` around, the key first, and say what would be right.

    Args:
        message: of a validation error.
        top: the type that was read.
        beside: keys that the file may have beside those of that type.
    """
    what, _separator, where = message.partition(" - at `$")
    path = where.rstrip("`").lstrip(".")
    found = _type_at(top, path)
    if unknown := _UNKNOWN.fullmatch(what):
        keys = list(get_type_hints(found)) if found is not None else []
        keys += beside if not path else ()
        near = difflib.get_close_matches(unknown[1], keys, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ";"
        what = (
            f"no such key as `{unknown[1]}`{hint} there are {', '.join(sorted(set(keys)))}" if keys else what
        )
    elif what.startswith("Invalid enum value"):
        what = f"{what}; one of {', '.join(str(one) for one in _choices(found))}"
    else:
        types = "|".join(_TYPES)
        what = re.sub(rf"(?<=[` ])({types})(?=[` ])", lambda word: _TYPES[word[1]], what)
    if not what[:2].isupper():  # as in JSON
        what = what[:1].lower() + what[1:]
    return f"{path}: {what}" if path else what


def _type_at(top: type, path: str) -> Any:  # noqa: ANN401 - a type's own shape
    """Return the type of a key such as ``disk.write_iops`` or ``policies[0]``, None where it is not known."""
    found: Any = top
    for key in path.split(".") if path else ():
        name, *items = key.split("[")
        found = get_type_hints(found).get(name) if isinstance(found, type) else None
        for _ in items:
            found = next(iter(get_args(found)), None)
    return found


def _choices(found: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a type's own shape
    parts = get_args(found) if get_origin(found) is UnionType else (found,)
    return tuple(one for part in parts if get_origin(part) is Literal for one in get_args(part))
