"""The answer to a scrape: every metric that has a value, in Prometheus' text format.

A value that is missing is left out, never zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

from api.daemon import DaemonView
from api.ledger import ledger_of
from api.metric import NAMESPACE, Metric, Scrape, Series
from api.metrics import METRICS
from api.problems import Refusals
from tuner.daemon.tally import BOUNDS, Histogram
from tuner.records import Sample

EXACT = 2**53
"""A whole number from here on can be another one as a float."""


class MetricsPage(Collector):
    """The answer to a scrape, from a registry of its own; reads the board once."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self, daemon: DaemonView, refusals: Refusals) -> None:
        self._daemon = daemon
        self._refusals = refusals
        self._process = ProcessCollector(namespace=NAMESPACE, registry=CollectorRegistry())

    def text(self) -> bytes:
        """Return every metric in Prometheus' text format."""
        found = list(self.collect())
        return _exact(generate_latest(_Collected(found)), found)

    def collect(self) -> Iterator[Family]:
        """Yield every metric that has a value."""
        now = self._now()
        for metric in METRICS:
            value = metric.source(now)
            if value is not None:
                yield _family(metric, value)
        yield from self._process.collect()

    def _now(self) -> Scrape:
        board = self._daemon.board
        record, tally, live = board.last(), board.tally(), self._daemon.live().ok
        reading = record.tick.reading if record is not None and live and not tally.waiting else None
        shown = record if live else None
        facts = board.facts() if live else None
        return Scrape(
            about=self._daemon.about,
            refusals=self._refusals,
            tally=tally,
            live=live,
            record=shown,
            sample=reading if isinstance(reading, Sample) else None,
            settings=board.settings() if shown is not None else None,
            facts=facts,
            hooks=board.hooks(),
            ledger=ledger_of(
                board.learned(), facts, price=self._daemon.about.configuration().daemon.write_price
            ),
        )


class _Collected(Collector):
    """What was collected, for the library to write out."""

    def __init__(self, found: list[Family]) -> None:
        self._found = found

    def collect(self) -> list[Family]:
        """Return it."""
        return self._found


def _exact(text: bytes, found: list[Family]) -> bytes:
    """Put the digits of large whole numbers in their place: the library writes every value as a float."""
    for sample in itertools.chain.from_iterable(family.samples for family in found):
        value = sample.value
        if type(value) is int and abs(value) >= EXACT and not sample.labels:
            written = floatToGoString(value)  # type: ignore[no-untyped-call] # the library is untyped
            line, exact = (f"\n{sample.name} {one}\n".encode() for one in (written, value))
            text = text.replace(line, exact)
    return text


def _family(metric: Metric, value: float | Histogram | Series) -> Family:
    if isinstance(value, Histogram):
        bounds = [*map(repr, BOUNDS), "+Inf"]
        buckets = list(zip(bounds, itertools.accumulate(value.counts), strict=True))
        return HistogramMetricFamily(metric.name, metric.help, buckets=buckets, sum_value=value.total)
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    series: Series = value if isinstance(value, Mapping) else {(): value}
    zeros = dict.fromkeys(metric.values, 0.0) if metric.zeros else {}
    for labels, number in {**zeros, **series}.items():
        family.add_metric(list(labels) if isinstance(labels, tuple) else [labels], number)
    return family
