"""Works out what ``innobrim schedule`` tells of a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from math import inf
from operator import attrgetter
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from tuner.cli.schedule_listing import Later, Overlap, Pair, Plan, Planned
from tuner.cli.schedule_overlaps import BOUNDING, Row, counts, pairs
from tuner.config.schema import Config
from tuner.records import Window, effects
from tuner.settings import Mode
from tuner.timetable import Timetable

DAY = 86_400.0
WEEK = 7.0 * DAY
"""The longest window; so far back is looked for when an active one began, and so far on for when it ends."""

YEAR = 400.0 * DAY
"""So far on is looked for the end of a window whose schedule names not every day of the year."""

FAR = 40 * 366.0 * DAY
"""So far ahead a next window is looked for; a 29 February on a given day of the week comes once in 28 years,
or in 40 around 2100."""


def planned(config: Config, *, now: float, days: int, most: int) -> Plan:
    """Return which windows are active and which come.

    Args:
        config: with the schedules.
        now: Unix time, seconds.
        days: how far to look ahead.
        most: of the coming windows to list.
    """
    timetable = Timetable(config.schedule)
    until = now + days * DAY
    windows, endless = _listed(timetable, now=now, until=until)
    beyond, without_end = _beyond(timetable, windows, endless, until=until)
    rows = _rows(timetable, windows, beyond)
    teller = _Teller(timetable, rows, endless | without_end, earliest=now - WEEK)
    coming = [one for one in windows if one.began > now]
    left = coming[most:]
    return Plan(
        now=now,
        days=days,
        active=tuple(teller.planned(one) for one in windows if one.began <= now),
        coming=tuple(teller.planned(one) for one in coming[:most]),
        more=len(left),
        last=teller.named(left[-1]) if left else None,
        overlaps=tuple(teller.pair(*each) for each in pairs(list(rows.values()))),
        later=None if coming else _later(timetable, windows, endless, until=until),
        notes=(*_notes(config), *(_endless(one) for one in windows if one in endless)),
    )


def _rows(timetable: Timetable, windows: Iterable[Window], beyond: Iterable[Window]) -> dict[str, Row]:
    """Return the windows of each schedule, in the file's order, those that come after a time apart."""
    told: dict[str, list[Window]] = {one.table.name: [] for one in timetable.series}
    after: dict[str, list[Window]] = {name: [] for name in told}
    for one in windows:
        told[one.name].append(one)
    for one in beyond:
        after[one.name].append(one)
    return {name: Row(told[name], after[name]) for name in told}


class _Teller:
    """Tells of windows, with times as their schedules' clocks show them."""

    def __init__(
        self, timetable: Timetable, rows: dict[str, Row], endless: set[Window], *, earliest: float
    ) -> None:
        self._timetable = timetable
        self._rows = rows
        self._order = {name: at for at, name in enumerate(rows)}
        self._endless = endless
        self._earliest = earliest

    def planned(self, one: Window) -> Planned:
        return Planned(
            name=one.name,
            timezone=self._timetable.zone(one.name).key,
            begins=self._begin(one),
            ends=self._end(one),
            begins_at=self._began(one),
            ends_at=self._ends(one),
            effects=effects(one),
            overlaps=tuple(self._overlaps(one)),
        )

    def named(self, one: Window) -> Later:
        return Later(one.name, _stamp(one.began, self._timetable.zone(one.name)), one.began)

    def pair(self, one: Window, other: Window, times: int) -> Pair:
        """Return what is to be told of two schedules by the first of their windows that overlap."""
        later, sooner = max(one, other, key=attrgetter("began")), min(one, other, key=self._last)
        whose = counts(one, other)
        return Pair(
            names=(one.name, other.name),
            times=times,
            begins=self._begin(later),
            ends=self._end(sooner),
            wins=whose.wins,
            drain_decides=whose.drain_decides,
        )

    def _overlaps(self, one: Window) -> Iterator[Overlap]:
        """Yield what overlaps a window, what begins first before the others."""
        found = []
        for name, row in self._rows.items():
            over = row.over(one) if name != one.name else range(0)
            if over:
                found.append((row.windows[over[0]], row.windows[over[-1]], len(over)))
        for first, last, times in sorted(found, key=lambda each: each[0].began):
            whose = counts(*sorted((one, first), key=lambda each: self._order[each.name]))
            yield Overlap(
                name=first.name,
                times=times,
                begins=self._begin(first),
                ends=self._end(last),
                wins=whose.wins,
                drain_decides=whose.drain_decides,
            )

    def _began(self, one: Window) -> float | None:
        return one.began if one.began > self._earliest else None

    def _ends(self, one: Window) -> float | None:
        return None if one in self._endless else one.ends

    def _last(self, one: Window) -> float:
        return inf if one in self._endless else one.ends

    def _begin(self, one: Window) -> str | None:
        return _maybe(self._began(one), self._timetable.zone(one.name))

    def _end(self, one: Window) -> str | None:
        return _maybe(self._ends(one), self._timetable.zone(one.name))


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

    found, endless = [], set()
    for one in windows:
        ending = end(one)
        found.append(one if ending == one.ends else replace(one, ends=until if ending is None else ending))
        if ending is None:
            endless.add(found[-1])
    return found, endless


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
