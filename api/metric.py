"""What a metric is, and what there is to tell of at a scrape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from api.daemon import About
from api.ledger import Ledger
from api.problems import Refusals
from tuner.daemon.tally import Histogram, Tally
from tuner.records import Facts, Sample, TickRecord
from tuner.records.hook import HookHealth
from tuner.settings import Settings

NAMESPACE = "innobrim"
PREFIX = f"{NAMESPACE}_"

_ENDINGS = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}


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
        hooks: how each hook is.
        ledger: of what was saved; None before the first minute.
    """

    about: About
    refusals: Refusals
    tally: Tally
    live: bool
    record: TickRecord | None
    sample: Sample | None
    settings: Settings | None
    facts: Facts | None
    hooks: tuple[HookHealth, ...] = ()
    ledger: Ledger | None = None


Series = Mapping[Any, float]
"""The value of the label, or a tuple of those of all labels in their order, to the number."""

Value = float | Histogram | Series | None
"""Of a metric; None where there is none."""

Source = Callable[[Scrape], Value]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric and where its value comes from.

    Attributes:
        name: without the endings of a counter and of a histogram.
        kind: gauge, counter or histogram.
        help: one line.
        source: where the value comes from.
        labels: names of the labels.
        values: every value that the only label can have; empty where that is not known beforehand.
        zeros: each of these is a series, 0 where the source has none.
    """

    name: str
    kind: str
    help: str
    source: Source
    labels: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    zeros: bool = True

    @property
    def exposed(self) -> tuple[str, ...]:
        """Return the names that a scrape shows."""
        return tuple(self.name + ending for ending in _ENDINGS.get(self.kind, ("",)))
