"""A page as one HTML text that needs nothing else: templates, styles, scripts and data in one."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import api
from lab.report import figures, summary, words
from tuner.system.version import program_version

HERE = Path(__file__).parent
UPLOT = Path(api.__file__).parent / "static" / "vendor" / "uplot"
"""The same files that the daemon's page loads: one version of the library, one record of its sums."""


def render(template: str, payload: object, **values: Any) -> str:  # noqa: ANN401 - whatever the template names
    """Return a page with what its charts are drawn from; every value but that and the assets is escaped."""
    return (
        _environment()
        .get_template(template)
        .render(assets=_assets(), payload=_embedded(payload), version=program_version(), **values)
    )


def _embedded(payload: object) -> Markup:
    """Return JSON that no reader of HTML can mistake for an end of the script or for a comment."""
    text = msgspec.json.encode(payload).decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704 - the signs that mean something in HTML are gone


@functools.cache
def _assets() -> dict[str, str]:
    """Return texts that go into a page as they are."""
    files = {
        "uplot_css": UPLOT / "uPlot.min.css",
        "uplot_js": UPLOT / "uPlot.iife.min.js",
        "page_css": HERE / "page.css",
        "page_js": HERE / "page.js",
    }
    texts = {name: Markup(path.read_text(encoding="utf-8")) for name, path in files.items()}  # noqa: S704 - files of this package
    vendored = tomllib.loads((UPLOT / "VENDORED.toml").read_text(encoding="utf-8"))
    return {**texts, "uplot_version": vendored["version"]}


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
        "clock": figures.clock,
        "mean_text": words.mean_text,
        "ratio_text": words.ratio_text,
        "conditions_text": words.conditions_text,
        "verdict_sentences": words.verdict_sentences,
        "heading": words.heading,
        "winner_sentences": summary.winner_sentences,
        "lacking": lambda group: [*words.lacking(group), *words.idle_text(group)],
    }
    return made
