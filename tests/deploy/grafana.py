"""A dashboard held against Grafana's own model of one: every key has a place in it, every value its type.

The model is Grafana Labs' SDK, generated from the schemas of the version it is called by. It reads leniently;
so what it lost on the way is found by writing it again, and what has the wrong type by its annotations.
"""

from __future__ import annotations

import enum
import json
import types
import typing
from collections.abc import Iterator
from typing import Any

from grafana_foundation_sdk.cog import runtime
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import units
from grafana_foundation_sdk.models.dashboard import Dashboard

UNITS = frozenset(value for value in vars(units).values() if isinstance(value, str))
"""Every unit that Grafana knows by name."""

_BROKEN = (AttributeError, KeyError, TypeError, ValueError)
_SCALARS: dict[Any, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float), bool: (bool,)}


def complaints(dashboard: dict[str, Any]) -> list[str]:
    """Return what Grafana has no place for, or not with that value, each with where it stands."""
    register_default_plugins()
    unknown = [
        f"panel {panel['id']}: there is no panel of the type {panel['type']}"
        for panel in dashboard["panels"]
        if panel["type"] != "row" and runtime.panelcfg_config(panel["type"]) is None
    ]
    return [*unknown, *_loaded(Dashboard, dashboard, "dashboard")]


def _loaded(model: Any, raw: dict[str, Any], path: str) -> Iterator[str]:  # noqa: ANN401 - a class of the SDK
    """Yield what a class of the model does not take of an object."""
    try:
        found = model.from_json(raw)
        kept = json.loads(json.dumps(found, cls=JSONEncoder))
    except _BROKEN as error:
        yield f"{path}: no {model.__name__}: {error!r}"
        return
    yield from _lost(raw, kept, path)
    yield from _attributes(found, path)


def _lost(raw: object, kept: object, path: str) -> Iterator[str]:
    """Yield what of an object is not there any more after it was read and written again."""
    if isinstance(raw, dict) and isinstance(kept, dict):
        for key, value in raw.items():
            if key in kept:
                yield from _lost(value, kept[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}: there is no such key"
    elif isinstance(raw, list) and isinstance(kept, list) and len(raw) == len(kept):
        for index, (one, other) in enumerate(zip(raw, kept, strict=True)):
            yield from _lost(one, other, f"{path}[{index}]")
    elif raw != kept:
        yield f"{path}: {raw!r} is taken for {kept!r}"


def _attributes(found: object, path: str) -> Iterator[str]:
    for name, hint in typing.get_type_hints(type(found)).items():
        yield from _mistyped(getattr(found, name), hint, f"{path}.{name.removesuffix('_val')}")


def _mistyped(value: Any, hint: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - whatever the schema has
    """Yield what of a value is not of a type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        yield from min((list(_mistyped(value, one, path)) for one in arguments), key=len)
    elif origin is list and isinstance(value, list):
        for index, one in enumerate(value):
            yield from _mistyped(one, arguments[0], f"{path}[{index}]")
    elif origin is dict and isinstance(value, dict):
        for key, one in value.items():
            yield from _mistyped(one, arguments[1], f"{path}.{key}")
    elif hasattr(value, "to_json"):
        yield from _attributes(value, path)
    elif hasattr(hint, "from_json") and isinstance(value, dict):
        yield from _loaded(hint, value, path)
    elif hint not in {object, Any} and not _is_one(value, hint):
        yield f"{path}: {value!r} is no {getattr(hint, '__name__', hint)}"


def _is_one(value: object, hint: Any) -> bool:  # noqa: ANN401 - a type
    """Tell whether a plain value is of a plain type, or one of those named; true is no number."""
    if typing.get_origin(hint) is typing.Literal:
        return value in typing.get_args(hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return value in {one.value for one in hint}
    kinds = _SCALARS.get(hint)
    if kinds is None:
        return isinstance(hint, type) and isinstance(value, hint)
    return isinstance(value, kinds) and (hint is bool or not isinstance(value, bool))
