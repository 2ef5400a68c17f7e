"""A comparison of policies as a table for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.compare.summary import METRICS, SETTLED
from tuner.cli.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.compare.summary import Contender, Group, Value

NAME = 22
CELL = 13
TITLES = {
    "static": "best static",
    "pieces": "clairvoyant",
    "untouched": "as it starts",
}
BEST_FOUND = (
    "clairvoyant: the best M found for each piece, load and disk known beforehand; not proven to be the best"
)
SETTLED_NOTE = (
    f"{SETTLED}; the report's claim about settling has a wider band: beside that what the age wanders by "
    "under best static's M"
)
NEVER = "never"
NONE = "-"
WHOLE_FROM = 1000.0


def told(group: Group, reference: str) -> list[str]:
    """Return one scenario in lines.

    Args:
        group: its contenders, the reference first.
        reference: what the ratios are to.
    """
    seeds = max(one.seeds for one in group.contenders)
    span = f"{group.seconds} s, counted from {group.measured_from} s"
    lines = [
        f"{group.scenario}: {span}, {counted(seeds, 'seed')}",
        " " * NAME + "".join(f"{metric.title:>{CELL}}" for metric in METRICS),
    ]
    for one in group.contenders:
        none = NEVER if one.policy and not group.moves else NONE
        values = [one.values[metric.name] for metric in METRICS]
        lines.append(_line(_title(one, seeds), [_number(value.mean, none) for value in values]))
        if one.seeds > 1:
            lines.append(_line("  worst", [_number(value.worst, none) for value in values]))
        if any(value.ratio is not None for value in values):
            lines.append(_line(f"  / {reference}", [_ratio(value) for value in values]))
            if one.seeds > 1:
                lines.append(_line("  95 %", [_bounds(value) for value in values]))
    for one in group.contenders:
        if one.levels:
            lines.append(f"  {TITLES[one.name]}: M = {', '.join(map(str, one.levels))}")
        if one.name == "pieces":
            lines.append(f"  {BEST_FOUND}")
    if not group.moves:
        lines.append(f"  {SETTLED_NOTE}")
    return [*lines, *(f"  {note}" for note in group.notes)]


def _title(one: Contender, seeds: int) -> str:
    title = TITLES.get(one.name, one.name)
    return title if one.seeds == seeds else f"{title} ({counted(one.seeds, 'seed')})"


def _line(title: str, cells: Sequence[str]) -> str:
    """Return a title and its cells in a line."""
    return f"{title:<{NAME}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


def _ratio(value: Value) -> str:
    return NONE if value.ratio is None else f"{value.ratio.mean:.3f}"


def _bounds(value: Value) -> str:
    ratio = value.ratio
    return NONE if ratio is None or ratio.low is None else f"{ratio.low:.3f}-{ratio.high:.3f}"


def _number(value: float | None, none: str) -> str:
    """Return a figure with about four digits."""
    if value is None:
        return none
    return f"{value:.0f}" if abs(value) >= WHOLE_FROM else f"{value:.4g}"
