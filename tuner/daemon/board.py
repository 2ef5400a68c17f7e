"""The seam between the loop and everybody who watches or commands it.

The loop's thread publishes; any other thread reads. Commands go into one queue, which is
also what the loop waits on, and come back as acknowledgements.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from tuner.core.memory import Learned
from tuner.daemon.command_queue import CommandQueue
from tuner.daemon.history import History
from tuner.daemon.tally import Tally
from tuner.findings.advice import advise
from tuner.findings.finding import Finding
from tuner.findings.redo_growth import Growing
from tuner.records import (
    Acknowledgement,
    Command,
    Event,
    Facts,
    OptimiserHealth,
    TickRecord,
    TrialProgress,
)
from tuner.records.hook import HookHealth
from tuner.settings import Settings
from tuner.system.clock import Clock, Pulse

RING_TICKS = 600
RING_EVENTS = 1000


NumberedEvents = Sequence[tuple[int, Event]]
"""Events with the numbers that they have in ``Board.events``."""


class ApiFailure(Exception):  # noqa: N818 - reads as the state it names
    """The HTTP side cannot start; the message says why and what to do."""


class PortTaken(ApiFailure):
    """Somebody else listens on the TCP port of the HTTP side.

    Attributes:
        host: address that it was to listen on.
        port: the TCP port.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"port {port} on {host} is taken; set api.port to a free port, or to 0 for the unix socket only"
        )
        self.host = host
        self.port = port


class Board:
    """What the loop last said, and the way to talk to it. Thread-safe.

    Attributes:
        watched: somebody may ask for earlier ticks.
        trial: the same of how far a trial is, or what the last one came to.
        growth: returns what becomes of ``redo.grow_to``, from any thread.
        hooks: returns how each hook is, from any thread.
        learned: returns what was learned of the server, worked out for whoever asks, from any thread.
    """

    def __init__(self, *, watched: bool = True) -> None:
        """Make an empty one.

        Args:
            watched: somebody may ask for earlier ticks; without, they are not kept, which saves 3 MiB.
        """
        self.commands = CommandQueue()
        self.pulse = Pulse()
        self.history = History() if watched else History(keep=1)
        self.watched = watched
        self.trial: Callable[[], TrialProgress | None] = lambda: None
        self.growth: Callable[[], Growing | None] = lambda: None
        self.hooks: Callable[[], tuple[HookHealth, ...]] = lambda: ()
        self.learned: Callable[[], Learned | None] = lambda: None
        self._changed = threading.Condition()
        self._ring: deque[tuple[int, bytes]] = deque(maxlen=RING_TICKS)
        self._events: deque[tuple[int, Event]] = deque(maxlen=RING_EVENTS)
        self._acknowledgements: dict[int, Acknowledgement] = {}
        self._numbers = itertools.count(1)
        self._event_numbers = itertools.count(1)
        self._last: TickRecord | None = None
        self._settings: Settings | None = None
        self._facts: Facts | None = None
        self._tally = Tally()
        self._encoder = msgspec.json.Encoder()
        self._listeners: tuple[Callable[[TickRecord, NumberedEvents], None], ...] = ()

    def publish(self, record: TickRecord, settings: Settings, facts: Facts | None) -> None:
        """Make one tick's record visible; called by the loop's thread alone."""
        self.pulse.beat()
        encoded = b""
        if self.watched:
            encoded = self._encoder.encode(record)
            self.history.add(record)
        numbered = [(next(self._event_numbers), event) for event in record.events]
        with self._changed:
            self._last = record
            self._settings = settings
            self._facts = facts
            self._tally = self._tally.after(record)
            if self.watched:
                self._ring.append((record.tick.number, encoded))
            self._events.extend(numbered)
            for answer in record.acknowledgements:
                self._acknowledgements[answer.number] = answer
            while len(self._acknowledgements) > RING_EVENTS:
                self._acknowledgements.pop(next(iter(self._acknowledgements)))
            self._changed.notify_all()
        for told in self._listeners:
            told(record, numbered)

    def listen(self, told: Callable[[TickRecord, NumberedEvents], None]) -> None:
        """Have something called after every tick, on the loop's thread: it may neither wait nor raise."""
        with self._changed:
            self._listeners = (*self._listeners, told)

    def last(self) -> TickRecord | None:
        """Return the newest record, None before the first tick."""
        with self._changed:
            return self._last

    def settings(self) -> Settings | None:
        """Return the settings in force at the newest record."""
        with self._changed:
            return self._settings

    def facts(self) -> Facts | None:
        """Return what the server is; None until it was reached."""
        with self._changed:
            return self._facts

    def waiting(self, reason: str) -> None:
        """Give a sign of life from a loop that cannot tick yet, with what it waits for; every few seconds."""
        self.pulse.beat()
        with self._changed:
            self._tally = replace(self._tally, alive=time.monotonic(), waiting=reason)

    def journal(self, trouble: str, lost: int, *, written: float | None = None) -> None:
        """Say how the journal is.

        Args:
            trouble: why it cannot be written; empty where it can.
            lost: ticks that it will never have.
            written: when it was written last, Unix time; None where it has not been.
        """
        with self._changed:
            success = self._tally.success
            if written is not None:
                success = {**success, "journal": written}
            self._tally = replace(self._tally, journal=trouble, lost=lost, success=success)

    def workers(self, alive: Mapping[str, bool]) -> None:
        """Say of each of the daemon's threads whether it lives."""
        with self._changed:
            if alive != self._tally.workers:
                self._tally = replace(self._tally, workers=alive)

    def ticked(self, seconds: float) -> None:
        """Say how long a tick took, from its beginning to the wait for the next."""
        with self._changed:
            self._tally = replace(self._tally, ticking=self._tally.ticking.after(seconds))

    def optimiser(self, health: OptimiserHealth) -> None:
        """Say how the optimiser's process is; from any thread."""
        with self._changed:
            self._tally = replace(self._tally, optimiser=health)

    def tally(self) -> Tally:
        """Return the counts since start and when the loop last published."""
        with self._changed:
            return self._tally

    def advice(self) -> list[Finding]:
        """Return the advice that the newest tick supports; empty before the first."""
        with self._changed:
            record, settings, facts = self._last, self._settings, self._facts
        if record is None or settings is None or facts is None:
            return []
        return advise(record, facts, settings)

    def events(self, *, limit: int = 200) -> NumberedEvents:
        """Return the newest numbered events, oldest first."""
        with self._changed:
            return list(self._events)[-limit:]

    def events_after(self, number: int, *, limit: int) -> tuple[NumberedEvents, bool]:
        """Return the first events after a number, oldest first, and whether some before them are gone.

        A number that no event has had yet is an earlier run's: all that there is comes after it.
        """
        with self._changed:
            first, newest = (self._events[0][0], self._events[-1][0]) if self._events else (1, 0)
            place = 0 if number > newest else number
            found = itertools.islice((item for item in self._events if item[0] > place), limit)
            return list(found), place != number or place < first - 1

    def ticks(self, *, after: int = 0) -> Sequence[tuple[int, bytes]]:
        """Return encoded ticks younger than ``after``, oldest first, at most the ring's length."""
        with self._changed:
            return [item for item in self._ring if item[0] > after]

    def wait(self, *, after: int, timeout: float) -> Sequence[tuple[int, bytes]]:
        """Wait until there is a tick younger than ``after``; empty when the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._ring) and self._ring[-1][0] > after, timeout)
        return self.ticks(after=after)

    def submit(self, command: Command) -> int:
        """Hand a command to the loop at once; return its number for ``answer``."""
        number = next(self._numbers)
        self.commands.put(replace(command, number=number))
        return number

    def answer(self, number: int, *, timeout: float) -> Acknowledgement | None:
        """Return the loop's answer to a command; None when it has not come in time."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._acknowledgements, timeout)
            return self._acknowledgements.get(number)


class BoardInbox:
    """The loop's only wait: the board's queue, with a deadline. Tells the board how long each tick took."""

    def __init__(self, board: Board, clock: Clock, *, speed: float = 1.0) -> None:
        """Wait on a board's queue; the first tick begins now.

        Args:
            board: whose queue.
            clock: on which deadlines are given.
            speed: seconds on that clock in one real second.
        """
        self._board = board
        self._clock = clock
        self._speed = speed
        self._woke = clock.monotonic()

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait until the deadline or until a command comes; return all that is there."""
        self._board.pulse.beat()
        self._board.ticked(self._clock.monotonic() - self._woke)
        while True:
            left = (until - self._clock.monotonic()) / self._speed
            commands = self._board.commands.take(timeout=left)
            if commands or left <= 0.0:
                self._board.pulse.beat()
                self._woke = self._clock.monotonic()
                return commands
