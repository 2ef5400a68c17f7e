"""Schedules made by hand, and a second reckoning of when their windows begin, minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from tuner.config.schema import ScheduleTable

MINUTE = 60


def table(name: str = "nightly", cron: str = "30 1 * * *", minutes: int = 90, **more: Any) -> ScheduleTable:  # noqa: ANN401 - any key
    """Return a schedule that drains unless something else is asked for."""
    return ScheduleTable(name=name, cron=cron, minutes=minutes, **(more or {"drain": True}))


def at(zone: str, *moment: int, fold: int = 0) -> float:
    """Return the instant at which a zone's clock shows a time: year, month, day, hour, minute."""
    year, month, day, hour, minute = (*moment, 0, 0)[:5]
    return datetime(year, month, day, hour, minute, tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def named_by(cron: str, shown: datetime) -> bool:
    """Tell whether a crontab of numbers, lists and stars names the time that a clock shows."""
    minute, hour, day, month, weekday = cron.split()

    def takes(field: str, value: int) -> bool:
        return field == "*" or value in {int(one) for one in field.split(",")}

    sunday_first = (shown.weekday() + 1) % 7
    of_month, of_week = (
        takes(day, shown.day),
        takes(weekday, sunday_first) or takes(weekday, sunday_first or 7),
    )
    either = day != "*" and weekday != "*"
    fits = of_month or of_week if either else of_month and of_week
    return takes(minute, shown.minute) and takes(hour, shown.hour) and takes(month, shown.month) and fits


def beginnings(cron: str, zone: str, after: int, until: int) -> list[int]:
    """Return when windows begin after one whole minute and up to another, by looking at each."""
    hourly = cron.split()[1] == "*"
    place = ZoneInfo(zone)
    found = []
    for instant in range(after + MINUTE, until + 1, MINUTE):
        shown = datetime.fromtimestamp(instant, place)
        before = datetime.fromtimestamp(instant - MINUTE, place)
        skipped = _clock(shown) - _clock(before) - MINUTE
        again = bool(shown.fold)
        if named_by(cron, shown) and (hourly or not again):
            found.append(instant)
        elif skipped > 0 and not hourly:
            leapt = range(_clock(before) + MINUTE, _clock(shown), MINUTE)
            if any(named_by(cron, datetime.fromtimestamp(one, UTC)) for one in leapt):
                found.append(instant)
    return found


def _clock(shown: datetime) -> int:
    """Return what a clock shows as a number that grows by 60 with each of its minutes."""
    return int(shown.replace(tzinfo=UTC).timestamp())
