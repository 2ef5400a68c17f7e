"""The routes that look back: numbers, events and decisions over time."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

import msgspec
from fastapi import APIRouter, Query, Response
from msgspec import Struct

from api.about import About
from api.openapi import Responses, answers
from api.problems import FieldProblem, validation_error
from api.reading import encoded, loop_now
from api.views import DecisionAt, Decisions, Events, HistoryAnswer, NumberedEvent
from tuner.board import RING_EVENTS, RING_TICKS, Board
from tuner.fields import BY_NAME
from tuner.history import COLUMNS, MAX_POINTS
from tuner.records import Decision

HISTORY_COLUMNS = (*COLUMNS, "set_point")
UNITS = {name: BY_NAME[name].unit if name in BY_NAME else "ratio" for name in HISTORY_COLUMNS}

_FAR = 1e11
_NUMBERS: Responses = answers(
    HistoryAnswer, "Numbers over time, one list a column.", "validation", "unavailable"
)
_NUMBERS[200]["content"]["text/csv"] = {"schema": {"type": "string"}}


class _TickPart(Struct, frozen=True):
    number: int
    wall: float


class _RecordPart(Struct, frozen=True):
    """What the list of decisions needs of an encoded tick."""

    tick: _TickPart
    decision: Decision


def timeline_routes(board: Board, about: About) -> APIRouter:
    """Return the routes under /v1 that look back; they read memory alone."""
    routes = APIRouter(tags=["read"])
    decoder = msgspec.json.Decoder(_RecordPart)

    @routes.get("/history", responses=_NUMBERS)
    async def history(
        start: Annotated[
            float, Query(ge=-_FAR, le=_FAR, description="Unix time; zero or less: seconds relative to now")
        ] = -3600,
        end: Annotated[
            float, Query(ge=-_FAR, le=_FAR, description="as start; the point itself is left out")
        ] = 0,
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
        found = _query(board, loop_now(board, about), start=start, end=end, step=step, columns=columns)
        if format == "csv":
            return Response(_csv(dict(found.columns)), media_type="text/csv; charset=utf-8")
        return Response(_json(found), media_type="application/json")

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
        if run not in {None, about.run}:
            found, gap = board.events_after(0, limit=limit)[0], True
        elif after is None:
            found, gap = board.events(limit=limit), False
        else:
            found, gap = board.events_after(after, limit=limit)
        events = tuple(
            NumberedEvent(number, event.wall, event.code, event.message, event.who) for number, event in found
        )
        return encoded(Events(events, run=about.run, gap=gap))

    @routes.get(
        "/decisions", responses=answers(Decisions, "Decisions of the last ten minutes.", "validation")
    )
    async def decisions(
        limit: Annotated[int, Query(ge=1, le=RING_TICKS, description="the newest so many of them")] = 50,
    ) -> Response:
        """Return recent decisions that differ from the one before in kind, reason or target."""
        found: list[DecisionAt] = []
        for _, line in board.ticks():
            part = decoder.decode(line)
            if not found or differs(part.decision, found[-1].decision):
                found.append(DecisionAt(part.tick.number, part.tick.wall, part.decision))
        return encoded(Decisions(tuple(found[-limit:])))

    return routes


def differs(one: Decision, other: Decision) -> bool:
    """Tell whether a decision is news beside the one before: another kind, reason or target."""
    return (one.kind, one.reason, one.target) != (other.kind, other.reason, other.target)


class _Query(NamedTuple):
    """A history being read, column by column, and what frames it."""

    start: float
    end: float
    step: float
    columns: Iterator[tuple[str, list[float | None]]]
    units: dict[str, str]
    oldest: float | None


def _query(board: Board, now: float, *, start: float, end: float, step: float, columns: str) -> _Query:
    first = start if start > 0 else now + start
    last = end if end > 0 else now + end
    if last <= first:
        raise validation_error([FieldProblem("end", end, "a time after start")])
    names = [name.strip() for name in columns.split(",") if name.strip()] or list(HISTORY_COLUMNS)
    unknown = [name for name in names if name not in UNITS]
    if unknown:
        expected = f"some of {', '.join(HISTORY_COLUMNS)}"
        raise validation_error([FieldProblem("columns", name, expected) for name in unknown])
    names = list(dict.fromkeys(names))
    wide = max(step, (last - first) / (MAX_POINTS - 2), 1.0)
    first, last = math.floor(first / wide) * wide, math.ceil(last / wide) * wide  # points that stay put
    found = board.history.query(start=first, end=last, step=wide, names=names)
    units = {name: UNITS[name] for name in names}
    return _Query(first, last, wide, found, units, board.history.oldest())


def _json(found: _Query) -> bytes:
    """Return the ``HistoryAnswer`` as JSON; each column is encoded before the next one is made."""
    columns = {name: msgspec.Raw(msgspec.json.encode(column)) for name, column in found.columns}
    return msgspec.json.encode({**found._asdict(), "columns": columns})


def _csv(columns: dict[str, list[float | None]]) -> str:
    """Return the columns as CSV; a gap is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
