"""Every metric that there is: those of the table of fields, and those of the daemon itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from api.refusals import Refusal
from tuner.check import UNSEEN
from tuner.core.occurrences import Occurrence
from tuner.fields import FIELDS, WINDOW_FIELDS, Field
from tuner.records import DecisionKind, HoldCode, Lifecycle
from tuner.settings import Mode
from tuner.workers import WORKERS

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
class StateMetric:
    """A metric that is no field: state, counts and the daemon itself.

    Attributes:
        kind: gauge, counter or histogram.
        help: one line.
        labels: names of the labels.
        values: every value that the only label can have; empty where that is not known beforehand.
    """

    kind: str
    help: str
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def _gauge(text: str, *labels: str) -> StateMetric:
    return StateMetric("gauge", text, labels)


def _counter(text: str) -> StateMetric:
    return StateMetric("counter", text)


def _by(kind: str, text: str, label: str, values: Iterable[str]) -> StateMetric:
    return StateMetric(kind, text, (label,), tuple(values))


STATE_METRICS: dict[str, StateMetric] = {
    "innobrim_up": _gauge("1 while the loop ticks and its last reading was good"),
    "innobrim_loop_up": _gauge("1 while the loop ticks, or waits for its server and says so"),
    "innobrim_server_up": _gauge("1 while the last reading of the server was good"),
    "innobrim_journal_up": _gauge("1 while the journal can be written; ticks wait in memory otherwise"),
    "innobrim_worker_up": _by(
        "gauge", "0 for a thread of the daemon that is dead; none for one that it has not", "worker", WORKERS
    ),
    "innobrim_build_info": _gauge("always 1; what runs", "version", "python"),
    "innobrim_server_info": _gauge(
        "always 1; the server beside which it runs", "identity", "endpoint", "family", "version", "flush_law"
    ),
    "innobrim_policy_info": _gauge("always 1; the decision law of the settings in force", "policy"),
    "innobrim_interval_seconds": _gauge("time from one tick to the next, as configured"),
    "innobrim_ticks": _counter("ticks of the loop"),
    "innobrim_tick_duration_seconds": StateMetric(
        "histogram", "how long ticks took, reading and write included"
    ),
    "innobrim_read_duration_seconds": StateMetric("histogram", "how long good readings took"),
    "innobrim_set_duration_seconds": StateMetric("histogram", "how long writes of C and M took"),
    "innobrim_missed_readings": _counter("readings that failed"),
    "innobrim_changes": _counter("writes that the server accepted"),
    "innobrim_failed_changes": _counter("writes that failed"),
    "innobrim_decisions": _by("counter", "ticks by the kind of their decision", "kind", DecisionKind),
    "innobrim_holds": _by("counter", "times that each hold was entered", "code", HoldCode),
    "innobrim_api_refusals": _by(
        "counter", "requests and connections that the API turned away", "reason", Refusal
    ),
    "innobrim_journal_lost_ticks": _counter("ticks that the journal will never have"),
    "innobrim_last_success_timestamp_seconds": _by(
        "gauge", "Unix time of each stage's last success; none before the first", "stage", STAGES
    ),
    "innobrim_mode": _by("gauge", "1 for the mode in force", "mode", Mode),
    "innobrim_configured_mode": _by("gauge", "1 for the mode that the configuration asks for", "mode", Mode),
    "innobrim_baseline_back": _gauge(
        "1 while the baseline is back because the server did worse under InnoBrim's values"
    ),
    "innobrim_may_write": _gauge("1 while the mode is active and nothing holds"),
    "innobrim_lifecycle": _by("gauge", "1 for the daemon's state", "state", Lifecycle),
    "innobrim_hold": _by("gauge", "1 for each reason that keeps the loop from writing", "code", HoldCode),
    "innobrim_occurrence": _by(
        "gauge", "1 for what goes on in the server beside its load", "name", Occurrence
    ),
    "innobrim_unseen": _by("gauge", "1 for each part of the server that is not seen", "part", UNSEEN),
    "innobrim_decision": _by("gauge", "1 for the kind of the last decision", "kind", DecisionKind),
    "innobrim_changes_last_hour": _gauge("writes in the last hour that count for the budget"),
    "innobrim_changes_last_hour_limit": _gauge("writes that the budget allows in any hour"),
    "innobrim_set_point_ratio": _gauge("f, the age ratio that the loop holds"),
    "innobrim_target_io_capacity_max_pages_per_second": _gauge("M that the last decision wants"),
    "innobrim_lowest_io_capacity_max_pages_per_second": _gauge("lowest M that settings and server allow"),
    "innobrim_highest_io_capacity_max_pages_per_second": _gauge("highest M that settings and server allow"),
    "innobrim_original_io_capacity_pages_per_second": _gauge("C before the first write"),
    "innobrim_original_io_capacity_max_pages_per_second": _gauge("M before the first write"),
    "innobrim_recovery_budget_seconds": _gauge(
        "longest crash recovery allowed, the schedule's word included; none where nobody set it"
    ),
    "innobrim_shutdown_budget_seconds": _gauge(
        "longest shutdown allowed, the schedule's word included; none where nobody set it"
    ),
    "innobrim_override_ends_timestamp_seconds": _gauge("when the override ends, Unix time; none without one"),
    "innobrim_drain_target_bytes": _gauge("checkpoint age that a drain goes to; none without one"),
    "innobrim_low_water_mark_percent": _gauge(
        "innodb_max_dirty_pages_pct_lwm, with loop.low_water_mark; none where it decides nothing"
    ),
    "innobrim_optimiser_up": _gauge("0 while the optimiser's process is dead; none where it is off"),
    "innobrim_optimiser_deaths": _counter("times that the optimiser's process died"),
    "innobrim_schedule_active": _gauge(
        "1 for each schedule of the configuration that has an active window", "schedule"
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
