"""A recorded trace, or a daemon's journal, as series, decisions, holds and events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.report.charts import Columns
from lab.report.rows import ReportError
from tuner.core.estimate.window import all_flushed
from tuner.findings.remedies import clears, told
from tuner.journal.items import Advice, advice_of
from tuner.journal.reader import trace
from tuner.journal.tables import JournalError, Run, Snapshot
from tuner.records import Capacity, DecisionKind, Sample, TickRecord

LATENCY_SECONDS = 12.0
"""How long a latency counts: a server is asked for it every ten seconds (``tuner.servers.surroundings``)."""

GAP_SECONDS = 2.5
"""A step between readings longer than so many intervals has no rate: nobody knows what went on in it."""


class Step(Struct, frozen=True):
    """What lies between a reading and the one before it.

    Attributes:
        last: the reading before; where there is none, this one.
        seconds: between the two; None where nobody knows what went on meanwhile.
        latency: mean time of a writing statement, seconds, as of when it was last asked for; None: unknown.
        set_point: what the loop would hold.
    """

    last: Sample
    seconds: float | None
    latency: float | None
    set_point: float | None


Column = Callable[[Sample, Step], float | None]


def _rate(counter: Callable[[Sample], float]) -> Column:
    def value(now: Sample, step: Step) -> float | None:
        gained = counter(now) - counter(step.last)
        return None if step.seconds is None or gained < 0 else gained / step.seconds

    return value


def _counted(column: Column) -> Column:
    """Return a column that is known only where InnoDB's counters are on."""
    return lambda now, step: None if now.degraded else column(now, step)


COLUMNS: dict[str, Column] = {
    "row_changes": _rate(lambda one: one.row_changes),
    "commits": _rate(lambda one: one.commits),
    "write_latency": lambda _, step: step.latency,
    "modified_age": _counted(lambda now, _: float(now.modified_age)),
    "checkpoint_age": lambda now, _: float(now.checkpoint_age),
    "flush_limit": lambda now, _: float(now.flush_limit),
    "max_checkpoint_age": lambda now, _: float(now.stall_point),
    "redo_capacity": lambda now, _: float(now.redo_capacity),
    "age_ratio": lambda now, _: now.age_ratio,
    "set_point": lambda _, step: step.set_point,
    "io_capacity": lambda now, _: float(now.io_capacity),
    "io_capacity_max": lambda now, _: float(now.io_capacity_max),
    "pages_flushed": _rate(all_flushed),
    "sync_pages": _counted(_rate(lambda one: one.pages_sync)),
    "lru_pages": _counted(_rate(lambda one: one.pages_lru)),
    "redo_rate": _rate(lambda one: one.lsn_current),
    "dirty_share": lambda now, _: 100.0 * now.pages_dirty / now.pages_total if now.pages_total else None,
    "dirty_limit": lambda now, _: now.dirty_limit,
}
"""What a trace has for each tick: bytes, pages/s, 1/s, seconds, percent; rates since the reading before."""


class Moment(Struct, frozen=True):
    """Something that happened, in a line of a table.

    Attributes:
        at: seconds since the first tick.
        wall: Unix time.
        code: stable name.
        said: in words.
        who: person or part.
    """

    at: float
    wall: float
    code: str
    said: str
    who: str = "loop"


class Decided(Struct, frozen=True):
    """A write, or what an active loop would have written.

    Attributes:
        at: seconds since the first tick.
        wall: Unix time.
        kind: of decision.
        reason: stable code.
        detail: the same in words.
        before: the pair in force; None where nothing was read.
        after: the pair wanted.
        carried_out: it was written.
    """

    at: float
    wall: float
    kind: str
    reason: str
    detail: str
    before: Capacity | None
    after: Capacity | None
    carried_out: bool


class Held(Struct, frozen=True):
    """A hold from its first tick to its last, seconds since the first tick."""

    code: str
    since: float
    until: float
    reason: str
    clears: str
    ended: bool


class Trace:
    """One run, tick by tick; the ticks are forgotten as soon as they are read.

    Attributes:
        run: how it began.
        at: seconds since the first tick.
        wall: Unix time of each tick.
        columns: values by name; a None is a gap.
        missed: readings that failed, as moments.
        active: ticks in active mode.
        decisions: oldest first.
        events: oldest first.
        stall_waits: writers that waited for redo space, as far as readings show it.
        sync_pages: pages flushed by sync flushing, as far as readings show it; None where they do not.
    """

    def __init__(self, run: Run) -> None:
        """Begin without a tick."""
        self.run = run
        self.at: list[float] = []
        self.wall: list[float] = []
        self.columns: Columns = {name: [] for name in COLUMNS}
        self.missed: list[Moment] = []
        self.active = 0
        self.decisions: list[Decided] = []
        self.events: list[Moment] = []
        self.stall_waits = 0
        self.sync_pages: int | None = None
        self._zero: float | None = None
        self._last: Sample | None = None
        self._steps: deque[float] = deque(maxlen=21)
        self._latency: tuple[float, float] | None = None
        self._advice: Advice | None = None
        self._ended_holds: list[Held] = []
        self._open_holds: dict[str, Held] = {}

    @property
    def holds(self) -> list[Held]:
        """Return the holds in the order in which they began."""
        return sorted([*self._ended_holds, *self._open_holds.values()], key=lambda hold: hold.since)

    def add(self, record: TickRecord) -> None:
        """Take in the next tick: what was read, what was decided, what held it, and what happened in it."""
        wall, reading = record.tick.wall, record.tick.reading
        if self._zero is None:
            self._zero = record.tick.now
        at = record.tick.now - self._zero
        self.at.append(at)
        self.wall.append(wall)
        self.active += record.mode.value == "active"
        if isinstance(reading, Sample):
            step = self._step(reading, record.decision.set_point)
            for name, column in COLUMNS.items():
                self.columns[name].append(column(reading, step))
        else:
            self._last = self._latency = None
            self.missed.append(Moment(at, wall, "missed", reading.reason))
            for values in self.columns.values():
                values.append(None)
        self.events += [Moment(at, one.wall, one.code, told(one), one.who) for one in record.events]
        self._note_decision(record, at)
        self._note_holds(record, at)

    def _step(self, now: Sample, set_point: float | None) -> Step:
        last, self._last = self._last, now
        if last is not None and (latency := _latency(last, now)) is not None:
            self._latency = (now.monotonic, latency)
        known = self._latency
        latency = None if known is None or now.monotonic - known[0] > LATENCY_SECONDS else known[1]
        seconds = None if last is None else self._seconds(last, now)
        if last is not None and seconds is not None:
            self.stall_waits += max(0, now.redo_space_waits - last.redo_space_waits)
            if not now.degraded:
                self.sync_pages = (self.sync_pages or 0) + max(0, now.pages_sync - last.pages_sync)
        return Step(last or now, seconds, latency, set_point)

    def _seconds(self, last: Sample, now: Sample) -> float | None:
        if now.identity != last.identity or now.uptime < last.uptime:
            return None
        if now.degraded != last.degraded:
            return None  # other counters: docs/runbook.md
        step = now.monotonic - last.monotonic
        usual = sorted(self._steps)[len(self._steps) // 2] if self._steps else step
        self._steps.append(step)
        return step if 0 < step <= GAP_SECONDS * usual else None

    def _note_decision(self, record: TickRecord, at: float) -> None:
        decision, reading, advice = record.decision, record.tick.reading, advice_of(record)
        news = advice is not None and advice.is_news(self._advice)
        if decision.kind is DecisionKind.KEEP and not news:
            return
        self._advice = advice
        self.decisions.append(
            Decided(
                at=at,
                wall=record.tick.wall,
                kind=decision.kind.value if decision.steps else "would set",
                reason=decision.reason,
                detail=decision.detail,
                before=reading.capacity if isinstance(reading, Sample) else None,
                after=decision.target if decision.steps else decision.would or decision.target,
                carried_out=bool(decision.steps),
            )
        )

    def _note_holds(self, record: TickRecord, at: float) -> None:
        held = {hold.code.value: hold for hold in record.holds}
        for code in self._open_holds.keys() - held.keys():
            self._ended_holds.append(replace(self._open_holds.pop(code), until=at, ended=True))
        for code, hold in held.items():
            since = self._open_holds[code].since if code in self._open_holds else at
            self._open_holds[code] = Held(code, since, at, hold.reason, clears(hold), ended=False)


def _latency(last: Sample, now: Sample) -> float | None:
    """Return the mean time of a writing statement since the last reading, seconds; None where unknown."""
    if last.write_time is None or last.write_statements is None:
        return None
    if now.write_time is None or now.write_statements is None:
        return None
    statements = now.write_statements - last.write_statements
    return (now.write_time - last.write_time) / statements if statements > 0 else None


def read_trace(path: Path, run: int | None = None) -> Trace:
    """Return one run of a journal.

    Args:
        path: the file, or the state directory.
        run: its number; None for the newest that has ticks.

    Raises:
        ReportError: it cannot be read, or has no tick.
    """
    try:
        return trace_of(str(path), trace(path, run))
    except JournalError as error:
        raise ReportError(str(error)) from error


def trace_of(name: str, items: Iterable[Run | Snapshot | TickRecord]) -> Trace:
    """Return a run as series.

    Raises:
        ReportError: there is no tick in it.
    """
    found: Trace | None = None
    for item in items:
        if isinstance(item, Run):
            found = Trace(item)
        elif isinstance(item, TickRecord) and found is not None:
            found.add(item)
    if found is None or not found.at:
        raise ReportError(f"{name}: no tick in it yet")
    return found
