"""A supervisor with a child of a few lines, and what it says."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from policies.types import LoadContext
from tests.factory import BAYES, FACTS, A
from tuner.core.step import start
from tuner.optimiser.supervisor import Patience, Supervisor
from tuner.records import Command, OptimiserHealth, OptimiserPhase, OptimiserProgress, TickRecord

LOAD = LoadContext(1e6, 300.0, 0.0, 0.0, float(A))

IMPATIENT = Patience(answer=3.0, linger=60.0, first=0.05, longest=0.2, nonsense=3)

AT_NOUGHT = SimpleNamespace(time=lambda: 0.0, monotonic=time.monotonic)
"""A clock of the supervisor's that shows each wait as the time at which it ends."""

READY = (
    "import sys,time,os\nsay=lambda s:(sys.stdout.write(s+'\\n'),sys.stdout.flush())\nsay('{\"number\":0}')\n"
)

ECHO = (
    "import json\nfor l in sys.stdin:\n q=json.loads(l)\n"
    " found = {'offset':-0.01,'margin_share':1.0,'hold_gain':1.0}\n"
    " say(json.dumps({'number':q['number'],'suggestion':found}))\n"
)


class Watched:
    """A supervisor with a child of a few lines, and what it says."""

    def __init__(self, script: str, patience: Patience = IMPATIENT) -> None:
        self.commands: list[Command] = []
        self.said: list[OptimiserHealth] = []
        self.news = threading.Condition()
        self.supervisor = Supervisor(
            self._submit, self._tell, command=(sys.executable, "-c", script), patience=patience
        )
        self.state = start(BAYES, FACTS)
        self.state = replace(self.state, trials=replace(self.state.trials, context=LOAD))
        self.supervisor.start()

    def _submit(self, command: Command) -> None:
        with self.news:
            self.commands.append(command)
            self.news.notify_all()

    def _tell(self, health: OptimiserHealth) -> None:
        with self.news:
            self.said.append(health)
            self.news.notify_all()

    def ask(self, number: int = 1, phase: OptimiserPhase = OptimiserPhase.ASKING) -> float:
        """Have a tick ask for a suggestion; return how long that took."""
        began = time.perf_counter()
        self.supervisor.take(self.state, record(OptimiserProgress(phase, number=number)))
        return time.perf_counter() - began

    @property
    def health(self) -> OptimiserHealth:
        """Return what was said last."""
        return self.said[-1] if self.said else OptimiserHealth()

    def until(self, seen: Callable[[Watched], bool], timeout: float = 20.0) -> None:
        """Wait until something was seen."""
        with self.news:
            assert self.news.wait_for(lambda: seen(self), timeout), (self.said[-3:], self.commands)


def record(progress: OptimiserProgress | None) -> TickRecord:
    """Return a record of which only the outer loop's part counts."""
    made: Any = TickRecord
    return made(tick=None, lifecycle=None, mode=None, estimate=None, decision=None, optimiser=progress)  # type: ignore[no-any-return] # of the shape that take looks at
