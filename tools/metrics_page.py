"""The tables of docs/metrics.md: every metric, from the tables that the scrape is made from."""

from __future__ import annotations

from collections.abc import Iterator

from api.metrics import FIELD_METRICS, PROCESS_METRICS, STATE_METRICS, WINDOW_METRICS, StateMetric
from tools.markdown import Parts, table


def metrics() -> str:
    """Return a section for the daemon's own metrics, the server's, and what follows from them."""
    parts = [
        "## The daemon and its decisions",
        table(("name", "kind", "labels", "meaning"), _of_the_daemon()),
    ]
    for record, title in (("sample", "What the server says"), ("estimate", "What follows from it")):
        rows = [
            (f"`{metric.exposed}`", metric.field.kind, metric.field.help, metric.field.pmm)
            for metric in FIELD_METRICS
            if metric.field.record == record
        ]
        parts += [f"## {title}", table(("name", "kind", "meaning", "PMM"), rows)]
    return "\n\n".join(parts)


PARTS: Parts = {"metrics": metrics}


def _of_the_daemon() -> Iterator[tuple[str, ...]]:
    for name, metric in STATE_METRICS.items():
        ending = "_total" if metric.kind == "counter" else ""
        yield f"`{name}{ending}`", metric.kind, _labels(metric), metric.help
    for window in WINDOW_METRICS:
        yield f"`{window.exposed}`", window.field.kind, "`schedule`", window.field.help
    for name, (kind, text) in PROCESS_METRICS.items():
        yield f"`{name}`", kind, "", text


def _labels(metric: StateMetric) -> str:
    if metric.values:
        return f"`{metric.labels[0]}`: {', '.join(metric.values)}"
    return ", ".join(f"`{label}`" for label in metric.labels)
