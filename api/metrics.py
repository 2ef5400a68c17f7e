"""Prometheus metrics, made from the table of fields. A value that is missing is left out, never zero."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry

from api.about import About
from api.vitals import Vitals
from tuner.board import Board
from tuner.core.occurrences import Occurrence
from tuner.fields import FIELDS, WINDOW_FIELDS, Field
from tuner.records import DecisionKind, HoldCode, Lifecycle, Sample, TickRecord
from tuner.settings import Mode

PREFIX = "innobrim_"

_RENAMED = {
    "read_seconds": "read",
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

STATE_METRICS: dict[str, tuple[str, str]] = {
    "innobrim_up": ("gauge", "1 while the loop ticks and its last reading was good"),
    "innobrim_build_info": ("gauge", "always 1; the version is a label"),
    "innobrim_start_time_seconds": ("gauge", "when the daemon started, Unix time"),
    "innobrim_process_resident_memory_bytes": ("gauge", "resident memory of the daemon"),
    "innobrim_process_cpu_seconds": ("counter", "processor time of the daemon"),
    "innobrim_ticks": ("counter", "ticks of the loop"),
    "innobrim_missed_readings": ("counter", "readings that failed"),
    "innobrim_changes": ("counter", "writes that the server accepted"),
    "innobrim_failed_changes": ("counter", "writes that failed"),
    "innobrim_journal_failing": ("gauge", "1 while the journal cannot be written; ticks wait in memory"),
    "innobrim_journal_lost_ticks": ("counter", "ticks that the journal will never have"),
    "innobrim_last_success_timestamp_seconds": ("gauge", "Unix time of each stage's last success"),
    "innobrim_tick_age_seconds": ("gauge", "time since the last tick"),
    "innobrim_mode": ("gauge", "1 for the mode asked for"),
    "innobrim_lifecycle": ("gauge", "1 for the daemon's state"),
    "innobrim_hold": ("gauge", "1 for each reason that keeps the loop from writing"),
    "innobrim_occurrence": ("gauge", "1 for what goes on in the server beside its load"),
    "innobrim_decision": ("gauge", "1 for the kind of the last decision"),
    "innobrim_changes_last_hour": ("gauge", "writes in the last hour"),
    "innobrim_set_point_ratio": ("gauge", "f, the age ratio that the loop holds"),
    "innobrim_target_io_capacity_max_pages_per_second": ("gauge", "M that the last decision wants"),
    "innobrim_original_io_capacity_pages_per_second": ("gauge", "C before the first write"),
    "innobrim_original_io_capacity_max_pages_per_second": ("gauge", "M before the first write"),
    "innobrim_override_left_seconds": ("gauge", "time until the override ends"),
    "innobrim_schedule_active": (
        "gauge",
        "1 for each schedule of the configuration that has an active window",
    ),
}
"""Kind and help of the metrics that are no field: state, counts and the daemon itself."""


class _Source(Collector):
    """Reads the board once a scrape."""

    def __init__(self, board: Board, about: About, vitals: Vitals) -> None:
        self._board = board
        self._about = about
        self._vitals = vitals

    def describe(self) -> Iterable[Metric]:
        """Name nothing beforehand: what is exported depends on what is known."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that has a value."""
        record = self._board.last()
        live = self._vitals.live().ok
        sample = record.tick.reading if record is not None else None
        fresh = sample if live and isinstance(sample, Sample) else None
        yield _one("innobrim_up", float(fresh is not None))
        yield from self._daemon()
        if record is not None and live:
            yield from _state(record)
            yield from self._schedule(record)
        if record is not None and fresh is not None:
            yield from _fields(fresh, record)

    def _schedule(self, record: TickRecord) -> Iterator[Metric]:
        """Yield what is active, a series for each schedule; what is told of a window, while it is."""
        names = [table.name for table in self._about.configuration().schedule]
        active = {window.name: window for window in record.schedule}
        known = dict.fromkeys([*names, *active])
        if not known:
            return
        yield _labelled(
            "innobrim_schedule_active", "schedule", {name: float(name in active) for name in known}
        )
        for metric in WINDOW_METRICS:
            family = GaugeMetricFamily(metric.name, metric.help, labels=["schedule"])
            for name, window in active.items():
                family.add_metric([name], float(getattr(window, metric.field.name)) * metric.scale)
            yield family

    def _daemon(self) -> Iterator[Metric]:
        process = self._vitals.process()
        tally = self._board.tally()
        yield _labelled("innobrim_build_info", "version", {process.version: 1.0})
        yield _one("innobrim_start_time_seconds", process.started)
        if process.resident_bytes:
            yield _one("innobrim_process_resident_memory_bytes", process.resident_bytes)
        yield _one("innobrim_process_cpu_seconds", process.cpu_seconds)
        yield _one("innobrim_ticks", tally.ticks)
        yield _one("innobrim_missed_readings", tally.missed)
        yield _one("innobrim_changes", tally.changes)
        yield _one("innobrim_failed_changes", tally.failures)
        yield _one("innobrim_journal_failing", float(bool(tally.journal)))
        yield _one("innobrim_journal_lost_ticks", tally.lost)
        if tally.success:
            yield _labelled("innobrim_last_success_timestamp_seconds", "stage", dict(tally.success))
        if tally.alive is not None:
            yield _one("innobrim_tick_age_seconds", max(0.0, self._about.monotonic() - tally.alive))


class MetricsPage:
    """The answer to a scrape, from a registry of its own."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, board: Board, about: About, vitals: Vitals) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Source(board, about, vitals))

    def text(self) -> bytes:
        """Return every metric in Prometheus' text format."""
        return generate_latest(self._registry)


def _fields(sample: Sample, record: TickRecord) -> Iterator[Metric]:
    for metric in FIELD_METRICS:
        value = metric.field.value(sample=sample, estimate=record.estimate)
        if value is None or not math.isfinite(value):
            continue
        value *= metric.scale
        if metric.field.kind == "counter":
            yield CounterMetricFamily(metric.name, metric.help, value=value)
        else:
            yield GaugeMetricFamily(metric.name, metric.help, value=value)


def _state(record: TickRecord) -> Iterator[Metric]:
    holds = {hold.code for hold in record.holds}
    yield _labelled("innobrim_mode", "mode", {mode.value: float(mode is record.mode) for mode in Mode})
    yield _labelled(
        "innobrim_lifecycle", "state", {state.value: float(state is record.lifecycle) for state in Lifecycle}
    )
    yield _labelled("innobrim_hold", "code", {code.value: float(code in holds) for code in HoldCode})
    going = {name.value: float(name.value in record.occurrences) for name in Occurrence}
    yield _labelled("innobrim_occurrence", "name", going)
    kind = record.decision.kind
    yield _labelled("innobrim_decision", "kind", {each.value: float(each is kind) for each in DecisionKind})
    yield _one("innobrim_changes_last_hour", record.changes_last_hour)
    if record.decision.set_point is not None:
        yield _one("innobrim_set_point_ratio", record.decision.set_point)
    if record.decision.target is not None:
        wanted = record.decision.target.io_capacity_max
        yield _one("innobrim_target_io_capacity_max_pages_per_second", wanted)
    if record.originals is not None:
        yield _one("innobrim_original_io_capacity_pages_per_second", record.originals.io_capacity)
        yield _one("innobrim_original_io_capacity_max_pages_per_second", record.originals.io_capacity_max)
    if record.override_ends is not None:
        yield _one("innobrim_override_left_seconds", max(0.0, record.override_ends - record.tick.now))


def _one(name: str, value: float) -> Metric:
    kind, text = STATE_METRICS[name]
    family = CounterMetricFamily if kind == "counter" else GaugeMetricFamily
    return family(name, text, value=value)


def _labelled(name: str, label: str, values: dict[str, float]) -> Metric:
    _, text = STATE_METRICS[name]
    family = GaugeMetricFamily(name, text, labels=[label])
    for of, value in values.items():
        family.add_metric([of], value)
    return family
