"""One device that page writes and commits share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lab.plant.parameters import DiskParameters


class Disk:
    """A limit on write operations per second.

    While a flush batch runs, the device serves what waits for it in turn: the operations of
    the commits in flight against ``queued_pages`` page writes. Between batches commits have
    the device for themselves.

    Attributes:
        write_iops: operations per second that the device takes now.
    """

    __slots__ = ("_most_pages", "_per_page", "_queued", "write_iops")

    def __init__(self, parameters: DiskParameters) -> None:
        """Start with the timeline's first limit."""
        self.write_iops = parameters.timeline[0].write_iops
        self._per_page = parameters.operations_per_page
        self._queued = parameters.queued_pages * parameters.operations_per_page
        self._most_pages = parameters.pages_per_second

    def alone(self, *, operations_per_commit: float, most_commits: float) -> float:
        """Return commits per second while no page is written.

        Args:
            operations_per_commit: device operations for one commit.
            most_commits: commits per second that the threads could do on a free device.
        """
        return min(most_commits, self.write_iops / operations_per_commit)

    def shared(
        self, *, operations_per_commit: float, most_commits: float, waiting: float
    ) -> tuple[float, float]:
        """Return commits and pages per second while a flush batch runs.

        Args:
            operations_per_commit: device operations for one commit.
            most_commits: commits per second that the threads could do on a free device.
            waiting: device operations of the commits in flight.
        """
        share = waiting / (waiting + self._queued)
        commits = min(most_commits, self.write_iops * share / operations_per_commit)
        pages = min(self._most_pages, (self.write_iops - commits * operations_per_commit) / self._per_page)
        if pages == self._most_pages:
            left = self.write_iops - pages * self._per_page
            commits = min(most_commits, left / operations_per_commit)
        return commits, pages
