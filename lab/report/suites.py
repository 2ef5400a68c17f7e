"""The published suites: what each was asked for and measured, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from lab.experiment.plan import Asked, Plan, parse_contender
from lab.experiment.store import BENCH as ASKED
from lab.report.rows import FILE_NAME, ReportError, Row, read_rows
from lab.report.summary import LEFT_OUT, Contender, Group, groups
from lab.statistics import FEWEST

BENCH = Path("docs/results/bench")
"""Where they lie in a checkout."""


SUITES = (
    *("contenders", "disks", "ladder", "open", "alternating", "nothing-to-gain", "seeds", "claims"),
    *("restless", "hold", "surge", "recovery"),
)
"""What is published, in the order of the page; ``quick`` and ``smoke`` are for a first look."""

KINDS = ("default", "static", "folk", "sync", "best static", "policy")
"""Order of contenders: what everybody has first, ours last."""

OURS = "ours"


class Variant(Struct, frozen=True):
    """One plan of a suite.

    Attributes:
        plan: what was asked for.
        rows: everything measured of it.
        groups: its rows by their conditions; more than one where a limit was refused in some of them.
    """

    plan: Plan
    rows: tuple[Row, ...]
    groups: tuple[Group, ...]

    def done(self, group: Group) -> int:
        """Return of how many blocks every contender's row is there."""
        absent = {row.contender for row in self.rows if row.stage == LEFT_OUT}
        wanted = {parse_contender(word).name for word in self.plan.contenders} - absent
        measured = {(row.block, row.contender) for row in group.rows}
        return sum(all((block, name) in measured for name in wanted) for block in group.blocks)

    def state(self, group: Group) -> str:
        """Return how far it is, in words; a variant that is finished says how many blocks it has."""
        done, planned = self.done(group), self.plan.blocks
        if done >= planned:
            return f"{planned} blocks" if planned > 1 else "1 block, no bounds"
        return f"{done} of {planned} blocks" + (", no bounds yet" if done < FEWEST else "")

    def with_ours(self) -> bool:
        """Tell whether one of ours is among the contenders."""
        return any(parse_contender(word).policy is not None for word in self.plan.contenders)

    def finished(self, group: Group) -> bool:
        """Tell whether every block is whole."""
        return self.done(group) >= self.plan.blocks


class Published(Struct, frozen=True):
    """One suite, with its directory's name and all its variants, measured or not."""

    name: str
    asked: Asked
    variants: tuple[Variant, ...]


def read(directory: Path) -> list[Published]:
    """Return the suites that lie in a directory, in the order of the page.

    Raises:
        ReportError: one of them cannot be read.
    """
    found = sorted(path.parent for path in directory.glob(f"*/{ASKED}"))
    found.sort(key=lambda path: SUITES.index(path.name) if path.name in SUITES else len(SUITES))
    return [_published(path) for path in found]


def _published(directory: Path) -> Published:
    asked_in = directory / ASKED
    try:
        asked = msgspec.json.decode(asked_in.read_bytes(), type=Asked)
    except (msgspec.DecodeError, OSError) as error:
        raise ReportError(f"{asked_in}: not what a bench was asked for: {error}") from error
    path = directory / FILE_NAME
    rows = read_rows(path) if path.exists() and path.stat().st_size else []
    by_variant = {plan.variant: [row for row in rows if row.variant == plan.variant] for plan in asked.plans}
    strange = {row.variant for row in rows} - by_variant.keys()
    if strange:
        raise ReportError(f"{path}: has rows of variants that {ASKED} has not: {', '.join(sorted(strange))}")
    return Published(
        name=directory.name,
        asked=asked,
        variants=tuple(
            Variant(plan=plan, rows=tuple(found), groups=tuple(groups(found)))
            for plan in asked.plans
            for found in (by_variant[plan.variant],)
        ),
    )


def ordered(group: Group) -> list[Contender]:
    """Return contenders with what everybody has first and ours last; settings from the highest M down."""
    places = {kind: place for place, kind in enumerate(KINDS)}

    def place(one: Contender) -> tuple[int, bool, float]:
        highest = -(one.figures.get("io_capacity_max_mean") or 0.0)
        return places.get(one.kind, len(KINDS)), one.name != OURS, highest

    return sorted(group.contenders, key=place)


def default_of(group: Group) -> Contender | None:
    return next((one for one in group.contenders if one.kind == "default"), None)


def ours(group: Group) -> Contender | None:
    """Return the daemon with its default policy, else one with another policy; None where it did not run."""
    return next((one for one in ordered(group) if one.ours), None)


def rival(group: Group) -> Contender | None:
    """Return the best static setting; where none was searched for, the best of those that were set."""
    found = [one for one in group.contenders if not one.ours and one.kind != "default"]
    searched = [one for one in found if one.kind == "best static"]
    return max(
        searched or found, key=lambda one: one.throughput.mean if one.throughput else 0.0, default=None
    )


LEAST_SECONDS = 2.0
"""Rows have their time to the second: what overlaps by less may be one after the other."""


def beside(variant: Variant, suites: Iterable[Published]) -> list[str]:
    """Return what else was measured at the same time, as a line to know of; empty where nothing was."""
    mine = list(filter(None, map(_span, variant.rows)))
    names = [
        " ".join(filter(None, (one.name, other.plan.variant)))
        for one in suites
        for other in one.variants
        if other is not variant
        and any(
            min(end, until) - max(begin, since) >= LEAST_SECONDS
            for since, until in filter(None, map(_span, other.rows))
            for begin, end in mine
        )
    ]
    said = f"measured beside others on the same machine, which cost both: {'; '.join(names)}"
    return [said] if names else []


def _span(row: Row) -> tuple[float, float] | None:
    """Return from when to when a row's load settled and was counted, Unix seconds; None: unknown."""
    seconds = row.figure("seconds")
    try:
        end = datetime.fromisoformat(row.when).timestamp()
    except ValueError:
        return None
    return None if seconds is None else (end - seconds - (row.settle_seconds or 0.0), end)
