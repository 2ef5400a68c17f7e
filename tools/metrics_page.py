"""docs/metrics.md: the reference of every metric, from the tables that the scrape is made from."""

from __future__ import annotations

from collections.abc import Iterator

from api.metrics import FIELD_METRICS, PROCESS_METRICS, STATE_METRICS, WINDOW_METRICS, StateMetric

_INTRODUCTION = """\
# Metrics

`GET /metrics` on the API's port or socket, in Prometheus' text format. Base units throughout. A value
that is not known is left out, never zero: while the server does not answer, only the daemon's own
metrics remain. Where PMM charts the same thing, its legend is named, so that a dashboard can say
the same words. A scrape asks the database nothing.

No label has a value that a client or a load can make up: a daemon exports some 200 series, and three
more for each schedule of its configuration.

## Prometheus, alerts, dashboards

The API listens on loopback, so whoever scrapes it runs on the server's machine (Prometheus in agent
mode, or any other agent that writes to a remote one), or goes through a proxy with TLS and access
control, which has to pass `Host: localhost` on: other names are refused. Or the daemon serves other
machines [itself](api.md#other-machines), over TLS and to a token. On loopback `instance` is best the
server's name, since the address is the same everywhere:

```yaml
scrape_configs:
  - job_name: innobrim        # the alerts InnoBrimDown and InnoBrimAbsent go by this name
    static_configs:
      - targets: ["127.0.0.1:8633"]
        labels: {instance: db1}
```

- [deploy/prometheus](../deploy/prometheus) has this as a whole `prometheus.yml`, recording rules
  (`innobrim-recording.yml`), alerts (`innobrim-alerts.yml`) and their unit tests. Put the two rule
  files where `rule_files` looks; the dashboards go by the recorded ones. `promtool test rules
  innobrim-tests.yml` shows by example what fires when.
- Each alert has a `severity` (`critical`: writers suffer, or soon will; `warning`: a person is needed,
  on a working day; `info`: nobody is called), the figures in its description, and in `runbook_url` its
  section of [runbook.md](runbook.md). That is a path: `sed 's|docs/runbook.md|https://…/runbook.md|'`
  makes it a link to wherever you keep the page.
- [deploy/grafana](../deploy/grafana) has a dashboard for one server and one for a fleet, in PMM's
  words. Import them (Dashboards, New, Import) or provision the folder; data source, job and instance
  are variables.
"""


def document() -> str:
    """Return the whole page, Markdown."""
    parts = [_INTRODUCTION]
    parts += ["## The daemon and its decisions\n", _table("name", "kind", "labels", "meaning"), *_state()]
    for record, title in (("sample", "What the server says"), ("estimate", "What follows from it")):
        parts += [f"\n## {title}\n", _table("name", "kind", "meaning", "PMM")]
        parts += [
            f"| `{metric.exposed}` | {metric.field.kind} | {metric.field.help} | {metric.field.pmm} |"
            for metric in FIELD_METRICS
            if metric.field.record == record
        ]
    return "\n".join(parts) + "\n"


def _state() -> Iterator[str]:
    for name, metric in STATE_METRICS.items():
        ending = "_total" if metric.kind == "counter" else ""
        yield f"| `{name}{ending}` | {metric.kind} | {_labels(metric)} | {metric.help} |"
    for window in WINDOW_METRICS:
        yield f"| `{window.exposed}` | {window.field.kind} | `schedule` | {window.field.help} |"
    for name, (kind, text) in PROCESS_METRICS.items():
        yield f"| `{name}` | {kind} |  | {text} |"


def _labels(metric: StateMetric) -> str:
    if metric.values:
        return f"`{metric.labels[0]}`: {', '.join(metric.values)}"
    return ", ".join(f"`{label}`" for label in metric.labels)


def _table(*columns: str) -> str:
    return f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}"
