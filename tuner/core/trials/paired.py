"""The figures of a trial's pairs: each one's ratio with its 95 % bounds, and what they show.

Each pair gives one log ratio, ours over the baseline; their mean has bounds by Student's t. The order within
a pair is drawn, so that a load which grows or falls takes no side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from msgspec import Struct

from tuner.core.trials.switchback import EQUAL
from tuner.records import PairedRatio, TrialResult, TrialSide, TrialVerdict

FEWEST = 2  # Pairs that bounds need

_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)
"""Student's t, two-sided 95 %, for 1 to 12 degrees of freedom."""

TELLING = 0.01  # Difference, as ln, that more hours are worked out for

LOSS = 0.02
"""Loss of commits/s, as ln, that no saving of pages outweighs: only where it is excluded do pages decide."""


class Figures(Struct, frozen=True):
    """The counted part of one block; rates are per second."""

    commits: float
    row_changes: float
    pages_per_row: float  # pages dirtied, which at rest is those written, for each row change
    page_writes: float
    latency: float | None  # mean time of a writing statement, seconds; None where it is not shown
    redo_rate: float = 0.0  # bytes/s; 0 in what was kept before it was
    age_ratio: float = 0.0  # at the end of the block; 0 in what was kept before it was


class Pair(Struct, frozen=True):
    """Two neighbouring blocks, one of each side."""

    baseline: Figures
    ours: Figures


MEASURES: dict[str, tuple[str, str, bool]] = {
    "commits": ("commits/s", "{:.0f}", True),
    "row_changes": ("row changes/s", "{:.0f}", True),
    "pages_per_row": ("pages per row change", "{:.3g}", False),
    "page_writes": ("page writes/s", "{:.0f}", False),
    "latency": ("write latency", "{:.3g} s", False),
}
"""Each figure by its field of the result: its name, how it is written, and whether more is better."""


def t95(freedom: int) -> float:
    """Return t for so many degrees of freedom; beyond the table 1.96 + 2.5 / n, within 0.01 of it."""
    return _T95[freedom - 1] if freedom <= len(_T95) else 1.96 + 2.5 / freedom


def paired(pairs: Sequence[Pair], figure: str) -> PairedRatio | None:
    """Return one figure of both sides and its ratio; None with fewer than two pairs, or where unseen."""
    seen = [(getattr(one.baseline, figure), getattr(one.ours, figure)) for one in pairs]
    if len(seen) < FEWEST or any(not one or one <= 0.0 for both in seen for one in both):
        return None
    baseline, ours = ([math.log(both[place]) for both in seen] for place in (0, 1))
    ratios = [new - old for old, new in zip(baseline, ours, strict=True)]
    mean, half = fmean(ratios), t95(len(ratios) - 1) * stdev(ratios) / math.sqrt(len(ratios))
    return PairedRatio(
        baseline=math.exp(fmean(baseline)),
        ours=math.exp(fmean(ours)),
        ratio=math.exp(mean),
        low=math.exp(max(-700.0, mean - half)),
        high=math.exp(min(700.0, mean + half)),
    )


def judged(found: dict[str, PairedRatio | None]) -> tuple[TrialVerdict, str]:
    """Return what the figures show, and by which of them.

    Commits count first, or row changes where commits are not counted. Where these show no difference, as
    under a load that is offered at a rate of its own, the pages for each row change decide, but for no side
    whose commits may be lower by more than ``LOSS``.
    """
    first = _work(found["commits"])
    work, pages = found[first], found["pages_per_row"]
    if work is None:
        return TrialVerdict.TOO_FEW, ""
    if (shown := _shown(work)) != 0:
        return (TrialVerdict.BETTER if shown > 0 else TrialVerdict.WORSE), first
    if pages is None:
        return TrialVerdict.TOO_FEW, ""
    if _shown(pages) < 0 and math.log(work.low) > -LOSS:
        return TrialVerdict.BETTER, "pages_per_row"
    if _shown(pages) > 0 and math.log(work.high) < LOSS:
        return TrialVerdict.WORSE, "pages_per_row"
    return TrialVerdict.NO_DIFFERENCE, first


def _work(commits: PairedRatio | None) -> str:
    """Return the figure that counts first."""
    return "commits" if commits is not None else "row_changes"


def _shown(one: PairedRatio) -> int:
    """Return 1 where a figure is surely higher with ours, -1 where it is surely lower, else 0."""
    return (math.log(one.low) > EQUAL) - (math.log(one.high) < -EQUAL)


def more_hours(one: PairedRatio, pairs: int, pair_seconds: float) -> float:
    """Return the hours more until the bounds would be as narrow as to show a difference of one per cent."""
    half = math.log(one.high / one.low) / 2.0
    deviation = half * math.sqrt(pairs) / t95(pairs - 1)
    needed = max(FEWEST, math.ceil((2.0 * deviation / TELLING) ** 2))
    return max(0, needed - pairs) * pair_seconds / 3600.0


def verdict_text(result: TrialResult) -> str:
    """Return what a trial came to, or has come to so far, in one sentence."""
    if result.verdict is TrialVerdict.TOO_FEW:
        yet = " yet" if result.ended is None else ""
        return f"no verdict{yet}: {pairs_text(result.pairs)} counted, and bounds need two"
    name, _, more = MEASURES[result.by]
    ratio = getattr(result, result.by)
    if result.verdict is TrialVerdict.NO_DIFFERENCE:
        hours, pages = result.more_hours or 0.0, result.pages_per_row
        longer = f"; {max(hours, 0.1):.1f} hours more would show one of about 1 %" if hours > 0.0 else ""
        apart = 0 if pages is None else _shown(pages)
        fewer, lose = ("fewer", "lose") if apart < 0 else ("more", "gain")
        only = f"; {fewer} pages decide only where {name} surely {lose} less than {100 * LOSS:g} %"
        return f"no difference could be shown: {name} {bounds_text(ratio)}{only if apart else ''}{longer}"
    word = "more" if ratio.ratio > 1.0 else "fewer"
    low, high = sorted((abs(ratio.low - 1.0), abs(ratio.high - 1.0)))
    size = f"{abs(ratio.ratio - 1.0):.1%} {word} {name} ({low:.1%} to {high:.1%})"
    better = "better" if result.verdict is TrialVerdict.BETTER else "worse"
    first = _work(result.commits)
    work = "" if more else f", with {MEASURES[first][0]} {bounds_text(getattr(result, first))}"
    return f"InnoBrim's values are {better} than the baseline: {size}{work}"


def bounds_text(one: PairedRatio) -> str:
    """Return a ratio as a change with its bounds."""
    return f"{one.ratio - 1.0:+.1%} ({one.low - 1.0:+.1%} to {one.high - 1.0:+.1%})"


def figure_texts(result: TrialResult) -> list[str]:
    """Return a line for each figure: baseline, ours, and the change with its bounds."""
    lines = []
    for figure, (name, form, _) in MEASURES.items():
        one: PairedRatio | None = getattr(result, figure)
        if one is not None:
            both = f"{form.format(one.baseline)} → {form.format(one.ours)}"
            lines.append(f"{name}: {both}, {bounds_text(one)}")
        elif result.pairs >= FEWEST:
            lines.append(f"{name}: the server does not show it")
    return lines


def pairs_text(count: int) -> str:
    """Return so many pairs of blocks in words."""
    return f"{count or 'no'} pair{'' if count == 1 else 's'} of blocks"


def side_text(side: TrialSide) -> str:
    """Return whose values a block has, in words."""
    return "the baseline's values" if side is TrialSide.BASELINE else "InnoBrim's values"
