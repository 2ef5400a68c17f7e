"""What a page carries within itself: styles and scripts, our own and uPlot's."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec import Struct

import api
from lab.report import figures, winners, words
from lab.report.clock import clock

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
    """Return a page; every value but the assets and the payload is escaped.

    Args:
        template: file name.
        payload: what the charts are drawn from.
        values: what the template names.
    """
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
        "conditions_short": words.conditions_short,
        "verdict_sentences": words.verdict_sentences,
        "heading": words.heading,
        "winner_sentences": winners.winner_sentences,
        "lacking": lambda group: [*words.lacking(group), *words.idle_said(group, only_busy=True)],
        "clock": clock,
    }
    return made


def _own(path: Path) -> Markup:
    return Markup(path.read_text(encoding="utf-8"))  # noqa: S704 - a file of this package
