"""A recorded trace, or a daemon's journal, as series, figures, decisions, holds and events."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from lab.report.charts import MEBIBYTE, Table, Values, rounded, sliced, thin, with_gaps
from lab.report.figures import Unit, clock, written
from lab.report.rows import ReportError, Row, Series
from lab.statistics import percentile
from tuner.core.estimate.window import all_flushed
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


class Rates:
    """Turns counters into rates, from one reading to the next.

    Attributes:
        advice: the last that was taken for news; kept here for whoever notes decisions.
        stall_waits: writers that waited for redo space so far.
        sync_pages: pages flushed by sync flushing so far; None while no reading showed it.
    """

    def __init__(self) -> None:
        self._zero: float | None = None
        self._last: Sample | None = None
        self._steps: list[float] = []
        self._latency: tuple[float, float] | None = None
        self.advice: Advice | None = None
        self.stall_waits = 0
        self.sync_pages: int | None = None

    def zero(self, record: TickRecord) -> float:
        """Return the first tick's time."""
        if self._zero is None:
            self._zero = record.tick.now
        return self._zero

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
        self._reading = Rates()
        self._open_holds: dict[str, Held] = {}

    def add(self, record: TickRecord) -> None:
        """Take in the next tick."""
        found, at = self._found, record.tick.now - self._reading.zero(record)
        found.at.append(at)
        found.wall.append(record.tick.wall)
        found.active += record.mode.value == "active"
        for column, value in zip(COLUMNS, self._reading.values(record), strict=True):
            found.columns[column].append(value)
        _note(found, record, at, self._reading, self._open_holds)

    def trace(self) -> Trace:
        """Return what was noted.

        Raises:
            ReportError: there was no tick.
        """
        found = self._found
        if not found.at:
            raise ReportError(f"{found.name}: no tick in it yet")
        found.holds = sorted([*found.holds, *self._open_holds.values()], key=lambda hold: hold.since)
        found.stall_waits, found.sync_pages = self._reading.stall_waits, self._reading.sync_pages
        return found


def _note(found: Trace, record: TickRecord, at: float, reading: Rates, open_holds: dict[str, Held]) -> None:
    """Take in what a tick decided, what held it and what happened in it."""
    wall, decision = record.tick.wall, record.decision
    sample = record.tick.reading
    if not isinstance(sample, Sample):
        found.missed.append(Moment(at, wall, "missed", sample.reason))
    found.events += [Moment(at, event.wall, event.code, event.message, event.who) for event in record.events]
    advice = advice_of(record)
    news = advice is not None and advice.is_news(reading.advice)
    if decision.kind is not DecisionKind.KEEP or news:
        reading.advice = advice
        found.decisions.append(
            Decided(
                at=at,
                wall=wall,
                kind=decision.kind.value if decision.steps else "would set",
                reason=decision.reason,
                detail=decision.detail,
                before=sample.capacity if isinstance(sample, Sample) else None,
                after=decision.target if decision.steps else decision.would or decision.target,
                carried_out=bool(decision.steps),
            )
        )
    held = {hold.code.value: hold for hold in record.holds}
    for code in [code for code in open_holds if code not in held]:
        gone = open_holds.pop(code)
        found.holds.append(Held(gone.code, gone.since, at, gone.reason, gone.clears, ended=True))
    for code, hold in held.items():
        since = open_holds[code].since if code in open_holds else at
        open_holds[code] = Held(code, since, at, hold.reason, hold.clears, ended=False)


POINTS = 3000
"""Of each series on the page; the CSV has every second."""

_MIB = frozenset({"modified_age", "checkpoint_age", "flush_limit", "max_checkpoint_age", "redo_capacity"})
_FACTORS = dict.fromkeys((*_MIB, "redo_rate"), 1 / MEBIBYTE) | {"write_latency": 1000.0}


class Said(Struct, frozen=True):
    """One figure of a trace: its title, its value as a number, and as people read it."""

    name: str
    title: str
    value: float | None
    text: str


def known(trace: Trace, name: str) -> list[float]:
    """Return a column without its gaps."""
    return [value for value in trace.columns[name] if value is not None]


def figures(trace: Trace) -> list[Said]:
    """Return what the whole trace comes to; rates from the server's own counters."""
    rates = "row_changes"
    changes = known(trace, rates)
    median = statistics.median(changes) if changes else None
    flushed, commits = sum(known(trace, "pages_flushed")), sum(known(trace, "commits"))
    ages = [
        age / size
        for age, size in zip(trace.columns["checkpoint_age"], trace.columns["redo_capacity"], strict=True)
        if age is not None and size
    ]
    ratios = known(trace, "age_ratio")

    def mean(values: list[float]) -> float | None:
        return statistics.fmean(values) if values else None

    rows: list[tuple[str, str, float | None, Unit]] = [
        ("seconds", "recorded", trace.at[-1] - trace.at[0], "s"),
        ("readings_missed", "readings that failed", float(len(trace.missed)), ""),
        ("row_changes_mean", "row changes/s", mean(changes), ""),
        ("row_changes_p1", "1st percentile of row changes/s", low_end(changes), ""),
        (
            "seconds_below_half_median",
            "readings below half the median of row changes/s",
            None if median is None else float(sum(one < median / 2.0 for one in changes)),
            "",
        ),
        ("commits_mean", "engine commits/s", mean(known(trace, "commits")), ""),
        (
            "write_latency_mean",
            "mean latency of writing statements",
            mean(known(trace, "write_latency")),
            "ms",
        ),
        ("redo_bytes_per_second", "redo written", mean(known(trace, "redo_rate")), "B/s"),
        ("age_ratio_mean", "age ratio", mean(ratios), ""),
        ("age_ratio_max", "highest age ratio", max(ratios, default=None), ""),
        ("checkpoint_ratio_max", "highest checkpoint age / redo capacity", max(ages, default=None), ""),
        ("pages_per_second", "pages flushed/s", mean(known(trace, "pages_flushed")), ""),
        ("pages_per_commit", "pages flushed per engine commit", flushed / commits if commits else None, ""),
        ("sync_pages", "sync-flushed pages", _number(trace.sync_pages), ""),
        (
            "sync_seconds",
            "readings with sync flushing",
            float(sum(one > 0 for one in known(trace, "sync_pages"))) if known(trace, "sync_pages") else None,
            "",
        ),
        ("stall_waits", "waits for redo space", float(trace.stall_waits), ""),
        ("changes", "changes of C or M", float(sum(one.carried_out for one in trace.decisions)), ""),
    ]
    return [Said(name, title, value, written(value, unit)) for name, title, value, unit in rows]


def _number(count: int | None) -> float | None:
    return None if count is None else float(count)


def low_end(values: list[float]) -> float | None:
    """Return the 1st percentile; None without values."""
    return percentile(values, 1.0) if values else None


def payload(trace: Trace) -> dict[str, Any]:
    """Return what the charts are drawn from."""
    columns = {name: _scaled(name, trace.columns[name]) for name in COLUMNS if known(trace, name)}
    at, columns = thin(*with_gaps(trace.at, columns), POINTS)
    return {
        "at": [rounded(moment, 7) for moment in at],
        "began": trace.wall[0],
        "series": {name: [rounded(value) for value in values] for name, values in columns.items()},
        "writes": [
            [rounded(one.at, 7), f"{one.kind} {one.after}: {one.reason}"]
            for one in trace.decisions
            if one.carried_out
        ],
        "would": [
            [rounded(one.at, 7), f"would set {one.after}"] for one in trace.decisions if not one.carried_out
        ],
        "holds": [[rounded(one.since, 7), rounded(one.until, 7), one.code] for one in trace.holds],
        "events": [[rounded(one.at, 7), one.code] for one in trace.events if not _is_of_decision(one.code)],
    }


def _is_of_decision(code: str) -> bool:
    """Tell whether an event says again what a decision or a hold says."""
    kinds = {"set", "emergency", "override", "drain", "park", "restore"}
    return code in kinds or code.startswith(("hold_", "clear_"))


def _scaled(name: str, values: Values) -> Values:
    factor = _FACTORS.get(name, 1.0)
    return [None if value is None else value * factor for value in values]


TABLES = (
    ("throughput", "Throughput", (("row_changes", "row changes/s"), ("commits", "engine commits/s"))),
    (
        "age",
        "Uncheckpointed bytes",
        (
            ("checkpoint_age", "checkpoint age, MiB"),
            ("modified_age", "modified age, MiB"),
            ("flush_limit", "flush limit, MiB"),
            ("max_checkpoint_age", "max checkpoint age, MiB"),
        ),
    ),
    ("ratio", "Age ratio and set-point", (("age_ratio", "age ratio"), ("set_point", "set-point"))),
    ("capacity", "C and M", (("io_capacity", "C, pages/s"), ("io_capacity_max", "M, pages/s"))),
    (
        "pages",
        "Pages flushed",
        (
            ("pages_flushed", "pages flushed/s"),
            ("sync_pages", "of them sync-flushed/s"),
            ("lru_pages", "of them from the LRU tail/s"),
        ),
    ),
    ("dirty", "Dirty pages", (("dirty_share", "dirty, % of the pool"), ("dirty_limit", "limit, %"))),
    ("redo", "Redo written", (("redo_rate", "redo, MiB/s"),)),
    ("latency", "Latency of writing statements", (("write_latency", "mean latency, ms"),)),
)


def tables(trace: Trace) -> dict[str, Table]:
    """Return each chart's table by its key; charts of which nothing is known are left out."""
    found = {}
    for key, title, columns in TABLES:
        there = [(head, _scaled(name, trace.columns[name])) for name, head in columns if known(trace, name)]
        if there:
            found[key] = sliced(title, trace.at, there)
    return found


def know_first(trace: Trace) -> list[str]:
    """Return what a reader has to know of a trace before believing it."""
    facts, found = trace.run.facts, []
    if trace.missed:
        reasons = list(dict.fromkeys(one.said for one in trace.missed))
        found.append(f"{len(trace.missed)} of {len(trace.at)} readings failed: {'; '.join(reasons[:3])}")
    if not known(trace, "modified_age"):
        found.append(
            "InnoDB's counters were off: the age is the checkpoint's alone, and sync flushing is not seen"
        )
    if not known(trace, "write_latency") and "latency" not in facts.unseen:
        found.append("no latency of writing statements: it is read every ten seconds, or nothing was written")
    if facts.unseen:
        found.append(f"the account may not look at: {', '.join(facts.unseen)}")
    found += [f"this server cannot be tuned: {blocker}" for blocker in facts.blockers]
    found.append(
        "device writes and commit latency as clients see it are in no trace; innobrim bench has them"
    )
    if known(trace, "commits"):
        found.append(
            "engine commits are Handler_commit, which counts a writing transaction twice where the binary log"
            " is on; row changes are counted once"
        )
    return found


KIND = "trace"
_SHARED = (
    "age_ratio_mean",
    "age_ratio_max",
    "checkpoint_ratio_max",
    "redo_bytes_per_second",
    "pages_per_second",
    "pages_per_commit",
    "sync_pages",
    "stall_waits",
)


def rows_of_traces(traces: Sequence[Trace]) -> list[Row]:
    """Return a row for each trace, named after its file; second 0 is the first tick of each."""
    names = _names([Path(one.name) for one in traces])
    servers = dict.fromkeys(f"{one.run.facts.version} at {one.run.facts.endpoint}" for one in traces)
    conditions = {
        "server": " and ".join(servers),
        "compared": "traces as they were recorded; nothing says that load and machine were the same",
    }
    return [_row(name, one, conditions) for name, one in zip(names, traces, strict=True)]


def _names(paths: Sequence[Path]) -> list[str]:
    """Return the files' names without their suffix, or whole paths where two would be the same."""
    stems = [path.parent.name if path.name == "journal.db" else path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]


def _row(name: str, trace: Trace, conditions: dict[str, Any]) -> Row:
    commits = known(trace, "commits")
    median = statistics.median(commits) if commits else None
    counted = {one.name: one.value for one in figures(trace)}
    modes = known(trace, "io_capacity_max")
    return Row(
        contender=name,
        kind=KIND,
        io_capacity=_constant(trace, "io_capacity"),
        io_capacity_max=_constant(trace, "io_capacity_max"),
        conditions=conditions,
        figures={
            "seconds": counted["seconds"],
            "commits_mean": counted["commits_mean"],
            "commits_median": median,
            "commits_p1": low_end(commits),
            "commits_p5": percentile(commits, 5.0) if commits else None,
            "commits_min": min(commits, default=None),
            "commits_sd": statistics.pstdev(commits) if commits else None,
            "seconds_below_half_median": (
                None if median is None else sum(one < median / 2.0 for one in commits)
            ),
            **{same: counted[same] for same in _SHARED},
            "io_capacity_max_mean": statistics.fmean(modes) if modes else None,
            "knob_changes": counted["changes"],
        },
        series=Series(
            at=trace.at,
            commits=trace.columns["commits"],
            modified_age=trace.columns["modified_age"],
            checkpoint_age=trace.columns["checkpoint_age"],
            io_capacity=trace.columns["io_capacity"],
            io_capacity_max=trace.columns["io_capacity_max"],
            pages_flushed=trace.columns["pages_flushed"],
            sync_pages=trace.columns["sync_pages"],
            flush_limit=_last(trace, "flush_limit"),
            max_checkpoint_age=_last(trace, "max_checkpoint_age"),
            redo_capacity=_last(trace, "redo_capacity"),
        ),
        events=[(one.at, f"{one.kind} {one.after}") for one in trace.decisions if one.carried_out],
        version=trace.run.program,
        when=clock(trace.wall[0]),
    )


def _constant(trace: Trace, column: str) -> int | None:
    """Return what C or M was throughout; None where it moved, or was never read."""
    values = {round(value) for value in known(trace, column)}
    return values.pop() if len(values) == 1 else None


def _last(trace: Trace, column: str) -> float | None:
    return next(iter(reversed(known(trace, column))), None)
