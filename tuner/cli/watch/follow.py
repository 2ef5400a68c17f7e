"""Following a daemon: one question after another, what it answered last, and since when it does not.

The numbers of the past are asked for once; after that each status is one tick more. Where ticks were missed
in between, by a slow answer or a daemon that was away, they are asked for again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from api.models import DecisionAt, Decisions, Events, HistoryAnswer, NumberedEvent, Status
from tuner.cli.errors import CommandError
from tuner.cli.watch.trace import COLUMNS, Trace, trace_of

LONGEST_WAIT = 30.0
"""Between two questions to a daemon that does not answer, seconds."""

SPANS = (60.0, 300.0, 900.0, 3600.0, 6 * 3600.0)
"""Times that the charts can go back, seconds."""

REFUSALS = (401, 403)
"""Status of an answer that says no to whoever asks, whatever is asked."""

KEPT = 100
"""Events and decisions that are remembered."""

QUIET_ANSWERS = 5
"""After so many answers in which nothing changed, events are asked for all the same."""

AnswerT = TypeVar("AnswerT")


class Asked(Protocol):
    """Something that answers as a daemon does."""

    def get(self, path: str, answer: type[AnswerT]) -> AnswerT:
        """Return what a route says; raise ``CommandError`` where it says nothing of use."""
        ...


class Gone(Struct, frozen=True):
    """A daemon that does not answer, or not to us.

    Attributes:
        since: Unix time of the first question without an answer.
        began: the same, monotonic.
        why: of the last one.
        again: monotonic time of the next one.
        refused: it answers, but does not take the token.
    """

    since: float
    began: float
    why: str
    again: float
    refused: bool = False


class View(Struct, frozen=True):
    """All that is known of a daemon; what is drawn is made of nothing else.

    Attributes:
        status: its last answer.
        answered: monotonic time of that.
        trace: numbers of the last ``span`` seconds at least.
        span: how far back charts go, seconds.
        interval: between two questions, seconds.
        events: oldest first.
        decisions: that differ from the one before, oldest first.
        gone: it does not answer; None while it does.
    """

    status: Status
    answered: float
    trace: Trace
    span: float
    interval: float = 1.0
    events: tuple[NumberedEvent, ...] = ()
    decisions: tuple[DecisionAt, ...] = ()
    gone: Gone | None = None


class Follower:
    """Asks again and again, and keeps the newest view."""

    def __init__(
        self,
        daemon: Asked,
        *,
        interval: float,
        span: float,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Take whom to ask, how often, and how far back, both seconds."""
        self._daemon = daemon
        self._interval = interval
        self._span = span
        self._monotonic, self._wall = monotonic, wall
        self._view: View | None = None
        self._failures = self._quiet = 0
        self._awake = threading.Event()
        self._end = threading.Event()

    def ask(self) -> View:
        """Return what is known after one more question.

        Raises:
            CommandError: there was no answer, and never one before.
        """
        try:
            self._view = self._asked()
            self._failures = 0
        except CommandError as error:
            if self._view is None:
                raise
            self._view = replace(self._view, gone=self._gone(self._view, error))
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

    def widen(self, span: float) -> None:
        """Go back so many seconds from the next question on, which is asked at once."""
        self._span = span
        self._awake.set()

    def end(self) -> None:
        """Ask no more."""
        self._end.set()
        self._awake.set()

    def _asked(self) -> View:
        before, span = self._view, self._span
        status = self._daemon.get("/v1/status", Status)
        answered = self._monotonic()
        if before is None or not _follows(before, status, span):
            return self._afresh(before, status, answered, span)
        newer = self._newer_events(before, status)
        decisions = before.decisions
        if not decisions or _differs(status, decisions[-1]):
            decisions = (*decisions, DecisionAt(status.tick, status.at, status.decision))
        return View(
            status=status,
            answered=answered,
            trace=before.trace.with_status(status, span=span),
            span=span,
            interval=self._interval,
            events=(*before.events, *newer)[-KEPT:],
            decisions=decisions[-KEPT:],
        )

    def _newer_events(self, before: View, status: Status) -> tuple[NumberedEvent, ...]:
        """Return what happened since: asked where the status is another one, and now and then."""
        self._quiet += 1
        if _told(before.status) == _told(status) and self._quiet < QUIET_ANSWERS:
            return ()
        self._quiet = 0
        after = before.events[-1].number if before.events else 0
        return self._daemon.get(f"/v1/events?after={after}&limit={KEPT}", Events).events

    def _afresh(self, before: View | None, status: Status, answered: float, span: float) -> View:
        """Return a view with the past asked for: all of it, or what came after the last view."""
        interval = 1.0 if status.process is None else status.process.interval
        back, known = span, Trace()
        if before is not None and before.span == span:
            known = before.trace
            back = min(span, max(0.0, status.at - before.status.at) + 2.0 * interval)
        path = f"/v1/history?start=-{back:g}&columns={','.join(COLUMNS)}"
        trace = trace_of(self._daemon.get(path, HistoryAnswer), interval=interval)
        return View(
            status=status,
            answered=answered,
            trace=known.before(trace).with_status(status, span=span),
            span=span,
            interval=self._interval,
            events=self._daemon.get(f"/v1/events?limit={KEPT}", Events).events,
            decisions=self._daemon.get(f"/v1/decisions?limit={KEPT}", Decisions).decisions,
        )

    def _gone(self, view: View, error: CommandError) -> Gone:
        """Return since when there is no answer, and when to ask again: later each time."""
        now = self._monotonic()
        wait = min(LONGEST_WAIT, self._interval * 2.0**self._failures)
        self._failures += 1
        began = now if view.gone is None else view.gone.began
        since = self._wall() if view.gone is None else view.gone.since
        refused = (error.problem or {}).get("status") in REFUSALS
        return Gone(since=since, began=began, why=error.message, again=now + wait, refused=refused)


def _follows(before: View, status: Status, span: float) -> bool:
    """Tell whether a status is the same tick, or the next one, of the same daemon and the same picture."""
    same = before.gone is None and before.span == span and _began(before.status) == _began(status)
    return same and status.tick - before.status.tick in {0, 1} and status.at >= before.status.at


def _began(status: Status) -> float | None:
    """Return when the daemon was started, Unix time: events and ticks are numbered anew from then on."""
    return None if status.process is None else status.process.started


def _told(status: Status) -> tuple[object, ...]:
    """Return what of a status cannot change without an event."""
    holds = tuple(hold.code for hold in status.holds)
    under_way = status.override is None, status.drain is None, status.restore is None, len(status.schedule)
    return status.mode, status.in_force, status.changes_last_hour, holds, status.occurrences, under_way


def _differs(status: Status, last: DecisionAt) -> bool:
    """Tell whether a decision is another one than the last, as the daemon's own list has it."""
    one, other = status.decision, last.decision
    return (one.kind, one.reason, one.target) != (other.kind, other.reason, other.target)
