"""What the daemon does for itself from time to time, in one thread of its own and never on the loop's.

APScheduler's background scheduler lives on the wall clock. A clock that jumps forward costs one run that is
late; one that is set back would put the next run off by as much, so ``clock_was_set`` begins them anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from apscheduler.executors.debug import DebugExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

LATE_SECONDS = 86_400
"""A chore that is late by more was not late: the clock was set. It runs when it is due next."""


class After(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """Fires so many seconds after the last time it did.

    An interval trigger counts every time that a clock has jumped over, one by one: millions from 1970 to now.
    """

    def __init__(self, seconds: float) -> None:
        self._interval = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:  # noqa: ARG002 - APScheduler's signature
        """Return when to fire next."""
        return now + self._interval


class Housekeeping:
    """Chores that come back, each after its own time; they run one after the other in one thread."""

    def __init__(self) -> None:
        """Prepare; nothing runs before ``start``."""
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": DebugExecutor()},  # in the scheduler's own thread
            job_defaults={"max_instances": 1, "coalesce": True, "misfire_grace_time": LATE_SECONDS},
        )
        self._started = False

    def every(self, seconds: float, chore: Callable[[], None], *, name: str) -> None:
        """Do something again and again; what it raises is logged, and it comes back all the same.

        Args:
            seconds: from the end of one run, and from now, to the next.
            chore: what is done; it may wait for the disk.
            name: for the log.
        """
        self._scheduler.add_job(chore, After(seconds), id=name, name=name)

    @property
    def alive(self) -> bool:
        """Tell whether the thread lives."""
        thread = getattr(self._scheduler, "_thread", None)
        return self._started and thread is not None and thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        self._scheduler.start()
        self._started = True

    def clock_was_set(self) -> None:
        """Begin the time of every chore anew; waits for one that is running."""
        if self._started:
            for job in self._scheduler.get_jobs():
                job.reschedule(job.trigger)

    def stop(self, timeout: float) -> bool:
        """Let nothing begin any more; tell whether what was running has ended within so many seconds."""
        if not self._started:
            return True
        self._started = False
        # its own shutdown waits for the thread without end, and a chore may hang on a disk
        ending = threading.Thread(target=self._scheduler.shutdown, name="housekeeping ends", daemon=True)
        ending.start()
        ending.join(timeout)
        return not ending.is_alive()
