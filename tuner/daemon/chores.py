"""A thread for what waits for a disk: some jobs from time to time, others when they are asked for."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping

from tuner.system.logs import get_logger

Job = Callable[[], None]

log = get_logger("innobrim")


class Chores:
    """A daemon's jobs, one after the other; one that fails is logged, and done again at its next turn."""

    def __init__(self, every: Mapping[Job, float]) -> None:
        """Take the jobs that come back; nothing is done before ``start``.

        Args:
            every: seconds between two turns of each job.
        """
        self._every = every
        self._asked: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self.work, name="chores", daemon=True)

    @property
    def alive(self) -> bool:
        """Tell whether the thread lives."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def ask(self, job: Job) -> None:
        """Have a job done soon; never blocks, and a signal handler may call it."""
        self._asked.put(job)

    def stop(self) -> None:
        """End after what was asked for before; returns at once."""
        self._asked.put(None)

    def work(self) -> None:
        """Do the jobs until told to stop."""
        due = {job: time.monotonic() + seconds for job, seconds in self._every.items()}
        while True:
            following = min(due, key=due.__getitem__)
            try:
                job = self._asked.get(timeout=max(0.0, due[following] - time.monotonic()))
            except queue.Empty:
                job = following
                due[job] = time.monotonic() + self._every[job]
            if job is None:
                return
            try:
                job()
            except Exception:
                log.exception(
                    "a chore failed; it is done again at its next turn", chore=job.__name__.lstrip("_")
                )
