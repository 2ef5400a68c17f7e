"""Published lines of compared policies: written, read, and taken for what a run now would give again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lab.bench.ledger import read_rows
from lab.compare.revision import policies_revision
from lab.compare.task import defaults_revision
from lab.prove.contests import Line, contests, parse
from lab.report.files import replace_text
from lab.report.rows import ReportError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lab.compare.asked import Asked

DIRECTORY = Path("policies")
"""Where the lines lie, under the directory of results."""

FIRST_DEFAULTS = "e6d097732f71"
"""What ``defaults_revision`` gave when lines began to say theirs; those without one are taken to be of it."""

Lines = dict[str, dict[str, Line]]
"""By scenario and contender."""


def read(results: Path, suite: str) -> list[Line]:
    """Return the lines of a suite, none where it was not begun.

    Raises:
        ReportError: the file is damaged.
    """
    path = results / DIRECTORY / f"{suite}.jsonl"
    try:
        return parse(read_rows(path))
    except (ValueError, msgspec.ValidationError) as error:
        raise ReportError(f"{path}: {error}") from error


def publish(results: Path, suite: str, lines: list[Line]) -> None:
    """Write the lines of a suite; where there are none, what was published stays."""
    if not lines:
        return
    directory = results / DIRECTORY
    directory.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(msgspec.to_builtins(line)) + "\n" for line in lines)
    replace_text(directory / f"{suite}.jsonl", text)


def standing(asked: Asked, lines: Iterable[Line], *, trial: bool = False) -> Lines:
    """Return the lines that the same runs would give again.

    They are of the same plant, seeds, lengths and code, of the default settings and the rows' schema of now.
    """
    found = comparable(asked, lines, trial=trial)
    revision, defaults = {"", policies_revision()}, defaults_revision()
    return {
        name: {
            contender: line
            for contender, line in by_contender.items()
            if line.policies in revision and defaults_of(line) == defaults
        }
        for name, by_contender in found.items()
    }


def defaults_of(line: Line) -> str:
    """Return the hash of the schema and the default settings that a line was made with."""
    return line.defaults or FIRST_DEFAULTS


def comparable(asked: Asked, lines: Iterable[Line], *, trial: bool = False) -> Lines:
    """Return the lines of the same plant, seeds and lengths, whichever code and settings decided in them.

    They stay published until the runs of now are whole: a report that is gone on with in parts of an hour
    would have holes otherwise, and what is missed could drop out of it.
    """
    scenarios = {one.name: one for one in asked.scenarios}
    found: list[Line] = []
    for line in lines:
        scenario = scenarios.get(line.scenario)
        if scenario is None:
            continue
        seeded = asked.seeded(scenario)
        if (line.plant, line.seconds, line.measured_from, line.seeds, line.trial) == (
            seeded[0].plant.fingerprint(),
            scenario.seconds,
            scenario.measured_from,
            tuple(one.seed for one in seeded),
            trial,
        ):
            found.append(line)
    return {name: contest.lines for name, contest in contests(found).items()}
