"""Prometheus metrics, made from the table of fields. A value that is missing is left out, never zero."""

from __future__ import annotations

import itertools
import math
import platform
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

from api.about import About
from api.metric_table import FIELD_METRICS, NAMESPACE, STATE_METRICS, WINDOW_METRICS
from api.refusals import Refusals
from api.vitals import Vitals
from tuner.board import Board
from tuner.core.limits import allowed
from tuner.core.scheduled import settings_of
from tuner.records import Facts, OptimiserHealth, Sample, TickRecord
from tuner.settings import Mode, Settings
from tuner.tally import BOUNDS, Histogram, Tally

EXACT = 2**53
"""From here on a float does not hold every whole number."""


class _Source(Collector):
    """Reads the board once a scrape."""

    def __init__(self, board: Board, about: About, vitals: Vitals, refusals: Refusals) -> None:
        self._board = board
        self._about = about
        self._vitals = vitals
        self._refusals = refusals

    def describe(self) -> Iterable[Metric]:
        """Name nothing beforehand: what is exported depends on what is known."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that has a value."""
        record, tally = self._board.last(), self._board.tally()
        settings, facts = self._board.settings(), self._board.facts()
        live = self._vitals.live().ok
        waiting = bool(tally.waiting)
        sample = record.tick.reading if record is not None and not waiting else None
        fresh = sample if live and isinstance(sample, Sample) else None
        yield _one("innobrim_up", float(fresh is not None))
        yield _one("innobrim_loop_up", float(live))
        if live and (record is not None or waiting):
            yield _one("innobrim_server_up", float(fresh is not None))
        yield from self._daemon(tally)
        if facts is not None and live:
            yield from _server(facts)
        if record is not None and live:
            yield from _state(record)
            yield from self._schedule(record)
            if settings is not None:
                yield from _settings(settings, record, facts)
        if record is not None and fresh is not None:
            yield from _fields(fresh, record)

    def _schedule(self, record: TickRecord) -> Iterator[Metric]:
        """Yield what is active, a series for each schedule; what is told of a window, while it is."""
        names = [table.name for table in self._about.configuration().schedule]
        active = {window.name: window for window in record.schedule}
        known = dict.fromkeys([*names, *active])
        if not known:
            return
        yield _each("innobrim_schedule_active", {name: float(name in active) for name in known})
        for metric in WINDOW_METRICS:
            family = GaugeMetricFamily(metric.name, metric.help, labels=["schedule"])
            for name, window in active.items():
                family.add_metric([name], float(getattr(window, metric.field.name)) * metric.scale)
            yield family

    def _daemon(self, tally: Tally) -> Iterator[Metric]:
        about = self._about
        yield _info("innobrim_build_info", version=about.version, python=platform.python_version())
        yield _one("innobrim_interval_seconds", about.interval)
        yield _one("innobrim_ticks", tally.ticks)
        yield _histogram("innobrim_tick_duration_seconds", tally.ticking)
        yield _histogram("innobrim_read_duration_seconds", tally.reading)
        yield _histogram("innobrim_set_duration_seconds", tally.setting)
        yield _one("innobrim_missed_readings", tally.missed)
        yield _one("innobrim_changes", tally.changes)
        yield _one("innobrim_failed_changes", tally.failures)
        yield _all_of("innobrim_decisions", tally.decisions)
        yield _all_of("innobrim_holds", tally.holds)
        yield _all_of("innobrim_api_refusals", self._refusals.counts)
        yield _one("innobrim_baseline_back", float(tally.baseline_back))
        yield _one("innobrim_journal_up", float(not tally.journal))
        yield _each("innobrim_worker_up", {name: float(lives) for name, lives in tally.workers.items()})
        yield _one("innobrim_journal_lost_ticks", tally.lost)
        if tally.success:
            yield _each("innobrim_last_success_timestamp_seconds", tally.success)
        configured = about.configuration().loop.mode
        yield _all_of("innobrim_configured_mode", {configured: 1.0})
        yield from _optimiser(tally.optimiser)


class MetricsPage:
    """The answer to a scrape, from a registry of its own."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, board: Board, about: About, vitals: Vitals, refusals: Refusals) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Source(board, about, vitals, refusals))
        ProcessCollector(namespace=NAMESPACE, registry=self._registry)

    def text(self) -> bytes:
        """Return every metric in Prometheus' text format."""
        found = list(self._registry.collect())
        return _exact(generate_latest(_Collected(found)), found)


class _Collected:
    """What was collected, for the library to write out."""

    def __init__(self, found: list[Metric]) -> None:
        self._found = found

    def collect(self) -> list[Metric]:
        """Return it."""
        return self._found


def _written(value: int) -> str:
    """Return a number as the library writes it."""
    return str(floatToGoString(value))  # type: ignore[no-untyped-call] # the library is untyped


def _exact(text: bytes, found: list[Metric]) -> bytes:
    """Put the digits of large whole numbers in their place: the library writes every value as a float."""
    for metric in found:
        for sample in metric.samples:
            value = sample.value
            if type(value) is int and abs(value) >= EXACT and not sample.labels:
                line = f"{sample.name} {_written(value)}\n"
                text = text.replace(line.encode(), f"{sample.name} {value}\n".encode())
    return text


def _fields(sample: Sample, record: TickRecord) -> Iterator[Metric]:
    for metric in FIELD_METRICS:
        value = metric.field.value(sample=sample, estimate=record.estimate)
        if value is None or not math.isfinite(value):
            continue
        if metric.scale != 1.0:
            value *= metric.scale
        if metric.field.kind == "counter":
            yield CounterMetricFamily(metric.name, metric.help, value=value)
        else:
            yield GaugeMetricFamily(metric.name, metric.help, value=value)


def _server(facts: Facts) -> Iterator[Metric]:
    yield _info(
        "innobrim_server_info",
        identity=facts.identity,
        endpoint=facts.endpoint,
        family=facts.family,
        version=facts.version,
        flush_law=facts.flush_law,
    )
    yield _all_of("innobrim_unseen", dict.fromkeys(facts.unseen, 1.0))


def _state(record: TickRecord) -> Iterator[Metric]:
    yield _all_of("innobrim_mode", {record.mode: 1.0})
    yield _one("innobrim_may_write", float(record.mode is Mode.ACTIVE and not record.holds))
    yield _all_of("innobrim_lifecycle", {record.lifecycle: 1.0})
    yield _all_of("innobrim_hold", {hold.code: 1.0 for hold in record.holds})
    yield _all_of("innobrim_occurrence", dict.fromkeys(record.occurrences, 1.0))
    yield _all_of("innobrim_decision", {record.decision.kind: 1.0})
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
        ends = record.tick.wall + record.override_ends - record.tick.now
        yield _one("innobrim_override_ends_timestamp_seconds", ends)
    if record.drain is not None:
        yield _one("innobrim_drain_target_bytes", record.drain.target)


def _settings(settings: Settings, record: TickRecord, facts: Facts | None) -> Iterator[Metric]:
    """Yield the limits that the state is to be judged by."""
    yield _info("innobrim_policy_info", policy=settings.policy)
    yield _one("innobrim_changes_last_hour_limit", settings.max_changes_per_hour)
    budgets = settings_of(settings, record.schedule)
    if budgets.max_recovery_seconds is not None:
        yield _one("innobrim_recovery_budget_seconds", budgets.max_recovery_seconds)
    if budgets.max_shutdown_seconds is not None:
        yield _one("innobrim_shutdown_budget_seconds", budgets.max_shutdown_seconds)
    if facts is not None:
        lowest, highest = allowed(settings, facts)
        yield _one("innobrim_lowest_io_capacity_max_pages_per_second", lowest)
        yield _one("innobrim_highest_io_capacity_max_pages_per_second", highest)


def _optimiser(health: OptimiserHealth) -> Iterator[Metric]:
    if health.state != "off":
        yield _one("innobrim_optimiser_up", float(health.state != "dead"))
        yield _one("innobrim_optimiser_deaths", health.deaths)


def _one(name: str, value: float) -> Metric:
    """Return a metric without labels."""
    metric = STATE_METRICS[name]
    family = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    return family(name, metric.help, value=value)


def _each(name: str, values: Mapping[str, float]) -> Metric:
    """Return a metric with one label, a series for each of these values of it."""
    metric = STATE_METRICS[name]
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(name, metric.help, labels=list(metric.labels))
    for of, value in values.items():
        family.add_metric([of], value)
    return family


def _all_of(name: str, values: Mapping[str, float]) -> Metric:
    """Return a metric with a series for every value that its label can have, 0 where none is given."""
    return _each(name, {of: values.get(of, 0.0) for of in STATE_METRICS[name].values})


def _info(name: str, **labels: str) -> Metric:
    metric = STATE_METRICS[name]
    family = GaugeMetricFamily(name, metric.help, labels=list(metric.labels))
    family.add_metric([labels[label] for label in metric.labels], 1.0)
    return family


def _histogram(name: str, durations: Histogram) -> Metric:
    bounds = [*map(repr, BOUNDS), "+Inf"]
    buckets = list(zip(bounds, itertools.accumulate(durations.counts), strict=True))
    return HistogramMetricFamily(name, STATE_METRICS[name].help, buckets=buckets, sum_value=durations.total)
