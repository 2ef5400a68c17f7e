"""The page: rows of a bench, or a trace of a server, as one HTML text that needs nothing else."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

import api
from lab.report import charts, figures, tracefigures, words
from lab.report.figures import CONTROL, COST, STEADINESS, TABLES, THROUGHPUT, Figure, clock, plain, span
from lab.report.rows import Row, rows_of
from lab.report.summary import REFERENCES, Group, groups, winner_sentences
from lab.report.trace import Trace
from tuner.system.version import program_version

HERE = Path(__file__).parent
UPLOT = Path(api.__file__).parent / "static" / "vendor" / "uplot"
"""The same files that the daemon's page loads: one version of the library, one record of its sums."""


class Assets(Struct, frozen=True):
    """Texts that go into a page as they are."""

    uplot_version: str
    uplot_css: Markup
    uplot_js: Markup
    page_css: Markup
    page_js: Markup


@functools.cache
def assets() -> Assets:
    """Return the texts, read once."""
    marks = tomllib.loads((UPLOT / "VENDORED.toml").read_text(encoding="utf-8"))
    return Assets(
        uplot_version=marks["version"],
        uplot_css=_own(UPLOT / "uPlot.min.css"),
        uplot_js=_own(UPLOT / "uPlot.iife.min.js"),
        page_css=_own(HERE / "page.css"),
        page_js=_own(HERE / "page.js"),
    )


def render(template: str, payload: object, **values: Any) -> str:  # noqa: ANN401 - whatever the template names
    """Return a page with what its charts are drawn from; every value but that and the assets is escaped."""
    return _environment().get_template(template).render(assets=assets(), payload=embedded(payload), **values)


def embedded(payload: object) -> Markup:
    """Return JSON that no reader of HTML can mistake for an end of the script or for a comment."""
    text = msgspec.json.encode(payload).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - the signs that mean something in HTML are gone


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "written": figures.written,
        "mean_said": words.mean_said,
        "ratio_said": words.ratio_said,
        "conditions_said": words.conditions_said,
        "verdict_sentences": words.verdict_sentences,
        "heading": words.heading,
        "winner_sentences": winner_sentences,
        "lacking": lambda group: [*words.lacking(group), *words.idle_said(group)],
        "clock": clock,
    }
    return made


def _own(path: Path) -> Markup:
    return Markup(path.read_text(encoding="utf-8"))  # noqa: S704 - a file of this package


MOST_LINES = 400
"""Of a table of decisions, holds or events."""

HEADLINE = ("commits_p1", "latency_p99", "sync_pages", "stall_seconds", "device_writes_per_commit")
SEARCHED = (
    "commits_p1",
    "age_ratio_mean",
    "checkpoint_ratio_max",
    "pages_per_commit",
    "sync_pages",
    "recovery_seconds_predicted",
    "shutdown_seconds_predicted",
)
EVERY = {one.name: one for one in (THROUGHPUT, *STEADINESS, *COST, *CONTROL)}

T = TypeVar("T")


class Newest(Struct, Generic[T], frozen=True):
    """The end of a long list, and how many are left out before it."""

    rows: Sequence[T]
    left: int


def build(
    title: str,
    source: Sequence[object] | Trace,
    *,
    made: str = "an unknown day",
    notes: Sequence[str] = (),
) -> str:
    """Return the page.

    Args:
        title: its title.
        source: rows of a bench, as ``lab.report.rows`` reads them or as they stand in the file, or a trace.
        made: when, in words.
        notes: what a reader of a trace has to know besides.

    Raises:
        ReportError: one of the rows is none.
    """
    if isinstance(source, Trace):
        return _trace_page(title, source, made, notes)
    rows = [one for one in source if isinstance(one, Row)]
    return _bench_page(title, rows if len(rows) == len(source) else rows_of(source), made)


def _bench_page(title: str, rows: Sequence[Row], made: str) -> str:
    found = groups(rows)
    points = charts.points_each(len(rows))
    plan = next((row.plan for row in rows if row.plan), None)
    return render(
        "bench.html",
        {"groups": [charts.group_payload(group, points) for group in found]},
        title=title,
        version=program_version(),
        made=made,
        rows=rows,
        groups=found,
        suites=_all(row.suite for row in rows),
        seeds=_all(row.seed for row in rows),
        versions=_all(row.version for row in rows),
        span=span([row.when for row in rows if row.when]),
        references=[_references(group) for group in found],
        headline=[group.known(_named(HEADLINE)) for group in found],
        tables=TABLES,
        charted=[any(row.series.at for row in group.rows) for group in found],
        events=[_events(group) for group in found],
        search_figures=_named(SEARCHED),
        plan=msgspec.json.format(msgspec.json.encode(plan)).decode() if plan else "",
    )


def _all(values: Any) -> str:  # noqa: ANN401 - anything that can be written
    return ", ".join(dict.fromkeys(str(value) for value in values if value not in {None, ""}))


def _named(names: Sequence[str]) -> list[Figure]:
    return [EVERY[name] for name in names]


def _references(group: Group) -> list[str]:
    return [kind for kind in REFERENCES if any(kind in one.to for one in group.contenders)]


def _events(group: Group) -> list[tuple[float, str, str]]:
    """Return what happened at a second of counting, in words, and in which rows."""
    found: dict[tuple[float, str], list[str]] = {}
    for row in group.rows:
        for at, said in row.events:
            key = (round(at - row.series.counted_from, 1), said)
            found.setdefault(key, []).append(f"{row.contender}, block {row.block}")
    return [
        (at, said, "every row" if len(rows) == len(group.rows) else "; ".join(rows))
        for (at, said), rows in sorted(found.items())
    ]


CHARTS = (
    ("throughput", "Throughput, per second", "row changes and commits per second"),
    ("age", "Uncheckpointed bytes, MiB", "checkpoint age and modified age under max checkpoint age"),
    ("ratio", "Age ratio and set-point", "modified age over flush limit, and what the loop would hold"),
    ("capacity", "C and M, pages/s", "innodb_io_capacity and innodb_io_capacity_max"),
    ("pages", "Pages flushed per second", "all pages, sync flushing in red"),
    ("dirty", "Dirty pages, % of the buffer pool", "share of the buffer pool that is not on disk yet"),
    ("redo", "Redo written, MiB/s", "redo written per second"),
    ("latency", "Latency of writing statements, ms", "mean of each second"),
)


def _trace_page(title: str, trace: Trace, made: str, notes: Sequence[str]) -> str:
    tables = tracefigures.tables(trace)
    facts, settings = trace.run.facts, trace.run.settings
    return render(
        "trace.html",
        {"trace": tracefigures.payload(trace)},
        title=title,
        version=program_version(),
        made=made,
        facts=facts,
        span=f"{clock(trace.wall[0])} to {clock(trace.wall[-1])}",
        mode=_mode(trace),
        know=[*notes, *tracefigures.know_first(trace)],
        figures=tracefigures.figures(trace),
        charts=[(key, name, said, tables[key]) for key, name, said in CHARTS if key in tables],
        marked=bool(trace.decisions or trace.holds),
        decisions=_newest(trace.decisions),
        holds=_newest(trace.holds),
        events=_newest(trace.events),
        settings=[
            *((name, getattr(facts, name)) for name in facts.__struct_fields__),
            *((f"loop.{name}", getattr(settings, name)) for name in settings.__struct_fields__),
        ],
    )


def _newest(items: Sequence[T]) -> Newest[T]:
    return Newest(items[-MOST_LINES:], max(0, len(items) - MOST_LINES))


def _mode(trace: Trace) -> str:
    if not trace.active:
        return "Advisory throughout: nothing was written to the server."
    if trace.active == len(trace.at):
        return "Active throughout."
    return f"Active in {plain(float(trace.active))} of {plain(float(len(trace.at)))} ticks."
