"""The routes that ask something of the loop, the bodies they take, and how those are read.

Each waits for the loop's own answer.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import APIRouter, Request, Response
from msgspec import Meta, Struct

from api.access import who
from api.daemon import DaemonView
from api.models import Change
from api.openapi import answers, takes
from api.problems import ApiError, FieldProblem, validation_error
from api.read import encoded
from api.views import state_of
from tuner.core.ages import EXPECTED, LOWEST, PATTERN
from tuner.findings.remedies import told
from tuner.records import LONGEST_TTL, Command, Lifecycle
from tuner.settings import Mode

ANSWER_SECONDS = 3.0
"""How long a command waits for the loop."""

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

    to_age: Annotated[str, Meta(pattern=PATTERN, description=f"checkpoint age: {EXPECTED}")] = LOWEST
    ttl: Annotated[float, Meta(gt=0, le=LONGEST_TTL, description="time to live, seconds")] = DRAIN_TTL
    reason: Reason = ""


class TrialBody(Struct, frozen=True, forbid_unknown_fields=True):
    """A trial against the baseline, for a time."""

    seconds: Annotated[float, Meta(gt=0, le=LONGEST_TTL, description="how long it lasts, seconds")]
    seed: Annotated[int, Meta(ge=0, le=4_294_967_295, description="decides the order of its blocks")] = 0
    reason: Reason = ""


Pages = Annotated[int, Meta(ge=100, le=4_000_000_000, description="pages/s")]
Budget = Annotated[
    float, Meta(ge=1.0, le=86_400.0, description="seconds; not above the file's where it has one")
]


class SettingsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings to change until they are cancelled or the daemon ends; null goes back to the file's."""

    set_point: (
        Annotated[float, Meta(gt=0.2, le=1.0, description="age to hold, as a share of the flush limit")]
        | None
    ) = None
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


BodyT = TypeVar("BodyT", ReasonBody, ModeBody, OverrideBody, DrainBody, TrialBody, SettingsBody)

_POLL_SECONDS = 0.02
_CHANGED = answers(
    Change,
    "Accepted: old and new state.",
    "malformed",
    "refused",
    "too-large",
    "media-type",
    "validation",
    "unavailable",
    "no-answer",
)
_EXAMPLES: dict[type[Struct], dict[str, Any]] = {
    ReasonBody: {"reason": "backup at 03:00"},
    ModeBody: {"mode": "active"},
    OverrideBody: {"io_capacity_max": 4000, "ttl": 600, "reason": "bulk load"},
    TrialBody: {"seconds": 14400, "seed": 1, "reason": "proof for the review"},
    DrainBody: {"to_age": "64M", "ttl": 1800, "reason": "upgrade at 03:00"},
    SettingsBody: {"max_io_capacity_max": 6000, "reason": "a noisy neighbour"},
}
_WITH_A_REASON = (
    ("DELETE", "/override", "cancel_override", "End an override before its time."),
    ("DELETE", "/drain", "cancel_drain", "End a drain before its time; the loop goes back to its set-point."),
    ("DELETE", "/trial", "stop_trial", "End a trial before its time; the loop goes on."),
    ("POST", "/pause", "pause", "Park, then write nothing until resumed."),
    (
        "POST",
        "/resume",
        "resume",
        "End a pause, a drain, the baseline guard's word, and any hold that waits for a person.",
    ),
    ("POST", "/park", "park", "Write a setting with slack for a load half as high again, now."),
    ("POST", "/restore", "restore", "Go back to the original values, in steps."),
)
"""Method, path, command and meaning of what needs no more than its name."""


def steering_routes(daemon: DaemonView) -> APIRouter:  # noqa: C901 - one function for each route
    """Return the routes under /v1 that change something."""
    routes = APIRouter(prefix="/v1", tags=["steer"])

    async def ask(request: Request, name: str, body: BodyT, **given: Any) -> Response:  # noqa: ANN401 - fields of a command
        command = Command(name=name, who=who(request.scope), reason=body.reason, **given)
        return encoded(await submit(daemon, command))

    @routes.put("/mode", **_taking(ModeBody))
    async def mode(request: Request) -> Response:
        """Let the loop write, or only advise."""
        body = await read_body(request, ModeBody)
        return await ask(request, "mode", body, value=body.mode.value)

    @routes.put("/override", **_taking(OverrideBody))
    async def override(request: Request) -> Response:
        """Keep a person's M for a time; refused outside the limits, in advisory mode and under a hold."""
        body = await read_body(request, OverrideBody)
        return await ask(request, "override", body, value=body.io_capacity_max, ttl=body.ttl)

    @routes.post("/drain", **_taking(DrainBody))
    async def drain(request: Request) -> Response:
        """Bring the checkpoint age down and keep it low for a time, before a shutdown, backup or upgrade.

        Without an age as low as it safely goes: as the server's law and the highest M allowed can hold at the
        present load, and where what the load needs leaves the device some. An age that cannot be reached is
        refused, with the lowest one that can.
        """
        body = await read_body(request, DrainBody)
        return await ask(request, "drain", body, value=body.to_age, ttl=body.ttl)

    @routes.put("/trial", **_taking(TrialBody))
    async def trial(request: Request) -> Response:
        """Have the originals and InnoBrim's values in turn for a time, and compare them.

        Refused in advisory mode, under a hold, and where the time is too short for this load; how far it is,
        and what it came to, is in the status.
        """
        body = await read_body(request, TrialBody)
        return await ask(request, "trial", body, value=body.seed, ttl=body.seconds)

    @routes.patch("/settings", **_taking(SettingsBody))
    async def change_settings(request: Request) -> Response:
        """Change some settings inside the file's limits, until cancelled or the daemon ends."""
        body = await read_body(request, SettingsBody)
        sent = decoded(await request.body() or b"{}")
        overlay = {name: getattr(body, name) for name in sent if name != "reason"}
        return await ask(request, "overlay", body, overlay=overlay)

    @routes.delete("/settings", **_taking(ReasonBody))
    async def cancel_settings(request: Request) -> Response:
        """Go back to the settings of the file."""
        return await ask(request, "cancel_overlay", await read_body(request, ReasonBody))

    def with_a_reason(command: str) -> Callable[[Request], Awaitable[Response]]:
        async def asked(request: Request) -> Response:
            return await ask(request, command, await read_body(request, ReasonBody))

        return asked

    for method, path, command, meaning in _WITH_A_REASON:
        routes.add_api_route(
            path,
            with_a_reason(command),
            methods=[method],
            name=command,
            description=meaning,
            **_taking(ReasonBody),
        )
    return routes


def _taking(body: type[Struct]) -> dict[str, Any]:
    """Return how a route that takes a body is documented."""
    extra = takes(body, _EXAMPLES[body], required=body is not ReasonBody)
    return {"responses": _CHANGED, "openapi_extra": extra}


async def submit(daemon: DaemonView, command: Command) -> Change:
    """Hand a command to the loop and return its answer, waiting at most ``ANSWER_SECONDS``.

    Raises:
        ApiError: the loop refused, is dead or stopping, or did not answer in time.
    """
    board, clock = daemon.board, daemon.about.monotonic
    before, live = daemon.newest(), daemon.live()
    if not live.ok:
        raise ApiError("unavailable", f"{command.name} was not handed over: {live.reason}")
    if before.lifecycle is Lifecycle.STOPPING:
        raise ApiError("unavailable", f"{command.name} was not handed over: the daemon is stopping")
    number = board.submit(command)
    deadline = clock() + ANSWER_SECONDS
    while (answer := board.answer(number, timeout=0)) is None:
        if clock() >= deadline:
            waited = f"the loop has not answered within {ANSWER_SECONDS:.0f} s"
            raise ApiError("no-answer", f"{waited}; {command.name} may still be carried out")
        await asyncio.sleep(_POLL_SECONDS)
    if not answer.accepted:
        raise ApiError("refused", told(answer))
    return Change(
        command=command.name, message=told(answer), old=state_of(before), new=state_of(daemon.newest())
    )


async def read_body(request: Request, body: type[BodyT]) -> BodyT:
    """Return the request's body, checked; an empty one counts as ``{}``.

    Raises:
        ApiError: not JSON, or a field that is missing, unknown or out of bounds.
    """
    raw = await request.body()
    if raw:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            given = f"Content-Type {media_type!r}" if media_type else "no Content-Type"
            raise ApiError("media-type", f"the body came with {given}; send Content-Type: application/json")
    return _checked(decoded(raw or b"{}"), body)


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


def _checked(sent: Any, body: type[BodyT]) -> BodyT:  # noqa: ANN401 - as decoded
    """Return a body field by field; whatever is wrong is named together, with what would be right."""
    fields = {field.name: field for field in msgspec.structs.fields(body)}
    known = ", ".join(fields)
    if not isinstance(sent, dict):
        raise validation_error([FieldProblem("body", _pruned(sent), f"an object with the fields {known}")])
    problems = []
    for name in sent.keys() - fields.keys():
        near = difflib.get_close_matches(name, fields, n=1)
        expected = f"the field {near[0]}" if near else f"only the fields {known}"
        problems.append(FieldProblem(name, _pruned(sent[name]), expected))
    for name, field in fields.items():
        if name not in sent and field.required:
            problems.append(FieldProblem(name, None, _bounds(field.type)))
        elif name in sent:
            try:
                msgspec.convert(sent[name], field.type)
            except msgspec.ValidationError:
                problems.append(FieldProblem(name, _pruned(sent[name]), _bounds(field.type)))
    if problems:
        raise validation_error(problems)
    return msgspec.convert(sent, body)


def _pruned(value: Any, deep: int = 4) -> Any:  # noqa: ANN401 - as decoded
    """Return a value as an error quotes it, no deeper than anybody reads."""
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
    for key, phrase in (
        ("minimum", "of at least"),
        ("exclusiveMinimum", "above"),
        ("maximum", "and at most"),
    ):
        if key in schema:
            kind += f" {phrase} {schema[key]}"
    if "maxLength" in schema:
        kind += f" of at most {schema['maxLength']} characters"
    return f"{kind} ({words})" if words else kind
