"""The answer to a scrape: every metric that has a value, in Prometheus' text format.

A value that is missing is left out, never zero.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

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

from api.metrics import (
    FIELD_METRICS,
    NAMESPACE,
    STATE_METRICS,
    WINDOW_METRICS,
    Scrape,
    Series,
    StateMetric,
)
from api.problems import Refusals
from api.vitals import About, Vitals
from tuner.daemon.board import Board
from tuner.daemon.tally import BOUNDS, Histogram
from tuner.records import Sample, TickRecord

EXACT = 2**53
"""From here on a float does not hold every whole number."""


class MetricsPage(Collector):
    """The answer to a scrape, from a registry of its own; reads the board once."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, board: Board, about: About, vitals: Vitals, refusals: Refusals) -> None:
        self._board = board
        self._about = about
        self._vitals = vitals
        self._refusals = refusals
        self._process = ProcessCollector(namespace=NAMESPACE, registry=CollectorRegistry())

    def text(self) -> bytes:
        """Return every metric in Prometheus' text format."""
        found = list(self.collect())
        return _exact(generate_latest(_Collected(found)), found)

    def collect(self) -> Iterator[Metric]:
        """Yield every metric that has a value."""
        now = self._now()
        for name, metric in STATE_METRICS.items():
            value = metric.source(now)
            if value is not None:
                yield _family(name, metric, value)
        if now.record is not None:
            yield from _windows(now.record)
        if now.record is not None and now.sample is not None:
            yield from _fields(now.sample, now.record)
        yield from self._process.collect()

    def _now(self) -> Scrape:
        record, tally = self._board.last(), self._board.tally()
        live = self._vitals.live().ok
        reading = record.tick.reading if record is not None and live and not tally.waiting else None
        told = record if live else None
        return Scrape(
            about=self._about,
            refusals=self._refusals,
            tally=tally,
            live=live,
            record=told,
            sample=reading if isinstance(reading, Sample) else None,
            settings=self._board.settings() if told is not None else None,
            facts=self._board.facts() if live else None,
        )


class _Collected(Collector):
    """What was collected, for the library to write out."""

    def __init__(self, found: list[Metric]) -> None:
        self._found = found

    def collect(self) -> list[Metric]:
        """Return it."""
        return self._found


def _family(name: str, metric: StateMetric, value: float | Histogram | Series) -> Metric:
    if isinstance(value, Histogram):
        bounds = [*map(repr, BOUNDS), "+Inf"]
        buckets = list(zip(bounds, itertools.accumulate(value.counts), strict=True))
        return HistogramMetricFamily(name, metric.help, buckets=buckets, sum_value=value.total)
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(name, metric.help, labels=metric.labels)
    series: Series = value if isinstance(value, Mapping) else {(): value}
    zeros = dict.fromkeys(metric.values, 0.0) if metric.zeros else {}
    for labels, number in {**zeros, **series}.items():
        family.add_metric(list(labels) if isinstance(labels, tuple) else [labels], number)
    return family


def _windows(record: TickRecord) -> Iterator[Metric]:
    """Yield what is told of each active window."""
    for metric in WINDOW_METRICS:
        family = GaugeMetricFamily(metric.name, metric.help, labels=["schedule"])
        for window in record.schedule:
            family.add_metric([window.name], float(getattr(window, metric.field.name)) * metric.scale)
        if record.schedule:
            yield family


def _fields(sample: Sample, record: TickRecord) -> Iterator[Metric]:
    for metric in FIELD_METRICS:
        value = metric.field.value(sample=sample, estimate=record.estimate)
        if value is None or not math.isfinite(value):
            continue
        if metric.scale != 1.0:
            value *= metric.scale
        kind = CounterMetricFamily if metric.field.kind == "counter" else GaugeMetricFamily
        yield kind(metric.name, metric.help, value=value)


def _exact(text: bytes, found: list[Metric]) -> bytes:
    """Put the digits of large whole numbers in their place: the library writes every value as a float."""
    for sample in itertools.chain.from_iterable(metric.samples for metric in found):
        value = sample.value
        if type(value) is int and abs(value) >= EXACT and not sample.labels:
            written = floatToGoString(value)  # type: ignore[no-untyped-call] # the library is untyped
            line, exact = (f"{sample.name} {one}\n".encode() for one in (written, value))
            text = text.replace(line, exact)
    return text
