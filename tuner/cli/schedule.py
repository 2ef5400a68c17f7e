"""``innobrim schedule``: which windows are active, and which come."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from zoneinfo import ZoneInfo

import click
from msgspec import Struct

from tuner.cli.errors import answering
from tuner.cli.options import configuration
from tuner.cli.saying import say, say_json
from tuner.cli.wording import duration
from tuner.config.schema import Config
from tuner.records import Window, effects, winners
from tuner.records.window import said
from tuner.settings import Mode
from tuner.timetable import Timetable, overlapping

DAY = 86_400.0
WEEK = 7.0 * DAY
DAYS, MOST_DAYS = 7, 366
BOUNDING = ("set_point", "max_recovery_seconds", "max_shutdown_seconds")
"""What a schedule asks of the set-point, which a person's comes before."""

NO_END = "without end"
NONE = "no schedule: the configuration has no [[schedule]] table; docs/configuration.md says what one takes"


class Overlap(Struct, frozen=True):
    """Another window that has a part of its time in common.

    Attributes:
        name: of its schedule.
        begins: when it begins, ISO 8601 with the offset of its own time zone.
        ends: when it ends, the same; None as of the window.
        wins: of the effects that both ask for, whose value counts meanwhile.
    """

    name: str
    begins: str
    ends: str | None
    wins: dict[str, str]


class Planned(Struct, frozen=True):
    """One window.

    Attributes:
        name: of its schedule.
        timezone: of its schedule.
        begins: when it begins, ISO 8601 with the zone's offset then.
        ends: when it ends, the same; None where its schedule always begins again by then.
        begins_at: the same as Unix time, seconds.
        ends_at: the same as Unix time, seconds.
        effects: what it asks for.
        overlaps: others with a part of its time in common.
    """

    name: str
    timezone: str
    begins: str
    ends: str | None
    begins_at: float
    ends_at: float | None
    effects: dict[str, object]
    overlaps: tuple[Overlap, ...]


class Plan(Struct, frozen=True):
    """What is active and what comes.

    Attributes:
        now: Unix time, seconds.
        days: how far it looks ahead.
        active: windows that are active now, the one that began last at the end.
        coming: windows that begin in that time, the next first.
        notes: what keeps a window from having its effect.
    """

    now: float
    days: int
    active: tuple[Planned, ...]
    coming: tuple[Planned, ...]
    notes: tuple[str, ...] = ()


@click.command()
@click.option("--config", "config_path", metavar="FILE", help="Configuration file (TOML).")
@click.option(
    "--days",
    type=click.IntRange(1, MOST_DAYS),
    default=DAYS,
    show_default=True,
    help="How many days to look ahead.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
def schedule(config_path: str | None, *, days: int, as_json: bool) -> None:
    """List which windows of the schedule are active now and which come, with what they ask for.

    Times are those of each schedule's own time zone. Where windows overlap, it says whose value counts,
    effect by effect: the lowest set-point, a drain before none, the smallest budget, no learning before
    learning. It asks no daemon: what one makes of a window is in innobrim status.

    Example: innobrim schedule --config /etc/innobrim/innobrim.toml --days 2
    """
    with answering(as_json=as_json):
        config = configuration(config_path, {})
    plan = planned(config, now=time.time(), days=days)
    if as_json:
        say_json(plan)
        return
    for line in lines(plan) if config.schedule else [NONE]:
        say(line)


def planned(config: Config, *, now: float, days: int) -> Plan:
    """Return which windows are active and which come.

    Args:
        config: with the schedules.
        now: Unix time, seconds.
        days: how far to look ahead.
    """
    timetable = Timetable(config.schedule)
    until = now + days * DAY
    windows = timetable.between(now, until)
    ends = {one: timetable.end_of(one, until + WEEK) if one.ends > until else one.ends for one in windows}
    others: dict[Window, list[Window]] = {one: [] for one in windows}
    for one, other in overlapping(windows):
        others[one].append(other)
        others[other].append(one)
    order = {table.name: at for at, table in enumerate(config.schedule)}

    def made(one: Window) -> Planned:
        zone = timetable.zone(one.name)
        overlaps = [
            Overlap(
                name=other.name,
                begins=_stamp(other.began, timetable.zone(other.name)),
                ends=_end_stamp(ends[other], timetable.zone(other.name)),
                wins=_wins(sorted((one, other), key=lambda each: order[each.name])),
            )
            for other in sorted(others[one], key=attrgetter("began"))
        ]
        return Planned(
            name=one.name,
            timezone=zone.key,
            begins=_stamp(one.began, zone),
            ends=_end_stamp(ends[one], zone),
            begins_at=one.began,
            ends_at=ends[one],
            effects=effects(one),
            overlaps=tuple(overlaps),
        )

    return Plan(
        now=now,
        days=days,
        active=tuple(made(one) for one in windows if one.began <= now),
        coming=tuple(made(one) for one in windows if one.began > now),
        notes=(*_notes(config), *(_endless(one) for one in windows if ends[one] is None)),
    )


def lines(plan: Plan) -> Iterator[str]:
    """Yield what a person reads."""
    yield "active now:" if plan.active else "active now: none"
    for one in plan.active:
        end = NO_END if one.ends_at is None else f"{duration(one.ends_at - plan.now)} left"
        until = "" if one.ends is None else f" until {_read(one.ends)},"
        yield f"  {one.name}: {_asked(one)}; since {_read(one.begins)},{until} {end}"
        yield from _overlaps(one)
    span = "day" if plan.days == 1 else f"{plan.days} days"
    yield f"next {span}:" if plan.coming else f"next {span}: none begins"
    rows = [(_read(one.begins), _end(one.ends), one.name, _asked(one)) for one in plan.coming]
    names = ("begins", "ends", "name", "effects")
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    if rows:
        yield _aligned(names, widths)
    for row, one in zip(rows, plan.coming, strict=True):
        yield _aligned(row, widths)
        yield from _overlaps(one)
    for note in plan.notes:
        yield f"note: {note}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
    return f"  {'  '.join(cells)}".rstrip()


def _overlaps(one: Planned) -> Iterator[str]:
    for other in one.overlaps:
        wins = ", ".join(f"{effect} as {name} has it" for effect, name in other.wins.items())
        what = wins or "no effect in common, so all of both count"
        yield f"      overlaps {other.name}, {_read(other.begins)} to {_end(other.ends)}: {what}"


def _wins(windows: Sequence[Window]) -> dict[str, str]:
    """Return whose value counts, for each effect that all of these windows ask for."""
    shared = set.intersection(*(set(effects(one)) for one in windows))
    return {effect: winner.name for effect, winner in winners(windows).items() if effect in shared}


def _notes(config: Config) -> Iterator[str]:
    wished = config.loop.set_point
    asked = {name for table in config.schedule for name in BOUNDING if getattr(table, name) is not None}
    if wished is not None and asked:
        what = " and ".join(name for name in BOUNDING if name in asked)
        yield f"loop.set_point = {wished:g} comes before the {what} of any schedule"
    if config.schedule and config.loop.mode is Mode.ADVISORY:
        yield "the configuration's mode is advisory: windows are shown, and nothing is written for them"


def _endless(one: Window) -> str:
    """Return what is to be known of a window that ends at no time."""
    remedy = (
        "; a drain is to end: give it fewer minutes, or a cron that names fewer times" if one.drain else ""
    )
    return f"{one.name} never ends, as it begins again before it is over{remedy}"


def _end(stamp: str | None) -> str:
    return NO_END if stamp is None else _read(stamp)


def _asked(one: Planned) -> str:
    return ", ".join(said(effect, value) for effect, value in one.effects.items())


def _end_stamp(wall: float | None, zone: ZoneInfo) -> str | None:
    return None if wall is None else _stamp(wall, zone)


def _stamp(wall: float, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(wall, zone).isoformat(timespec="minutes")


def _read(stamp: str) -> str:
    """Return a time as people read it: with the day of the week, and the offset behind it."""
    return f"{datetime.fromisoformat(stamp):%a %Y-%m-%d %H:%M} {stamp[16:]}"
