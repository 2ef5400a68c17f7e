"""When the windows of a schedule begin and end, on the wall clock of their time zones.

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

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

from tuner.config.crontab import Crontab, read_crontab
from tuner.config.schedule import zone_of
from tuner.config.schema import ScheduleTable
from tuner.records import Window

WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
"""By cron's numbers, in APScheduler's names: its own numbers begin with Monday."""

HOUR = 3600.0
WIDER = 4.0
"""A search that found nothing goes on over a span so many times as long."""

AHEAD = 6 * HOUR
"""How far ahead the next change is looked for; what lies beyond is looked for again then."""

LOOK = 24 * HOUR
"""An end is looked for over so much time at once, at least."""

SAMPLES = 6 * HOUR
"""A time zone changes its offset once in such a span at most."""

SAMPLES_OF_A_DAY = 4


class Series:
    """The windows of one schedule, without end."""

    def __init__(self, table: ScheduleTable) -> None:
        """Prepare.

        Args:
            table: the schedule.

        Raises:
            ValueError: its crontab or time zone cannot be read; one that was loaded has none such.
        """
        self.table = table
        self.zone = zone_of(table.timezone)
        self.seconds = 60.0 * table.minutes
        crontab = read_crontab(table.cron)
        self.daily = crontab.daily
        self._hourly = crontab.hourly
        self._days = _triggers(crontab)
        self._times = [
            HOUR * hour + 60.0 * at for hour in sorted(crontab.hours) for at in sorted(crontab.minutes)
        ]

    def beginnings(self, after: float, until: float) -> list[float]:
        """Return the instants after one and up to another at which a window begins, Unix time, rising."""
        offsets = _offsets(self.zone, after, until)
        low, high = after + min(offsets), until + max(offsets)
        found = dict.fromkeys(
            instant
            for trigger in self._days
            for day in _midnights(trigger, _clock(low), _clock(high))
            for instant in self._of_day(day)
        )
        return sorted(one for one in found if after < one <= until)

    def window(self, wall: float) -> Window | None:
        """Return the window that is active at an instant; of several, the one that began last."""
        span = HOUR
        while True:
            span = min(span, self.seconds)
            found = self.beginnings(wall - span, wall)
            if found:
                return self._made(found[-1], found[-1] + self.seconds)
            if span >= self.seconds:
                return None
            span *= WIDER

    def windows(self, after: float, until: float) -> list[Window]:
        """Return the windows of which a part lies between two instants; those that meet are one."""
        found: list[Window] = []
        first = last = None
        for began in self.beginnings(after - self.seconds, until):
            if first is None or last is None:
                first = began
            elif began > last + self.seconds:
                found.append(self._made(first, last + self.seconds))
                first = began
            last = began
        if first is not None and last is not None and first < until:
            found.append(self._made(first, last + self.seconds))
        return found

    def next_beginning(self, wall: float, horizon: float) -> float | None:
        """Return when the next window begins; None where none does within so many seconds."""
        near, span = 0.0, HOUR
        while near < horizon:
            far = min(span, horizon)
            found = self.beginnings(wall + near, wall + far)
            if found:
                return found[0]
            near, span = far, span * WIDER
        return None

    def _made(self, began: float, ends: float) -> Window:
        table = self.table
        return Window(
            name=table.name,
            began=began,
            ends=ends,
            set_point=table.set_point,
            drain=table.drain,
            max_recovery_seconds=table.max_recovery_seconds,
            max_shutdown_seconds=table.max_shutdown_seconds,
            learn=table.learn,
        )

    def _of_day(self, day: datetime) -> Iterable[float]:
        """Return the instants of a day at which a window begins, as its clock's changes have it."""
        local = day.replace(tzinfo=self.zone)
        samples = (local + timedelta(seconds=at * SAMPLES) for at in range(SAMPLES_OF_A_DAY + 1))
        offsets = {one.replace(fold=fold).utcoffset() for one in samples for fold in (0, 1)}
        if len(offsets) == 1:
            midnight = local.timestamp()
            return [midnight + at for at in self._times]
        times = (day + timedelta(seconds=at) for at in self._times)
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


class Timetable:
    """All schedules of a configuration. What is active at an instant depends on nothing but the instant."""

    def __init__(self, tables: Iterable[ScheduleTable]) -> None:
        """Prepare; reads the time zones' files.

        Args:
            tables: the schedules, in the file's order.
        """
        self.series: Sequence[Series] = tuple(Series(table) for table in tables)

    def active(self, wall: float) -> tuple[Window, ...]:
        """Return the windows that are active at an instant, in the file's order."""
        found = (one.window(wall) for one in self.series)
        return tuple(one for one in found if one is not None)

    def unchanged_until(self, wall: float, active: Iterable[Window]) -> float:
        """Return until when what is active at an instant is so; at the latest some hours later."""
        ends = [one.ends for one in active]
        begins = (one.next_beginning(wall, AHEAD) for one in self.series)
        return min([wall + AHEAD, *ends, *(one for one in begins if one is not None)])

    def between(self, after: float, until: float) -> list[Window]:
        """Return every window of which a part lies between two instants, by when they begin."""
        found = [window for one in self.series for window in one.windows(after, until)]
        return sorted((one for one in found if one.ends > after), key=attrgetter("began"))

    def end_of(self, window: Window, horizon: float) -> float | None:
        """Return when a window really ends, as one that begins again by then goes on; None for never.

        Args:
            window: of this timetable.
            horizon: instant, Unix time in seconds, from which on nobody looks for an end.
        """
        series = self._series(window.name)
        end = window.ends
        while end < horizon:
            far = end + max(series.seconds, LOOK)
            for began in series.beginnings(end - series.seconds, far):
                if began > end:
                    return end
                end = max(end, began + series.seconds)
            if end < far:
                return end
        return None

    def zone(self, name: str) -> ZoneInfo:
        """Return the time zone of a schedule."""
        return self._series(name).zone

    def daily(self, name: str) -> bool:
        """Tell whether a schedule names every day of the year."""
        return self._series(name).daily

    def _series(self, name: str) -> Series:
        return next(one for one in self.series if one.table.name == name)


def _triggers(crontab: Crontab) -> list[CronTrigger]:
    """Return what finds a crontab's days; two where a day of the month or one of the week is enough."""
    days, weekdays = _listed(crontab.days, 31), ",".join(WEEKDAYS[one] for one in sorted(crontab.weekdays))
    pairs = [(days, "*"), ("*", weekdays)] if crontab.either else [(days, weekdays)]
    return [
        CronTrigger(
            minute="0",
            hour="0",
            day=day,
            month=_listed(crontab.months, 12),
            day_of_week=weekday,
            timezone=UTC,
        )
        for day, weekday in pairs
    ]


def _listed(values: frozenset[int], all_of_them: int) -> str:
    return "*" if len(values) == all_of_them else ",".join(map(str, sorted(values)))


def _midnights(trigger: CronTrigger, low: datetime, high: datetime) -> Iterator[datetime]:
    """Yield the days from that of one time to that of another, on a clock that is never changed."""
    at = trigger.get_next_fire_time(None, low.replace(hour=0, minute=0, second=0, microsecond=0))
    while at is not None and at <= high:
        yield at
        at = trigger.get_next_fire_time(None, at + timedelta(seconds=1))


def _clock(seconds: float) -> datetime:
    """Return a clock's time, given as seconds since its 1970."""
    return datetime.fromtimestamp(seconds, UTC)


def _offsets(zone: ZoneInfo, after: float, until: float) -> list[float]:
    """Return the offsets from UTC that a zone's clock has between two instants, and at both, seconds."""
    count = int((until - after) // SAMPLES) + 1
    instants = (*(after + at * SAMPLES for at in range(count)), until)
    return [_offset(zone, instant) for instant in instants]


def _offset(zone: ZoneInfo, instant: float) -> float:
    offset = datetime.fromtimestamp(instant, zone).utcoffset()
    return 0.0 if offset is None else offset.total_seconds()


def _jump(zone: ZoneInfo, before: float, after: float) -> float:
    """Return the instant between two at which the zone's clock jumps."""
    low, high, later = int(before), int(after), _offset(zone, after)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _offset(zone, middle) == later else (middle, high)
    return float(high)
