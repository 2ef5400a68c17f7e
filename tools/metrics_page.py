"""The tables of docs/metrics.md: every metric, from the tables that the scrape is made from."""

from __future__ import annotations

from collections.abc import Iterator

from api.metric import Metric
from api.metrics import FIELD_METRICS, HOOK_METRICS, PROCESS_METRICS, STATE_METRICS, WINDOW_METRICS
from tools.markdown import Parts, table


def metrics() -> str:
    """Return a section for the daemon's own metrics, the server's, and what follows from them."""
    parts = [
        "## The daemon and its decisions",
        table(("name", "kind", "labels", "meaning"), _of_the_daemon()),
    ]
    for record, title in (("sample", "What the server says"), ("estimate", "What follows from it")):
        rows = [
            (_shown(metric), field.kind, field.help, field.pmm)
            for field, metric in FIELD_METRICS.items()
            if field.record == record
        ]
        parts += [f"## {title}", table(("name", "kind", "meaning", "PMM"), rows)]
    return "\n\n".join(parts)


PARTS: Parts = {"metrics": metrics}


def _of_the_daemon() -> Iterator[tuple[str, ...]]:
    for metric in (*STATE_METRICS, *WINDOW_METRICS, *HOOK_METRICS):
        yield _shown(metric), metric.kind, _labels(metric), metric.help
    for name, (kind, text) in PROCESS_METRICS.items():
        yield f"`{name}`", kind, "", text


def _shown(metric: Metric) -> str:
    """Return a metric's name; a histogram's is that of its series together."""
    return f"`{metric.name if metric.kind == 'histogram' else metric.exposed[0]}`"


def _labels(metric: Metric) -> str:
    if metric.values:
        return f"`{metric.labels[0]}`: {', '.join(metric.values)}"
    return ", ".join(f"`{label}`" for label in metric.labels)
