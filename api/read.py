"""The routes that change nothing: now, over time, and for machines that watch. They ask no server."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Response
from msgspec import Struct

from api.daemon import DaemonView
from api.models import (
    Advice,
    DecisionAt,
    Decisions,
    Events,
    Health,
    HistoryAnswer,
    Policies,
    Status,
)
from api.openapi import Responses, answers
from api.problems import FieldProblem, validation_error
from api.scrape import MetricsPage
from api.views import event_of, policies_of, status_of
from tuner.config.hooks import without_secrets
from tuner.config.schema import Config
from tuner.daemon.board import RING_EVENTS, RING_TICKS, Board
from tuner.daemon.history import COLUMNS, MAX_POINTS
from tuner.findings.remedies import told
from tuner.records import Decision
from tuner.records.fields import BY_NAME

ENDED_SECONDS = 3600.0
"""So long status says how a drain ended."""

FORGOTTEN_SECONDS = 86_400.0
"""So long status says what was learned and begins afresh."""

FORGOTTEN = frozenset({"learned_lost", "learned_afresh"})
"""Events that say so."""

HISTORY_COLUMNS = (*COLUMNS, "set_point")
UNITS = {name: BY_NAME[name].unit if name in BY_NAME else "ratio" for name in HISTORY_COLUMNS}

_FAR = 1e11
_Time = Annotated[float, Query(ge=-_FAR, le=_FAR)]
_NUMBERS: Responses = answers(
    HistoryAnswer, "Numbers over time, one list a column.", "validation", "unavailable"
)
_NUMBERS[200]["content"]["text/csv"] = {"schema": {"type": "string"}}
_VERDICTS: Responses = answers(Health, "Yes.")
_VERDICTS[503] = {"description": "No; the body says why.", "content": _VERDICTS[200]["content"]}
_METRICS: Responses = {
    200: {
        "description": "Every metric that has a value.",
        "content": {"text/plain": {"schema": {"type": "string"}}},
    }
}


class _TickPart(Struct, frozen=True):
    number: int
    wall: float


class _RecordPart(Struct, frozen=True):
    """What the list of decisions needs of an encoded tick."""

    tick: _TickPart
    decision: Decision


def encoded(answer: object, status: int = 200) -> Response:
    """Return an answer as JSON."""
    return Response(msgspec.json.encode(answer), status_code=status, media_type="application/json")


def differs(one: Decision, other: Decision) -> bool:
    """Tell whether a decision is news beside the one before: another kind, reason, target, or wish at all."""
    return (one.kind, one.reason, one.target, one.would is None) != (
        other.kind,
        other.reason,
        other.target,
        other.would is None,
    )


def watching_routes(daemon: DaemonView, metrics: MetricsPage) -> APIRouter:
    """Return ``/livez``, ``/readyz`` and ``/metrics``."""
    routes = APIRouter(tags=["watch"])

    def verdict(health: Health) -> Response:
        return encoded(health, 200 if health.ok else 503)

    @routes.get("/livez", responses=_VERDICTS)
    async def livez() -> Response:
        """Say whether the loop ticks."""
        return verdict(daemon.live())

    @routes.get("/readyz", responses=_VERDICTS)
    async def readyz() -> Response:
        """Say whether the loop has a fresh good sample of its server."""
        return verdict(daemon.ready())

    @routes.get("/metrics", responses=_METRICS, response_class=Response)
    async def metrics_page() -> Response:
        """Return every metric in Prometheus' text format."""
        return Response(metrics.text(), media_type=metrics.content_type)

    return routes


def present_routes(daemon: DaemonView) -> APIRouter:
    """Return the routes under /v1 that look at now."""
    board = daemon.board
    routes = APIRouter(prefix="/v1", tags=["read"])

    @routes.get("/status", responses=answers(Status, "The loop in one look.", "unavailable"))
    async def status() -> Response:
        """Return lifecycle, mode, holds, last decision, estimate, server and the daemon's own cost."""
        record, now, tally = daemon.newest(), daemon.now(), board.tally()
        return encoded(
            status_of(
                record,
                facts=board.facts(),
                settings=board.settings(),
                wall=now,
                process=daemon.process(),
                journal=tally.journal,
                drain_ended=_drain_ended(board, now),
                forgotten=_forgotten(board, now),
                optimiser=tally.optimiser,
                growth=board.growth(),
                hooks=board.hooks(),
                trial=board.trial(),
                learned=board.learned(),
                price=daemon.about.configuration().daemon.write_price,
            )
        )

    @routes.get("/config", responses=answers(Config, "The configuration in force."))
    async def config() -> Response:
        """Return the configuration in force; without what may be a secret of a hook."""
        configuration, settings = daemon.about.configuration(), board.settings()
        hooks = tuple(map(without_secrets, configuration.hook))
        configuration = msgspec.structs.replace(configuration, hook=hooks)
        if settings is not None:
            configuration = msgspec.structs.replace(configuration, loop=settings)
        return encoded(configuration)

    @routes.get("/advice", responses=answers(Advice, "Findings with SQL to paste.", "unavailable"))
    async def advise() -> Response:
        """Return what a person could set now, why, and the expected effect."""
        daemon.newest()
        return encoded(Advice(tuple(board.advice())))

    @routes.get("/policies", responses=answers(Policies, "The policies, and the one in force."))
    async def policies() -> Response:
        """Return what each policy does, when to use it, and the constants that it decides by."""
        return encoded(policies_of(board.last()))

    return routes


def past_routes(daemon: DaemonView) -> APIRouter:
    """Return the routes under /v1 that look back; they read memory alone."""
    board, run_name = daemon.board, daemon.about.run
    routes = APIRouter(prefix="/v1", tags=["read"])

    decoder = msgspec.json.Decoder(_RecordPart)

    @routes.get("/history", responses=_NUMBERS)
    async def history(
        start: Annotated[
            _Time, Query(description="Unix time; zero or less: seconds relative to now")
        ] = -3600,
        end: Annotated[_Time, Query(description="as start; the point itself is left out")] = 0,
        step: Annotated[
            float,
            Query(gt=0, le=_FAR, description=f"seconds per point, widened to at most {MAX_POINTS} points"),
        ] = 1,
        columns: Annotated[
            str,
            Query(
                max_length=1000,
                description="comma-separated; all when left out",
                examples=["age_ratio,redo_rate"],
            ),
        ] = "",
        format: Annotated[  # noqa: A002 - the name of the query parameter, part of the API
            Literal["json", "csv"], Query(description="json or csv")
        ] = "json",
    ) -> Response:
        """Return the mean of each column over each step; a gap is where nothing was read."""
        frame, means = _query(board, daemon.now(), start=start, end=end, step=step, columns=columns)
        if format == "csv":
            return Response(_csv(dict(means)), media_type="text/csv; charset=utf-8")
        # each column is encoded before the next one is made
        numbers = {name: msgspec.Raw(msgspec.json.encode(column)) for name, column in means}
        return encoded({**frame, "columns": numbers})

    @routes.get("/events", responses=answers(Events, "Events, oldest first.", "validation"))
    async def events(
        after: Annotated[
            int | None, Query(ge=0, le=2**53, description="only events with a higher number, of that run")
        ] = None,
        run: Annotated[
            str | None,
            Query(
                pattern=r"^[0-9a-f]{1,16}$",
                description="the run whose number it is, from an earlier answer; where that is over, all "
                "events of the run that is",
            ),
        ] = None,
        limit: Annotated[
            int,
            Query(
                ge=1, le=RING_EVENTS, description="at most so many: the newest, or the first ones after that"
            ),
        ] = 200,
    ) -> Response:
        """Return changes of state: holds, writes, commands, restarts."""
        if run not in {None, run_name}:
            kept, gap = board.events_after(0, limit=limit)[0], True
        elif after is None:
            kept, gap = board.events(limit=limit), False
        else:
            kept, gap = board.events_after(after, limit=limit)
        return encoded(Events(tuple(event_of(*one) for one in kept), run=run_name, gap=gap))

    @routes.get(
        "/decisions", responses=answers(Decisions, "Decisions of the last ten minutes.", "validation")
    )
    async def decisions(
        limit: Annotated[int, Query(ge=1, le=RING_TICKS, description="the newest so many of them")] = 50,
    ) -> Response:
        """Return recent decisions that differ from the one before in kind, reason, target or wish."""
        changes: list[DecisionAt] = []
        for _, line in board.ticks():
            record = decoder.decode(line)
            if not changes or differs(record.decision, changes[-1].decision):
                changes.append(DecisionAt(record.tick.number, record.tick.wall, record.decision))
        return encoded(Decisions(tuple(changes[-limit:])))

    return routes


def _drain_ended(board: Board, now: float) -> str:
    """Return when and why the last drain ended; empty without one within the hour, or with a new one."""
    drains = [one for _, one in board.events(limit=RING_EVENTS) if one.code in {"drain", "drain_ended"}]
    if not drains or drains[-1].code == "drain" or now - drains[-1].wall > ENDED_SECONDS:
        return ""
    return f"{max(0.0, now - drains[-1].wall):.0f} s ago: {told(drains[-1])}"


def _forgotten(board: Board, now: float) -> tuple[str, ...]:
    """Return what was learned and begins afresh, by the events of the last day, oldest first."""
    return tuple(
        f"{max(0.0, now - event.wall) / 60.0:.0f} min ago: {told(event)}"
        for _, event in board.events(limit=RING_EVENTS)
        if event.code in FORGOTTEN and now - event.wall <= FORGOTTEN_SECONDS
    )


def _query(
    board: Board, now: float, *, start: float, end: float, step: float, columns: str
) -> tuple[dict[str, Any], Iterator[tuple[str, list[float | None]]]]:
    """Return the fields of a ``HistoryAnswer`` but the columns, and those, one after the other."""
    first = start if start > 0 else now + start
    last = end if end > 0 else now + end
    if last <= first:
        raise validation_error([FieldProblem("end", end, "a time after start")])
    names = [name.strip() for name in columns.split(",") if name.strip()] or list(HISTORY_COLUMNS)
    unknown = [name for name in names if name not in UNITS]
    if unknown:
        expected = f"some of {', '.join(HISTORY_COLUMNS)}"
        raise validation_error([FieldProblem("columns", name, expected) for name in unknown])
    units = {name: UNITS[name] for name in names}
    wide = max(step, (last - first) / (MAX_POINTS - 2), 1.0)
    first, last = math.floor(first / wide) * wide, math.ceil(last / wide) * wide  # points that stay put
    frame = {"start": first, "end": last, "step": wide, "columns": {}, "units": units}
    means = board.history.query(start=first, end=last, step=wide, names=list(units))
    return {**frame, "oldest": board.history.oldest()}, means


def _csv(columns: dict[str, list[float | None]]) -> str:
    """Return the columns as CSV; a gap is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
