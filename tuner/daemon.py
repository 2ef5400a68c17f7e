"""The daemon: threads around the one loop, and nothing that the loop would have to wait for."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Protocol

import msgspec

from tuner.board import Board
from tuner.clock import Clock
from tuner.config.errors import ConfigError
from tuner.config.schema import Config
from tuner.core.learned import Learned, learn
from tuner.core.snapshot import encode_state
from tuner.core.state import State
from tuner.core.step import start
from tuner.journal.reader import last_record
from tuner.journal.reader import learned as kept_learned
from tuner.journal.reader import originals as kept_originals
from tuner.journal.tables import JournalError
from tuner.journal.writer import JournalWriter
from tuner.logs import get_logger, log_record
from tuner.loop import drive
from tuner.records import Capacity, Command, Facts, Lifecycle, Receipt, Sample, TickRecord
from tuner.servers.port import Server, Unreachable
from tuner.settings import Mode
from tuner.systemd import Notifier

SNAPSHOT_TICKS = 600
RETRY_SECONDS = 2.0
SAME_START_SECONDS = 5.0
"""A server whose start time moved by less than this has not been restarted; uptime counts whole seconds."""

CLOSE_SECONDS = 0.7
JOURNAL_SECONDS = 2.0
"""Wait for the journal at the start: a damaged one is set aside and its originals are carried over first."""

log = get_logger("innobrim")


class Api(Protocol):
    """The HTTP side, seen from here."""

    def start(self) -> None:
        """Listen and serve from threads of its own.

        Raises:
            ApiFailure: it cannot.
        """
        ...

    def stop(self, timeout: float) -> bool:
        """Stop within so many seconds; tell whether it did."""
        ...


class BoardInbox:
    """The loop's only wait: the board's queue, with a deadline."""

    def __init__(self, board: Board, clock: Clock, *, speed: float = 1.0) -> None:
        """Wait on a board's queue.

        Args:
            board: whose queue.
            clock: on which deadlines are given.
            speed: seconds on that clock in one real second.
        """
        self._queue: queue.SimpleQueue[Command] = board.inbox
        self._clock = clock
        self._speed = speed

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait until the deadline or until a command comes; return all that is there."""
        found: list[Command] = []
        while True:
            left = (until - self._clock.monotonic()) / self._speed
            try:
                found.append(
                    self._queue.get(timeout=max(0.0, left))
                    if left > 0 and not found
                    else self._queue.get_nowait()
                )
            except queue.Empty:
                return tuple(found)


class Daemon:
    """One daemon beside one server."""

    def __init__(
        self,
        config: Config,
        server: Server,
        clock: Clock,
        *,
        board: Board,
        notifier: Notifier,
        reload: Callable[[], Config],
        on_mode: Callable[[Mode], None] | None = None,
        api: Api | None = None,
        watch: Callable[[State, TickRecord], None] | None = None,
        speed: float = 1.0,
    ) -> None:
        """Put the parts together; nothing starts yet.

        Args:
            config: the configuration at the start.
            server: what is sampled and written.
            clock: whose time it is.
            board: the seam to API and commands.
            notifier: the service manager.
            reload: reads the configuration again; raises ConfigError.
            on_mode: told which mode is in force, at every tick.
            api: the HTTP side, None without one.
            watch: sees every tick as well, for a demo or a test.
            speed: seconds on the clock in one real second, for a simulated server.
        """
        self.config = config
        self._server = server
        self._clock = clock
        self._board = board
        self._notifier = notifier
        self._reload = reload
        self._on_mode = on_mode
        self._api = api
        self._watch = watch
        self._speed = speed
        self._chores: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._journal = JournalWriter(
            Path(config.daemon.state_directory),
            keep_ticks=config.daemon.keep_ticks,
            on_error=self._journal_trouble,
        )
        self._facts: Facts | None = None
        self._ready = False

    def run(self, *, until: float | None = None) -> None:
        """Run until SIGTERM or SIGINT, or until a time on the clock; call from the main thread.

        Raises:
            ServerError: the server cannot be sampled, or the account may not do what is asked of it.
        """
        self._catch_signals()
        self._journal.start()
        chores = threading.Thread(target=self._do_chores, name="chores", daemon=True)
        chores.start()
        if self._api is not None:
            self._api.start()
        try:
            facts = self._reach()
            if facts is not None:
                self._turn(facts, until)
        finally:
            self._notifier.stopping("stopping")
            self._chores.put("end")
            if self._api is not None:
                self._api.stop(CLOSE_SECONDS)
            self._journal.close(CLOSE_SECONDS)
            self._server.close()

    def _turn(self, facts: Facts, until: float | None) -> None:
        self._facts = facts
        originals = self._known_originals(facts)
        state = start(
            self.config.loop,
            facts,
            originals,
            written=self._last_written() if originals is not None else None,
            learned=self._known(facts),
        )
        self._journal.begin_run(
            settings=self.config.loop,
            facts=facts,
            state=encode_state(state),
            tick_number=0,
            wall=self._clock.wall(),
        )
        log.info(
            "started",
            server=facts.endpoint,
            version=facts.version,
            identity=facts.identity,
            mode=str(self.config.loop.mode),
            policy=self.config.loop.policy,
        )
        state = drive(
            self._server,
            self._clock,
            BoardInbox(self._board, self._clock, speed=self._speed),
            state,
            interval=self.config.daemon.interval,
            publish=self._publish,
            until=until,
            last=self._tell_last,
        )
        self._save_learned(state)

    def _reach(self) -> Facts | None:
        """Wait for the server; None when told to stop meanwhile.

        Raises:
            ServerError: it answers, and waiting would not make it usable.
        """
        said = ""
        inbox = BoardInbox(self._board, self._clock, speed=self._speed)
        while True:
            try:
                return self._server.facts()
            except Unreachable as error:
                if str(error) != said:
                    said = str(error)
                    log.warning("waiting for the server", reason=said)
                self._notifier.alive(f"waiting for the server: {said}")
                self._board.waiting(f"waiting for the server: {said}")
            if any(
                command.name == "stop"
                for command in inbox.take(until=self._clock.monotonic() + RETRY_SECONDS)
            ):
                return None

    def _known_originals(self, facts: Facts) -> Capacity | None:
        """Return the originals of an earlier run on this very start of this very server."""
        self._journal.flush(JOURNAL_SECONDS)
        try:
            kept = kept_originals(Path(self.config.daemon.state_directory))
        except (JournalError, OSError) as error:
            log.warning("the journal could not be read", reason=str(error))
            return None
        for one in kept:
            if one.identity == facts.identity and abs(one.started - facts.started) <= SAME_START_SECONDS:
                return one.capacity
        return None

    def _last_written(self) -> Capacity | None:
        """Return what the last run left in force, as far as its journal says."""
        try:
            record = last_record(Path(self.config.daemon.state_directory))
        except (JournalError, OSError):
            return None
        if record is None:
            return None
        if record.decision.steps:
            return record.decision.target
        reading = record.tick.reading
        return reading.capacity if isinstance(reading, Sample) else None

    def _known(self, facts: Facts) -> Learned | None:
        """Return what earlier runs learned about this server; None where that is of another version."""
        try:
            blob = kept_learned(Path(self.config.daemon.state_directory), facts.identity)
            return None if blob is None else msgspec.msgpack.decode(blob, type=Learned)
        except (JournalError, OSError, msgspec.MsgspecError):
            return None

    def _save_learned(self, state: State) -> None:
        self._journal.save_learned(state.facts.identity, msgspec.msgpack.encode(learn(state.estimator)))

    def _tell_last(self, receipt: Receipt) -> None:
        """Say what became of the write that the daemon ends with; no tick follows it."""
        if receipt.error or receipt.in_force != receipt.requested:
            log.warning(
                "the last write did not go as planned", error=receipt.error, in_force=receipt.in_force
            )

    def _publish(self, state: State, record: TickRecord) -> None:
        """Tell everybody about a tick; every receiver takes it without making the loop wait."""
        self._facts = state.facts
        self._board.publish(record, state.settings, state.facts)
        self._journal.record(record)
        for event in record.events:
            if event.code == "originals" and record.originals is not None:
                self._save_originals(record.originals, state.facts, record.tick.wall)
        if record.tick.number % SNAPSHOT_TICKS == 0:
            self._journal.snapshot(record.tick.number, encode_state(state))
            self._save_learned(state)
        log_record(record)
        self._notify(record)
        if self._on_mode is not None:
            self._on_mode(record.mode)
        if self._watch is not None:
            self._watch(state, record)

    def _save_originals(self, pair: Capacity, facts: Facts, wall: float) -> None:
        def done() -> None:
            self._board.submit(Command(name="originals_saved", who="journal"))

        self._journal.save_originals(facts.identity, pair, facts.started, facts.version, wall, done)

    def _notify(self, record: TickRecord) -> None:
        reading, found = record.tick.reading, record.estimate
        status = f"mode={record.mode} {record.decision.reason}"
        if isinstance(reading, Sample) and found is not None:
            status = (
                f"mode={record.mode} age={found.age_ratio:.0%} of the flush limit "
                f"io_capacity_max={reading.io_capacity_max} {record.decision.reason}"
            )
        if not self._ready and record.lifecycle is Lifecycle.RUNNING:
            self._ready = self._notifier.ready(status) or True
        self._notifier.alive(status)

    def _catch_signals(self) -> None:
        """Turn signals into messages; a handler does nothing but put into a queue, which is re-entrant."""

        def stop(number: int, _frame: FrameType | None) -> None:
            name = signal.Signals(number).name
            self._board.inbox.put(Command(name="stop", who=name, value=self.config.daemon.on_stop))

        def reload(_number: int, _frame: FrameType | None) -> None:
            self._chores.put("reload")

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGHUP, reload)

    def _do_chores(self) -> None:
        """Read the configuration again when asked; files are never read on the loop's thread."""
        while self._chores.get() != "end":
            self._notifier.reloading()
            try:
                config = self._reload()
            except ConfigError as error:
                log.warning("configuration refused, the old one stays in force", reason=str(error))
            else:
                fixed = _needs_restart(self.config, config)
                if fixed:
                    log.warning("these changes need a restart of the daemon", keys=fixed)
                self.config = _in_force(self.config, config)
                self._board.submit(Command(name="settings", who="SIGHUP", settings=config.loop))
                log.info("configuration reloaded")
            self._notifier.ready("reloaded")

    def _journal_trouble(self, message: str) -> None:
        log.warning("journal", message=message)


def _in_force(old: Config, new: Config) -> Config:
    """Return the configuration after a reload: what needs a restart stays as it was at the start."""
    daemon = msgspec.structs.replace(old.daemon, on_stop=new.daemon.on_stop)
    return msgspec.structs.replace(old, loop=new.loop, daemon=daemon)


def _needs_restart(old: Config, new: Config) -> list[str]:
    """Return the keys that differ and are only read at the start."""
    changed = []
    for section in ("server", "daemon", "api", "log"):
        before, after = getattr(old, section), getattr(new, section)
        changed += [
            f"{section}.{name}"
            for name in before.__struct_fields__
            if getattr(before, name) != getattr(after, name) and f"{section}.{name}" != "daemon.on_stop"
        ]
    return changed
