"""Following a daemon: one question after another, what it answered last, and since when it does not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec.structs import replace

from api.models import Events, HistoryAnswer, Status
from tuner.cli.answer import CommandError
from tuner.cli.watch.view import Gone, View

LONGEST_WAIT = 30.0
"""Between two questions to a daemon that does not answer, and between two for its numbers; seconds."""

SPANS = (60.0, 300.0, 900.0, 3600.0, 6 * 3600.0)
"""Times that the charts can go back, seconds."""

POINTS = 120
"""Of the history that is asked for: a chart is seldom wider."""

EVENTS = 50
REFUSALS = (401, 403)
"""Status of an answer that says no to whoever asks, whatever is asked."""

COLUMNS = (
    "checkpoint_age",
    "stall_point",
    "sync_point",
    "flush_limit",
    "set_point",
    "io_capacity",
    "io_capacity_max",
    "redo_rate",
    "flush_rate",
    "sync_rate",
    "lru_rate",
    "row_rate",
)
"""Columns of the history that are drawn."""

AnswerT = TypeVar("AnswerT")


class Answering(Protocol):
    """Something that answers as a daemon does."""

    def get(self, path: str, answer: type[AnswerT]) -> AnswerT:
        """Return what a route says; raise ``CommandError`` where it says nothing of use."""
        ...


class Follower:
    """Asks again and again, and keeps the newest view."""

    def __init__(
        self,
        daemon: Answering,
        *,
        interval: float,
        span: float,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Take whom to ask, how often, and how far back, both seconds."""
        self.span = span
        self._daemon = daemon
        self._interval = interval
        self._monotonic, self._wall = monotonic, wall
        self._view: View | None = None
        self._failures = 0
        self._awake, self._end = threading.Event(), threading.Event()

    def ask(self) -> View:
        """Return what is known after one more question.

        Raises:
            CommandError: there was no answer, and never one before.
        """
        try:
            self._view = self._asked(self._view)
            self._failures = 0
        except CommandError as error:
            if self._view is None:
                raise
            self._view = replace(self._view, gone=self._gone(self._view.gone, error))
        return self._view

    def run(self, tell: Callable[[View], None]) -> None:
        """Ask until ``end`` is called, at even times; tell every view."""
        due = self._monotonic()
        while not self._end.is_set():
            view = self.ask()
            if self._end.is_set():
                return
            tell(view)
            now = self._monotonic()
            due = max(due + self._interval, now) if view.gone is None else view.gone.again
            if self._awake.wait(max(0.0, due - now)):
                self._awake.clear()
                due = self._monotonic()

    def widen(self, steps: int) -> None:
        """Take the next longer or shorter time for the charts, from the next question on, which is now."""
        places = [one for one in SPANS if one > self.span] if steps > 0 else SPANS[::-1]
        self.span = next((one for one in places if steps > 0 or one < self.span), self.span)
        self._awake.set()

    def end(self) -> None:
        """Ask no more."""
        self._end.set()
        self._awake.set()

    def _asked(self, before: View | None) -> View:
        """Return a view with another status; numbers and events are asked for where there may be new ones."""
        status, answered, span = self._daemon.get("/v1/status", Status), self._monotonic(), self.span
        step = max(span / POINTS, 1.0 if status.process is None else status.process.interval)
        if (
            before is not None
            and before.gone is None
            and before.span == span
            and answered - before.asked < min(step, LONGEST_WAIT)
            and _told(before.status) == _told(status)
        ):
            return replace(before, status=status, answered=answered)
        path = f"/v1/history?start=-{span:g}&step={step:g}&columns={','.join(COLUMNS)}"
        return View(
            status=status,
            answered=answered,
            history=self._daemon.get(path, HistoryAnswer),
            asked=answered,
            span=span,
            interval=self._interval,
            events=self._daemon.get(f"/v1/events?limit={EVENTS}", Events).events,
        )

    def _gone(self, before: Gone | None, error: CommandError) -> Gone:
        """Return since when there is no answer, and when to ask again: later each time."""
        now = self._monotonic()
        wait = min(LONGEST_WAIT, self._interval * 2.0**self._failures)
        self._failures += 1
        refused = (error.problem or {}).get("status") in REFUSALS
        found = before or Gone(since=self._wall(), began=now, why="", again=now)
        return replace(found, why=error.message, again=now + wait, refused=refused)


def _told(status: Status) -> tuple[object, ...]:
    """Return what of a status does not change without an event."""
    started = None if status.process is None else status.process.started
    holds = tuple(hold.code for hold in status.holds)
    return started, status.mode, status.in_force, status.changes_last_hour, holds, status.occurrences
