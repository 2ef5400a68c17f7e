"""A loop by hand beside a fake server whose redo log grows."""

from __future__ import annotations

import threading
from pathlib import Path

from tests.bench import Bench, FakeServer
from tests.cli.redo_growth_outputs import Server
from tests.factory import ACTIVE, REDO, SAVED, command
from tuner.daemon.growth import QUIET_SECONDS, Growth
from tuner.findings.redo_growth import Growing
from tuner.records import Command, Facts
from tuner.servers.port import Unreachable
from tuner.settings import GrowTo, Settings

GOAL = GrowTo(3 * REDO, unchecked=True)
LONG = int(3 * QUIET_SECONDS) + 20


class Log(Server):
    """The way to a fake server's redo log: a connection for each step.

    Attributes:
        limit: up to which size a procedure grows it, bytes; None without one.
        calls: of each SET whether it was by the procedure.
        then_lost: the SET after the next one gets no answer.
    """

    def __init__(self, beside: FakeServer, directory: Path) -> None:
        super().__init__(beside.facts(), size=beside.redo_capacity)
        self.beside, self.directory = beside, directory
        self.limit: int | None = None
        self.calls: list[bool] = []
        self.local = self.then_lost = False

    def facts(self) -> Facts:
        """Return what the fake server is."""
        self.size = self.beside.redo_capacity
        return super().facts()

    def redo_limit(self) -> int | None:
        """Return up to which size a procedure grows it."""
        return self.limit

    def resize_redo(self, facts: Facts, size: int, _seconds: float, *, called: bool = False) -> None:
        """Set it on the fake server."""
        super().resize_redo(facts, size, _seconds)
        self.calls.append(called)
        self.beside.redo_capacity = size
        if self.then_lost:
            self.fails = Unreachable("lost connection")


class Grown:
    """A loop by hand beside a fake server whose redo log is to grow.

    Attributes:
        bench: the loop.
        log: the way to the redo log.
        told: what log, journal and events are told.
    """

    def __init__(
        self, directory: Path, goal: GrowTo | None = GOAL, settings: Settings = ACTIVE, **log: object
    ) -> None:
        self.bench = Bench(settings)
        self.bench.server.redo_capacity = int(str(log.pop("found", REDO)))
        self.log = Log(self.bench.server, directory)
        for name, value in log.items():
            setattr(self.log, name, value)
        self.told: list[str] = []
        self.growth = Growth(directory, goal, connect=lambda: self.log, tell=self.told.append)
        self.turns(2)
        self.turn(SAVED)

    @property
    def sizes(self) -> list[int]:
        """Return what was set, in shares of the log found."""
        return [size // REDO for size, _ in self.log.sets]

    def turn(self, *commands: Command) -> None:
        """Tick once, and let a step that begins come to its end."""
        self.bench.turn(*commands)
        self.growth.take(self.bench.state, self.bench.record)
        for thread in threading.enumerate():
            if thread.name == "redo-growth":
                thread.join(10.0)

    def restore(self) -> None:
        """Have a person give C and M back, and tick until they are, and a little longer."""
        self.bench.until("set", "emergency", limit=600)
        self.turn(command("restore"))
        for _ in range(600):
            self.turn()
            if self.bench.state.mode is not ACTIVE.mode:
                break
        self.turns(3)

    def turns(self, count: int) -> None:
        """Tick so many times."""
        for _ in range(count):
            self.turn()

    @property
    def shown(self) -> Growing:
        """Return how far it is."""
        found = self.growth.status()
        assert found is not None
        return found

    @property
    def status(self) -> str:
        """Return it in words."""
        return self.shown.text
