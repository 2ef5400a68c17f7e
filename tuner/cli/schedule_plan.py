"""What ``innobrim schedule`` tells of a configuration: active and coming windows, and where they overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from operator import attrgetter
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from tuner.config.schema import Config
from tuner.records import Window, effects, winners
from tuner.settings import Mode
from tuner.timetable import Timetable, overlapping

DAY = 86_400.0
WEEK = 7.0 * DAY
"""The longest window; so far back is looked for when an active one began, and so far on for when it ends."""

YEAR = 400.0 * DAY
"""So far on is looked for the end of a window whose schedule names not every day of the year."""

FAR = 40 * 366.0 * DAY
"""So far ahead a next window is looked for; a 29 February on a given day of the week comes once in 28 years,
or in 40 around 2100."""

BOUNDING = ("set_point", "max_recovery_seconds", "max_shutdown_seconds")
"""What a schedule asks of the set-point, which a person's comes before."""


class Overlap(Struct, frozen=True):
    """Another window that has a part of its time in common.

    Attributes:
        name: of its schedule.
        begins: when it begins, ISO 8601 with the offset of its own time zone; None as of the window.
        ends: when it ends, the same; None as of the window.
        wins: of the effects that both ask for, whose value counts meanwhile.
        drain_decides: whose drain decides, while it is under way, over what the other asks of the set-point;
            None where neither does so.
    """

    name: str
    begins: str | None
    ends: str | None
    wins: dict[str, str]
    drain_decides: str | None = None


class Planned(Struct, frozen=True):
    """One window.

    Attributes:
        name: of its schedule.
        timezone: of its schedule.
        begins: when it begins, ISO 8601 with the zone's offset then; None where its schedule has begun again
            before it was over for more than a week.
        ends: when it ends, the same; None where its schedule always begins again by then.
        begins_at: the same as Unix time, seconds.
        ends_at: the same as Unix time, seconds.
        effects: what it asks for.
        overlaps: others with a part of its time in common.
    """

    name: str
    timezone: str
    begins: str | None
    ends: str | None
    begins_at: float | None
    ends_at: float | None
    effects: dict[str, object]
    overlaps: tuple[Overlap, ...]


class Later(Struct, frozen=True):
    """The first window after the time looked at.

    Attributes:
        name: of its schedule.
        begins: when it begins, ISO 8601 with the zone's offset then.
        begins_at: the same as Unix time, seconds.
    """

    name: str
    begins: str
    begins_at: float


class Plan(Struct, frozen=True):
    """What is active and what comes.

    Attributes:
        now: Unix time, seconds.
        days: how far it looks ahead.
        active: windows that are active now, the one that began last at the end.
        coming: windows that begin in that time, the next first.
        later: where none begins in that time, the next after it; None where there is none either.
        notes: what keeps a window from having its effect.
    """

    now: float
    days: int
    active: tuple[Planned, ...]
    coming: tuple[Planned, ...]
    later: Later | None = None
    notes: tuple[str, ...] = ()


def planned(config: Config, *, now: float, days: int) -> Plan:
    """Return which windows are active and which come.

    Args:
        config: with the schedules.
        now: Unix time, seconds.
        days: how far to look ahead.
    """
    timetable = Timetable(config.schedule)
    until = now + days * DAY
    windows, endless = _listed(timetable, now=now, until=until)
    beyond, without_end = _beyond(timetable, windows, endless, until=until)
    others = _others([*windows, *beyond])
    order = {table.name: at for at, table in enumerate(config.schedule)}

    def begins(one: Window) -> float | None:
        return one.began if one.began > now - WEEK else None

    def ends(one: Window) -> float | None:
        return None if one in endless | without_end else one.ends

    def made(one: Window) -> Planned:
        zone = timetable.zone(one.name)
        overlaps = [
            Overlap(
                name=other.name,
                begins=_maybe(begins(other), timetable.zone(other.name)),
                ends=_maybe(ends(other), timetable.zone(other.name)),
                wins=_wins(sorted((one, other), key=lambda each: order[each.name])),
                drain_decides=_drain_over(one, other) or _drain_over(other, one),
            )
            for other in sorted(others[one], key=attrgetter("began"))
        ]
        return Planned(
            name=one.name,
            timezone=zone.key,
            begins=_maybe(begins(one), zone),
            ends=_maybe(ends(one), zone),
            begins_at=begins(one),
            ends_at=ends(one),
            effects=effects(one),
            overlaps=tuple(overlaps),
        )

    coming = tuple(made(one) for one in windows if one.began > now)
    return Plan(
        now=now,
        days=days,
        active=tuple(made(one) for one in windows if one.began <= now),
        coming=coming,
        later=None if coming else _later(timetable, windows, endless, until=until),
        notes=(*_notes(config), *(_endless(one) for one in windows if one in endless)),
    )


def _listed(timetable: Timetable, *, now: float, until: float) -> tuple[list[Window], set[Window]]:
    """Return the windows that are active or begin by then, each with its real end, and those without one.

    One that began before the last week has a beginning that says no more than that.
    """
    found = [one for one in timetable.between(now - WEEK, until) if one.ends > now]
    return _ended(timetable, found, until=until)


def _ended(
    timetable: Timetable, windows: Iterable[Window], *, until: float
) -> tuple[list[Window], set[Window]]:
    """Return windows with their real ends, and those that have none: they are given the end of the time."""

    def end(one: Window) -> float | None:
        if one.ends <= until:
            return one.ends
        return timetable.end_of(one, until + (WEEK if timetable.daily(one.name) else YEAR))

    ends = [(one, end(one)) for one in windows]
    found = [replace(one, ends=until if ending is None else ending) for one, ending in ends]
    return found, {one for one, (_, ending) in zip(found, ends, strict=True) if ending is None}


def _beyond(
    timetable: Timetable, windows: Sequence[Window], endless: set[Window], *, until: float
) -> tuple[list[Window], set[Window]]:
    """Return the windows that begin after the time looked at, and before the last of these is over."""
    far = max((one.ends for one in windows), default=until)
    lasting = {one.name: far if one in endless else max(one.ends, until) for one in windows}
    found = [
        one
        for series in timetable.series
        if (after := lasting.get(series.table.name, until)) < far
        for one in series.windows(after, far)
        if one.began >= after
    ]
    return _ended(timetable, sorted(found, key=attrgetter("began")), until=far)


def _others(windows: Sequence[Window]) -> dict[Window, list[Window]]:
    """Return for each of these windows, sorted by beginning, those that overlap it."""
    others: dict[Window, list[Window]] = {one: [] for one in windows}
    for one, other in overlapping(windows):
        others[one].append(other)
        others[other].append(one)
    return others


def _later(
    timetable: Timetable, windows: Iterable[Window], endless: set[Window], *, until: float
) -> Later | None:
    """Return the first window that begins after a time, other than those that go on for ever."""
    ends = {one.name: one.ends for one in windows if one.ends > until}
    found = []
    for series in timetable.series:
        name = series.table.name
        if any(one.name == name for one in endless):
            continue
        after = ends.get(name, until)
        begins = series.next_beginning(after, FAR)
        if begins is not None:
            found.append(Later(name, _stamp(begins, series.zone), begins))
    return min(found, key=attrgetter("begins_at"), default=None)


def _wins(windows: Sequence[Window]) -> dict[str, str]:
    """Return whose value counts, for each effect that all of these windows ask for."""
    shared = set.intersection(*(set(effects(one)) for one in windows))
    return {effect: winner.name for effect, winner in winners(windows).items() if effect in shared}


def _drain_over(one: Window, other: Window) -> str | None:
    """Return the name of a window that drains over what another one asks of the set-point, if it does so."""
    over = one.drain and not other.drain and any(getattr(other, name) is not None for name in BOUNDING)
    return one.name if over else None


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


def _maybe(wall: float | None, zone: ZoneInfo) -> str | None:
    return None if wall is None else _stamp(wall, zone)


def _stamp(wall: float, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(wall, zone).isoformat(timespec="minutes")
