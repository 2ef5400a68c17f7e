"""Every contender of every comparison, on one page made from the rows: docs/results/bench/README.md.

What no row says stands in notes.toml beside it, by directory and variant.
"""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from lab.bench.store import ROWS
from lab.report.figures import plain, span, written
from lab.report.rows import ReportError
from lab.report.summary import SEARCHED, ContenderSummary, Group, groups, winner_sentences
from lab.report.words import conditions_short, idle_text, lacking, ratio_text, verdict_sentences
from tools.kept import BENCH, Kept
from tools.markdown import table
from tuner.settings import Settings

PAGE = BENCH / "README.md"
NOTES = BENCH / "notes.toml"

Notes = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Sentences by directory and variant; those of the variant "" are of the whole directory."""

UNTOUCHED = "default"
CAP = Settings().max_checkpoint_age_ratio

HEAD = (
    "contender",
    "commits/s",
    "ratio to default",
    "ratio to best static",
    "1st percentile",
    "s below half the median",
    "latency p99",
    "sync pages",
    "stall",
    "device writes per commit",
    "pages per commit",
    "age ratio (highest)",
    "changes",
    "settled",
)

INTRODUCTION = """\
# What the bench measured

`python -m tools.proof` makes this page from the rows and notes.toml beside it. [What was
measured](../README.md) has three contenders of each comparison, side by side. `innobrim report
docs/results/bench/DIRECTORY` makes a page with charts, CSV and JSON of one directory, and [the
bench](../../lab/bench.md) says what is done in a row and what each figure means.

- commits/s: mean of the blocks, and the slowest and the fastest of them. Ratios are paired by block, with
  95 % bounds (Student's t on logarithms); where those include 1 no difference was shown. Percentile, latency,
  writes, pages and age ratio (modified age over flush limit) are means of the blocks; sync pages, stall,
  changes of io_capacity or io_capacity_max, and seconds are sums.
- A server is one of `make servers`. Variants were measured apart from each other, on a server each: no ratio
  between them is claimed.
- Every server ran with `O_DIRECT`, and without a binary log where none is named. What its conditions do not
  name is its version's default.
"""


def read_notes(path: Path = NOTES) -> Notes:
    """Return the notes of a file.

    Raises:
        ReportError: it is not there, or is something else; the message names it.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(given, dict[str, dict[str, tuple[str, ...]]])
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ReportError(f"{path}: no notes by directory and variant: {error}") from error


def page(kept: Sequence[Kept], notes: Notes) -> str:
    """Return the page, Markdown.

    Raises:
        ReportError: a note is of a directory or a variant that has no rows.
    """
    found = [(one, group) for one in kept for group in groups(one.rows) if group.contenders]
    places = {(one.directory.name, group.variant) for one, group in found}
    for directory, by_variant in notes.items():
        for variant in by_variant:
            if (directory, variant) not in places and (variant or directory not in dict(places)):
                raise ReportError(f"{NOTES.name}: a note on {directory}, '{variant}', which has no rows")
    times = Counter(one.comparison(group.variant) for one, group in found)
    parts = [INTRODUCTION]
    by_suite = sorted(found, key=lambda pair: pair[0].suite)
    for suite, pairs in itertools.groupby(by_suite, key=lambda pair: pair[0].suite):
        of_suite = list(pairs)
        parts += [f"## {suite}\n", f"{of_suite[-1][0].asked.get('about', '')}\n"]
        for one, of_directory in itertools.groupby(of_suite, key=lambda pair: pair[0]):
            of_notes = notes.get(one.directory.name, {})
            for _, group in of_directory:
                again = times[one.comparison(group.variant)] > 1
                parts += _section(one, group, of_notes.get(group.variant, ()), again=again)
            if whole := of_notes.get("", ()):
                parts.append(_list(f"To know of all rows of {one.directory.name}", whole))
    return "\n".join(parts)


def _section(kept: Kept, group: Group, notes: Sequence[str], *, again: bool) -> Iterator[str]:
    """Yield the parts of one comparison; ``again``: it was measured more than once."""
    which = f"rows of {kept.directory.name}" if again else ""
    yield f"### {', '.join(filter(None, (kept.server, group.variant, which)))}\n"
    rows = group.rows
    if article := rows[0].plan.get("article"):
        yield f"> What an article measured with such settings, on its own scale: {article}\n"
    of = max(int(row.plan.get("blocks", 0)) for row in rows)
    revisions = ", ".join(dict.fromkeys(row.revision[:8] or "no commit" for row in rows))
    about = (
        conditions_short(group.conditions, refused=bool(group.not_limited)),
        f"buffer pool {written(group.conditions['buffer_pool'], 'B')}",
        f"{group.conditions.get('processors', 'unknown')} processors",
        f"InnoBrim {revisions}",
        f"{len(group.blocks)} of {of} blocks, seed {rows[0].seed}",
        span([row.when for row in rows]),
        f"[every row]({kept.directory.name}/{ROWS})",
    )
    yield "; ".join(about) + f".\n`{_command(kept, group)}`\n"
    yield table(HEAD, [tuple(_cells(one, len(group.blocks))) for one in group.contenders]) + "\n"
    if known := [*_known(group), *notes]:
        yield _list("To know of these rows", known)


def _list(title: str, sentences: Sequence[str]) -> str:
    return f"{title}:\n\n" + "".join(f"- {one}\n" for one in sentences)


def _command(kept: Kept, group: Group) -> str:
    variant = f" ARGS=\"--variant '{group.variant}'\"" if group.variant else ""
    rows = f"ROWS=docs/results/bench/{kept.directory.name} SEED={group.rows[0].seed}"
    return f"make prove SUITE={kept.suite} SERVER={kept.server} {rows}{variant}"


def _cells(one: ContenderSummary, blocks: int) -> Iterator[str]:
    figures, rates = one.figures, list(one.blocks.values())
    yield f"{one.name} {one.setting}" if one.setting and one.setting != one.name else one.name
    mean = figures.get("commits_mean")
    spread = f" ({plain(min(rates))} to {plain(max(rates))})" if len(rates) > 1 else ""
    yield written(mean) + spread
    yield from (ratio_text(one.to.get(kind)) if one.kind != kind else "–" for kind in (UNTOUCHED, SEARCHED))
    yield written(figures.get("commits_p1"))
    yield written(figures.get("seconds_below_half_median"))
    yield written(figures.get("latency_p99"), "ms")
    yield written(figures.get("sync_pages"))
    yield written(figures.get("stall_seconds"), "s")
    yield written(figures.get("device_writes_per_commit"))
    yield written(figures.get("pages_per_commit"))
    yield f"{_ratio(figures.get('age_ratio_mean'))} ({_ratio(figures.get('age_ratio_max'))})"
    yield written(figures.get("knob_changes"))
    yield f"{blocks - len(one.unsettled)} of {blocks}"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _known(group: Group) -> Iterator[str]:
    """Yield what the rows themselves say a reader has to know."""
    yield from (one.text for one in verdict_sentences(group) if one.loses)
    yield from lacking(group)
    for one in group.contenders:
        highest = one.figures.get("checkpoint_ratio_max")
        if highest is not None and highest > CAP and (one.ours or one.kind == SEARCHED):
            yield f"{one.name}: the checkpoint age reached {highest:.3f} of the redo capacity, above {CAP}"
    yield from idle_text(group)
    if tried := [str(row.io_capacity_max) for row in group.search]:
        yield f"the best static setting was searched for among M = {', '.join(tried)}"
    yield from winner_sentences(group.search, group.rows)
