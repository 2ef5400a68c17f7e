"""``innobrim schedule``: which windows are active, and which come."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime

import click
from msgspec.structs import replace

from tuner.cli.answer import answering, say, say_json
from tuner.cli.options import WholeNumber, configuration
from tuner.cli.schedule_listing import Pair, Plan, Planned
from tuner.cli.schedule_plan import planned
from tuner.cli.wording import duration
from tuner.config import load
from tuner.records.window import said

DAYS, MOST_DAYS = 7, 366
LINES, OBJECTS = 100, 10_000
"""So many coming windows are listed for people, and for machines, unless another number is asked for."""

NO_END, LONG_SINCE, ALWAYS = "without end", "for more than a week", "all the time"
NONE = "no schedule: the configuration has no [[schedule]] table; docs/configuration.md says what one takes"
NO_FILE = "no configuration file was read: there is no {}; name another one with --config"


@click.command()
@click.option("--config", "config_path", metavar="FILE", help="Configuration file (TOML).")
@click.option(
    "--days",
    type=WholeNumber(1, MOST_DAYS),
    default=DAYS,
    show_default=True,
    help="How many days to look ahead.",
)
@click.option(
    "--limit",
    type=WholeNumber(1),
    metavar="N",
    help=f"How many coming windows to list at most.  [default: {LINES}, or {OBJECTS} with --json]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def schedule(config_path: str | None, *, days: int, limit: int | None, as_json: bool) -> None:
    """List which windows of the schedule are active now and which come, with what they ask for.

    Times are those of each schedule's own time zone. Of every two schedules that overlap it says how often
    in that time, when first, and whose value counts, effect by effect: the lowest set-point, a drain before
    none, the smallest budget, no learning before learning. It asks no daemon: what one makes of a window is
    in innobrim status.

    Example: innobrim schedule --config /etc/innobrim/innobrim.toml --days 2
    """
    with answering(as_json=as_json):
        config = configuration(config_path, {})
    plan = planned(config, now=time.time(), days=days, most=limit or (OBJECTS if as_json else LINES))
    if load.file_of(config_path) is None:
        plan = replace(plan, notes=(*plan.notes, NO_FILE.format(load.DEFAULT_PATH)))
    if as_json:
        say_json(plan)
        return
    for line in lines(plan) if config.schedule else [NONE, *_notes(plan)]:
        say(line)


def lines(plan: Plan) -> Iterator[str]:
    """Yield what a person reads."""
    yield "active now:" if plan.active else "active now: none"
    for one in plan.active:
        yield f"  {one.name}: {_asked(one)}; {_stays(one, plan.now)}"
    span = "day" if plan.days == 1 else f"{plan.days} days"
    later = "" if plan.later is None else f"; the next is {plan.later.name}, {_read(plan.later.begins)}"
    yield f"next {span}:" if plan.coming else f"next {span}: none begins{later}"
    rows = [(_begin(one.begins), _end(one.ends), one.name, _asked(one)) for one in plan.coming]
    names = ("begins", "ends", "name", "effects")
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    if rows:
        yield _aligned(names, widths)
    for row in rows:
        yield _aligned(row, widths)
    if plan.last is not None:
        last = f"the last is {plan.last.name}, {_read(plan.last.begins)}"
        yield f"  and {plan.more} more, {last}; --limit {len(rows) + plan.more} lists them all"
    if plan.overlaps:
        yield "overlaps:"
    for pair in plan.overlaps:
        yield f"  {' and '.join(pair.names)}, {_often(pair)}: {_counts(pair)}"
    yield from _notes(plan)


def _notes(plan: Plan) -> Iterator[str]:
    for note in plan.notes:
        yield f"note: {note}"


def _stays(one: Planned, now: float) -> str:
    """Return since when a window is active, and until when."""
    if one.begins is None and one.ends is None:
        return f"active {NO_END}"
    since = _begin(one.begins) if one.begins is None else f"since {_read(one.begins)}"
    if one.ends is None or one.ends_at is None:
        return f"{since}, {NO_END}"
    return f"{since}, until {_read(one.ends)}, {duration(one.ends_at - now)} left"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
    return f"  {'  '.join(cells)}".rstrip()


def _often(pair: Pair) -> str:
    """Return how often two schedules overlap, and when first."""
    if pair.begins is None:
        if pair.ends is None:
            return ALWAYS
        span = f"until {_read(pair.ends)}"
    else:
        span = _read(pair.begins) + (f", {NO_END}" if pair.ends is None else f" to {_read(pair.ends)}")
    return f"once, {span}" if pair.times == 1 else f"{pair.times} times, first {span}"


def _counts(pair: Pair) -> str:
    """Return whose effects count while two windows overlap."""
    said = [f"{effect} as {name} has it" for effect, name in pair.wins.items()]
    if pair.drain_decides is not None:
        whose = f"the drain of {pair.drain_decides}"
        said.append(f"{whose} decides while it is under way, at or below the set-point otherwise in force")
    return ", ".join(said) or "no effect in common, so all of both count"


def _begin(stamp: str | None) -> str:
    return LONG_SINCE if stamp is None else _read(stamp)


def _end(stamp: str | None) -> str:
    return NO_END if stamp is None else _read(stamp)


def _asked(one: Planned) -> str:
    return ", ".join(said(effect, value) for effect, value in one.effects.items())


def _read(stamp: str) -> str:
    """Return a time as people read it: with the day of the week, and the offset behind it."""
    return f"{datetime.fromisoformat(stamp):%a %Y-%m-%d %H:%M} {stamp[16:]}"
