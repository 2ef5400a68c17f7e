"""What a key of a scenario takes, in words, from its type in the schema."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

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
    if origin is tuple:
        entry = get_args(hint)[0]
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
