"""Prometheus metrics: one table of what there is, with where each value comes from.

The numbers of the server are those of the table of fields. ``api.scrape`` writes them out.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from api.ledger import BOUNDS, SHOWN, bounds_of
from api.metric import PREFIX, Metric, Scrape, Series, Source, Value
from api.problems import Refusal
from tuner.core.commands.schedule import settings_of
from tuner.core.estimate.occurrences import Occurrence
from tuner.core.limits import allowed
from tuner.daemon.workers import WORKERS
from tuner.findings.check import UNSEEN
from tuner.records import MILLIONTHS, Capacity, DecisionKind, Facts, HoldCode, Lifecycle, TickRecord
from tuner.records.fields import FIELDS, WINDOW_FIELDS, Field
from tuner.records.hook import HookHealth
from tuner.settings import Mode, Settings

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

STAGES = ("sample", "decide", "write", "journal")
"""What a tick goes through."""


def _gauge(name: str, text: str, source: Source, *labels: str) -> Metric:
    return Metric(PREFIX + name, "gauge", text, source, labels)


def _counter(name: str, text: str, source: Source) -> Metric:
    return Metric(PREFIX + name, "counter", text, source)


def _histogram(name: str, text: str, source: Source) -> Metric:
    return Metric(PREFIX + name, "histogram", text, source)


def _gauge_by(
    name: str, text: str, label: str, values: Iterable[str], source: Source, *, zeros: bool = True
) -> Metric:
    return Metric(PREFIX + name, "gauge", text, source, (label,), tuple(values), zeros)


def _counter_by(name: str, text: str, label: str, values: Iterable[str], source: Source) -> Metric:
    return Metric(PREFIX + name, "counter", text, source, (label,), tuple(values))


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
    return cast("float | None", getattr(settings_of(now.settings, now.record.schedule), name))


def _bounds(now: Scrape) -> tuple[float | None, float | None]:
    """Return the lowest and highest M that are allowed, pages/s."""
    return allowed(now.settings, now.facts) if now.settings and now.facts else (None, None)


def _m(pair: Capacity | None) -> int | None:
    return None if pair is None else pair.io_capacity_max


def _of_optimiser(now: Scrape, value: float) -> float | None:
    return None if now.tally.optimiser.state == "off" else value


def _of_ledger(name: str) -> Metric:
    text, of = SHOWN[name]
    return _gauge_by(f"ledger_{name}", text, "bound", BOUNDS, lambda now: bounds_of(now.ledger, of))


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


STATE_METRICS: tuple[Metric, ...] = (
    _gauge(
        "up",
        "1 while the loop ticks and its last reading was good",
        lambda now: float(now.sample is not None),
    ),
    _gauge(
        "loop_up", "1 while the loop ticks, or waits for its server and says so", lambda now: float(now.live)
    ),
    _gauge("server_up", "1 while the last reading of the server was good", _server_up),
    _gauge(
        "journal_up",
        "1 while the journal can be written; ticks wait in memory otherwise",
        lambda now: float(not now.tally.journal),
    ),
    _gauge_by(
        "worker_up",
        "0 for a thread of the daemon that is dead; none for one that is not used",
        "worker",
        WORKERS,
        lambda now: {name: float(lives) for name, lives in now.tally.workers.items()},
        zeros=False,
    ),
    _gauge(
        "build_info",
        "always 1; what runs",
        lambda now: {(now.about.version, platform.python_version()): 1.0},
        "version",
        "python",
    ),
    _gauge(
        "server_info",
        "always 1; the server that it looks after",
        _from_facts(_server),
        "identity",
        "endpoint",
        "family",
        "version",
        "flush_law",
    ),
    _gauge(
        "policy_info",
        "always 1; the policy of the settings in force",
        _from_settings(lambda settings: {settings.policy: 1.0}),
        "policy",
    ),
    _gauge(
        "interval_seconds", "time from one tick to the next, as configured", lambda now: now.about.interval
    ),
    _counter("ticks", "ticks of the loop", lambda now: now.tally.ticks),
    _histogram(
        "tick_duration_seconds",
        "how long ticks took, reading and write included",
        lambda now: now.tally.ticking,
    ),
    _histogram("read_duration_seconds", "how long good readings took", lambda now: now.tally.reading),
    _histogram("set_duration_seconds", "how long writes to the server took", lambda now: now.tally.setting),
    _counter("missed_readings", "readings that failed", lambda now: now.tally.missed),
    _counter("changes", "writes that the server accepted", lambda now: now.tally.changes),
    _counter("failed_changes", "writes that failed", lambda now: now.tally.failures),
    _counter_by(
        "decisions",
        "ticks by the kind of their decision",
        "kind",
        DecisionKind,
        lambda now: now.tally.decisions,
    ),
    _counter_by("holds", "times that each hold was entered", "code", HoldCode, lambda now: now.tally.holds),
    _counter_by(
        "api_refusals",
        "requests and connections that the API refused",
        "reason",
        Refusal,
        lambda now: now.refusals.counts,
    ),
    _counter("journal_lost_ticks", "ticks that the journal lost", lambda now: now.tally.lost),
    _gauge_by(
        "last_success_timestamp_seconds",
        "Unix time of each stage's last success; none before the first",
        "stage",
        STAGES,
        lambda now: now.tally.success or None,
        zeros=False,
    ),
    _gauge_by(
        "mode", "1 for the mode in force", "mode", Mode, _from_record(lambda record: {record.mode: 1.0})
    ),
    _gauge_by(
        "configured_mode",
        "1 for the mode that the configuration asks for",
        "mode",
        Mode,
        lambda now: {now.about.configuration().loop.mode: 1.0},
    ),
    _gauge(
        "baseline_back",
        "1 while the originals are back because the server did worse under InnoBrim's values",
        lambda now: float(now.tally.baseline_back),
    ),
    _gauge(
        "may_write",
        "1 while the mode is active and nothing holds",
        _from_record(lambda record: float(record.mode is Mode.ACTIVE and not record.holds)),
    ),
    _gauge_by(
        "lifecycle",
        "1 for the daemon's state",
        "state",
        Lifecycle,
        _from_record(lambda record: {record.lifecycle: 1.0}),
    ),
    _gauge_by(
        "hold",
        "1 for each reason that keeps the loop from writing",
        "code",
        HoldCode,
        _from_record(lambda record: _ones(hold.code for hold in record.holds)),
    ),
    _gauge_by(
        "occurrence",
        "1 for what goes on in the server beside its load",
        "name",
        Occurrence,
        _from_record(lambda record: _ones(record.occurrences)),
    ),
    _gauge_by(
        "unseen",
        "1 for each part of the server that is not seen",
        "part",
        UNSEEN,
        _from_facts(lambda facts: _ones(facts.unseen)),
    ),
    _gauge_by(
        "decision",
        "1 for the kind of the last decision",
        "kind",
        DecisionKind,
        _from_record(lambda record: {record.decision.kind: 1.0}),
    ),
    _gauge(
        "changes_last_hour",
        "writes in the last hour that count for the budget",
        _from_record(lambda record: record.changes_last_hour),
    ),
    _gauge(
        "changes_last_hour_limit",
        "writes that the budget allows in any hour",
        _from_settings(lambda settings: settings.max_changes_per_hour),
    ),
    _gauge(
        "set_point_ratio",
        "set-point: the age ratio that the loop holds",
        _from_record(lambda record: record.decision.set_point),
    ),
    _gauge(
        "target_io_capacity_max_pages_per_second",
        "innodb_io_capacity_max that the last decision wants",
        _from_record(lambda record: _m(record.decision.target)),
    ),
    _gauge(
        "lowest_io_capacity_max_pages_per_second",
        "lowest innodb_io_capacity_max that settings and server allow",
        lambda now: _bounds(now)[0],
    ),
    _gauge(
        "highest_io_capacity_max_pages_per_second",
        "highest innodb_io_capacity_max that settings and server allow",
        lambda now: _bounds(now)[1],
    ),
    _gauge(
        "original_io_capacity_pages_per_second",
        "innodb_io_capacity before the first write",
        _from_record(lambda record: record.originals.io_capacity if record.originals else None),
    ),
    _gauge(
        "original_io_capacity_max_pages_per_second",
        "innodb_io_capacity_max before the first write",
        _from_record(lambda record: _m(record.originals)),
    ),
    _gauge(
        "recovery_budget_seconds",
        "longest crash recovery allowed, by configuration or schedule; none without a budget",
        lambda now: _budget(now, "max_recovery_seconds"),
    ),
    _gauge(
        "shutdown_budget_seconds",
        "longest shutdown allowed, by configuration or schedule; none without a budget",
        lambda now: _budget(now, "max_shutdown_seconds"),
    ),
    _gauge(
        "override_ends_timestamp_seconds",
        "when the override ends, Unix time; none without one",
        _override_ends,
    ),
    _gauge(
        "drain_target_bytes",
        "checkpoint age that a drain goes to; none without one",
        _from_record(lambda record: record.drain.target if record.drain else None),
    ),
    _gauge(
        "low_water_mark_percent",
        "innodb_max_dirty_pages_pct_lwm, with loop.low_water_mark; none where it decides nothing",
        _from_record(_low_water),
    ),
    *map(_of_ledger, SHOWN),
    _gauge(
        "optimiser_up",
        "0 while the optimiser's process is dead; none where it is off",
        lambda now: _of_optimiser(now, float(now.tally.optimiser.state != "dead")),
    ),
    _counter(
        "optimiser_deaths",
        "times that the optimiser's process died",
        lambda now: _of_optimiser(now, now.tally.optimiser.deaths),
    ),
    _gauge(
        "schedule_active",
        "1 for each schedule of the configuration that has an active window",
        _schedules,
        "schedule",
    ),
)
"""State, counts and the daemon itself."""


def _of_field(field: Field, source: Callable[[Scrape, float], Value], *labels: str) -> Metric:
    """Return a field as a metric; the source is handed the factor from the field's unit to the metric's."""
    unit, scale = _SCALED.get(field.unit, (field.unit, 1.0))
    suffix = unit.replace("/s", "_per_second").replace("/", "_per_")
    stem = _RENAMED.get(field.name, field.name)
    if suffix.endswith("_per_second"):
        stem = stem.removesuffix("_rate")
    name = stem if suffix in {"", "1"} else f"{stem}_{suffix}"
    legend = f' (PMM: "{field.pmm}")' if field.pmm else ""
    return Metric(PREFIX + name, field.kind, field.help + legend, lambda now: source(now, scale), labels)


def _windows(field: Field) -> Metric:
    def read(now: Scrape, scale: float) -> Series | None:
        windows = () if now.record is None else now.record.schedule
        return {window.name: float(getattr(window, field.name)) * scale for window in windows} or None

    return _of_field(field, read, "schedule")


def _reading(field: Field) -> Metric:
    def read(now: Scrape, scale: float) -> float | None:
        if now.record is None or now.sample is None:
            return None
        value = field.value(sample=now.sample, estimate=now.record.estimate)
        if value is None or not math.isfinite(value):
            return None
        return value if scale == 1.0 else value * scale

    return _of_field(field, read)


def _of_hooks(name: str, kind: str, text: str, value: Callable[[HookHealth], float]) -> Metric:
    def read(now: Scrape) -> Series | None:
        return {hook.name: value(hook) for hook in now.hooks} or None

    return Metric(PREFIX + name, kind, text, read, ("hook",))


HOOK_METRICS: tuple[Metric, ...] = (
    _of_hooks(
        "hook_up",
        "gauge",
        "0 for a hook whose last attempt failed",
        lambda hook: float(hook.failing_since is None),
    ),
    _of_hooks(
        "hook_waiting_events", "gauge", "events that a hook has still to deliver", lambda hook: hook.waiting
    ),
    _of_hooks(
        "hook_delivered_events", "counter", "events that a hook delivered", lambda hook: hook.delivered
    ),
    _of_hooks("hook_failed_attempts", "counter", "attempts of a hook that failed", lambda hook: hook.failed),
    _of_hooks(
        "hook_dropped_events",
        "counter",
        "events that a hook gave up: refused, an hour old, or too many",
        lambda hook: hook.dropped,
    ),
)
"""What is shown of each hook, under its name."""

WINDOW_METRICS: tuple[Metric, ...] = tuple(_windows(field) for field in WINDOW_FIELDS if field.kind)
"""What is shown of each active window of the schedule, under its name."""

FIELD_METRICS: Mapping[Field, Metric] = {field: _reading(field) for field in FIELDS if field.kind}
"""The numbers of the server, and what follows from them."""

METRICS: tuple[Metric, ...] = (*STATE_METRICS, *WINDOW_METRICS, *HOOK_METRICS, *FIELD_METRICS.values())

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
    return frozenset(name for metric in METRICS for name in metric.exposed) | set(PROCESS_METRICS)
