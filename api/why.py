"""Why something was decided: the last ten minutes from memory, what is older from the journal on disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Response

from api.daemon import DaemonView
from api.openapi import answers
from api.problems import ApiError, FieldProblem, validation_error
from api.read import encoded
from tuner.daemon.board import Board
from tuner.journal.past import JournalPast, past_of
from tuner.journal.tables import JournalError
from tuner.records import Facts, PastChange, Sample, TickRecord
from tuner.settings import Settings
from tuner.why.model import Why
from tuner.why.search import Past, of_change, of_moment, of_now, of_span

_FAR = 1e11

ANSWER_SECONDS = 10.0
"""For one question, after at most as long for its turn."""

LONGEST = 366 * 86_400.0
MOST_NUMBER = 2**53


class BoardPast:
    """The ticks of a board, and before them a journal's, as ``JournalPast`` has them."""

    def __init__(self, board: Board, journal: JournalPast | None) -> None:
        """Take what there is.

        Args:
            board: whose ticks count where it has them.
            journal: for what is older, and for the numbers of changes; None for none.
        """
        self.source = "memory" if journal is None else journal.source
        self._journal = journal
        self._settings, self._facts = board.settings() or Settings(), board.facts()
        self._ticks = [one for _, line in board.ticks() if (one := _decoded(line)) is not None]

    def known(self) -> tuple[float, float] | None:
        """Return when the first and the last tick were."""
        before = None if self._journal is None else self._journal.known()
        if not self._ticks:
            return before
        return (before or (self._ticks[0].tick.wall,))[0], self._ticks[-1].tick.wall

    def change(self, number: int) -> PastChange | None:
        """Return a change by its number, which only a journal gives."""
        return None if self._journal is None else self._journal.change(number)

    def numbers(self) -> tuple[int, int] | None:
        """Return the numbers of the oldest and the newest change."""
        return None if self._journal is None else self._journal.numbers()

    def changes(self, since: float, until: float) -> list[PastChange]:
        """Return the changes from one time to before another."""
        if self._journal is not None:
            return self._journal.changes(since, until)
        return [_change(one) for one in self._written() if since <= one.tick.wall < until]

    def last_change(self, before: float) -> PastChange | None:
        """Return the newest change before a time."""
        if self._journal is not None:
            return self._journal.last_change(before)
        return next((_change(one) for one in reversed(self._written()) if one.tick.wall < before), None)

    def event(self, code: str, before: float) -> str:
        """Return the newest event of a code up to a time."""
        return "" if self._journal is None else self._journal.event(code, before)

    def tick_at(self, wall: float) -> TickRecord | None:
        """Return the newest tick up to a time."""
        if self._is_ours(wall) or self._journal is None:
            return next((one for one in reversed(self._ticks) if one.tick.wall <= wall), None)
        return self._journal.tick_at(wall)

    def tick_after(self, wall: float) -> TickRecord | None:
        """Return the first tick after a time."""
        if self._is_ours(wall) or self._journal is None:
            return next((one for one in self._ticks if one.tick.wall > wall), None)
        return self._journal.tick_after(wall)

    def ticks(self, since: float, until: float) -> list[TickRecord]:
        """Return the ticks between two times."""
        if self._is_ours(since) or self._journal is None:
            return [one for one in self._ticks if since <= one.tick.wall <= until]
        return self._journal.ticks(since, until)

    def sampled(self, since: float, until: float, most: int) -> list[TickRecord]:
        """Return so many ticks between two times at most."""
        if self._is_ours(since) or self._journal is None:
            found = self.ticks(since, until)
            return found[:: max(1, len(found) // most)]
        return self._journal.sampled(since, until, most)

    def context(self, wall: float) -> tuple[Settings, Facts | None]:
        """Return settings and server at a time."""
        if self._is_ours(wall) or self._journal is None:
            return self._settings, self._facts
        return self._journal.context(wall)

    def lost(self, change: PastChange) -> str:
        """Return why the tick of a change cannot be told."""
        return "" if self._journal is None else self._journal.lost(change)

    def _is_ours(self, wall: float) -> bool:
        return bool(self._ticks) and wall >= self._ticks[0].tick.wall

    def _written(self) -> list[TickRecord]:
        return [one for one in self._ticks if one.decision.steps]


def _decoded(line: bytes) -> TickRecord | None:
    try:
        return msgspec.json.decode(line, type=TickRecord)
    except msgspec.DecodeError:  # a number that JSON has no word for
        return None


def _change(record: TickRecord) -> PastChange:
    """Return the row that a journal would have of a tick that wrote."""
    decision, reading = record.decision, record.tick.reading
    return PastChange(
        number=0,
        tick=record.tick.number,
        wall=record.tick.wall,
        kind=decision.kind,
        reason=decision.reason,
        detail=decision.detail,
        source=decision.source,
        written=True,
        old=reading.capacity if isinstance(reading, Sample) else None,
        new=decision.target,
    )


def _told(daemon: DaemonView, turn: threading.Lock, ask: Callable[[Past], Why]) -> Why:
    """Return the answer to one question, in its turn.

    Raises:
        ApiError: neither turn nor answer came in time, or the journal cannot be read.
    """
    if not turn.acquire(timeout=ANSWER_SECONDS):
        raise _unavailable("other questions are being answered; ask again")
    with ExitStack() as opened:
        opened.callback(turn.release)
        journal = None
        if "journal" in daemon.board.tally().success:
            directory = Path(daemon.about.configuration().daemon.state_directory)
            with suppress(JournalError):
                journal = opened.enter_context(past_of(directory, seconds=ANSWER_SECONDS))
        try:
            return ask(BoardPast(daemon.board, journal))
        except JournalError as error:
            raise _unavailable(str(error)) from error


def _unavailable(why: str) -> ApiError:
    return ApiError("unavailable", why, headers={"Retry-After": "2"})


def why_routes(daemon: DaemonView) -> APIRouter:
    """Return ``/v1/why``; the journal is read beside the event loop, by one request at a time."""
    routes = APIRouter(prefix="/v1", tags=["read"])
    turn = threading.Lock()

    @routes.get("/why", responses=answers(Why, "The sentences.", "validation", "unavailable"))
    async def why(
        at: Annotated[
            float | None,
            Query(
                ge=-_FAR, le=_FAR, description="a moment: Unix time; zero or less: seconds relative to now"
            ),
        ] = None,
        lasting: Annotated[
            float,
            Query(ge=0, le=3600, description="with at: changes within so many seconds are told instead"),
        ] = 0,
        last: Annotated[
            float | None, Query(gt=0, le=LONGEST, description="all changes of so many seconds")
        ] = None,
        change: Annotated[
            int | None, Query(ge=1, le=MOST_NUMBER, description="one change, by its number in the journal")
        ] = None,
    ) -> Response:
        """Say in sentences what was decided and why; without a question, why it is as it is now."""
        now = daemon.now()
        if sum(one is not None for one in (at, last, change)) > 1:
            given = "at" if at is not None else "last"
            raise validation_error([FieldProblem(given, at or last, "one of at, last and change")])

        def ask(past: Past) -> Why:
            if change is not None:
                return of_change(past, change)
            if last is not None:
                return of_span(past, last)
            if at is not None:
                return of_moment(past, at if at > 0 else now + at, lasting=lasting)
            return of_now(past)

        return encoded(await asyncio.to_thread(_told, daemon, turn, ask))

    return routes
