"""Which windows of the schedule are active at an instant, and what tells the loop when that changes.

Level-triggered: what is active follows from the wall clock at this tick and from nothing before it. So a
daemon that starts or wakes in the middle of a window is in it, and a clock that is set leaves nothing missed
or done twice.

APScheduler's CronTrigger finds the days that a crontab names; each has the same hours and minutes. It is
asked for them in a calendar without time zones: in one with daylight saving its steps from day to day are an
hour off around a change, and may step over a beginning (3.11.3, ``_increment_field_value``). What instant a
clock's time is, is decided here, as cron does:

- a time that the clock skips begins when the clock has jumped, so that nothing is missed;
- one that the clock shows twice begins once, the first time;
- a crontab that names every hour goes by real time: what is skipped is no hour, what comes twice is two.

A window's length is elapsed real time, whatever the clock does meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from tuner.config.crontab import WEEKDAYS, Crontab, read_crontab
from tuner.config.schedule import zone_of
from tuner.config.schema import ScheduleTable
from tuner.loop import Inbox
from tuner.records import Command, Window
from tuner.records.window import WHO, effects
from tuner.system.clock import Clock
from tuner.system.logs import get_logger

if TYPE_CHECKING:
    from apscheduler.triggers.cron import CronTrigger

HOUR, DAY = 3_600.0, 86_400.0
SPANS = (HOUR, DAY, 32 * DAY)
"""A beginning is looked for in these times first, seconds: most schedules have one in the shortest."""

AHEAD = 6 * HOUR
"""How far ahead the next change is looked for; what lies beyond is looked for again then."""

NEVER = (float("inf"), float("-inf"))
"""A time, from and to, that holds no instant."""

log = get_logger("innobrim")


class Series:
    """The windows of one schedule, without end."""

    def __init__(self, table: ScheduleTable) -> None:
        """Take the schedule.

        Raises:
            ValueError: its crontab or time zone cannot be read; one that was loaded has none such.
        """
        self.table = table
        self.zone = zone_of(table.timezone)
        self.seconds = 60.0 * table.minutes
        crontab = read_crontab(table.cron)
        self._hourly = len(crontab.hours) == 24  # noqa: PLR2004 - hours of a day
        self._days = _triggers(crontab)
        self._times = [HOUR * hour + 60.0 * at for hour in crontab.hours for at in crontab.minutes]

    def beginnings(self, after: float, until: float) -> list[float]:
        """Return the instants after one and up to another at which a window begins, Unix time, rising."""
        found = {
            instant
            for trigger in self._days
            for day in _midnights(trigger, after - 2 * DAY, until + DAY)
            for instant in self._of_day(day)
            if after < instant <= until
        }
        return sorted(found)

    def window(self, wall: float) -> Window | None:
        """Return the window that is active at an instant; of several, the one that began last."""
        for span in (*(one for one in SPANS if one < self.seconds), self.seconds):
            if found := self.beginnings(wall - span, wall):
                return self._made(found[-1], found[-1] + self.seconds)
        return None

    def windows(self, after: float, until: float) -> list[Window]:
        """Return the windows of which a part lies between two instants; those that meet are one."""
        found: list[tuple[float, float]] = []
        for began in self.beginnings(after - self.seconds, until):
            if found and began <= found[-1][1]:
                found[-1] = (found[-1][0], began + self.seconds)
            else:
                found.append((began, began + self.seconds))
        return [self._made(began, ends) for began, ends in found if began < until]

    def next_beginning(self, wall: float, horizon: float) -> float | None:
        """Return when the next window begins; None where none does within so many seconds."""
        for span in (*(one for one in SPANS if one < horizon), horizon):
            if found := self.beginnings(wall, wall + span):
                return found[0]
        return None

    def _made(self, began: float, ends: float) -> Window:
        return Window(name=self.table.name, began=began, ends=ends, **effects(self.table))  # type: ignore[arg-type] # by name

    def _of_day(self, day: datetime) -> Iterable[float]:
        """Return the instants of a day at which a window begins, as its clock's changes have it."""
        midnight, end = (one.replace(tzinfo=self.zone) for one in (day, day + timedelta(days=1)))
        offsets = {one.replace(fold=fold).utcoffset() for one in (midnight, end) for fold in (0, 1)}
        if len(offsets) == 1:
            return [midnight.timestamp() + at for at in self._times]
        times = (midnight.replace(tzinfo=None) + timedelta(seconds=at) for at in self._times)
        return [instant for one in times for instant in self._instants(one)]

    def _instants(self, local: datetime) -> Iterator[float]:
        """Yield the instants at which the zone's clock is meant to show a time, for this crontab."""
        first = local.replace(tzinfo=self.zone, fold=0).timestamp()
        second = local.replace(tzinfo=self.zone, fold=1).timestamp()
        if first > second:
            if not self._hourly:
                yield _jump(self.zone, second, first)
            return
        yield first
        if first < second and self._hourly:
            yield second


def _triggers(crontab: Crontab) -> list[CronTrigger]:
    """Return what finds a crontab's days; two where a day of the month or one of the week is enough."""
    from apscheduler.triggers.cron import CronTrigger  # noqa: PLC0415 - two megabytes; most have no schedule

    days, months = (",".join(map(str, sorted(one))) for one in (crontab.days, crontab.months))
    week = ",".join(WEEKDAYS[one] for one in crontab.weekdays)  # its own numbers begin with Monday
    pairs = [(days, "*"), ("*", week)] if crontab.either else [(days, week)]
    return [
        CronTrigger(minute="0", hour="0", day=day, month=months, day_of_week=weekday, timezone=UTC)
        for day, weekday in pairs
    ]


def _midnights(trigger: CronTrigger, low: float, high: float) -> Iterator[datetime]:
    """Yield the days between two times on a clock that is never changed, seconds since its 1970."""
    at = trigger.get_next_fire_time(None, datetime.fromtimestamp(low, UTC))
    while at is not None and at.timestamp() <= high:
        yield at
        at = trigger.get_next_fire_time(None, at + timedelta(seconds=1))


def _jump(zone: ZoneInfo, before: float, after: float) -> float:
    """Return the instant between two at which the zone's clock jumps."""

    def offset(instant: float) -> timedelta | None:
        return datetime.fromtimestamp(instant, zone).utcoffset()

    low, high, later = int(before), int(after), offset(after)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if offset(middle) == later else (middle, high)
    return float(high)


class Schedule:
    """What the configuration says about windows, and what was told of them last.

    ``use`` may be called from any thread, ``look`` from the loop's alone.
    """

    def __init__(self, tables: Iterable[ScheduleTable] = ()) -> None:
        """Take the schedules, in the file's order; nothing is told yet. Reads the time zones' files."""
        self.series = self._wanted = tuple(Series(one) for one in tables)
        self._told: tuple[Window, ...] = ()
        self._holds = NEVER

    def use(self, tables: Iterable[ScheduleTable]) -> None:
        """Take other schedules in place of these, at the next look."""
        self._wanted = tuple(Series(one) for one in tables)

    def active(self, wall: float) -> tuple[Window, ...]:
        """Return the windows that are active at an instant, Unix time, in the file's order."""
        found = (one.window(wall) for one in self.series)
        return tuple(one for one in found if one is not None)

    def unchanged_until(self, wall: float, active: Iterable[Window]) -> float:
        """Return until when what is active at an instant is so; at the latest some hours later."""
        begins = (one.next_beginning(wall, AHEAD) for one in self.series)
        return min([wall + AHEAD, *(one.ends for one in active), *(one for one in begins if one is not None)])

    def look(self, wall: float) -> tuple[Window, ...] | None:
        """Return the windows that are active at an instant; None where that has been told before."""
        wanted = self._wanted
        if wanted is not self.series:
            self.series, self._holds = wanted, NEVER
        since, until = self._holds
        if since <= wall < until:
            return None
        try:
            active = self.active(wall)
            self._holds = (wall, self.unchanged_until(wall, active))
        except (ValueError, OverflowError, OSError) as error:  # a clock beyond any calendar
            log.warning("the schedule cannot be looked at", wall=wall, reason=str(error))
            self._holds = (wall, wall + 60.0)
            return None
        if active == self._told:
            return None
        self._told = active
        return active


class ScheduledInbox:
    """An inbox that says which windows are active before anything that a person asks."""

    def __init__(self, inbox: Inbox, clock: Clock, schedule: Schedule) -> None:
        """Stand in front of an inbox; look at the schedule by the clock's wall time after each wait."""
        self._inbox = inbox
        self._clock = clock
        self._schedule = schedule

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait as the inbox does; return what came, and the active windows where they are others now."""
        found = self._inbox.take(until=until)
        windows = self._schedule.look(self._clock.wall())
        return found if windows is None else (Command(name="schedule", who=WHO, windows=windows), *found)
