"""The few lines of README.md that say what was gained and what was not; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from lab.experiment.plan import BEST
from lab.report.figures import COMPARED, UNKNOWN, Figure
from lab.report.figures import written as plainly
from lab.report.markdown import table
from lab.report.summary import Contender, Group, Outcome, against
from lab.report.words import conditions_said, ratio_said
from lab.results.page import COMMAND
from lab.results.suites import Published, Variant, ours, rival

BEGIN = f"<!-- Generated: {COMMAND} -->"
END = "<!-- End of what is generated -->"
PAGE = "docs/results/bench/README.md"


class Line(Struct, frozen=True):
    """What a line of the table is about: a variant of a suite, and the figure that tells most of it."""

    suite: str
    variant: str
    figure: str = "commits_mean"


LINES = (
    Line("contenders", ""),
    Line("disks", "600 writes/s"),
    Line("disks", "3000 writes/s"),
    Line("disks", "no limit"),
    Line("open", "open, 50 %", "latency_p99"),
    Line("open", "open, 50 %", "pages_per_commit"),
    Line("open", "open, 90 %", "latency_p99"),
    Line("open", "open, 90 %", "pages_per_commit"),
    Line("alternating", ""),
    Line("nothing-to-gain", "bound by processors"),
    Line("nothing-to-gain", "bound by the buffer pool"),
    Line("nothing-to-gain", "redo log too small"),
)
"""Under an offered rate everybody serves the same: what it costs tells them apart."""

HEAD = (
    "suite",
    "conditions",
    "figure",
    "default",
    "static",
    "ours",
    "against default",
    "against static",
)
SEARCHED = (
    "A static setting is the best one where it was searched for on that disk and load; any other was chosen"
    " beforehand."
)
WORDS: dict[Outcome, str] = {
    "gains": "gains",
    "loses": "**loses**",
    "no difference shown": "no difference shown",
    "equal": "equal",
    "better, no bounds": "better, no bounds",
    "worse, no bounds": "**worse**, no bounds",
}
_FIGURES = {one.name: one for one in COMPARED}


def replaced(readme: str, suites: Sequence[Published]) -> str:
    """Return a README with the table between its two marks made anew.

    Raises:
        ValueError: it has not both marks, each once and in order.
    """
    before, begin, rest = readme.partition(BEGIN)
    _old, end, after = rest.partition(END)
    if not begin or not end or BEGIN in rest or END in after:
        raise ValueError(f"README.md: needs the lines {BEGIN!r} and {END!r}, once each and in this order")
    return f"{before}{BEGIN}\n{lines(suites)}\n{END}{after}"


def lines(suites: Sequence[Published]) -> str:
    """Return the table, and what has no line in it yet."""
    rows: list[list[str]] = []
    missing: list[str] = []
    for line in LINES:
        found = list(_rows(line, suites))
        rows += found
        named = line.variant.startswith(line.suite)
        label = line.variant if named else f"{line.suite}: {line.variant}".removesuffix(": ")
        if not found and label not in missing:
            missing.append(label)
    parts = [table(HEAD, rows), SEARCHED] if rows else []
    parts += [f"No block measured yet: {'; '.join(missing)}."] if missing else []
    return "\n\n".join(parts)


def _rows(line: Line, suites: Sequence[Published]) -> Iterator[list[str]]:
    for suite in suites:
        for variant in suite.variants:
            if (suite.name, variant.plan.variant) == (line.suite, line.variant):
                yield from (_cells(line, variant, group) for group in variant.groups if group.contenders)


def _cells(line: Line, variant: Variant, group: Group) -> list[str]:
    figure = _FIGURES[line.figure]
    mine, other = ours(group), rival(group)
    default = next((one for one in group.contenders if one.kind == "default"), None)
    label = variant.plan.variant or f"disk {dict(conditions_said(group.conditions)).get('disk', '')}"
    return [
        f"[{line.suite}]({PAGE}#{line.suite})",
        label if variant.finished(group) else f"{label} ({variant.state(group)})",
        figure.title,
        _value(default, figure),
        _value(other, figure) + _set_to(other),
        _value(mine, figure),
        _compared(group, mine, default, figure),
        _compared(group, mine, other, figure),
    ]


def _set_to(static: Contender | None) -> str:
    """Return a static setting's C/M, and whether it was searched for where it was measured."""
    if static is None or not static.setting:
        return ""
    return f" ({'best: ' * (static.kind == BEST.kind)}{static.setting})"


def _value(one: Contender | None, figure: Figure) -> str:
    return UNKNOWN if one is None else plainly(one.figures.get(figure.name), figure.unit)


def _compared(group: Group, one: Contender | None, other: Contender | None, figure: Figure) -> str:
    """Return what follows from the bounds in words, and the ratio; a single block has no words."""
    if one is None or other is None:
        return UNKNOWN
    found = next((v for v in against(group, one.name, other.name) if v.name == figure.name), None)
    if found is None:
        return UNKNOWN
    return ", ".join(part for part in (ratio_said(found.ratio), WORDS.get(found.outcome, "")) if part)
