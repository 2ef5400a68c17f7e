"""Records to bytes and back: msgpack with fields by position, so that a tick stays small.

The names are not in the bytes; ``fingerprint`` says which fields in which order they are, and
a reader with another fingerprint must not try. Works for any tree of msgspec structs, tuples,
lists, dicts, enums and plain values, unions of structs included.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import types
from collections.abc import Callable, Iterator
from enum import Enum
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

T = TypeVar("T", bound=Struct)
_Convert = Callable[[Any], Any]

_PLAIN = (str, int, float, bool, bytes, type(None))
_encoder = msgspec.msgpack.Encoder()


class CodecError(ValueError):
    """Bytes that are not what they should be."""


def encode(value: Struct) -> bytes:
    """Return a struct as bytes, a few microseconds per hundred fields."""
    return _encoder.encode(_pair(type(value)).pack(value))


def decode(blob: bytes, kind: type[T]) -> T:
    """Return the struct that ``encode`` was given.

    Raises:
        CodecError: the bytes are damaged, or were made from other fields.
    """
    try:
        found = _pair(kind).unpack(msgspec.msgpack.decode(blob))
    except (msgspec.DecodeError, TypeError, ValueError, LookupError) as error:
        raise CodecError(f"not a {kind.__name__}: {error}") from error
    if not isinstance(found, kind):
        raise CodecError(f"not a {kind.__name__}")
    return found


def fingerprint(*kinds: type[Struct]) -> str:
    """Return 16 hexadecimal digits that change with any field's name, order or type."""
    seen: dict[str, str] = {}
    for kind in kinds:
        _describe(kind, seen)
    text = "\n".join(f"{name}({seen[name]})" for name in sorted(seen))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Pair:
    """The two directions for one type; None means that the value goes as it is."""

    def __init__(self, pack: _Convert | None, unpack: _Convert | None) -> None:
        self.plain = pack is None and unpack is None
        self.pack: _Convert = pack or _same
        self.unpack: _Convert = unpack or _same


def _same(value: Any) -> Any:  # noqa: ANN401 - the identity of anything
    return value


@functools.cache
def _pair(hint: Any) -> _Pair:  # noqa: ANN401 - a type hint has no type
    origin, members = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _pair(members[0])
    if hint in _PLAIN or origin is Literal or hint is Any:
        return _Pair(None, None)
    if origin in (Union, types.UnionType):
        return _union(members)
    if origin in (tuple, list):
        return _sequence(origin, members)
    if origin is dict:
        return _mapping(members)
    return _class(hint)


def _class(hint: Any) -> _Pair:  # noqa: ANN401 - a type hint has no type
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Pair(None, hint)
    if _has_fields(hint):
        return _struct(hint)
    raise TypeError(f"the journal cannot hold {hint}")


def _has_fields(hint: Any) -> bool:  # noqa: ANN401 - a type hint has no type
    """Tell whether this is a record: a struct, or a dataclass of the policies."""
    return isinstance(hint, type) and (issubclass(hint, Struct) or dataclasses.is_dataclass(hint))


def _names(kind: type) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(one.name for one in dataclasses.fields(kind))
    names: tuple[str, ...] = kind.__struct_fields__  # type: ignore[attr-defined] # a struct, as was seen
    return names


def _struct(kind: type) -> _Pair:
    hints = get_type_hints(kind, include_extras=True)
    names = _names(kind)
    pairs = [_pair(hints[name]) for name in names]
    nested = [(index, pair) for index, pair in enumerate(pairs) if not pair.plain]
    values = (
        attrgetter(*names) if len(names) > 1 else lambda record: [getattr(record, name) for name in names]
    )

    def pack(record: Any) -> Any:  # noqa: ANN401 - a struct of this kind
        if not nested:
            return values(record)
        row = list(values(record))
        for index, pair in nested:
            row[index] = pair.pack(row[index])
        return row

    def unpack(row: Any) -> Any:  # noqa: ANN401 - a decoded row
        if len(row) != len(names):
            raise CodecError(f"{kind.__name__} has {len(names)} fields, found {len(row)}")
        for index, pair in nested:
            row[index] = pair.unpack(row[index])
        return kind(**dict(zip(names, row, strict=True)))

    return _Pair(pack, unpack)


def _union(members: tuple[Any, ...]) -> _Pair:
    some = [member for member in members if member is not type(None)]
    pairs = [_pair(member) for member in some]
    if all(pair.plain for pair in pairs):
        return _Pair(None, None)
    if len(some) == 1:
        pack, unpack = pairs[0].pack, pairs[0].unpack
        return _Pair(
            lambda value: None if value is None else pack(value),
            lambda value: None if value is None else unpack(value),
        )
    places = {kind: place for place, kind in enumerate(some)}

    def tag(value: Any) -> Any:  # noqa: ANN401 - one of the members
        if value is None:
            return None
        place = places[type(value)]
        return (place, pairs[place].pack(value))

    return _Pair(tag, lambda value: None if value is None else pairs[value[0]].unpack(value[1]))


def _sequence(origin: type, members: tuple[Any, ...]) -> _Pair:
    if origin is list or members[-1] is Ellipsis:
        pair = _pair(members[0])
        if pair.plain:
            return _Pair(None, None if origin is list else tuple)
        return _Pair(
            lambda values: [pair.pack(value) for value in values],
            lambda values: origin(pair.unpack(value) for value in values),
        )
    pairs = [_pair(member) for member in members]
    return _Pair(
        lambda values: [pair.pack(value) for pair, value in zip(pairs, values, strict=True)],
        lambda values: origin(pair.unpack(value) for pair, value in zip(pairs, values, strict=True)),
    )


def _mapping(members: tuple[Any, ...]) -> _Pair:
    pair = _pair(members[1])
    if pair.plain and members[0] in _PLAIN:
        return _Pair(None, None)
    key = _pair(members[0])
    return _Pair(
        lambda values: {name: pair.pack(value) for name, value in values.items()},
        lambda values: {key.unpack(name): pair.unpack(value) for name, value in values.items()},
    )


def _describe(kind: type, seen: dict[str, str]) -> None:
    if kind.__name__ in seen:
        return
    seen[kind.__name__] = ""
    hints = get_type_hints(kind)
    seen[kind.__name__] = ", ".join(f"{name}: {hints[name]}" for name in _names(kind))
    for hint in hints.values():
        for part in _parts(hint):
            if _has_fields(part):
                _describe(part, seen)


def _parts(hint: Any) -> Iterator[Any]:  # noqa: ANN401 - a type hint has no type
    yield hint
    for member in get_args(hint):
        yield from _parts(member)
