"""The routes that look at now."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from fastapi import APIRouter, Response

from api.about import About
from api.openapi import answers
from api.problems import ApiError
from api.status import Status, status_of
from api.views import Advice, Policies, policies_of
from api.vitals import Vitals
from tuner.board import RING_EVENTS, Board
from tuner.config.schema import Config
from tuner.findings import Finding
from tuner.records import TickRecord

ENDED_SECONDS = 3600.0
"""So long status says how a drain ended."""

FORGOTTEN_SECONDS = 86_400.0
"""So long status says what was learned and begins afresh."""

FORGOTTEN = frozenset({"learned_lost", "learned_afresh"})
"""Events that say so."""


def encoded(answer: object) -> Response:
    """Return an answer as JSON."""
    return Response(msgspec.json.encode(answer), media_type="application/json")


def newest(board: Board) -> TickRecord:
    """Return the newest record.

    Raises:
        ApiError: there is none yet.
    """
    record = board.last()
    if record is None:
        why = board.tally().waiting or "the loop has not made its first tick yet"
        raise ApiError("unavailable", why, headers={"Retry-After": "2"})
    return record


def loop_now(board: Board, about: About) -> float:
    """Return the loop's own Unix time: its last tick's and what passed since; a demo's clock runs faster.

    Raises:
        ApiError: there was no tick yet.
    """
    record, alive = newest(board), board.tally().alive
    return record.tick.wall + (max(0.0, about.monotonic() - alive) if alive is not None else 0.0)


def _drain_ended(board: Board, now: float) -> str:
    """Return when and why the last drain ended; empty without one within the hour, or with a new one."""
    found = [event for _, event in board.events(limit=RING_EVENTS) if event.code in {"drain", "drain_ended"}]
    if not found or found[-1].code == "drain" or now - found[-1].wall > ENDED_SECONDS:
        return ""
    return f"{max(0.0, now - found[-1].wall):.0f} s ago: {found[-1].message}"


def _forgotten(board: Board, now: float) -> tuple[str, ...]:
    """Return what was learned and begins afresh, by the events of the last day, oldest first."""
    found = [event for _, event in board.events(limit=RING_EVENTS) if event.code in FORGOTTEN]
    times = [(now - event.wall, event.message) for event in found]
    return tuple(
        f"{max(0.0, ago) / 60.0:.0f} min ago: {message}" for ago, message in times if ago <= FORGOTTEN_SECONDS
    )


def reading_routes(
    board: Board, about: About, vitals: Vitals, advice: Callable[[], list[Finding]]
) -> APIRouter:
    """Return the routes under /v1 that change nothing."""
    routes = APIRouter(tags=["read"])

    @routes.get("/status", responses=answers(Status, "The loop in one look.", "unavailable"))
    async def status() -> Response:
        """Return lifecycle, mode, holds, last decision, estimate, server and the daemon's own cost."""
        record = newest(board)
        return encoded(
            status_of(
                record,
                facts=board.facts(),
                settings=board.settings(),
                wall=loop_now(board, about),
                process=vitals.process(),
                journal=board.tally().journal,
                drain_ended=_drain_ended(board, loop_now(board, about)),
                forgotten=_forgotten(board, loop_now(board, about)),
                optimiser=board.tally().optimiser,
                learned=board.known(),
            )
        )

    @routes.get("/config", responses=answers(Config, "The configuration in force."))
    async def config() -> Response:
        """Return the configuration in force; it holds no secret."""
        configuration = about.configuration()
        settings = board.settings()
        if settings is not None:
            configuration = msgspec.structs.replace(configuration, loop=settings)
        return encoded(configuration)

    @routes.get("/advice", responses=answers(Advice, "Findings with SQL to paste.", "unavailable"))
    async def advise() -> Response:
        """Return what a person could set now, why, and the expected effect."""
        newest(board)
        return encoded(Advice(tuple(advice())))

    @routes.get("/policies", responses=answers(Policies, "The decision laws, and the one in force."))
    async def policies() -> Response:
        """Return what each decision law does, when to use it, and the constants that it decides by."""
        return encoded(policies_of(board.last()))

    return routes
