"""A daemon's whole life in one process, on a clock that runs fast.

The daemon turns in this process's main thread, as it must for its signals; a second thread plays the part of
whoever watches it. A second on the daemon's clock takes a hundredth of a real one.
"""

from __future__ import annotations

import copy
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from msgspec.structs import replace

from tests.bench import FakeServer
from tuner.config.schema import Config, ConfigError, DaemonSection
from tuner.core.state import State
from tuner.daemon.board import Board
from tuner.daemon.daemon import Api, Daemon
from tuner.records import (
    Capacity,
    Command,
    Event,
    Facts,
    Missed,
    Receipt,
    Sample,
    TickRecord,
)
from tuner.servers.port import Unreachable
from tuner.settings import Mode, Settings
from tuner.system.systemd import Notifier

SPEED = 100.0
LONGEST = 1.5
"""Seconds on the fast clock between two looks at most."""
SOON = 60.0
"""Real seconds that a condition may take to come true before the test fails."""

ORIGINALS = Capacity(1_000, 2_000)
"""What the server is set to before us; its flush percentage stays above zero with it, so that it tells."""


class FastClock:
    """A clock that goes a hundred times as fast, and by no more than ``LONGEST`` from one look to the next.

    So it all but stands still while a busy machine lets nobody look, and no reading is stale for that.

    Attributes:
        offset: by how much its wall clock was set, seconds.
    """

    def __init__(self) -> None:
        self.offset = 0.0
        self._lock = threading.Lock()
        self._looked = time.monotonic()
        self._now = self._looked * SPEED
        self._epoch = time.time() * SPEED - self._now

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        with self._lock:
            looked = time.monotonic()
            self._now += min(LONGEST, (looked - self._looked) * SPEED)
            self._looked = looked
            return self._now

    def wall(self) -> float:
        """Return Unix time."""
        return self._epoch + self.monotonic() + self.offset


class Watched(FakeServer):
    """A fake server that lives on the daemon's clock and may look at the disk before a write.

    Attributes:
        refuses: why it cannot be reached at the start; empty when it can.
        before_write: called before each write is carried out.
        facts_started: when it says that it had started, Unix time.
    """

    def __init__(self, clock: FastClock) -> None:
        super().__init__(ORIGINALS)
        self._clock = clock
        self._zero = clock.monotonic()
        self.refuses = ""
        self.before_write: Callable[[], None] = lambda: None
        self.facts_started = clock.wall()

    def facts(self) -> Facts:
        """Return what this server is.

        Raises:
            Unreachable: while it refuses.
        """
        if self.refuses:
            raise Unreachable(self.refuses)
        return replace(super().facts(), started=self.facts_started)

    def read(self) -> Sample | Missed:
        """Live up to now and return a reading."""
        now = self._clock.monotonic()  # once: on a busy machine two looks may be a second of its time apart
        self.live(now - self._zero - self.now)
        return replace(super().read(), monotonic=now)

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Let the test look, then carry out the SETs."""
        self.before_write()
        return super().apply(steps, wanted)


class Loaded:
    """What the configuration file holds; an error is raised instead."""

    def __init__(self, config: Config) -> None:
        self.content: Config | ConfigError = config

    def __call__(self) -> Config:
        """Return the content.

        Raises:
            ConfigError: the content is rubbish.
        """
        if isinstance(self.content, ConfigError):
            raise self.content
        return self.content


class Life:
    """One daemon's life in the main thread, beside a script in another.

    Attributes:
        records: every tick so far.
        states: the state before the first tick, then after each.
        seconds_to_end: real seconds from the last SIGTERM to the end.
    """

    def __init__(self, directory: Path, settings: Settings, on_stop: str = "park") -> None:
        self.config = Config(
            loop=settings,
            daemon=DaemonSection(
                state_directory=str(directory), on_stop="leave" if on_stop == "leave" else "park"
            ),
        )
        self.board = Board()
        self.clock = FastClock()
        self.server = Watched(self.clock)
        self.loaded = Loaded(self.config)
        self.records: list[TickRecord] = []
        self.states: list[State] = []
        self.seconds_to_end = float("inf")
        self._news = threading.Condition()
        self._terminated = 0.0
        self._failure: BaseException | None = None

    def through(self, *steps: int | str | Command | Callable[[], object], api: Api | None = None) -> Self:
        """Live through some steps, one after the other.

        Args:
            steps: so many ticks; a command, which is submitted; a condition, which is waited for; "write",
                its first; or "SIGHUP".
            api: as the daemon takes it.
        """

        def script() -> None:
            for one in steps:
                if isinstance(one, int):
                    self.wait_for_ticks(one)
                elif isinstance(one, Command):
                    self.board.submit(one)
                elif one == "write":
                    self.wait_for_write()
                elif isinstance(one, str):
                    self.signal(one)
                else:
                    self.wait(one)

        return self.live(script, api=api)

    def live(self, script: Callable[[], None], *, api: Api | None = None) -> Self:
        """Run the daemon until the script is done; raise what went wrong in it."""
        daemon = Daemon(
            self.config,
            self.server,
            self.clock,
            board=self.board,
            notifier=Notifier({}),
            reload=self.loaded,
            watch=self._note,
            speed=SPEED,
            api=api,
        )
        self.daemon = daemon

        def played() -> None:
            try:
                script()
            except BaseException as error:  # noqa: BLE001 - raised again in the main thread
                self._failure = error
            finally:
                self.terminate()

        thread = threading.Thread(target=played)
        saved = {
            number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        signal.signal(signal.SIGTERM, lambda *_: None)
        thread.start()
        try:
            daemon.run()
        finally:
            self.seconds_to_end = time.monotonic() - self._terminated
            thread.join(SOON)
            for number, handler in saved.items():
                signal.signal(number, handler)
        if self._failure is not None:
            raise self._failure
        return self

    def _note(self, state: State, record: TickRecord | None) -> None:
        self.states.append(state)
        if record is None:
            return
        with self._news:
            self.records.append(record)
            self._news.notify_all()

    def wait(self, what: Callable[[], object]) -> None:
        """Wait until a condition holds, looked at after every tick."""
        with self._news:
            assert self._news.wait_for(what, SOON), f"not in time; {len(self.records)} ticks"

    def look_until(self, what: Callable[[], bool]) -> None:
        """Wait until a condition holds before the first tick, when the daemon tells nobody."""
        deadline = time.monotonic() + SOON
        while not what() and time.monotonic() < deadline:
            threading.Event().wait(0.01)

    def signal(self, name: str) -> None:
        """Send the main thread a signal."""
        os.kill(os.getpid(), signal.Signals[name])

    def wait_for_ticks(self, count: int) -> None:
        """Wait until so many more ticks have been seen."""
        goal = len(self.records) + count
        self.wait(lambda: len(self.records) >= goal)

    def wait_for_write(self) -> None:
        """Wait until the loop has written and seen what became of it."""
        self.wait(lambda: any(record.tick.receipt is not None for record in self.records))

    def terminate(self) -> None:
        """Send the main thread a SIGTERM."""
        self._terminated = time.monotonic()
        self.signal("SIGTERM")


def after(before: Life, *, identity: str = "") -> Life:
    """Return the next daemon, beside the server as the one before left it, or beside another one."""
    life = Life(Path(before.config.daemon.state_directory), Settings(mode=Mode.ACTIVE))
    life.server.identity = identity or before.server.identity
    if not identity:
        life.server.capacity, life.server.started = before.server.capacity, before.server.started
        life.server.facts_started = before.server.facts_started
    return life


def copied(life: Life, directory: Path) -> Life:
    """Return a daemon's ended life as if it had been in another state directory."""
    shutil.copytree(life.config.daemon.state_directory, directory, dirs_exist_ok=True)
    made = copy.copy(life)
    daemon = replace(life.config.daemon, state_directory=str(directory))
    made.config = replace(life.config, daemon=daemon)
    return made


def modes(life: Life) -> set[Mode]:
    """Return all modes that a daemon was in."""
    return {record.mode for record in life.records}


def told(life: Life, code: str) -> list[Event]:
    """Return the events of a code, in order."""
    return [event for record in life.records for event in record.events if event.code == code]
