"""What an earlier daemon left, and a server to restore."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from api.access import Access
from api.server import ApiServer
from api.tokens import Tokens, prepare
from lab.plant.clock import SimClock
from tests.api.factory import FACTS, START, about, application, record, sample
from tuner.cli.main import cli
from tuner.config.schema import Config, DaemonSection
from tuner.daemon.board import Board
from tuner.journal.items import EndItem, RunItem
from tuner.journal.tables import Originals
from tuner.journal.writer import JournalWriter
from tuner.records import Capacity, Command, Decision, DecisionKind, Facts, Receipt, Sample
from tuner.servers.port import ServerError, Unreachable
from tuner.settings import Mode, Settings

Run = Callable[..., Result]


def free_port() -> int:
    """Return a TCP port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def on_tcp(state_directory: Path, board: Board) -> Iterator[int]:
    """Serve the API of a daemon with that state directory over TCP alone; yield its port."""
    config = Config(daemon=DaemonSection(state_directory=str(state_directory)))
    app = application(
        board, access=Access(Tokens(prepare(state_directory))), about=about(configuration=lambda: config)
    )
    port = free_port()
    serving = ApiServer(app, "127.0.0.1", port, None)
    serving.start()
    try:
        yield port
    finally:
        serving.stop(timeout=2.0)


WRITTEN = Decision(
    kind=DecisionKind.SET,
    reason="lower",
    detail="410 pages/s hold the age",
    target=Capacity(225, 450),
    steps=(("innodb_io_capacity", 225), ("innodb_io_capacity_max", 450)),
)
"""What a daemon wrote last that left 225/450."""


def write_journal(
    folder: Path,
    *,
    ticks: int = 1,
    originals: Capacity | None = None,
    wrote: bool = False,
    ended: bool = False,
    identity: str = FACTS.identity,
) -> None:
    """Leave behind the journal of a daemon that is gone.

    Args:
        folder: the state directory.
        ticks: quiet ones.
        originals: of the server.
        wrote: it was in active mode, and its last write left 225/450.
        ended: it was stopped, not killed.
        identity: what the originals' server was known as.
    """
    journal = JournalWriter(folder, keep_ticks=3600, on_error=pytest.fail)
    journal.start()
    journal.put(RunItem(settings=Settings(), facts=FACTS, state=b"", tick=0, wall=START))
    for number in range(1, ticks + 1):
        journal.record(record(number))
    if wrote:
        journal.record(record(ticks + 1, mode=Mode.ACTIVE, decision=WRITTEN))
    if ended:
        journal.put(EndItem(START))
    if originals is not None:
        saved = threading.Event()
        journal.put(Originals(identity, originals, FACTS.started, FACTS.version, START), saved.set)
        assert saved.wait(5.0)
    journal.close(5.0)


class SimInbox:
    """The loop's wait on a simulated clock, which still hears what comes."""

    def __init__(self, board: Board, clock: SimClock) -> None:
        self._commands, self._clock = board.commands, clock

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Let the clock go to the deadline; return all that has come."""
        self._clock.advance_to(until)
        return self._commands.take()


class FakeServer:
    """A server that takes every write, refuses to say what it is, or does not answer at all."""

    def __init__(self, facts: Facts | ServerError | None) -> None:
        self.capacity = Capacity(225, 450)
        self.claims_writer = self.watches_latency = False
        self.closed = False
        self.enables_counters = False
        self._facts = facts
        self._number = 0

    def facts(self) -> Facts:
        """Return what this server is."""
        if self._facts is None:
            raise Unreachable("127.0.0.1:3306 refused the connection")
        if isinstance(self._facts, ServerError):
            raise self._facts
        return self._facts

    def read(self) -> Sample:
        """Return a reading with the pair in force."""
        self._number += 1
        return sample(
            self._number, io_capacity=self.capacity.io_capacity, io_capacity_max=self.capacity.io_capacity_max
        )

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Take a write; only a holder of the writer lock may."""
        assert self.claims_writer
        self.capacity = wanted
        return Receipt(1.0, wanted, wanted, len(steps), 0.01)

    def may_write(self) -> bool | None:
        """Leave it open."""
        return None

    def set_by_us(self) -> frozenset[str]:
        """Leave it to the journal."""
        return frozenset()

    def close(self) -> None:
        """Note that the connection was given back."""
        self.closed = True


def innobrim(*words: object, **environ: str | None) -> Result:
    """Return what a command came to that somebody typed, with these variables set, or None unset."""
    return CliRunner().invoke(cli, [str(word) for word in words], prog_name="innobrim", env=environ)


def ended(result: Result, code: int, *said: str) -> None:
    """Ask that a command ended with an exit code and said all of this, wherever its lines break."""
    text = " ".join(result.output.split())
    missing = [one for one in said if " ".join(one.split()) not in text]
    assert (result.exit_code, missing) == (code, []), result.output
