"""The routes that ask something of the loop; each waits for the loop's own answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request, Response

from api.about import About
from api.access import who
from api.bodies import DrainBody, ModeBody, OverrideBody, ReasonBody, SettingsBody, decoded, read_body
from api.changes import Change, state_of
from api.openapi import answers, takes
from api.problems import ApiError
from api.reading import encoded, newest
from api.vitals import Vitals
from tuner.board import Board
from tuner.records import Command, Lifecycle

ANSWER_SECONDS = 3.0
"""How long a command waits for the loop."""

_POLL_SECONDS = 0.02
_PROBLEMS = (
    "malformed",
    "refused",
    "too-large",
    "media-type",
    "validation",
    "unavailable",
    "no-answer",
)
_REASON = takes(ReasonBody, {"reason": "backup at 03:00"}, required=False)


Ask = Callable[[Command], Awaitable[Response]]
"""Hands a command to the loop and answers with what came of it."""


def steering_routes(board: Board, about: About, vitals: Vitals) -> APIRouter:
    """Return the routes under /v1 that change something."""
    routes = APIRouter(tags=["steer"])

    async def ask(command: Command) -> Response:
        return encoded(await carry_out(board, about, vitals, command))

    _with_a_value(routes, ask)
    _settings(routes, ask)
    _with_a_reason(routes, ask)
    return routes


def _with_a_value(routes: APIRouter, ask: Ask) -> None:
    """Add the routes whose body says what is wanted."""
    changed = answers(Change, "Accepted: old and new state.", *_PROBLEMS)

    @routes.put("/mode", responses=changed, openapi_extra=takes(ModeBody, {"mode": "active"}, required=True))
    async def mode(request: Request) -> Response:
        """Let the loop write, or only advise."""
        body = await read_body(request, ModeBody)
        return await ask(
            Command(name="mode", who=who(request.scope), value=body.mode.value, reason=body.reason)
        )

    @routes.put(
        "/override",
        responses=changed,
        openapi_extra=takes(
            OverrideBody, {"io_capacity_max": 4000, "ttl": 600, "reason": "bulk load"}, required=True
        ),
    )
    async def override(request: Request) -> Response:
        """Keep a person's M for a time; refused outside the limits, in advisory mode and under a hold."""
        body = await read_body(request, OverrideBody)
        return await ask(
            Command(
                name="override",
                who=who(request.scope),
                value=body.io_capacity_max,
                ttl=body.ttl,
                reason=body.reason,
            )
        )

    @routes.post(
        "/drain",
        responses=changed,
        openapi_extra=takes(
            DrainBody, {"to_age": "64MiB", "ttl": 1800, "reason": "upgrade at 03:00"}, required=True
        ),
    )
    async def drain(request: Request) -> Response:
        """Bring the checkpoint age down and keep it low for a time, before a shutdown, backup or upgrade.

        Refused where the age cannot be reached, with the lowest one that can.
        """
        body = await read_body(request, DrainBody)
        return await ask(
            Command(name="drain", who=who(request.scope), value=body.to_age, ttl=body.ttl, reason=body.reason)
        )


def _settings(routes: APIRouter, ask: Ask) -> None:
    """Add the routes that change settings, and take the changes back."""
    changed = answers(Change, "Accepted: old and new state.", *_PROBLEMS)
    example = {"max_io_capacity_max": 6000, "reason": "a noisy neighbour"}

    @routes.patch("/settings", responses=changed, openapi_extra=takes(SettingsBody, example, required=True))
    async def change_settings(request: Request) -> Response:
        """Change some settings inside the file's limits, until cancelled or the daemon ends."""
        body = await read_body(request, SettingsBody)
        sent = decoded(await request.body() or b"{}")
        overlay = {name: getattr(body, name) for name in sent if name != "reason"}
        return await ask(Command(name="overlay", who=who(request.scope), overlay=overlay, reason=body.reason))

    @routes.delete("/settings", responses=changed, openapi_extra=_REASON)
    async def cancel_settings(request: Request) -> Response:
        """Go back to the settings of the file."""
        body = await read_body(request, ReasonBody)
        return await ask(Command(name="cancel_overlay", who=who(request.scope), reason=body.reason))


def _with_a_reason(routes: APIRouter, ask: Ask) -> None:
    """Add the routes that need no more than their name."""
    changed = answers(Change, "Accepted: old and new state.", *_PROBLEMS)

    async def ask_plainly(request: Request, name: str) -> Response:
        body = await read_body(request, ReasonBody)
        return await ask(Command(name=name, who=who(request.scope), reason=body.reason))

    @routes.delete("/override", responses=changed, openapi_extra=_REASON)
    async def cancel_override(request: Request) -> Response:
        """End an override before its time."""
        return await ask_plainly(request, "cancel_override")

    @routes.delete("/drain", responses=changed, openapi_extra=_REASON)
    async def cancel_drain(request: Request) -> Response:
        """End a drain before its time; the loop goes back to its set-point."""
        return await ask_plainly(request, "cancel_drain")

    @routes.post("/pause", responses=changed, openapi_extra=_REASON)
    async def pause(request: Request) -> Response:
        """Park, then write nothing until resumed."""
        return await ask_plainly(request, "pause")

    @routes.post("/resume", responses=changed, openapi_extra=_REASON)
    async def resume(request: Request) -> Response:
        """End a pause, a drain, the baseline guard's word, and any hold that waits for a person."""
        return await ask_plainly(request, "resume")

    @routes.post("/park", responses=changed, openapi_extra=_REASON)
    async def park(request: Request) -> Response:
        """Write a setting with slack for a load half as high again, now."""
        return await ask_plainly(request, "park")

    @routes.post("/restore", responses=changed, openapi_extra=_REASON)
    async def restore(request: Request) -> Response:
        """Go back to the original values, in steps."""
        return await ask_plainly(request, "restore")


async def carry_out(board: Board, about: About, vitals: Vitals, command: Command) -> Change:
    """Hand a command to the loop and return its answer, waiting at most ``ANSWER_SECONDS``.

    Raises:
        ApiError: the loop refused, is dead or stopping, or did not answer in time.
    """
    before = newest(board)
    live = vitals.live()
    if not live.ok:
        raise ApiError("unavailable", f"{command.name} was not handed over: {live.reason}")
    if before.lifecycle is Lifecycle.STOPPING:
        raise ApiError("unavailable", f"{command.name} was not handed over: the daemon is stopping")
    number = board.submit(command)
    deadline = about.monotonic() + ANSWER_SECONDS
    while (answer := board.answer(number, timeout=0)) is None:
        if about.monotonic() >= deadline:
            waited = f"the loop has not answered within {ANSWER_SECONDS:.0f} s"
            raise ApiError("no-answer", f"{waited}; {command.name} may still be carried out")
        await asyncio.sleep(_POLL_SECONDS)
    if not answer.accepted:
        raise ApiError("refused", answer.message)
    return Change(
        command=command.name, message=answer.message, old=state_of(before), new=state_of(newest(board))
    )
