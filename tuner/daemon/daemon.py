"""The daemon: threads around the one loop, and nothing that the loop would have to wait for."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Protocol

import msgspec
from msgspec.structs import replace

from tuner.config.fleet import in_force, place
from tuner.config.schema import Config, ConfigError
from tuner.core.holds import BY_GROUP
from tuner.core.leaving.lowwater import NOT_BACK
from tuner.core.ownership.standing import why_not_active
from tuner.core.state import State
from tuner.daemon.board import Board, BoardInbox
from tuner.daemon.chores import Chores
from tuner.daemon.farewell import Farewell
from tuner.daemon.growth import Growth, Resizable
from tuner.daemon.hooks import Hooks
from tuner.daemon.persistence import Persistence
from tuner.daemon.readiness import Readiness
from tuner.daemon.recall import Recall
from tuner.daemon.schedule import Schedule, ScheduledInbox
from tuner.daemon.ticklog import OptimiserLog, TickLog
from tuner.daemon.workers import Workers, WorkersInbox
from tuner.findings.remedies import remark
from tuner.loop import drive
from tuner.optimiser.supervisor import Supervisor
from tuner.records import (
    Command,
    Facts,
    Lifecycle,
    Missed,
    Receipt,
    TickRecord,
    percent,
)
from tuner.servers.port import Server, ServerError, Unreachable
from tuner.settings import Mode, Settings
from tuner.system.clock import Clock
from tuner.system.logs import get_logger, logs_alive
from tuner.system.systemd import Notifier

LEARNED_SECONDS = 60.0
"""What was learned is kept so often: a daemon that is killed loses no more."""

SNAPSHOT_SECONDS = 600.0
"""The state is kept so often, for a replay to begin there."""

FILES_SECONDS = 15.0
"""A configuration of several files is looked at so often; the second look at a change reads it."""

RETRY_SECONDS = 2.0
CLOSE_SECONDS = 0.7

log = get_logger("innobrim")


class Api(Protocol):
    """The HTTP side, seen from here."""

    def start(self) -> None:
        """Listen and serve from threads of its own.

        Raises:
            ApiFailure: it cannot.
        """
        ...

    def reload(self) -> None:
        """Read again what may have been renewed, such as a certificate; from any thread."""
        ...

    def stop(self, timeout: float) -> bool:
        """Stop within so many seconds; tell whether it did."""
        ...


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
        api: Api | None = None,
        watch: Callable[[State, TickRecord | None], None] = lambda _state, _record: None,
        connect: Callable[[], Resizable] | None = None,
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
            api: the HTTP side, None without one.
            watch: told the state before the first tick, then each tick's with its record, before a write.
            connect: makes a connection of its own for a step of ``redo.grow_to``; None where no log is grown.
            speed: seconds on the clock in one real second, for a simulated server.
        """
        self.config = config
        self._server = server
        self._clock = clock
        self._board = board
        self._notifier = notifier
        self._read_again = reload
        self._api = api
        self._watch = watch
        self._speed = speed
        self._memory = Persistence(Path(config.daemon.state_directory), keep_ticks=config.daemon.keep_ticks)
        board.trial = self._memory.trial
        board.learned = self._memory.learned
        self._chores = Chores(
            {
                self._memory.keep_newest: LEARNED_SECONDS,
                self._memory.snapshot: SNAPSHOT_SECONDS,
                self._reload_changed: FILES_SECONDS,
            }
        )
        self._identity = ""
        self._seen = self._looked = _as_they_are(config.files)
        self._schedule = Schedule(config.schedule)
        self._growth = Growth(
            Path(config.daemon.state_directory),
            config.redo.goal,
            connect=connect,
            tell=self._tell_growth,
        )
        board.growth = self._growth.status
        self._hooks = Hooks(config.hook)
        board.hooks = self._hooks.health
        self._farewell = Farewell()
        self._ticklog = TickLog()
        self._readiness = Readiness(notifier)
        self._supervisor = Supervisor(board.submit, OptimiserLog(board.optimiser).take)
        self._undone = False
        self._workers = Workers(board.workers, self._after_a_death)

    def run(self, *, until: float | None = None) -> None:
        """Run until SIGTERM or SIGINT, or until a time on the clock; call from the main thread.

        Raises:
            ServerError: the server cannot be sampled, or the account may not do what is asked of it.
        """
        self._catch_signals()
        if self._api is not None:
            self._api.start()  # first of all: beside a second daemon nothing else is begun
        self._memory.open()
        self._chores.start()
        self._supervisor.start()
        self._hooks.start()
        if self._api is not None:
            self._workers.watch(api=lambda: bool(getattr(self._api, "alive", True)))
        self._workers.watch(
            chores=lambda: self._chores.alive,
            journal=lambda: self._memory.alive,
            optimiser=lambda: self._supervisor.alive,
            hooks=lambda: self._hooks.alive,
            log=logs_alive,
        )
        try:
            facts = self._reach()
            if facts is not None:
                self._turn(facts, until)
        finally:
            self._notifier.stopping("stopping")
            self._chores.stop()
            self._supervisor.stop(CLOSE_SECONDS)
            self._hooks.stop(CLOSE_SECONDS)
            if self._api is not None:
                self._api.stop(CLOSE_SECONDS)
            self._memory.close(CLOSE_SECONDS)
            self._server.close()
            log.info("stopped", left=str(self._farewell))

    def _turn(self, facts: Facts, until: float | None) -> None:
        memory = self._memory
        self._identity = facts.identity
        settings = self._settings()
        state = memory.state_at_start(settings, facts, now=self._clock.monotonic())
        if self.config.fleet.paused or state.latches.paused is not None:
            self._board.submit(Command(name="fleet", who=BY_GROUP, value=int(self.config.fleet.paused)))
        self._watch(state, None)
        if facts.disabled_counters and state.mode is Mode.ACTIVE:
            with contextlib.suppress(ServerError):
                state = replace(state, facts=self._server.facts())
        begun = self._clock.wall()
        memory.begin(settings, state, wall=begun)
        log.info(
            "started",
            server=facts.endpoint,
            version=facts.version,
            identity=facts.identity,
            mode=state.mode.value,
            why=remark(*why_not_active(state)),
            policy=self.config.loop.policy,
        )
        recall = Recall(
            self._board, Path(self.config.daemon.state_directory), identity=facts.identity, until=begun
        )
        if self._board.watched:
            recall.start()
        inbox = BoardInbox(self._board, self._clock, speed=self._speed)
        watched = WorkersInbox(ScheduledInbox(inbox, self._clock, self._schedule), self._workers.look)
        state = drive(
            self._server,
            self._clock,
            watched,
            state,
            interval=self.config.daemon.interval,
            publish=self._publish,
            until=until,
            last=self._tell_last,
        )
        recall.stop()
        memory.keep_learned(state)
        if state.lifecycle is Lifecycle.STOPPING and state.park_owed is None and not self._undone:
            memory.end(self._clock.wall())

    def _reach(self) -> Facts | None:
        """Wait for the server; None when told to stop meanwhile.

        Raises:
            ServerError: it answers, and waiting would not make it usable.
        """
        said = ""
        while True:
            try:
                return self._server.facts()
            except Unreachable as error:
                if str(error) != said:
                    said = str(error)
                    log.warning("waiting for the server", reason=said)
                self._workers.look()
                self._notifier.alive(f"waiting for the server: {said}")
                self._board.waiting(f"waiting for the server: {said}")
            commands = self._board.commands.take(timeout=RETRY_SECONDS / self._speed)
            if any(command.name == "stop" for command in commands):
                return None

    def _tell_last(self, receipt: Receipt) -> None:
        """Say what became of the write that the daemon ends with; no tick follows it."""
        self._farewell.wrote(receipt)
        if receipt.low_water_asked != receipt.low_water_mark:
            self._undone = True
            asked = percent(receipt.low_water_asked or 0)
            log.warning("the low-water mark is not as it was found", error=receipt.error, asked=asked)
        elif receipt.error or receipt.in_force != receipt.requested:
            self._undone = True
            log.warning(
                "the last write did not go as planned", error=receipt.error, in_force=receipt.in_force
            )

    def _publish(self, state: State, record: TickRecord) -> None:
        """Tell everybody about a tick; every receiver takes it without making the loop wait."""
        memory = self._memory
        if state.facts.identity != self._identity:
            self._identity = state.facts.identity
            self._submit_settings()
        self._board.journal(memory.trouble, memory.lost, written=memory.written)
        self._board.publish(record, state.settings, state.facts)
        memory.record(state, record, originals_saved=self._originals_saved, mark_saved=self._mark_saved)
        self._supervisor.take(state, record)
        self._growth.take(state, record)
        self._hooks.take(state, record)
        self._ticklog.say(record)
        self._farewell.take(record, owed=state.park_owed is not None)
        self._readiness.tell(record)
        if record.lifecycle is Lifecycle.STOPPING and isinstance(record.tick.reading, Missed):
            self._undone = record.mode is Mode.ACTIVE and self.config.daemon.on_stop == "park"
        if record.lifecycle is Lifecycle.STOPPING and any(event.code == NOT_BACK for event in record.events):
            self._undone = True
        self._watch(state, record)

    def _tell_growth(self, text: str) -> None:
        self._board.submit(Command(name="redo_growth", who="redo.grow_to", value=text))

    def _after_a_death(self, name: str) -> None:
        if name == "api" and self._api is not None:
            self._chores.ask(self._stop_api)

    def _stop_api(self) -> None:
        """Have whoever asks a dead API refused, instead of waiting for nobody."""
        if self._api is not None:
            self._api.stop(CLOSE_SECONDS)

    def _originals_saved(self, name: str) -> None:
        self._board.submit(Command(name="originals_saved", who="journal", value=name))

    def _mark_saved(self, name: str) -> None:
        self._board.submit(Command(name="low_water_saved", who="journal", value=name))

    def _catch_signals(self) -> None:
        """Turn signals into messages; a handler does nothing but put into a queue, which is re-entrant."""

        def stop(number: int, _frame: FrameType | None) -> None:
            name = signal.Signals(number).name
            self._board.commands.put(Command(name="stop", who=name, value=self.config.daemon.on_stop))

        def reload(_number: int, _frame: FrameType | None) -> None:
            self._chores.ask(self._reload)

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGHUP, reload)

    def _reload(self) -> None:
        """Read the configuration again, and what else may have been renewed."""
        self._notifier.reloading()
        self._seen = _as_they_are(self.config.files)  # before they are read: a later change is another one
        outcome = "reload failed, the old configuration stays"
        try:
            if self._api is not None:
                self._api.reload()
            new = reread(self.config, self._read_again)
            outcome = "reload refused, the old configuration stays" if new is None else "reloaded"
            if new is not None:
                old, self.config = self.config, new
                if new.files != old.files:
                    self._seen = []  # it is not known how these were when they were read: once more
                self._schedule.use(new.schedule)
                self._growth.use(new.redo.goal)
                self._hooks.use(new.hook)
                self._submit_settings()
                if new.fleet.paused or old.fleet.paused:
                    self._board.submit(Command(name="fleet", who=BY_GROUP, value=int(new.fleet.paused)))
        finally:
            self._notifier.ready(outcome)

    def _submit_settings(self) -> None:
        self._board.submit(Command(name="settings", who="SIGHUP", settings=self._settings()))

    def _settings(self) -> Settings:
        """Return the settings that are right for the server that answers."""
        settings = in_force(self.config, self._identity)
        if settings.outside_stage:
            own, percent = place(self._identity), self.config.fleet.active_percent
            log.info("advisory by its stage", active_percent=percent, active_above=round(own, 4))
        return settings

    def _reload_changed(self) -> None:
        """Read the configuration again where one of its files changed before the last look, and not since.

        One that is being written is left alone: half of it, or nothing, may be a configuration too, in which
        nobody is paused and everybody is in the stage.
        """
        before, self._looked = self._looked, _as_they_are(self.config.files)
        if self._looked != self._seen and self._looked == before:
            self._reload()


def _as_they_are(files: Sequence[str]) -> list[tuple[int, ...]]:
    """Return what changes with each file, or with its being there."""
    found: list[tuple[int, ...]] = []
    for path in files:
        try:
            seen = Path(path).stat()
            found.append((seen.st_mtime_ns, seen.st_size, seen.st_ino))
        except OSError:
            found.append(())
    return found


AT_ONCE = frozenset({"daemon.on_stop"})
"""Keys beside the loop's that take effect without a restart."""


def reread(old: Config, read: Callable[[], Config]) -> Config | None:
    """Return the configuration in force after a reload; None when the new one is refused whole.

    Args:
        old: what is in force.
        read: reads the files again; raises ConfigError.
    """
    try:
        new = read()
    except ConfigError as error:
        log.warning("configuration refused, the old one stays in force", reason=str(error))
        return None
    fixed = needs_restart(old, new)
    if fixed:
        log.warning("these changes need a restart of the daemon", keys=fixed)
    log.info("configuration reloaded")
    daemon = msgspec.structs.replace(old.daemon, on_stop=new.daemon.on_stop)
    return msgspec.structs.replace(new, server=old.server, daemon=daemon, api=old.api, log=old.log)


def needs_restart(old: Config, new: Config) -> list[str]:
    """Return the keys that differ and are only read at the start."""
    changed = []
    for section in ("server", "daemon", "api", "log"):
        before, after = getattr(old, section), getattr(new, section)
        changed += [
            f"{section}.{name}"
            for name in before.__struct_fields__
            if getattr(before, name) != getattr(after, name) and f"{section}.{name}" not in AT_ONCE
        ]
    return changed
