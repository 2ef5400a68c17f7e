"""docs/results/policies.md, made from the published lines alone; pure but for reading and writing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from lab.compare.summary import SETTLED
from lab.prove.claims import CLAIMS, OURS, PIECES, STATIC, UNTOUCHED, Verdict, judge_once
from lab.prove.contests import contests, ratio
from lab.prove.page import put, verdict
from lab.prove.policies import SUITES
from lab.prove.published import defaults_of, read
from lab.report.markdown import bullets, table
from lab.scenarios.trace import SETTLED_WITHIN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from lab.bench.statistics import Bounds
    from lab.prove.contests import Contest, Line

Worst = Callable[[Iterable[float]], float]

PAGE = "policies.md"
COMMAND = "make prove PART=policies"
WHOLE_FROM = 1000.0
NONE = "-"
NEVER = "never"

NAMES = {STATIC: "best static", PIECES: "best found by piece", UNTOUCHED: "as it starts"}

COLUMNS: tuple[tuple[str, str, Worst], ...] = (
    ("commits/s", "throughput_mean", min),
    ("1st percentile", "throughput_p1", min),
    ("pages per commit", "pages_per_commit", max),
    ("age ratio", "age_ratio_mean", max),
    ("highest", "age_ratio_max", max),
    ("sync s", "sync_flush_seconds", max),
    ("stall s", "stall_seconds", max),
    ("settled s", "settling_seconds", max),
    ("changes/h", "changes_per_hour", max),
    ("most in an hour", "changes_in_hour", max),
)
RATIOS = ("throughput_mean", "throughput_p1", "pages_per_commit")

BAND = f"Settled s is within {SETTLED_WITHIN:g}; the claim about settling has a wider band."
_SETTLING = textwrap.fill(
    f"- {SETTLED[0].upper()}{SETTLED[1:]}. The claim about settling has a wider band: beside that what "
    "the age wanders by under best static's M with the same seed, said beside each verdict.",
    width=105,
    subsequent_indent="  ",
)

INTRODUCTION = f"""\
<!-- Generated: python -m lab.prove --report -->
# Policies on the simulated server

Written by `python -m lab.prove --report` from the lines in `policies/`, nothing by hand.
`{COMMAND}` carries out up to an hour of it and goes on where it stopped; with `SUITE=NAME` only one of the
suites below. [How policies are compared](../policies.md#comparing-them) says what each figure is; the
server is [simulated](../simulate.md), and [this far from a real one](plant.md).

- Figures count from the second named beside the scenario to the end of the run, changes and settling over
  all of it. A cell has the mean of the seeds and, after the stroke, the worst of them. Ratios are contender
  over `{OURS}`, paired by seed, with 95 % bounds (Student's t on logarithms). Where those include 1 no
  difference was shown.
{_SETTLING}
- Best static is searched on three seeds (of 30 days on the first three) and judged on all: the best M
  without sync flush, with a first percentile of at least half the median, inside the alarm cap and the
  budgets of the policies. Best found by piece knows beforehand when load, disk or redo log change, and has
  an M for each piece; nobody proved that there is none better.
- I/O-bound is every moving scenario without a rate of its own: its clients wait for the device. A burst's
  excess is taken to fit the free redo where any contender came through without a stall ([how claims are
  judged](../decisions/judged-claims.md))."""


def write(directory: Path) -> Path:
    """Write the page from the lines in a directory of results, and return its path.

    Raises:
        ReportError: a file of lines is damaged.
    """
    suites = {name: read(directory, name) for name in SUITES}
    directory.mkdir(parents=True, exist_ok=True)
    return put(directory / PAGE, document(suites))


def document(suites: dict[str, list[Line]]) -> list[str]:
    """Return the parts of the page."""
    found = {name: contests(lines) for name, lines in suites.items()}
    missing = [f"`{name}`: {SUITES[name].about}" for name, lines in suites.items() if not lines]
    parts = [INTRODUCTION]
    every = [line for lines in suites.values() for line in lines]
    hashes = sorted({line.policies for line in every if line.policies})
    if len(hashes) > 1:
        parts.append(f"**Not all with the same policies: {', '.join(f'`{one}`' for one in hashes)}.**")
    if len({defaults_of(line) for line in every}) > 1:
        parts.append("**Not all with the same default settings.**")
    if any(line.trial for line in every):
        parts.append("**A trial with fewer seeds than the report asks for.**")
    if missing:
        parts.append("Not begun: " + "; ".join(missing) + ".")
    if alone := _without_statics(found):
        parts.append(f"Not finished, static settings are missing: {', '.join(alone)}.")
    parts += ["## Claims", *_claims(judge_once(found.values()))]
    for name, by_name in found.items():
        if by_name:
            parts += [f"## {name}: {SUITES[name].about}", f"`{COMMAND} SUITE={name}`"]
            parts += [part for one in by_name.values() for part in _scenario(one)]
    return parts


def _without_statics(found: Mapping[str, Mapping[str, Contest]]) -> list[str]:
    """Return the scenarios whose policies have been run, and not yet what is to be beside them."""
    return [
        f"`{scenario}`"
        for name, by_name in found.items()
        for scenario, contest in by_name.items()
        if SUITES[name].statics and UNTOUCHED not in contest.lines
    ]


def _claims(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a summary with a line for each claim, and all that was judged by."""
    lines: list[str] = []
    for name, words in CLAIMS.items():
        mine = [one for one in verdicts if one.claim == name]
        judged = [one for one in mine if one.met is not None]
        if not judged:
            lines.append(f"- not judged yet: {words}")
            continue
        lost = [one for one in judged if not one.met]
        failing = "; ".join(f"{one.scenario} {one.figure}" for one in lost)
        kept = f"{len(judged) - len(lost)} of {len(judged)} scenarios"
        lines.append(verdict(f"{words}: {kept}{f'; not in {failing}' if lost else ''}", met=not lost))
    if not verdicts:
        return ["\n".join(lines)]
    body = [[CLAIMS[one.claim], one.scenario, _word(one.met), one.figure] for one in _in_order(verdicts)]
    return ["\n".join(lines), table(["claim", "scenario", "", "by"], body)]


def _in_order(verdicts: Sequence[Verdict]) -> list[Verdict]:
    order = list(CLAIMS)
    return sorted(verdicts, key=lambda one: order.index(one.claim))


def _word(met: bool | None) -> str:  # noqa: FBT001 - a verdict
    return "not judged" if met is None else "met" if met else "**not met**"


def _hashes(contest: Contest) -> str:
    """Return the hashes of the code that decided; whose each is, where there are several."""
    names: dict[str, list[str]] = {}
    for line in contest.lines.values():
        if line.policies:
            names.setdefault(line.policies, []).append(line.contender)
    if len(names) == 1:
        return f"`{next(iter(names))}`"
    return ", ".join(f"`{one}` ({', '.join(whose)})" for one, whose in sorted(names.items()))


def _scenario(contest: Contest) -> list[str]:
    """Return a scenario's title and table."""
    one = contest.any
    ours = contest.lines.get(OURS)
    head = ["contender", *(title for title, _, _ in COLUMNS)]
    body = [[_name(line), *_cells(line)] for line in contest.lines.values()]
    about = (
        f"{one.seconds} s, counted from {one.measured_from} s, starts with {one.starts}; "
        f"{len(one.seeds)} seeds; plant `{one.plant}`, policies {_hashes(contest)}."
    )
    parts = [f"### {one.scenario}\n{about}", *(f"{note[0].upper()}{note[1:]}." for note in one.notes)]
    parts.append(table(head, body))
    if not one.moves:
        parts.append(BAND)
    if ours is not None:
        others = [line for name, line in contest.lines.items() if name != OURS]
        said = [_against(line, ours) for line in others]
        parts += [bullets(said)] if said else []
    return parts


def _name(line: Line) -> str:
    name = NAMES.get(line.contender, line.contender)
    return f"{name}, M = {', '.join(map(str, line.levels))}" if line.levels else name


def _against(line: Line, ours: Line) -> str:
    """Return a contender's ratios to ours in words."""
    titles = {metric: title for title, metric, _ in COLUMNS}
    said = [f"{titles[metric]} {_bounds(ratio(line, ours, metric))}" for metric in RATIOS]
    return f"{_name(line)} / {OURS}: {', '.join(said)}"


def _bounds(found: Bounds | None) -> str:
    if found is None:
        return NONE
    if found.low is None or found.high is None:
        return f"× {found.mean:.3f}"
    return f"× {found.mean:.3f} ({found.low:.3f}–{found.high:.3f})"


def _cells(line: Line) -> list[str]:
    """Return the mean and the worst of each metric."""
    cells: list[str] = []
    for _, metric, worst in COLUMNS:
        values = line.figures.get(metric, ())
        there = [one for one in values if one is not None]
        if not there:
            cells.append(NEVER if metric == "settling_seconds" and line.policies and not line.moves else NONE)
        elif len(there) < len(values):
            cells.append(f"{NEVER} with {len(values) - len(there)} of {len(values)}")
        else:
            mean = sum(there) / len(there)
            edge = worst(there)
            cells.append(_number(mean) if edge == mean else f"{_number(mean)} / {_number(edge)}")
    return cells


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= WHOLE_FROM else f"{value:.3g}"
