"""The bodies that commands take, and how they are read."""

from __future__ import annotations

import difflib
import re
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Request
from msgspec import Meta, Struct

from api.problems import ApiError, FieldProblem, validation_error
from tuner.core.ages import EXPECTED, PATTERN
from tuner.records import LONGEST_TTL
from tuner.settings import Mode

DRAIN_TTL = 3600.0
"""How long a drain lasts where nothing is said, seconds."""

Reason = Annotated[str, Meta(max_length=500, description="why, for the record")]


class ReasonBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The optional body of pause, resume, park, restore and of the end of an override or a drain."""

    reason: Reason = ""


class ModeBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The mode asked for."""

    mode: Annotated[Mode, Meta(description="advisory writes nothing; active writes")]
    reason: Reason = ""


class OverrideBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A person's value, for a time."""

    io_capacity_max: Annotated[
        int,
        Meta(ge=100, le=4_000_000_000, description="M to keep, pages/s; refused outside the limits"),
    ]
    ttl: Annotated[float, Meta(gt=0, le=LONGEST_TTL, description="time to live, seconds")]
    reason: Reason = ""


class DrainBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint age to come down to, and to stay at or below for a time."""

    to_age: Annotated[str, Meta(pattern=PATTERN, description=f"checkpoint age: {EXPECTED}")]
    ttl: Annotated[float, Meta(gt=0, le=LONGEST_TTL, description="time to live, seconds")] = DRAIN_TTL
    reason: Reason = ""


Pages = Annotated[int, Meta(ge=100, le=4_000_000_000, description="pages/s")]
Budget = Annotated[
    float, Meta(ge=1.0, le=86_400.0, description="seconds; not above the file's where it has one")
]


class SettingsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings to change until they are cancelled or the daemon ends; null goes back to the file's."""

    set_point: Annotated[float, Meta(gt=0.2, le=1.0, description="age ratio to hold")] | None = None
    min_io_capacity_max: Annotated[Pages, Meta(description="pages/s; not below the file's")] | None = None
    max_io_capacity_max: Annotated[Pages, Meta(description="pages/s; not above the file's")] | None = None
    dwell_seconds: (
        Annotated[
            float, Meta(ge=1.0, le=3600.0, description="seconds between two writes; not below the file's")
        ]
        | None
    ) = None
    max_changes_per_hour: (
        Annotated[int, Meta(ge=1, le=3600, description="writes in any hour; not above the file's")] | None
    ) = None
    max_checkpoint_age_ratio: (
        Annotated[float, Meta(gt=0.1, le=0.84, description="of the redo capacity; not above the file's")]
        | None
    ) = None
    max_recovery_seconds: Budget | None = None
    max_shutdown_seconds: Budget | None = None
    reason: Reason = ""


BodyT = TypeVar("BodyT", ReasonBody, ModeBody, OverrideBody, DrainBody, SettingsBody)

_AT = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"^Object missing required field `(?P<name>[^`]*)`$")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>[^`]*)`$")


async def read_body(request: Request, body: type[BodyT]) -> BodyT:
    """Return the request's body, checked; an empty one counts as ``{}``.

    Raises:
        ApiError: not JSON, or a field that is missing, unknown or out of bounds.
    """
    raw = await request.body()
    if raw:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            said = f"Content-Type {media_type!r}" if media_type else "no Content-Type"
            raise ApiError("media-type", f"the body came with {said}; send Content-Type: application/json")
    sent = decoded(raw or b"{}")
    try:
        return msgspec.convert(sent, body)
    except msgspec.ValidationError as error:
        raise validation_error([_field_problem(str(error), sent, body)]) from None


def decoded(raw: bytes) -> Any:  # noqa: ANN401 - whatever was sent
    """Return what a body says.

    Raises:
        ApiError: it is not JSON, nested too deep, or has a number beyond all bounds.
    """
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, ValueError, OverflowError) as error:
        raise ApiError("malformed", f"the body is not JSON: {error}") from None
    except RecursionError:
        raise ApiError(
            "malformed", "the body is nested too deep: no request of this API needs that"
        ) from None


def _field_problem(message: str, sent: Any, body: type[Struct]) -> FieldProblem:  # noqa: ANN401 - as decoded
    at = _AT.search(message)
    message = message[: at.start()] if at else message
    fields = {field.name: field for field in msgspec.structs.fields(body)}
    if missing := _MISSING.match(message):
        name = missing["name"]
        return FieldProblem(name, None, _bounds(fields[name].type))
    if unknown := _UNKNOWN.match(message):
        name = unknown["name"]
        near = difflib.get_close_matches(name, fields, n=1)
        expected = f"the field {near[0]}" if near else f"only the fields {', '.join(fields)}"
        return FieldProblem(name, _pruned(sent.get(name)), expected)
    path = at["path"] if at else ""
    if path in fields:
        return FieldProblem(path, _pruned(sent.get(path)), _bounds(fields[path].type))
    return FieldProblem(
        path or "body", _pruned(sent), f"an object with the fields {', '.join(fields)}: {message}"
    )


def _pruned(value: Any, deep: int = 4) -> Any:  # noqa: ANN401 - as decoded
    """Return a value as it is said back, no deeper than anybody reads."""
    if isinstance(value, dict | list) and not deep:
        return "…"
    if isinstance(value, dict):
        return {name: _pruned(one, deep - 1) for name, one in value.items()}
    return [_pruned(one, deep - 1) for one in value] if isinstance(value, list) else value


def _bounds(hint: object) -> str:
    """Say in words which values a field takes."""
    schema = msgspec.json.schema(hint)
    if "anyOf" in schema:
        schema = {**schema, **next(part for part in schema["anyOf"] if part.get("type") != "null")}
        schema["description"] = f"{schema.get('description', '')}; null for the file's".removeprefix("; ")
    words = schema.get("description", "")
    if "$defs" in schema:
        values = next(iter(schema["$defs"].values())).get("enum", [])
        return " or ".join(values) + (f" ({words})" if words else "")
    kinds = {"integer": "a whole number", "number": "a number", "string": "a text"}
    kind = kinds.get(str(schema.get("type")), "a value")
    for key, said in (("minimum", "of at least"), ("exclusiveMinimum", "above"), ("maximum", "and at most")):
        if key in schema:
            kind += f" {said} {schema[key]}"
    if "maxLength" in schema:
        kind += f" of at most {schema['maxLength']} characters"
    return f"{kind} ({words})" if words else kind
