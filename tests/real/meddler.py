"""Who changes something on the server between two of a daemon's statements, seen through a proxy."""

from __future__ import annotations

from lab.servers.base import LabServer


class Meddler:
    """Carries out a statement of its own right before one of the daemon's, once each time it is asked.

    Attributes:
        server: whose administrator it is.
        waiting: the daemon's statement has not come yet.
    """

    def __init__(self, server: LabServer) -> None:
        self.server = server
        self.waiting = False
        self._before = self._say = ""

    def __call__(self, statement: str) -> bool:
        """Let every statement through, after one's own where its time has come."""
        if self.waiting and statement == self._before:
            self.waiting = False
            self.server.query(self._say)
        return True

    def meddle(self, *, before: str, say: str) -> None:
        """Have something said right before this statement of the daemon's comes the next time."""
        self._before, self._say, self.waiting = before, say, True
