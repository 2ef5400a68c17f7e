"""The schedule beside the loop: it tells the core which windows are active, whenever that changes.

Level-triggered: what is active follows from the wall clock at this tick and from nothing before it. So a
daemon that starts or wakes in the middle of a window is in it, and a clock that is set leaves nothing missed
or done twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from tuner.clock import Clock
from tuner.config.schema import ScheduleTable
from tuner.inbox import Inbox
from tuner.logs import get_logger
from tuner.records import Command, Window
from tuner.records.window import WHO
from tuner.timetable import Timetable

log = get_logger("innobrim")


class Schedule:
    """What the configuration says about windows, and what was told of them last.

    ``use`` may be called from any thread, ``look`` from the loop's alone.
    """

    def __init__(self, tables: Iterable[ScheduleTable] = ()) -> None:
        """Begin with nothing told.

        Args:
            tables: the schedules.
        """
        self._timetable = self._wanted = Timetable(tables)
        self._told: tuple[Window, ...] = ()
        self._holds = (float("inf"), float("-inf"))

    def use(self, tables: Iterable[ScheduleTable]) -> None:
        """Take other schedules in place of these, at the next look."""
        self._wanted = Timetable(tables)

    def look(self, wall: float) -> tuple[Window, ...] | None:
        """Return the windows that are active; None where that has been told before.

        Args:
            wall: Unix time, seconds.
        """
        wanted = self._wanted
        if wanted is not self._timetable:
            self._timetable, self._holds = wanted, (float("inf"), float("-inf"))
        since, until = self._holds
        if since <= wall < until:
            return None
        try:
            active = self._timetable.active(wall)
            self._holds = (wall, self._timetable.unchanged_until(wall, active))
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
        """Stand in front of an inbox.

        Args:
            inbox: the loop's wait.
            clock: whose wall time counts.
            schedule: what to look at after each wait.
        """
        self._inbox = inbox
        self._clock = clock
        self._schedule = schedule

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait as the inbox does; return what came, and the active windows where they are others now."""
        found = self._inbox.take(until=until)
        windows = self._schedule.look(self._clock.wall())
        return found if windows is None else (Command(name="schedule", who=WHO, windows=windows), *found)
