"""A recorded trace, or a daemon's journal, as series, decisions, holds and events."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lab.report.charts import Values
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

COLUMNS = (
    "row_changes",
    "commits",
    "write_latency",
    "modified_age",
    "checkpoint_age",
    "flush_limit",
    "max_checkpoint_age",
    "redo_capacity",
    "age_ratio",
    "set_point",
    "io_capacity",
    "io_capacity_max",
    "pages_flushed",
    "sync_pages",
    "lru_pages",
    "redo_rate",
    "dirty_share",
    "dirty_limit",
)
"""What a trace has for each tick: bytes, pages/s, 1/s, seconds, percent; rates since the reading before."""


class _Rates:
    """Turns counters into rates, from one reading to the next.

    Attributes:
        stall_waits: writers that waited for redo space so far.
        sync_pages: pages flushed by sync flushing so far; None while no reading showed it.
    """

    def __init__(self) -> None:
        self._last: Sample | None = None
        self._steps: list[float] = []
        self._latency: tuple[float, float] | None = None
        self.stall_waits = 0
        self.sync_pages: int | None = None

    def values(self, record: TickRecord) -> Iterator[float | None]:
        """Return a tick's values in the order of ``COLUMNS``."""
        sample = record.tick.reading
        if not isinstance(sample, Sample):
            self._last = self._latency = None
            return itertools.repeat(None, len(COLUMNS))
        last, self._last = self._last, sample
        step = self._step(last, sample)
        if step is not None and last is not None:
            self.stall_waits += max(0, sample.redo_space_waits - last.redo_space_waits)
            if not sample.degraded:
                self.sync_pages = (self.sync_pages or 0) + max(0, sample.pages_sync - last.pages_sync)

        def rate(now: float, before: float) -> float | None:
            return None if step is None or now < before else (now - before) / step

        known = last or sample
        flushed, before = all_flushed(sample), all_flushed(known)
        found = (
            rate(sample.row_changes, known.row_changes),
            rate(sample.commits, known.commits),
            self._latency_at(sample, last),
            None if sample.degraded else float(sample.modified_age),
            float(sample.checkpoint_age),
            float(sample.flush_limit),
            float(sample.stall_point),
            float(sample.redo_capacity),
            sample.age_ratio,
            record.decision.set_point,
            float(sample.io_capacity),
            float(sample.io_capacity_max),
            rate(flushed, before),
            None if sample.degraded else rate(sample.pages_sync, known.pages_sync),
            None if sample.degraded else rate(sample.pages_lru, known.pages_lru),
            rate(sample.lsn_current, known.lsn_current),
            100.0 * sample.pages_dirty / sample.pages_total if sample.pages_total else None,
            sample.dirty_limit,
        )
        return iter(found)

    def _latency_at(self, sample: Sample, last: Sample | None) -> float | None:
        """Return the mean time of a writing statement, until the server has been asked for it again."""
        found = _latency(sample, last)
        if found is not None:
            self._latency = (sample.monotonic, found)
        if self._latency is None or sample.monotonic - self._latency[0] > LATENCY_SECONDS:
            return None
        return self._latency[1]

    def _step(self, last: Sample | None, sample: Sample) -> float | None:
        """Return the seconds since the last reading; None where it says nothing of what went on."""
        if last is None or sample.identity != last.identity or sample.uptime < last.uptime:
            return None
        if sample.degraded != last.degraded:
            return None  # other counters: docs/degraded.md
        step = sample.monotonic - last.monotonic
        usual = sorted(self._steps)[len(self._steps) // 2] if self._steps else step
        self._steps = [*self._steps[-20:], step]
        return step if 0 < step <= GAP_SECONDS * usual else None


def _latency(sample: Sample, last: Sample | None) -> float | None:
    """Return the mean time of a writing statement since the last reading, seconds; None where unknown."""
    if last is None or last.write_time is None or last.write_statements is None:
        return None
    if sample.write_time is None or sample.write_statements is None:
        return None
    statements = sample.write_statements - last.write_statements
    return (sample.write_time - last.write_time) / statements if statements > 0 else None


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


class Trace(Struct):
    """One run.

    Attributes:
        name: of the file.
        run: how it began.
        at: seconds since the first tick.
        wall: Unix time of each tick.
        columns: values by name; a None is a gap.
        missed: readings that failed, as moments.
        active: ticks in active mode.
        decisions: oldest first.
        holds: in the order in which they began.
        events: oldest first.
        stall_waits: writers that waited for redo space, as far as readings show it.
        sync_pages: pages flushed by sync flushing, as far as readings show it; None where they do not.
    """

    name: str
    run: Run
    at: list[float]
    wall: list[float]
    columns: dict[str, Values]
    missed: list[Moment]
    active: int
    decisions: list[Decided]
    holds: list[Held]
    events: list[Moment]
    stall_waits: int = 0
    sync_pages: int | None = None


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
    course: Course | None = None
    for item in items:
        if isinstance(item, Run):
            course = Course(name, item)
        elif isinstance(item, TickRecord) and course is not None:
            course.add(item)
    if course is None:
        raise ReportError(f"{name}: no tick in it yet")
    return course.trace()


class Course:
    """Makes a trace of a run's ticks, which are forgotten as soon as they are read."""

    def __init__(self, name: str, run: Run) -> None:
        """Begin without a tick; ``name`` is what the trace is called."""
        self._found = Trace(name, run, [], [], {column: [] for column in COLUMNS}, [], 0, [], [], [])
        self._rates = _Rates()
        self._zero: float | None = None
        self._advice: Advice | None = None
        self._open_holds: dict[str, Held] = {}

    def add(self, record: TickRecord) -> None:
        """Take in the next tick: what was read, what was decided, what held it, and what happened in it."""
        found, wall, sample = self._found, record.tick.wall, record.tick.reading
        if self._zero is None:
            self._zero = record.tick.now
        at = record.tick.now - self._zero
        found.at.append(at)
        found.wall.append(wall)
        found.active += record.mode.value == "active"
        for column, value in zip(COLUMNS, self._rates.values(record), strict=True):
            found.columns[column].append(value)
        if not isinstance(sample, Sample):
            found.missed.append(Moment(at, wall, "missed", sample.reason))
        found.events += [Moment(at, one.wall, one.code, told(one), one.who) for one in record.events]
        self._note_decision(record, at)
        self._note_holds(record, at)

    def _note_decision(self, record: TickRecord, at: float) -> None:
        decision, sample, advice = record.decision, record.tick.reading, advice_of(record)
        news = advice is not None and advice.is_news(self._advice)
        if decision.kind is DecisionKind.KEEP and not news:
            return
        self._advice = advice
        self._found.decisions.append(
            Decided(
                at=at,
                wall=record.tick.wall,
                kind=decision.kind.value if decision.steps else "would set",
                reason=decision.reason,
                detail=decision.detail,
                before=sample.capacity if isinstance(sample, Sample) else None,
                after=decision.target if decision.steps else decision.would or decision.target,
                carried_out=bool(decision.steps),
            )
        )

    def _note_holds(self, record: TickRecord, at: float) -> None:
        held = {hold.code.value: hold for hold in record.holds}
        for code in [code for code in self._open_holds if code not in held]:
            gone = self._open_holds.pop(code)
            self._found.holds.append(replace(gone, until=at, ended=True))
        for code, hold in held.items():
            since = self._open_holds[code].since if code in self._open_holds else at
            self._open_holds[code] = Held(code, since, at, hold.reason, clears(hold), ended=False)

    def trace(self) -> Trace:
        """Return what was noted.

        Raises:
            ReportError: there was no tick.
        """
        found = self._found
        if not found.at:
            raise ReportError(f"{found.name}: no tick in it yet")
        found.holds = sorted([*found.holds, *self._open_holds.values()], key=lambda hold: hold.since)
        found.stall_waits, found.sync_pages = self._rates.stall_waits, self._rates.sync_pages
        return found
