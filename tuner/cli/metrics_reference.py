"""Writes the reference of every metric from the tables that the scrape is made from.

``python -m tuner.cli.metrics_reference > docs/metrics.md``
"""

from __future__ import annotations

import sys

from api.metrics import FIELD_METRICS, STATE_METRICS, WINDOW_METRICS

COMMAND = "python -m tuner.cli.metrics_reference > docs/metrics.md"

_INTRODUCTION = f"""\
<!-- Generated: {COMMAND} -->
# Metrics

`GET /metrics` on the API's port or socket, in Prometheus' text format. Base units throughout. A value
that is not known is left out, never zero: while the server does not answer, only the daemon's own
metrics remain. Where PMM charts the same thing, its legend is named, so that a dashboard can say
the same words.
"""


def document() -> str:
    """Return the whole page, Markdown."""
    state = [
        f"| `{name}{'_total' if kind == 'counter' else ''}` | {kind} | {text} |"
        for name, (kind, text) in STATE_METRICS.items()
    ]
    parts = [_INTRODUCTION, "## The daemon and its decisions\n", _table("name", "kind", "meaning"), *state]
    parts += [
        f"| `{metric.exposed}` | {metric.field.kind} | {metric.field.help}, by schedule |"
        for metric in WINDOW_METRICS
    ]
    for record, title in (("sample", "What the server says"), ("estimate", "What follows from it")):
        parts += [f"\n## {title}\n", _table("name", "kind", "meaning", "PMM")]
        parts += [
            f"| `{metric.exposed}` | {metric.field.kind} | {metric.field.help} | {metric.field.pmm} |"
            for metric in FIELD_METRICS
            if metric.field.record == record
        ]
    return "\n".join(parts) + "\n"


def _table(*columns: str) -> str:
    return f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}"


if __name__ == "__main__":
    sys.stdout.write(document())
