"""A daemon's loop on the simulated server with its API on loopback, at a pace of its own."""

from __future__ import annotations

import threading
import time
from typing import Self

from api.access import Access
from api.server import ApiServer
from api.tokens import Tokens
from lab.plant.clock import SimClock
from lab.plant.parameters import PlantParameters
from lab.plant.server import SimulatedServer
from tests.api.factory import TOKEN, about, application, free_port
from tests.api.factory import tokens as given_tokens
from tuner.core.state import State
from tuner.core.step import start
from tuner.core.trials.proof import progress
from tuner.daemon.board import Board
from tuner.loop import drive
from tuner.records import Capacity, Command, TickRecord
from tuner.settings import Mode, Settings

HISTORY_SECONDS = 900.0
"""Simulated, gone through at once before anybody looks: by then the loop holds its set-point."""

INTERVAL = 1.0
END_SECONDS = 10.0
SLOWEST = 60.0
"""Real seconds of a tick: up to so many the loop is slow and gives signs of life, above it is dead."""


class PacedInbox:
    """The loop's wait: none until the history is there, then real seconds for each simulated one."""

    def __init__(self, board: Board, clock: SimClock, history: float, *first: Command) -> None:
        self.pace = 1.0
        self._history = history
        self.ready = threading.Event()
        self._board = board
        self._clock = clock
        self._first = first
        self._began = clock.monotonic()

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait, unless a command is there; move the clock to the deadline."""
        found, self._first = list(self._first), ()
        if self._clock.monotonic() - self._began < self._history:
            self._clock.advance_to(until)
            return tuple(found)
        self.ready.set()
        self._board.pulse.beat(self.pace if self.pace <= SLOWEST else 0.0)
        found += self._board.commands.take(timeout=self.pace)
        self._clock.advance_to(until)
        return tuple(found)


class Site:
    """The loop and its API, at ``url``, from the default setting on.

    Attributes:
        token: what changes over TCP need.
        port: that the API listens on.
        app: the application that is served.
    """

    token = TOKEN

    def __init__(
        self,
        *,
        mode: Mode = Mode.ACTIVE,
        pace: float = 1.0,
        history: float = HISTORY_SECONDS,
        port: int | None = None,
        open_reading: bool = True,
        tokens: Tokens | None = None,
    ) -> None:
        """Make it; nothing runs yet.

        Args:
            mode: of the loop from its start.
            pace: real seconds a tick, once the history is there.
            history: simulated seconds that are gone through first.
            port: on loopback; a free one where none is given.
            open_reading: reading needs no token.
            tokens: what changes need in place of ``token``.
        """
        clock = SimClock(epoch=time.time() - history)
        self.board = Board()
        self._clock = clock
        self._server = SimulatedServer(PlantParameters(), clock, seed=1)
        self._inbox = PacedInbox(self.board, clock, history, Command(name="originals_saved", who="test"))
        self._inbox.pace = pace
        self._settings = Settings(mode=mode)
        self._thread = threading.Thread(target=self._loop, name="loop", daemon=True)
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.app = application(
            self.board,
            access=Access(tokens or given_tokens(), open_reading=open_reading),
            about=about(started=time.time(), interval=INTERVAL),
        )
        self._api = ApiServer(self.app, "127.0.0.1", self.port, None)

    def __enter__(self) -> Self:
        """Run, and return once the history is there."""
        self._api.start()
        self._thread.start()
        assert self._inbox.ready.wait(300.0), "the loop did not come to the end of its history"
        return self

    def __exit__(self, *_: object) -> None:
        self.pace(0.01)
        self.board.submit(Command(name="stop", who="test", value="leave"))
        self._api.stop(END_SECONDS)
        self._thread.join(END_SECONDS)

    def pace(self, seconds: float) -> None:
        """Have each tick take so many real seconds from the next one on."""
        self._inbox.pace = seconds

    def in_force(self) -> Capacity:
        """Return C and M as the server has them."""
        cleaner = self._server.engine.cleaner
        return Capacity(cleaner.io_capacity, cleaner.io_capacity_max)

    def writes(self) -> int:
        """Return how many ticks have written."""
        return self.board.tally().changes

    def tick(self) -> int:
        """Return the number of the newest tick."""
        return self.record().tick.number

    def record(self) -> TickRecord:
        """Return the newest tick's record."""
        last = self.board.last()
        assert last is not None
        return last

    def command(self, name: str, value: str | int | None = None) -> None:
        """Ask something of the loop; return once it has answered, whatever it said."""
        number = self.board.submit(Command(name=name, who="test", value=value))
        assert self.board.answer(number, timeout=END_SECONDS) is not None, f"no answer to {name}"

    def _loop(self) -> None:
        def publish(state: State, record: TickRecord) -> None:
            self.board.trial = lambda: progress(state.proof)
            self.board.publish(record, state.settings, state.facts)

        drive(
            self._server,
            self._clock,
            self._inbox,
            start(self._settings, self._server.facts()),
            interval=INTERVAL,
            publish=publish,
        )
