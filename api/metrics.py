"""Prometheus metrics: one table of what there is, with where each value comes from.

The numbers of the server are those of the table of fields. ``api.scrape`` writes them out.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from api.problems import Refusal, Refusals
from api.vitals import About
from tuner.core.commands.schedule import settings_of
from tuner.core.estimate.occurrences import Occurrence
from tuner.core.limits import allowed
from tuner.daemon.tally import Histogram, Tally
from tuner.daemon.workers import WORKERS
from tuner.findings.check import UNSEEN
from tuner.records import MILLIONTHS, Capacity, DecisionKind, Facts, HoldCode, Lifecycle, Sample, TickRecord
from tuner.records.fields import FIELDS, WINDOW_FIELDS, Field
from tuner.settings import Mode, Settings

NAMESPACE = "innobrim"
PREFIX = f"{NAMESPACE}_"

_RENAMED = {
    "uptime": "server_uptime",
    "pages_adaptive": "adaptive_flushed",
    "pages_sync": "sync_flushed",
    "pages_background": "background_flushed",
    "pages_lru": "lru_flushed",
    "pages_neighbour": "neighbour_flushed",
    "pages_dirty": "dirty",
    "pages_total": "buffer_pool",
    "flush_percentage": "lsn_flush",
    "row_changes": "changed",
    "row_rate": "changed",
    "burst_bytes": "burst",
    "age_ratio": "age",
    "baseline_ratio": "age_at_baseline",
    "seconds_to_sync": "time_to_sync",
    "seconds_to_stall": "time_to_stall",
    "recovery_seconds": "predicted_recovery",
    "began": "schedule_began_timestamp",
    "ends": "schedule_ends_timestamp",
    "shutdown_seconds": "predicted_shutdown",
    "recovery_at_set_point": "predicted_recovery_at_set_point",
    "recovery_at_baseline": "predicted_recovery_at_baseline",
    "shutdown_at_set_point": "predicted_shutdown_at_set_point",
    "shutdown_at_baseline": "predicted_shutdown_at_baseline",
}
"""Fields whose name would read badly with the unit behind it."""

_SCALED = {"percent of C": ("ratio", 0.01), "percent": ("ratio", 0.01)}
"""Units that are not base units: what they become, and by which factor."""


@dataclass(frozen=True, slots=True)
class FieldMetric:
    """A field as a metric.

    Attributes:
        field: where the value comes from.
        name: without the ending ``_total`` of a counter.
        scale: factor from the field's unit to the metric's.
        help: one line, with PMM's legend where it has one.
    """

    field: Field
    name: str
    scale: float
    help: str

    @property
    def exposed(self) -> str:
        """Return the name as a scrape shows it."""
        return f"{self.name}_total" if self.field.kind == "counter" else self.name


def _metric(field: Field) -> FieldMetric:
    unit, scale = _SCALED.get(field.unit, (field.unit, 1.0))
    suffix = unit.replace("/s", "_per_second").replace("/", "_per_")
    stem = _RENAMED.get(field.name, field.name)
    if suffix.endswith("_per_second"):
        stem = stem.removesuffix("_rate")
    name = stem if suffix in {"", "1"} else f"{stem}_{suffix}"
    legend = f' (PMM: "{field.pmm}")' if field.pmm else ""
    return FieldMetric(field=field, name=PREFIX + name, scale=scale, help=field.help + legend)


WINDOW_METRICS: tuple[FieldMetric, ...] = tuple(_metric(field) for field in WINDOW_FIELDS if field.kind)
"""What is told of each active window of the schedule, under its name."""

FIELD_METRICS: tuple[FieldMetric, ...] = tuple(_metric(field) for field in FIELDS if field.kind)

STAGES = ("sample", "decide", "write", "journal")
"""What a tick goes through."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """What there is to tell of at one scrape.

    Attributes:
        about: the daemon.
        refusals: what the API turned away.
        tally: what the loop has counted.
        live: the loop ticks, or waits for its server and says so.
        record: of the newest tick; None before the first, and where the loop is dead.
        sample: the newest reading; None where it failed or the loop is dead.
        settings: those in force; None where they or the record are unknown.
        facts: the server; None where unknown or the loop is dead.
    """

    about: About
    refusals: Refusals
    tally: Tally
    live: bool
    record: TickRecord | None
    sample: Sample | None
    settings: Settings | None
    facts: Facts | None


Series = Mapping[Any, float]
"""The value of the label, or a tuple of those of all labels in their order, to the number."""

Value = float | Histogram | Series | None
"""Of a metric; None where there is none."""

Source = Callable[[Scrape], Value]


@dataclass(frozen=True, slots=True)
class StateMetric:
    """A metric that is no field: state, counts and the daemon itself.

    Attributes:
        kind: gauge, counter or histogram.
        help: one line.
        source: where the value comes from.
        labels: names of the labels.
        values: every value that the only label can have; empty where that is not known beforehand.
        zeros: each of these is a series, 0 where the source has none.
    """

    kind: str
    help: str
    source: Source
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    zeros: bool = True


def _gauge(text: str, source: Source, *labels: str) -> StateMetric:
    return StateMetric("gauge", text, source, labels)


def _counter(text: str, source: Source) -> StateMetric:
    return StateMetric("counter", text, source)


def _histogram(text: str, source: Source) -> StateMetric:
    return StateMetric("histogram", text, source)


def _by(
    kind: str, text: str, label: str, values: Iterable[str], source: Source, *, zeros: bool = True
) -> StateMetric:
    return StateMetric(kind, text, source, (label,), tuple(values), zeros)


def _from_record(read: Callable[[TickRecord], Value]) -> Source:
    return lambda now: None if now.record is None else read(now.record)


def _from_settings(read: Callable[[Settings], Value]) -> Source:
    return lambda now: None if now.settings is None else read(now.settings)


def _from_facts(read: Callable[[Facts], Value]) -> Source:
    return lambda now: None if now.facts is None else read(now.facts)


def _ones(names: Iterable[str]) -> Mapping[str, float]:
    return dict.fromkeys(names, 1.0)


def _server_up(now: Scrape) -> float | None:
    known = now.live and (now.record is not None or now.tally.waiting)
    return float(now.sample is not None) if known else None


def _server(facts: Facts) -> Series:
    return {(facts.identity, facts.endpoint, facts.family, facts.version, facts.flush_law): 1.0}


def _budget(now: Scrape, name: str) -> float | None:
    """Return a budget with the schedule's word in it, seconds."""
    if now.settings is None or now.record is None:
        return None
    found: float | None = getattr(settings_of(now.settings, now.record.schedule), name)
    return found


def _bounds(now: Scrape) -> tuple[float | None, float | None]:
    """Return the lowest and highest M that are allowed, pages/s."""
    return allowed(now.settings, now.facts) if now.settings and now.facts else (None, None)


def _m(pair: Capacity | None) -> int | None:
    return None if pair is None else pair.io_capacity_max


def _of_optimiser(now: Scrape, value: float) -> float | None:
    return None if now.tally.optimiser.state == "off" else value


def _low_water(record: TickRecord) -> float | None:
    mark = record.low_water
    return None if mark is None or mark.in_force is None else mark.in_force / MILLIONTHS


def _override_ends(now: Scrape) -> float | None:
    record = now.record
    if record is None or record.override_ends is None:
        return None
    return record.tick.wall + record.override_ends - record.tick.now


def _schedules(now: Scrape) -> Mapping[str, float] | None:
    if now.record is None:
        return None
    active = [window.name for window in now.record.schedule]
    known = dict.fromkeys([*(table.name for table in now.about.configuration().schedule), *active])
    return {name: float(name in active) for name in known} or None


STATE_METRICS: dict[str, StateMetric] = {
    "innobrim_up": _gauge(
        "1 while the loop ticks and its last reading was good", lambda now: float(now.sample is not None)
    ),
    "innobrim_loop_up": _gauge(
        "1 while the loop ticks, or waits for its server and says so", lambda now: float(now.live)
    ),
    "innobrim_server_up": _gauge("1 while the last reading of the server was good", _server_up),
    "innobrim_journal_up": _gauge(
        "1 while the journal can be written; ticks wait in memory otherwise",
        lambda now: float(not now.tally.journal),
    ),
    "innobrim_worker_up": _by(
        "gauge",
        "0 for a thread of the daemon that is dead; none for one that it has not",
        "worker",
        WORKERS,
        lambda now: {name: float(lives) for name, lives in now.tally.workers.items()},
        zeros=False,
    ),
    "innobrim_build_info": _gauge(
        "always 1; what runs",
        lambda now: {(now.about.version, platform.python_version()): 1.0},
        "version",
        "python",
    ),
    "innobrim_server_info": _gauge(
        "always 1; the server beside which it runs",
        _from_facts(_server),
        "identity",
        "endpoint",
        "family",
        "version",
        "flush_law",
    ),
    "innobrim_policy_info": _gauge(
        "always 1; the policy of the settings in force",
        _from_settings(lambda settings: {settings.policy: 1.0}),
        "policy",
    ),
    "innobrim_interval_seconds": _gauge(
        "time from one tick to the next, as configured", lambda now: now.about.interval
    ),
    "innobrim_ticks": _counter("ticks of the loop", lambda now: now.tally.ticks),
    "innobrim_tick_duration_seconds": _histogram(
        "how long ticks took, reading and write included", lambda now: now.tally.ticking
    ),
    "innobrim_read_duration_seconds": _histogram(
        "how long good readings took", lambda now: now.tally.reading
    ),
    "innobrim_set_duration_seconds": _histogram(
        "how long writes of C and M took", lambda now: now.tally.setting
    ),
    "innobrim_missed_readings": _counter("readings that failed", lambda now: now.tally.missed),
    "innobrim_changes": _counter("writes that the server accepted", lambda now: now.tally.changes),
    "innobrim_failed_changes": _counter("writes that failed", lambda now: now.tally.failures),
    "innobrim_decisions": _by(
        "counter",
        "ticks by the kind of their decision",
        "kind",
        DecisionKind,
        lambda now: now.tally.decisions,
    ),
    "innobrim_holds": _by(
        "counter", "times that each hold was entered", "code", HoldCode, lambda now: now.tally.holds
    ),
    "innobrim_api_refusals": _by(
        "counter",
        "requests and connections that the API turned away",
        "reason",
        Refusal,
        lambda now: now.refusals.counts,
    ),
    "innobrim_journal_lost_ticks": _counter(
        "ticks that the journal will never have", lambda now: now.tally.lost
    ),
    "innobrim_last_success_timestamp_seconds": _by(
        "gauge",
        "Unix time of each stage's last success; none before the first",
        "stage",
        STAGES,
        lambda now: now.tally.success or None,
        zeros=False,
    ),
    "innobrim_mode": _by(
        "gauge",
        "1 for the mode in force",
        "mode",
        Mode,
        _from_record(lambda record: {record.mode: 1.0}),
    ),
    "innobrim_configured_mode": _by(
        "gauge",
        "1 for the mode that the configuration asks for",
        "mode",
        Mode,
        lambda now: {now.about.configuration().loop.mode: 1.0},
    ),
    "innobrim_baseline_back": _gauge(
        "1 while the baseline is back because the server did worse under InnoBrim's values",
        lambda now: float(now.tally.baseline_back),
    ),
    "innobrim_may_write": _gauge(
        "1 while the mode is active and nothing holds",
        _from_record(lambda record: float(record.mode is Mode.ACTIVE and not record.holds)),
    ),
    "innobrim_lifecycle": _by(
        "gauge",
        "1 for the daemon's state",
        "state",
        Lifecycle,
        _from_record(lambda record: {record.lifecycle: 1.0}),
    ),
    "innobrim_hold": _by(
        "gauge",
        "1 for each reason that keeps the loop from writing",
        "code",
        HoldCode,
        _from_record(lambda record: _ones(hold.code for hold in record.holds)),
    ),
    "innobrim_occurrence": _by(
        "gauge",
        "1 for what goes on in the server beside its load",
        "name",
        Occurrence,
        _from_record(lambda record: _ones(record.occurrences)),
    ),
    "innobrim_unseen": _by(
        "gauge",
        "1 for each part of the server that is not seen",
        "part",
        UNSEEN,
        _from_facts(lambda facts: _ones(facts.unseen)),
    ),
    "innobrim_decision": _by(
        "gauge",
        "1 for the kind of the last decision",
        "kind",
        DecisionKind,
        _from_record(lambda record: {record.decision.kind: 1.0}),
    ),
    "innobrim_changes_last_hour": _gauge(
        "writes in the last hour that count for the budget",
        _from_record(lambda record: record.changes_last_hour),
    ),
    "innobrim_changes_last_hour_limit": _gauge(
        "writes that the budget allows in any hour",
        _from_settings(lambda settings: settings.max_changes_per_hour),
    ),
    "innobrim_set_point_ratio": _gauge(
        "f, the age ratio that the loop holds", _from_record(lambda record: record.decision.set_point)
    ),
    "innobrim_target_io_capacity_max_pages_per_second": _gauge(
        "M that the last decision wants", _from_record(lambda record: _m(record.decision.target))
    ),
    "innobrim_lowest_io_capacity_max_pages_per_second": _gauge(
        "lowest M that settings and server allow", lambda now: _bounds(now)[0]
    ),
    "innobrim_highest_io_capacity_max_pages_per_second": _gauge(
        "highest M that settings and server allow", lambda now: _bounds(now)[1]
    ),
    "innobrim_original_io_capacity_pages_per_second": _gauge(
        "C before the first write",
        _from_record(lambda record: record.originals.io_capacity if record.originals else None),
    ),
    "innobrim_original_io_capacity_max_pages_per_second": _gauge(
        "M before the first write", _from_record(lambda record: _m(record.originals))
    ),
    "innobrim_recovery_budget_seconds": _gauge(
        "longest crash recovery allowed, the schedule's word included; none where nobody set it",
        lambda now: _budget(now, "max_recovery_seconds"),
    ),
    "innobrim_shutdown_budget_seconds": _gauge(
        "longest shutdown allowed, the schedule's word included; none where nobody set it",
        lambda now: _budget(now, "max_shutdown_seconds"),
    ),
    "innobrim_override_ends_timestamp_seconds": _gauge(
        "when the override ends, Unix time; none without one", _override_ends
    ),
    "innobrim_drain_target_bytes": _gauge(
        "checkpoint age that a drain goes to; none without one",
        _from_record(lambda record: record.drain.target if record.drain else None),
    ),
    "innobrim_low_water_mark_percent": _gauge(
        "innodb_max_dirty_pages_pct_lwm, with loop.low_water_mark; none where it decides nothing",
        _from_record(_low_water),
    ),
    "innobrim_optimiser_up": _gauge(
        "0 while the optimiser's process is dead; none where it is off",
        lambda now: _of_optimiser(now, float(now.tally.optimiser.state != "dead")),
    ),
    "innobrim_optimiser_deaths": _counter(
        "times that the optimiser's process died",
        lambda now: _of_optimiser(now, now.tally.optimiser.deaths),
    ),
    "innobrim_schedule_active": _gauge(
        "1 for each schedule of the configuration that has an active window", _schedules, "schedule"
    ),
}
"""Metrics that are no field, without the ending ``_total`` of a counter."""

PROCESS_METRICS: dict[str, tuple[str, str]] = {
    "innobrim_process_cpu_seconds_total": ("counter", "processor time of the daemon"),
    "innobrim_process_resident_memory_bytes": ("gauge", "resident memory of the daemon"),
    "innobrim_process_virtual_memory_bytes": ("gauge", "virtual memory of the daemon"),
    "innobrim_process_start_time_seconds": ("gauge", "when the daemon's process started, Unix time"),
    "innobrim_process_open_fds": ("gauge", "open file descriptors of the daemon"),
    "innobrim_process_max_fds": ("gauge", "file descriptors that it may open"),
}
"""What the library's own collector tells about the daemon's process: exposed name to kind and meaning."""


def exposed_names() -> frozenset[str]:
    """Return every name that a sample of a scrape can have."""
    names = {metric.exposed for metric in (*FIELD_METRICS, *WINDOW_METRICS)} | set(PROCESS_METRICS)
    for name, metric in STATE_METRICS.items():
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(metric.kind, ("",))
        names |= {name + ending for ending in endings}
    return frozenset(names)
