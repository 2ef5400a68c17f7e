"""What earlier daemons learned, read part by part: what cannot be read is forgotten alone, and by name.

A field that was added since has its default, which stands for "unknown"; one that is gone is passed over.
Of records in a list each is read on its own. What can be read and cannot be true is forgotten likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo, fields

from policies.suggestions import sound as sound_trial
from policies.types import Trial
from tuner.core import evidence
from tuner.core.estimate.load import Curve, Load, Regression
from tuner.core.estimate.recovery import Recovery
from tuner.core.estimate.trends import Late, Week
from tuner.core.evidence import Aside, Evidence, Win
from tuner.core.learned import Learned, sound

_TAKEN_APART: frozenset[Any] = frozenset({Learned, Load, Evidence, Aside})
"""Records of which each field is a part of its own."""

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "load.combining": "write combining",
        "load.response": "what a page flushed costs in redo",
        "load.curve": "write combining by age",
        "recovery_factor": "the factor of crash recoveries",
        "version": "the version that crash recoveries were measured on",
        "proven": "the version on which the flush law was verified",
        "law": "the flush law that was verified",
        "week": "bursts by hour of the week",
        "late": "bursts of the last hours",
        "evidence.server": "which server the trials were made on",
        "evidence.log": "trials",
        "evidence.wins": "won suggestions",
        "evidence.aside": "versions before with their trials",
        "evidence.aside.log": "trials of a version before",
        "evidence.aside.wins": "won suggestions of a version before",
    }
)
"""Parts by their path in the document, for people; a part without words goes by its path."""

_CAN_BE: Mapping[Any, Callable[[Any], bool]] = MappingProxyType(
    {
        "recovery_factor": lambda factor: Recovery(factor=factor).sound,
        Regression: sound,
        Curve: lambda curve: curve.sound,
        Week: lambda week: week.sound,
        Late: lambda late: late.sound,
        Trial: sound_trial,
        Win: evidence.sound,
    }
)
"""By path or type: what tells whether a part can be true."""

_MISSING = object()


class Remembered(NamedTuple):
    """What was kept of one server.

    Attributes:
        learned: all that could be read; None where that is nothing.
        lost: each part that could not, with the reason.
    """

    learned: Learned | None = None
    lost: tuple[str, ...] = ()


def remember(blob: bytes) -> Remembered:
    """Read what a daemon of any version kept. Never raises."""
    try:
        raw = msgspec.msgpack.decode(blob)
    except (ValueError, RecursionError) as error:
        return Remembered(lost=(f"all of it: {error}",))
    if not isinstance(raw, dict):
        return Remembered(lost=("all of it: no fields",))
    lost: list[str] = []
    return Remembered(_record(raw, Learned, "", lost), tuple(lost))


def _record(raw: Any, kind: type[Struct], path: str, lost: list[str]) -> Any:  # noqa: ANN401 - of that kind
    """Return a record of the parts that can be read."""
    if not isinstance(raw, dict):
        lost.append(f"{_named(path)}: no fields")
        return kind()
    found = {}
    for field in fields(kind):
        name = f"{path}.{field.encode_name}" if path else field.encode_name
        part = raw.get(field.encode_name, _MISSING)
        if part is not _MISSING:
            found[field.name] = _part(part, field, name, lost)
    return kind(**found)


def _part(raw: Any, field: FieldInfo, path: str, lost: list[str]) -> Any:  # noqa: ANN401 - what the field takes
    if field.type in _TAKEN_APART:
        return _record(raw, field.type, path, lost)
    if get_origin(field.type) is tuple:
        return _list(raw, get_args(field.type)[0], path, lost)
    value, why = _value(raw, field.type, path)
    if not why:
        return value
    lost.append(f"{_named(path)}: {why}")
    return field.default if field.default is not NODEFAULT else field.default_factory()


def _list(raw: Any, kind: Any, path: str, lost: list[str]) -> tuple[Any, ...]:  # noqa: ANN401 - any type
    if not isinstance(raw, list):
        lost.append(f"{_named(path)}: no list")
        return ()
    if kind in _TAKEN_APART:
        return tuple(_record(one, kind, path, lost) for one in raw)
    read = [_value(one, kind, path) for one in raw]
    wrong = [why for _, why in read if why]
    if wrong:
        lost.append(f"{len(wrong)} of {len(raw)} {_named(path)}: {wrong[0]}")
    return tuple(value for value, why in read if not why)


def _value(raw: Any, kind: Any, path: str) -> tuple[Any, str]:  # noqa: ANN401 - any type
    """Return a value of that type, and why there is none; empty where there is one."""
    try:
        value = msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        return None, str(error)
    can_be = _CAN_BE.get(path) or _CAN_BE.get(kind)
    return value, "" if can_be is None or can_be(value) else "it cannot be true"


def _named(path: str) -> str:
    return _WORDS.get(path, path)
