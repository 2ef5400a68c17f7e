"""``innobrim schedule``: which windows are active, and which come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import combinations

import click
from msgspec import Struct

from tuner.cli.answer import answering, say, say_json
from tuner.cli.options import WholeNumber, config_option, configuration, json_option
from tuner.cli.wording import columns, duration
from tuner.config import load
from tuner.config.schema import Config
from tuner.daemon.schedule import DAY, Schedule, Series
from tuner.records import Window, effects, winners
from tuner.records.window import said
from tuner.settings import Mode

MOST_DAYS, LINES = 366, 100
WEEK = 7.0 * DAY
"""The longest window: so far back is looked for a beginning, and so far on for an end."""

FAR = 40 * 366.0 * DAY
"""So far ahead a next window is looked for; a 29 February on a given day of the week comes once in 28 years,
or in 40 around 2100."""

BOUNDING = ("set_point", "max_recovery_seconds", "max_shutdown_seconds")
"""What a schedule asks of the set-point, which a person's comes before."""

NONE = "no schedule: the configuration has no [[schedule]] table; docs/configuration.md says what one takes"
NO_FILE = "no configuration file was read: there is no {}; name another one with --config"


class Planned(Struct, frozen=True):
    """One window.

    Attributes:
        name: of its schedule.
        timezone: of its schedule.
        begins: ISO 8601 with the zone's offset then; None for more than a week ago.
        ends: the same; None where it begins again and again for more than a week after the days looked at.
        begins_at: as Unix time, seconds.
        ends_at: as Unix time, seconds.
        effects: what it asks for.
    """

    name: str
    timezone: str
    begins: str | None
    ends: str | None
    begins_at: float | None
    ends_at: float | None
    effects: dict[str, object]


class Overlap(Struct, frozen=True):
    """Two schedules whose windows overlap in the time looked at.

    Attributes:
        names: of the schedules, in the file's order.
        begins: when both are active first, ISO 8601; None for more than a week ago.
        wins: of the effects that both ask for, whose value counts meanwhile.
    """

    names: tuple[str, str]
    begins: str | None
    wins: dict[str, str]


class Plan(Struct, frozen=True):
    """What is active and what comes.

    Attributes:
        now: Unix time, seconds.
        days: how far it looks ahead.
        active: windows that are active now.
        coming: windows that begin in that time, the next first; no more than were asked for.
        more: how many begin after these and are left out.
        overlaps: every two schedules that overlap in that time.
        later: where none begins in that time, the next after it; None where there is none either.
        notes: what keeps a window from having its effect.
    """

    now: float
    days: int
    active: tuple[Planned, ...]
    coming: tuple[Planned, ...]
    more: int
    overlaps: tuple[Overlap, ...]
    later: Planned | None
    notes: tuple[str, ...]


@click.command()
@config_option
@click.option(
    "--days",
    type=WholeNumber(1, MOST_DAYS),
    default=7,
    show_default=True,
    help="How many days to look ahead.",
)
@click.option(
    "--limit",
    type=WholeNumber(1),
    metavar="N",
    default=LINES,
    show_default=True,
    help="How many coming windows to list at most.",
)
@json_option
def schedule(config_path: str | None, *, days: int, limit: int, as_json: bool) -> None:
    """List the windows of the schedule, those active now and those to come, with what they ask for.

    Times are in each schedule's own time zone. Where two schedules overlap, it says when they first do, and
    whose value counts for each effect. It does not ask the daemon: innobrim status shows what is in force.

    Example: innobrim schedule --config /etc/innobrim/innobrim.toml --days 2
    """
    with answering(as_json=as_json):
        config = configuration(config_path, {})
    plan = planned(config, now=time.time(), days=days, most=limit, read=load.file_of(config_path) is not None)
    if as_json:
        say_json(plan)
    else:
        say(*(lines(plan) if config.schedule else [NONE]), *(f"note: {note}" for note in plan.notes))


def planned(config: Config, *, now: float, days: int, most: int, read: bool) -> Plan:
    """Return which windows are active at a Unix time and the most that come; ``read``: from a file."""
    until = now + days * DAY
    series = {one.table.name: one for one in Schedule(config.schedule).series}
    windows = {
        name: [
            each for each in one.windows(now - WEEK, until + WEEK) if each.ends > now and each.began < until
        ]
        for name, one in series.items()
    }

    def told(one: Window) -> Planned:
        zone, begins, ends = series[one.name].zone, one.began > now - WEEK, one.ends < until + WEEK
        return Planned(
            name=one.name,
            timezone=zone.key,
            begins=_stamp(one.began, series[one.name]) if begins else None,
            ends=_stamp(one.ends, series[one.name]) if ends else None,
            begins_at=one.began if begins else None,
            ends_at=one.ends if ends else None,
            effects=effects(one),
        )

    found = sorted((one for each in windows.values() for one in each), key=lambda one: one.began)
    coming = [one for one in found if one.began > now]
    active = tuple(told(one) for one in found if one.began <= now)
    endless = {one.name for one in active if one.ends is None}
    return Plan(
        now=now,
        days=days,
        active=active,
        coming=tuple(map(told, coming[:most])),
        more=max(0, len(coming) - most),
        overlaps=tuple(
            Overlap((one.name, other.name), told(max(one, other, key=lambda each: each.began)).begins, wins)
            for one, other, wins in _overlaps(list(windows.values()))
        ),
        later=None if coming else _later(series, endless, until, told),
        notes=tuple(_notes(config, endless, read=read)),
    )


def _overlaps(rows: list[list[Window]]) -> Iterator[tuple[Window, Window, dict[str, str]]]:
    for one, other in combinations(rows, 2):
        first = _first_overlap(one, other)
        if first is not None:
            shared = set(effects(first[0])) & set(effects(first[1]))
            wins = {effect: winner.name for effect, winner in winners(first).items() if effect in shared}
            yield (*first, wins)


def _first_overlap(one: list[Window], other: list[Window]) -> tuple[Window, Window] | None:
    """Return the first windows of two schedules that have time in common; each schedule's are in order."""
    at = to = 0
    while at < len(one) and to < len(other):
        if one[at].ends <= other[to].began:
            at += 1
        elif other[to].ends <= one[at].began:
            to += 1
        else:
            return one[at], other[to]
    return None


def _later(
    series: dict[str, Series], endless: set[str], until: float, told: Callable[[Window], Planned]
) -> Planned | None:
    """Return the first window that begins after a time, other than those that go on for ever."""
    begins = ((one, one.next_beginning(until, FAR)) for name, one in series.items() if name not in endless)
    found = [(begin, one) for one, begin in begins if begin is not None]
    if not found:
        return None
    begin, one = min(found, key=lambda each: each[0])
    window = one.window(begin)
    return None if window is None else told(window)


def _notes(config: Config, endless: set[str], *, read: bool) -> Iterator[str]:
    wished = config.loop.set_point
    asked = {name for table in config.schedule for name in BOUNDING if getattr(table, name) is not None}
    if wished is not None and asked:
        what = " and ".join(name for name in BOUNDING if name in asked)
        yield f"loop.set_point = {wished:g} comes before the {what} of any schedule"
    if config.schedule and config.loop.mode is Mode.ADVISORY:
        yield "the configuration's mode is advisory: windows are shown, and nothing is written for them"
    for table in config.schedule:
        if table.name in endless:
            remedy = "; a drain is to end: give it fewer minutes, or a cron that names fewer times"
            yield f"{table.name} begins again before it is over, and has no end in sight" + (
                remedy if table.drain else ""
            )
    if not read:
        yield NO_FILE.format(load.DEFAULT_PATH)


def lines(plan: Plan) -> Iterator[str]:
    """Yield what a person reads."""
    yield "active now:" if plan.active else "active now: none"
    for one in plan.active:
        since = "for more than a week" if one.begins is None else f"since {_read(one.begins)}"
        left = "without an end in sight"
        if one.ends is not None and one.ends_at is not None:
            left = f"until {_read(one.ends)}, {duration(one.ends_at - plan.now)} left"
        yield f"  {one.name}: {_asked(one)}; {since}, {left}"
    span = "day" if plan.days == 1 else f"{plan.days} days"
    if plan.coming:
        yield f"next {span}:"
        head = ("begins", "ends", "name", "effects")
        yield from columns(
            [head, *((_read(one.begins), _read(one.ends), one.name, _asked(one)) for one in plan.coming)]
        )
    else:
        later = f"; the next is {plan.later.name}, {_read(plan.later.begins)}" if plan.later else ""
        yield f"next {span}: none begins{later}"
    if plan.more:
        yield f"  and {plan.more} more; --limit {len(plan.coming) + plan.more} lists them all"
    if plan.overlaps:
        yield "overlaps:"
    for pair in plan.overlaps:
        wins = ", ".join(f"{effect} as {name} has it" for effect, name in pair.wins.items())
        first = "for more than a week" if pair.begins is None else f"first {_read(pair.begins)}"
        yield f"  {' and '.join(pair.names)}, {first}: {wins or 'all of both count'}"


def _asked(one: Planned) -> str:
    return ", ".join(said(effect, value) for effect, value in one.effects.items())


def _read(stamp: str | None) -> str:
    """Return a time as people read it: with the day of the week, and the offset behind it."""
    if stamp is None:
        return "not in sight"
    return f"{datetime.fromisoformat(stamp):%a %Y-%m-%d %H:%M} {stamp[16:]}"


def _stamp(wall: float, series: Series) -> str:
    return datetime.fromtimestamp(wall, series.zone).isoformat(timespec="minutes")
