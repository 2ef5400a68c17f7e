"""Every contender of every comparison, on one page made from the rows: docs/results/bench/README.md.

What no row says stands in notes.toml beside it, by directory and variant.
"""

from __future__ import annotations

import itertools
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from lab.bench.store import ROWS
from lab.report.figures import UNKNOWN, Unit, plain, span, written
from lab.report.rows import ReportError, Row
from lab.report.summary import SEARCH, SEARCHED, ContenderSummary, Group, groups, winner_sentences
from lab.report.words import conditions_short, idle_text, lacking, ratio_text, verdict_sentences
from tools.kept import BENCH, UNTOUCHED, Comparison, Kept
from tools.markdown import table
from tuner.settings import Settings

PAGE = BENCH / "README.md"
NOTES = BENCH / "notes.toml"

Notes = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Sentences by directory and variant; those of the variant "" are of the whole directory."""

CAP = Settings().max_checkpoint_age_ratio

FIGURES: tuple[tuple[str, Unit], ...] = (
    ("commits_p1", ""),
    ("seconds_below_half_median", ""),
    ("latency_p99", "ms"),
    ("read_latency_p99", "ms"),
    ("sync_pages", ""),
    ("stall_seconds", "s"),
    ("device_writes_per_commit", ""),
    ("pages_per_commit", ""),
)
"""Names and units of the figures that have a column of their own."""

HEAD = (
    "contender",
    "commits/s",
    "ratio to default",
    "ratio to best static",
    "1st percentile",
    "s below half the median",
    "latency p99",
    "of reads",
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

[What was measured](../README.md) has three contenders of each comparison, side by side, and says which rows
are older than the policy in force. Here is every contender. `innobrim report docs/results/bench/DIRECTORY`
makes a page with charts, CSV and JSON of one directory, and [the bench](../../lab/bench.md) says what is done
in a row and what each figure means. `python -m tools.proof` makes this page from the rows and notes.toml.

- commits/s: mean of the blocks, and the slowest and the fastest of them. Ratios are paired by block, with
  95 % bounds (Student's t on logarithms). Percentile, latency, writes, pages and age ratio (modified age over
  flush limit) are means of the blocks; sync pages, stall, changes of io_capacity or io_capacity_max, and
  seconds below half the median are sums over the counted seconds, which differ where it is said.
- Gains, LOSES: the bounds leave 1 out. What was measured calls it LOSES by the mean alone, from 1 % less than
  untouched and 2 % less than best static on.
- Under a heading stands the command that measured it, at the revision named. DIRECTORY is a new one: with one
  that has its rows the bench goes on with those.
- Variants were measured apart from each other, on a server each: no ratio between them is claimed.
- Every server ran with `O_DIRECT`, and without a binary log where none is named. What its conditions do not
  name is its version's default.
"""


def read_notes(path: Path | None = None) -> Notes:
    """Return the notes of a file, which is notes.toml.

    Raises:
        ReportError: it is not there, or is something else; the message names it.
    """
    path = path or NOTES
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
        return msgspec.convert(given, dict[str, dict[str, tuple[str, ...]]])
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ReportError(f"{path}: no notes by directory and variant: {error}") from error


def page(kept: Sequence[Kept], notes: Notes) -> str:
    """Return the page, Markdown.

    Raises:
        ReportError: a note is of a directory or a variant that was never asked for.
    """
    asked = {one.directory.name: {"", *one.variants, *(row.variant for row in one.rows)} for one in kept}
    for directory, by_variant in notes.items():
        for variant in by_variant:
            if variant not in asked.get(directory, ()):
                raise ReportError(
                    f"{NOTES.name}: a note on {directory}, '{variant}', of which there are no rows: put them"
                    " back, or take the note out"
                )
    newest: dict[Comparison, str] = {}
    for one in sorted(kept, key=lambda one: max((row.when for row in one.rows), default="")):
        newest |= dict.fromkeys((one.comparison(row.variant) for row in one.rows), one.directory.name)
    parts = [INTRODUCTION]
    for suite, of_suite in itertools.groupby(sorted(kept, key=lambda one: one.suite), lambda one: one.suite):
        found = [(one, of_one) for one in of_suite if (of_one := [*_directory(one, notes, newest)])]
        abouts = [str(one.asked.get("about", "")) for one, _ in found]
        if not found:
            continue
        parts.append(f"## {suite}\n")
        for about, before, (_, of_one) in zip(abouts, ["", *abouts], found, strict=False):
            parts += [*([f"{about}\n"] if about != before else []), *of_one]
    return "\n".join(parts)


def _directory(kept: Kept, notes: Notes, newest: Mapping[Comparison, str]) -> Iterator[str]:
    """Yield the parts of one directory; ``newest`` is where each comparison was measured last."""
    name, of_notes = kept.directory.name, notes.get(kept.directory.name, {})
    found = [group for group in groups(kept.rows) if group.contenders]
    for variant, of_variant in itertools.groupby(found, lambda group: group.variant):
        last = newest[kept.comparison(variant)]
        for group in of_variant:
            again = "" if last == name else f"measured again later: {last}"
            yield f"### {', '.join(filter(None, (kept.server, variant, again)))}\n"
            yield from _section(kept, group)
        if variant and (mine := of_notes.get(variant)):
            yield _list(f"To know of {variant}", mine)
    if found and (whole := of_notes.get("")):
        yield _list(f"To know of all rows of {name}", whole)


def _section(kept: Kept, group: Group) -> Iterator[str]:
    """Yield the parts of rows under the same conditions."""
    search = group.search or tuple(row for row in kept.of(group.variant) if row.stage == SEARCH)
    rows = (*search, *group.rows)
    if article := group.rows[0].plan.get("article"):
        yield f"> What an article measured with such settings, on its own scale: {article}\n"
    about = (
        conditions_short(group.conditions, refused=bool(group.not_limited)),
        f"buffer pool {written(group.conditions.get('buffer_pool'), 'B')}",
        *([f"indexes filled to {filled} %"] if (filled := group.conditions.get("fill_factor")) else []),
        f"{group.conditions.get('processors', 'unknown')} processors",
        f"InnoBrim {', '.join(dict.fromkeys(_revision(row) for row in rows))}",
        f"{len(group.blocks)} of {max(int(row.plan.get('blocks', 0)) for row in group.rows)} blocks",
        f"{_seconds(row.settle_seconds for row in group.rows)} to settle",
        f"{_seconds(row.figure('seconds') for row in group.rows)} counted",
        span([row.when for row in rows]),
        f"[every row]({kept.directory.name}/{ROWS})",
    )
    yield "; ".join(about) + f".\n`{_command(kept, group)}`\n"
    yield table(HEAD, [tuple(_cells(one)) for one in group.contenders]) + "\n"
    if known := [*_known(group, search)]:
        yield _list("To know of these rows", known)


def _list(title: str, sentences: Sequence[str]) -> str:
    return f"{title}:\n\n" + "".join(f"- {one}\n" for one in sentences)


def _revision(row: Row) -> str:
    commit, dirty, _ = row.revision.partition("-dirty")
    return (commit[:8] or "no commit") + dirty


def _seconds(found: Iterable[float | None]) -> str:
    """Return the least and the most of some seconds."""
    known = sorted(round(one) for one in found if one is not None)
    return " to ".join(dict.fromkeys(map(str, (known[0], known[-1])))) + " s" if known else "unknown"


def _command(kept: Kept, group: Group) -> str:
    """Return what measured a group; in the shell's own quotes, as a variant's name has blanks."""
    words = ["innobrim", "bench", "--suite", kept.suite, "--server", kept.server]
    words += ["--variant", group.variant] if group.variant else []
    if "Changed: contenders=" in str(kept.asked.get("about", "")):
        words += ["--set", f"contenders={','.join(group.rows[0].plan['contenders'])}"]
    return shlex.join([*words, "--seed", str(group.rows[0].seed), "--output", "DIRECTORY"])


def _cells(one: ContenderSummary) -> Iterator[str]:
    figures, rates = one.figures, list(one.blocks.values())
    yield f"{one.name} {one.setting}" if one.setting and one.setting != one.name else one.name
    spread = f" ({plain(min(rates))} to {plain(max(rates))})" if len(rates) > 1 else ""
    yield written(figures.get("commits_mean")) + spread
    yield from (
        ratio_text(one.to.get(kind)) if one.kind != kind else UNKNOWN for kind in (UNTOUCHED, SEARCHED)
    )
    yield from (written(figures.get(name), unit) for name, unit in FIGURES)
    yield f"{_ratio(figures.get('age_ratio_mean'))} ({_ratio(figures.get('age_ratio_max'))})"
    yield written(figures.get("knob_changes"))
    yield f"{len(rates) - len(one.unsettled)} of {len(rates)}"


def _ratio(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def _known(group: Group, search: Sequence[Row]) -> Iterator[str]:
    """Yield what the rows themselves say a reader has to know."""
    yield from (one.text for one in verdict_sentences(group))
    yield from lacking(group)
    for one in group.contenders:
        highest = one.figures.get("checkpoint_ratio_max")
        if highest is not None and highest > CAP and (one.ours or one.kind == SEARCHED):
            yield f"{one.name}: the checkpoint age reached {highest:.3f} of the redo capacity, above {CAP}"
    yield from idle_text(group)
    if search:
        tried = ", ".join(str(row.io_capacity_max) for row in search)
        yield f"the best static setting was searched for among M = {tried}"
    yield from winner_sentences(search, group.rows)
