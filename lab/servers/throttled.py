"""A server of ours whose disk is limited, and counted, by a control group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.servers.base import LabServer

if TYPE_CHECKING:
    from lab.servers.base import Ask
    from lab.servers.disk import DeviceCounters, DiskLimit
    from lab.servers.throttle import Throttle


class ThrottledServer(LabServer):
    """What a container and a local mysqld have in common: a throttle, which knows their control group."""

    _throttle: Throttle

    @property
    def disk_limit(self) -> DiskLimit:
        """The disk limit that was asked for last."""
        return self._throttle.limit

    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        """Limit the disk that the data lies on, for this server alone."""
        return self._throttle.set(limit)

    def device(self, ask: Ask | None = None) -> DeviceCounters | None:
        """Return what mysqld has had its disk do, by its control group from the first limit or count on.

        A container's counts begin anew with every start of mysqld.

        Args:
            ask: runs a statement, for the server's own counters; None is on a connection of its own.
        """
        found = self._throttle.counters()
        return found if self._throttle.counted else super().device(ask)
