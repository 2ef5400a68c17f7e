"""The plot's file: looked at before a run that may take minutes, and written whole or not at all."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lab.plot.drawing import draw
from lab.report.files import replace_text
from lab.report.rows import ReportError

if TYPE_CHECKING:
    from lab.plot.course import Series
    from lab.scenarios.schema import Scenario
    from lab.simulate_result import Result

SUFFIX = ".svg"
TEMPLATE = "course.svg"

NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file may have, in whatever spelling."""


class PlotError(Exception):
    """A plot that cannot be where it is wanted; the message names the file and what would be right."""


def ready(path: Path) -> None:
    """Return if a plot can be written there; an existing file is left as it is.

    Raises:
        PlotError: another suffix, no such directory, or one that takes no file.
    """
    if path.suffix.lower() != SUFFIX:
        raise PlotError(f"{path}: a plot is SVG; name a file that ends in {SUFFIX}")
    try:
        _probe(path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise PlotError(
            f"{path}: no such file can be made in {path.parent.absolute()} ({why}); name one in a directory "
            "that you may write to"
        ) from error


def _probe(path: Path) -> None:
    """Make a file beside the one that is wanted, and take it away again."""
    if path.is_dir():
        raise PlotError(f"{path}: is a directory; name a file in it, such as {path / f'run{SUFFIX}'}")
    if not path.parent.is_dir():
        raise PlotError(f"{path}: there is no directory {path.parent}; make it, or name another")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.open("x").close()
    beside.unlink()


def write_plot(path: Path, series: Series, scenario: Scenario, result: Result) -> None:
    """Draw a run and put it in the file's place.

    Raises:
        PlotError: it cannot be written.
    """
    try:
        replace_text(path, rendered(series, scenario, result))
    except ReportError as error:
        raise PlotError(str(error)) from error


def rendered(series: Series, scenario: Scenario, result: Result) -> str:
    """Return the SVG of a run."""
    text = _environment().get_template(TEMPLATE).render(drawing=draw(series, scenario, result))
    return NOT_XML.sub("\ufffd", text)


@functools.cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
