"""What is wrong with the keys and values of a TOML file: all at once, and what would be right."""

from __future__ import annotations

import difflib
import re
from types import MappingProxyType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import Meta, Struct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}

NOT_EMPTY = ", not an empty one"
"""Added to a text that has to have a letter at least."""

BOUNDS = (("above", "gt"), ("from", "ge"), ("below", "lt"), ("up to", "le"))


class Kind(Struct, frozen=True):
    """What a key takes.

    Attributes:
        type: without None and limits; for a list, what its entries are.
        listed: it takes a list of these.
        words: all of it, for people.
        choices: the words that there are, where it takes one of a few.
    """

    type: Any
    listed: bool
    words: str
    choices: tuple[str, ...] = ()

    @property
    def table(self) -> bool:
        """Tell whether it, or an entry of it, is a table with keys of its own."""
        return isinstance(self.type, type) and issubclass(self.type, Struct)


def kind_of(hint: Any) -> Kind:  # noqa: ANN401 - a type hint has no type
    """Return what a type hint of the schema takes."""
    bounds: dict[str, float] = {}
    while True:
        origin = get_origin(hint)
        if origin is Annotated:
            hint, *notes = get_args(hint)
            for note in notes:
                bounds |= _limits(note)
        elif origin in (Union, UnionType):
            hint = next(one for one in get_args(hint) if one is not type(None))
        else:
            break
    if origin is dict:
        return Kind(dict, listed=False, words="a table")
    if origin is tuple:
        entry = get_args(hint)[0]
        if entry is str:
            return Kind(str, listed=True, words="a list of texts in quotes")
        needed = [one.encode_name for one in msgspec.structs.fields(entry) if one.required]
        example = ", ".join(f"{key} = …" for key in needed)
        return Kind(entry, listed=True, words=f"a list of tables, such as [{{ {example} }}]")
    if origin is Literal:
        choices = tuple(str(one) for one in get_args(hint))
        return Kind(hint, listed=False, words=f"one of {', '.join(choices)}", choices=choices)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return Kind(hint, listed=False, words="a table with keys of its own")
    limits = [f"{word} {_number(bounds[name])}" for word, name in BOUNDS if name in bounds]
    words = WORDS[hint] + (NOT_EMPTY if hint is str and bounds.get("min_length") else "")
    return Kind(hint, listed=False, words=" ".join([words, *limits]))


def _number(limit: float) -> str:
    """Return a limit, a whole one with all its digits."""
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,.15g}"


def _limits(note: object) -> dict[str, float]:
    """Return the limits of a number, or of a text's length, that a note of ``Annotated`` gives."""
    if not isinstance(note, Meta):
        return {}
    found = {name: getattr(note, name) for name in (*(name for _, name in BOUNDS), "min_length")}
    return {name: limit for name, limit in found.items() if limit is not None}


LARGEST = 1e18
"""A number beyond this is a slip of the keyboard, and nothing can be reckoned with it."""

SIZE = re.compile(r"\s*(\d+)\s*([kmgt])i?b?\s*", re.IGNORECASE)
"""A size as my.cnf has it."""

UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Known(NamedTuple):
    """What a file may have at its top, and other names of keys."""

    top: Mapping[str, Any]
    named_so: Mapping[str, tuple[str, str]]


def problems(
    value: object,
    table: type[Struct],
    *,
    extra: tuple[str, ...] = (),
    named_so: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> list[str]:
    """Return one line for each unknown key, refused value and missing key, with what may have been meant.

    Args:
        value: what a file says.
        table: the schema.
        extra: keys that the file may have besides those of the schema.
        named_so: keys that people know by another name: the key here, and a word about its unit.
    """
    known = Known({**_all_hints(table), **dict.fromkeys(extra, str)}, named_so)
    return list(_problems(value, table, "", known))


def _problems(value: object, hint: Any, where: str, known: Known) -> Iterator[str]:  # noqa: ANN401 - a type expression
    kind = kind_of(hint)
    if kind.listed and isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _problems(item, kind.type, f"{where}[{number}]", known)
    elif kind.table and not kind.listed and isinstance(value, dict):
        hints = _all_hints(kind.type)
        for one in msgspec.structs.fields(kind.type):
            if one.required and one.encode_name not in value:
                yield f"{_dotted(where, one.encode_name)}: is missing"
        for key, item in value.items():
            if key in hints:
                yield from _problems(item, hints[key], _dotted(where, key), known)
            else:
                meant = _meant(key, where, hints if where else known.top, known)
                yield f"{_dotted(where, key)}: unknown key; {meant}"
    elif not _taken(value, hint):
        shown = "" if isinstance(value, (dict, list)) else f" = {_shown(value)}"
        yield f"{where}{shown}: must be {kind.words}{_hint(value, kind)}"


def _meant(key: str, where: str, hints: Mapping[str, Any], known: Known) -> str:
    """Return what a key that a table has not may have meant."""
    for name, hint in hints.items():
        inner = kind_of(hint)
        if inner.table and key in _all_hints(inner.type) and key != "at":
            if not inner.listed:
                return f"it belongs into [{name}]" if not where else f"it belongs into {name} = {{ … }}"
            return f"it belongs into the list: {name} = [{{ at = 0, {key} = … }}]"
    if where and key in known.top:
        return "it belongs above the first table"
    if (other := known.named_so.get(key)) and other[0] in hints:
        return f"here it is {other[0]}, {other[1]}"
    bare = key.removeprefix("innodb_")
    near = difflib.get_close_matches(bare, list(hints), n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(hints)}"


def _taken(value: object, hint: Any) -> bool:  # noqa: ANN401 - a type expression
    """Tell whether a value that is no table may stand there."""
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError:
        return False
    return not isinstance(value, (int, float)) or abs(value) <= LARGEST


def _hint(value: object, kind: Kind) -> str:
    """Return what a refused value may have meant, or why it is refused."""
    if isinstance(value, (int, float)) and abs(value) > LARGEST and "up to" not in kind.words:
        return f", at most {LARGEST:g}"
    if not isinstance(value, str):
        return ""
    near = difflib.get_close_matches(value.lower(), kind.choices, n=1, cutoff=0.5)
    if near:
        return f"; did you mean {near[0]}?"
    if kind.type is int and (size := SIZE.fullmatch(value)):
        return f"; {value} is {int(size[1]) * UNITS[size[2].lower()]}"
    return ""


def _shown(value: object) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, (bool, str)):
        return msgspec.json.encode(value).decode()
    return str(value)


def _all_hints(table: type[Struct]) -> dict[str, Any]:
    return get_type_hints(table, include_extras=True)


def _dotted(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
