"""Which of the daemon's threads are to live as long as it does, and which of them do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tuner.loop import Inbox
from tuner.records import Command
from tuner.system.logs import get_logger

log = get_logger("innobrim")

Alive = Callable[[], bool]

WORKERS = ("journal", "chores", "optimiser", "hooks", "api", "log")
"""Every thread that lives as long as the daemon, beside the loop's own."""

KEEPER = "journal"
"""The one that keeps originals and decisions: without it nothing may be written to the server."""


class Workers:
    """The threads by name, each with what tells whether it lives. For the loop's thread alone."""

    def __init__(self, tell: Callable[[Mapping[str, bool]], None], died: Callable[[str], None]) -> None:
        """Expect none yet.

        Args:
            tell: told at each look of each thread whether it lives.
            died: told once of one that died.
        """
        self._tell = tell
        self._died = died
        self._alive: dict[str, Alive] = {}
        self._dead: set[str] = set()

    def watch(self, **alive: Alive) -> None:
        """Expect threads of ``WORKERS`` to live from now on."""
        self._alive |= alive

    def look(self) -> Mapping[str, bool]:
        """Return of each thread whether it lives; say which died since the last look."""
        lives = {name: alive() for name, alive in self._alive.items()}
        self._tell(lives)
        for name, living in lives.items():
            if not living and name not in self._dead:
                self._dead.add(name)
                log.error("a thread of the daemon is dead", thread=name, right="restart the daemon")
                self._died(name)
        return lives


class WorkersInbox:
    """The loop's wait, after which it is told before its tick where the keeper is dead, once."""

    def __init__(self, inner: Inbox, look: Callable[[], Mapping[str, bool]]) -> None:
        """Look after each wait.

        Args:
            inner: the loop's wait.
            look: returns of each thread whether it lives.
        """
        self._inner = inner
        self._look = look
        self._told = False

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait; return what came, and first the keeper's death."""
        found = self._inner.take(until=until)
        if self._look().get(KEEPER, True) or self._told:
            return found
        self._told = True
        return (Command(name="worker_died", who="daemon", value=KEEPER), *found)
