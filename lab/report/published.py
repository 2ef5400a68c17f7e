"""The page of the published suites, and README.md's table, from their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from lab.experiment.plan import BEST
from lab.report.figures import COMPARED, UNKNOWN, Figure, plain, span, written
from lab.report.files import replace_text
from lab.report.markdown import bullets, table
from lab.report.rows import FILE_NAME, ReportError, Row
from lab.report.suites import (
    BENCH,
    SUITES,
    Published,
    Variant,
    beside,
    default_of,
    ordered,
    ours,
    read,
    rival,
)
from lab.report.summary import Contender, Group, Outcome, against, winner_sentences
from lab.report.words import (
    conditions_said,
    conditions_short,
    idle_said,
    lacking,
    ratio_said,
    refused,
    sentences,
)

README, PAGE = Path("README.md"), BENCH / "README.md"

COMMAND = "python -m lab.report"
WORDED = ("disk", "load", "server", "redo capacity", "set")
"""Conditions that the short form has already."""

CAP = 0.78
"""The alarm cap that the published rows were measured with; today's default is higher."""

POOR = ("no difference shown", "loses", "worse, no bounds")
INTRODUCTION = f"""\
<!-- Generated: {COMMAND} -->
# What the bench measured

Written by `{COMMAND}` from the rows beside this page, nothing by hand. `make prove PART=bench SUITE=NAME`
measures a suite again; `innobrim report docs/results/bench/NAME` makes its page with charts, CSV and JSON.
[The bench](../../bench.md) says what is done in a row and what each figure means.

- commits/s: mean of the blocks, and the slowest and the fastest of them. Ratios are paired by block, with
  95 % bounds (Student's t on logarithms). Where those include 1 nothing was gained, whatever the means say.
- p1 is the 1st percentile of the seconds, x the modified age over the flush limit. p1, latency, writes per
  commit and x are means of the blocks; sync pages, changes of C or M, and seconds are their sums.
- Variants were measured apart from each other, on a server each: no ratio between them is claimed.
- Every server ran without a binary log and with `O_DIRECT`; whatever else its conditions do not name is its
  version's default."""


def document(suites: Sequence[Published]) -> str:
    """Return the page."""
    there = {one.name for one in suites}
    missing = [name for name in SUITES if name not in there]
    parts = [INTRODUCTION]
    if missing:
        parts.append(f"Not begun: {', '.join(f'`{name}`' for name in missing)}.")
    for one in suites:
        parts += _suite(one, suites)
    return "\n\n".join(parts) + "\n"


def _suite(one: Published, suites: Sequence[Published]) -> Iterable[str]:
    yield f"## {one.name}"
    about = f"{one.asked.about} `{_command(one)}`"
    rows = any(variant.rows for variant in one.variants)
    yield about + (f"; [every row with one value a second]({one.name}/{FILE_NAME})." if rows else ".")
    for variant in one.variants:
        if variant.plan.variant:
            yield f"### {variant.plan.variant}"
        if variant.plan.article:
            yield f"> What an article measured with such settings, on its own scale: {variant.plan.article}."
        if not variant.groups:
            yield f"**Not measured yet:** 0 of {variant.plan.blocks} blocks."
        for group in variant.groups:
            yield from _group(one, variant, group, beside(variant, suites))


def _command(one: Published) -> str:
    """Return what measures it: of a suite that is run on several servers, with the server of this one."""
    if one.name in SUITES:
        return f"make prove PART=bench SUITE={one.name}"
    return f"innobrim bench --suite {one.asked.name} --server {one.asked.server} --output {BENCH}/{one.name}"


def _group(suite: Published, variant: Variant, group: Group, others: Sequence[str]) -> Iterable[str]:
    if not variant.finished(group):
        yield f"**Not finished:** {variant.state(group)}."
    yield _conditions(suite, variant, group)
    if group.contenders:
        yield _table(group)
        yield _comparison(group, planned=variant.with_ours())
    notes = [*lacking(group), *_cap(group), *idle_said(group), *others, *_search(group)]
    if notes:
        yield f"To know of these rows:\n{bullets(notes)}"


def _conditions(suite: Published, variant: Variant, group: Group) -> str:
    timing = variant.plan.timing
    rest = [f"{name} {said}" for name, said in conditions_said(group.conditions) if name not in WORDED]
    rows = [*group.rows, *group.search]
    parts = [
        conditions_short(group.conditions, refused=refused(group)),
        *rest,
        f"InnoBrim {_revisions(rows)}",
        f"{variant.done(group)} of {variant.plan.blocks} blocks",
        f"the order in each drawn by seed {suite.asked.seed}",
        f"{timing.settle_least:g} to {timing.settle_most:g} s to settle",
        f"{variant.plan.counted_seconds():g} s counted",
        span([row.when for row in rows if row.when]),
    ]
    return "; ".join(part for part in parts if part) + "."


def _revisions(rows: Sequence[Row]) -> str:
    found = dict.fromkeys(f"{row.version} {row.revision}".strip() for row in rows)
    return ", ".join(one for one in found if one) or "of a version that was not recorded"


def _table(group: Group) -> str:
    default = default_of(group)
    compared = [] if default is None else TO_DEFAULT[offered(group)]
    head = ["contender", "commits/s", *(title for title, _ in compared), "p1", "s below half the median"]
    reads = any(one.figures["read_latency_p99"] is not None for one in group.contenders)
    head += ["latency p99", *(["p99 of the reads"] if reads else []), "sync pages", "stall"]
    head += ["device writes per commit", "x mean (max)", "changes", "settled"]
    rows = []
    for one in ordered(group):
        found = {} if default is None else {v.name: v.ratio for v in against(group, one.name, default.name)}
        ratios = [UNKNOWN if one == default else ratio_said(found.get(figure)) for _, figure in compared]
        rows.append([name(one), _throughput(one), *ratios, *_figures(one, reads=reads)])
    return table(head, rows)


TO_DEFAULT = {
    False: [("ratio to default", "commits_mean")],
    True: [("p99 to default", "latency_p99"), ("pages per commit to default", "pages_per_commit")],
}
"""What is compared with the default: what it costs, where all serve an offered rate."""


def _figures(one: Contender, *, reads: bool) -> list[str]:
    figures = one.figures
    return [
        written(figures["commits_p1"]),
        written(figures["seconds_below_half_median"]),
        written(figures["latency_p99"], "ms"),
        *([written(figures["read_latency_p99"], "ms")] if reads else []),
        written(figures["sync_pages"]),
        written(figures["stall_seconds"], "s"),
        written(figures["device_writes_per_commit"]),
        f"{_two(figures['age_ratio_mean'])} ({_two(figures['age_ratio_max'])})",
        written(figures["knob_changes"]),
        f"{len(one.blocks) - len(one.unsettled)} of {len(one.blocks)}",
    ]


def name(one: Contender) -> str:
    """Return a contender's name, with its C/M where the name does not say them."""
    return one.name if not one.setting or one.setting in one.name else f"{one.name} {one.setting}"


def _throughput(one: Contender) -> str:
    values = one.blocks.values()
    if one.throughput is None or not values:
        return UNKNOWN
    spread = f" ({plain(min(values))} to {plain(max(values))})" if len(values) > 1 else ""
    return plain(one.throughput.mean) + spread


def _two(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def _comparison(group: Group, *, planned: bool) -> str:
    """Return where ours loses to any other or gains nothing, and against whom it gains all along."""
    mine = ours(group)
    if mine is None:
        return "Ours was not measured here yet." if planned else "Ours is no contender here."
    poor: list[str] = []
    gains: list[str] = []
    for other in ordered(group):
        if other.name == mine.name:
            continue
        verdicts = against(group, mine.name, other.name)
        if offered(group):  # everybody serves the same
            verdicts = [one for one in verdicts if one.name != "commits_mean"]
        found = sentences([one for one in verdicts if one.outcome in POOR])
        poor += found
        if not found and any(one.outcome == "gains" for one in verdicts):
            gains.append(other.name)
    if gains:
        poor.append(f"{mine.name} gains in every figure compared, or is equal, against {', '.join(gains)}.")
    return "Where ours loses or gains nothing:\n" + bullets(poor or ["nothing is claimed of single blocks."])


def offered(group: Group) -> bool:
    """Tell whether the load is an open one."""
    return bool(dict(group.conditions.get("load") or {}).get("rate"))


def _cap(group: Group) -> Iterable[str]:
    """Say where the checkpoint age of ours, or of the best static setting, passed what ours promises."""
    for one in ordered(group):
        highest = one.figures.get("checkpoint_ratio_max") or 0.0
        if highest > CAP and (one.ours or one.kind == "best static"):
            yield f"{one.name}: the checkpoint age reached {highest:.3f} of the redo capacity, above {CAP}"


def _search(group: Group) -> Iterable[str]:
    if group.search:
        tried = sorted({row.io_capacity_max or 0 for row in group.search}, reverse=True)
        yield f"the best static setting was searched for among M = {', '.join(map(str, tried))}"
        said = winner_sentences(group.search, group.rows)
        yield from said if group.rows else said[:1]  # the search goes on before the blocks


BEGIN = f"<!-- Generated: {COMMAND} -->"
END = "<!-- End of what is generated -->"


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

HEAD = ("suite", "conditions", "figure", "default", "static", "ours", "against default", "against static")
SEARCHED = (
    "A static setting is the best one where it was searched for on that disk and load; any other was chosen"
    " beforehand."
)
WORDS: dict[Outcome, str] = {
    "loses": "**loses**",
    "worse, no bounds": "**worse**, no bounds",
    "one block, nothing claimed": "",
}
"""Outcomes that are written otherwise than they are called."""

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
    default = default_of(group)
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
    return UNKNOWN if one is None else written(one.figures.get(figure.name), figure.unit)


def _compared(group: Group, one: Contender | None, other: Contender | None, figure: Figure) -> str:
    """Return what follows from the bounds in words, and the ratio; a single block has no words."""
    if one is None or other is None:
        return UNKNOWN
    found = next((v for v in against(group, one.name, other.name) if v.name == figure.name), None)
    if found is None:
        return UNKNOWN
    return ", ".join(
        part for part in (ratio_said(found.ratio), WORDS.get(found.outcome, found.outcome)) if part
    )


def stale(root: Path) -> dict[Path, str]:
    """Return which generated files of a checkout are not what its rows say, with what they should hold.

    Raises:
        ReportError: rows or README.md cannot be read, or README.md has no place for the table.
    """
    suites, readme = read(root / BENCH), root / README
    try:
        wanted = {
            root / PAGE: document(suites),
            readme: replaced(readme.read_text(encoding="utf-8"), suites),
        }
    except OSError as error:
        raise ReportError(f"{readme}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise ReportError(str(error)) from error
    return {
        path: text
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def write(root: Path) -> list[Path]:
    """Write the generated files that are stale, and return which; raises as ``stale``."""
    old = stale(root)
    for path, wanted in old.items():
        replace_text(path, wanted)
    return list(old)
