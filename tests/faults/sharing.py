"""One active daemon for all tests of a module, where each fault is over at the end of its test."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.servers.base import LabServer
from tests.faults.harness import BACK, WANTED, QuickDaemon, Rig
from tests.faults.verdict import judge_run
from tests.real.support import Work, in_force, until
from tuner.journal.reader import runs
from tuner.records import TickRecord

OTHER = 600
"""What the loop is made to want in turn with the first M, pages/s."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """A daemon that several tests do things to, one after the other.

    Attributes:
        rig: the server under load.
        daemon: in active mode, with a write of its own in force.
    """

    rig: Rig
    daemon: QuickDaemon

    @property
    def server(self) -> LabServer:
        """Return the server."""
        return self.rig.server

    def run(self, *statements: str, timeout: float = 60.0) -> None:
        """Have the server carry out these statements, as its administrator."""
        for one in statements:
            self.server.query(one, timeout=timeout)

    def await_said(self, code: str, words: str, after: int, limit: float = BACK) -> str:
        """Return the message of an event with this code and these words, younger than a tick."""

        def look() -> str | None:
            return next(
                (
                    event.message
                    for record in self.daemon.records()
                    for event in record.events
                    if record.tick.number > after and event.code == code and words in event.message
                ),
                None,
            )

        return until(look, limit, lambda: f"{code} with {words!r}; the daemon said:\n{self.daemon.log()}")

    def await_tick(self, accept: Callable[[TickRecord], bool], after: int, limit: float = BACK) -> TickRecord:
        """Return the first tick in the journal, younger than a tick, that is accepted."""

        def look() -> TickRecord | None:
            return next(
                (one for one in self.daemon.records() if one.tick.number > after and accept(one)), None
            )

        return until(look, limit, lambda: f"such a tick; the daemon said:\n{self.daemon.log()}")

    def now(self) -> int:
        """Return the number of the newest tick."""
        return int(self.daemon.await_ticks(0)["tick"])

    def back(self) -> list[TickRecord]:
        """See that the loop holds nothing and writes by itself again; judge and return all its ticks."""
        self.daemon.await_no_hold()
        first = in_force(self.server) != WANTED
        self.daemon.want(WANTED.io_capacity_max if first else OTHER)
        return self.judged()

    def judged(self) -> list[TickRecord]:
        """Judge all ticks on disk; return them."""
        return judge_run(self.daemon.state, runs(self.daemon.state)[-1].number)


def longest_gap(ticks: list[TickRecord]) -> float:
    """Return the longest time from one tick to the next, seconds."""
    return max(new.tick.now - old.tick.now for old, new in itertools.pairwise(ticks))


def share(server: LabServer, work: Work, directory: Path, **how: Any) -> Iterator[Sharing]:  # noqa: ANN401 - passed on
    """Yield a daemon that is active beside the server; judge at the end what all tests left."""
    rig = Rig(server, work, directory)
    rig.begin()
    try:
        yield Sharing(rig, rig.active(**how))
        rig.finish()
    finally:
        with contextlib.suppress(OSError):
            rig.close()
