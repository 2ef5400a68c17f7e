"""Park and restore without a daemon, with the journal's help."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec
from msgspec.structs import replace

from tuner.core.holds import not_writer
from tuner.core.laws import law_of
from tuner.core.leaving.park import parked
from tuner.core.leaving.restore import LONGEST_RESTORE, restore_step, restore_steps
from tuner.core.limits import bounds, home_of
from tuner.core.ownership.standing import Standing
from tuner.core.ownership.transitions import adopt, park_after_crash
from tuner.core.state import LowWater, State, encode_state
from tuner.core.step import step
from tuner.core.writes import restore_pace
from tuner.core.writes.plan import CAPACITY, CAPACITY_MAX, plan
from tuner.journal.ending import Ending, left_after
from tuner.journal.items import EndItem, RunItem, StandingItem
from tuner.journal.writer import JournalWriter
from tuner.records import (
    LOW_WATER_MARK,
    LOWEST_ABOVE_ZERO,
    Capacity,
    Command,
    Missed,
    Reason,
    Receipt,
    Sample,
    Tick,
    TickRecord,
    percent,
)
from tuner.servers.port import Server, ServerError, Unreachable
from tuner.settings import Mode
from tuner.system.clock import Clock

WHO = "innobrim park"
INTERVAL = 1.0

READ_SECONDS = 5.0
"""Readings that the estimate comes from; the daemon's own last one counts beside it."""

WAIT_SECONDS = 20.0
"""How long a server, or the writer lock of a session that is dying, is waited for."""

LIMIT_SECONDS = 25.0
"""When it is given up, but for the server call under way; each has a limit of its own."""

KNOWN_SECONDS = 600.0
"""A last estimate older than this counts only where the server gives no newer one."""

NOTE_SECONDS = 2.0
"""How long the disk may take for a note; one that takes none is no reason not to write to the server."""


class ClaimingServer(Server, Protocol):
    """A server whose writer lock can be asked for, and which knows who set its values."""

    claims_writer: bool

    def set_by_us(self) -> frozenset[str]:
        """Return which variables this account was the last to set; never raises."""
        ...


def park_offline(
    server: ClaimingServer,
    clock: Clock,
    state: State,
    ending: Ending,
    *,
    standing: Standing,
    notes: JournalWriter,
    began: float,
    unattended: bool,
    wait: Callable[[float], None] = time.sleep,
) -> str:
    """Park what a dead daemon left behind, then put the low-water mark back; return what was done.

    The mark goes back also where no park could be written.

    Args:
        server: reached already.
        clock: whose time it is.
        state: advisory, before its first tick, with originals and what earlier writes may have left.
        ending: how the last run ended.
        standing: what the journal says of this server; a mark that is back is taken out of it.
        notes: the journal, told of a park before it is carried out, and of the mark when it is back.
        began: monotonic time that the limits count from, seconds.
        unattended: nobody asked; see ``spared``.
        wait: called with the seconds between two readings.

    Raises:
        Unreachable: the server gave no reading in time, to begin with or to park at.
        ServerError: another daemon keeps the writer lock, there is nothing to estimate from, or the write
            failed, or that of the low-water mark; the message says what is in force.
    """
    server.claims_writer = True
    run = _Run(server, clock, state, ending, notes, began, wait)
    why, sample = run.observe(unattended=unattended)
    mark = run.state.low_water
    failure: ServerError | None = None
    said = f"nothing to park: {why}"
    if not why:
        try:
            said = run.park(sample)
        except Unreachable:
            raise
        except ServerError as error:
            failure, said = error, str(error)
    if mark.ours and mark.original is not None:
        if bars := not_writer(run.state, sample):
            ours = f"{LOW_WATER_MARK} = {percent(LOWEST_ABOVE_ZERO)}, set by InnoBrim, stays in force"
            said = f"{said}; {ours}: {'; '.join(reason for reason, _ in bars)}"
        else:
            try:
                _put_back(server, sample, mark.original)
            except ServerError as error:
                raise ServerError(f"{said}; {error}") from error
            back = f"{LOW_WATER_MARK} = {percent(mark.original)} again"
            stands(notes, replace(standing, low_water=None))
            said = f"{said}; {back}"
    if failure is not None:
        raise ServerError(said) from failure
    return said


def stands(notes: JournalWriter, standing: Standing) -> None:
    """Put on disk what the next daemon has to know of a server."""
    notes.put(StandingItem(standing.identity, msgspec.json.encode(standing).decode()))
    notes.flush(NOTE_SECONDS)


@dataclass
class _Run:
    """The one step, turned by hand: no inbox, no threads, and an end; see ``park_offline``.

    Attributes:
        state: after the last tick.
    """

    server: ClaimingServer
    clock: Clock
    state: State
    ending: Ending
    notes: JournalWriter
    began: float
    wait: Callable[[float], None]

    def __post_init__(self) -> None:
        """Begin before the first tick."""
        self._before, self._number = self.state, 0
        self._newest = next(iter(self.ending.writes.get(self.state.facts.identity, ())), None)

    def _turn(self, *commands: Command, receipt: Receipt | None = None) -> TickRecord:
        """Read, and step once."""
        self._number += 1
        tick = Tick(
            number=self._number,
            now=self.clock.monotonic(),
            wall=self.clock.wall(),
            reading=self.server.read(),
            commands=commands,
            receipt=receipt,
        )
        self._before = self.state
        self.state, record = step(self.state, tick)
        return record

    def observe(self, *, unattended: bool) -> tuple[str, Sample]:
        """Read until an estimate can be made; return why there is nothing to park, and the last reading.

        Raises:
            Unreachable: there was none.
            ServerError: another daemon keeps the writer lock.
        """
        seen: Sample | None = None
        first = self.began
        while True:
            reading, now = self._turn().tick.reading, self.clock.monotonic()
            if isinstance(reading, Sample):
                if seen is None:
                    first = now
                    self._adopt(reading.capacity)
                seen, why = reading, self._spared(reading.capacity, unattended=unattended)
                if why and (reading.writer or not self.state.low_water.ours):
                    return why, reading
                if reading.writer and now - first >= READ_SECONDS and self.state.estimate is not None:
                    break
            if now - self.began >= WAIT_SECONDS:
                break
            self.wait(INTERVAL)
        if seen is None:
            raise Unreachable(f"no reading within {WAIT_SECONDS:.0f} s: {self.state.missed}")
        if not seen.writer:
            raise ServerError(
                f"another daemon has held this server's writer lock for {WAIT_SECONDS:.0f} s; "
                "ask that one: innobrim park --url …; without an API (run --no-api) it parks when it is "
                "stopped"
            )
        return "; ".join(reason for reason, _ in not_writer(self.state, seen)), seen

    def _spared(self, in_force: Capacity, *, unattended: bool) -> str:
        """Return why there is nothing to park; empty where there is.

        Where nobody asked, what is parked is left, and so is what an advisory run found.
        """
        newest, originals = self._newest, self.state.originals
        if self.state.writes.own != in_force:
            if originals is not None and in_force == originals.capacity:
                return f"the originals {in_force} are in force"
            wrote = "nothing" if newest is None else newest.target
            return f"{in_force} is in force and {wrote} was written last, so it was not set by InnoBrim"
        parks = newest is not None and newest.parks
        if unattended and newest is not None and parks and newest.target == in_force:
            return f"parked at {in_force} already"
        if unattended and not self.ending.active and not parks:
            return "the last daemon was in advisory mode, which writes nothing"
        return ""

    def _adopt(self, in_force: Capacity) -> None:
        """Take the pair in force for ours, where the server knows better than the journal.

        A kill may come between a write and the note of it, which takes the disk some milliseconds. The
        pair is ours where we were the last to set what differs from the pair before.
        """
        originals = self.state.originals
        if originals is None or in_force == originals.capacity:
            return
        before = originals.capacity if self._newest is None else self._newest.target
        pairs = {
            CAPACITY: (in_force.io_capacity, before.io_capacity),
            CAPACITY_MAX: (in_force.io_capacity_max, before.io_capacity_max),
        }
        if {name for name, (new, old) in pairs.items() if new != old} <= self.server.set_by_us():
            self.state = adopt(self.state, in_force)

    def park(self, sample: Sample) -> str:
        """Write a park that is safe for the load of now and before the daemon died; return what was done.

        Raises:
            Unreachable: the server gave no reading to park at.
            ServerError: nothing was seen that an estimate can come from, or the write failed.
        """
        self.state, aim = self._owing(sample)
        record = self._turn()
        while record.decision.reason != Reason.PARK and self.clock.monotonic() - self.began < LIMIT_SECONDS:
            self.wait(INTERVAL)
            record = self._turn()
        decision = record.decision
        if decision.reason != Reason.PARK:
            if self.state.missed:
                raise Unreachable(f"not parked at {aim}: {self.state.missed}")
            raise ServerError(f"not parked at {aim}: {decision.detail}")
        if not decision.steps or decision.target is None:
            if decision.target != aim:
                return f"nothing to park: {decision.detail}"
            slack = self.state.settings.park_slack
            return f"nothing to park: {aim} has room for {slack:g} times the load already"
        self.notes.put(
            RunItem(
                settings=self._before.settings,
                facts=self._before.facts,
                state=encode_state(self._before),
                tick=self._number - 1,
                wall=self.clock.wall(),
            )
        )
        self._note(record)
        receipt = self.server.apply(decision.steps, decision.target)
        record = self._turn(Command(name="stop", who=WHO, value="leave"), receipt=receipt)
        self._note(record)
        if receipt.error or receipt.in_force != decision.target:
            left = "what is in force is unknown" if receipt.in_force is None else str(receipt.in_force)
            why = receipt.error or "somebody else changed the values"
            raise ServerError(f"not parked at {decision.target}: {left}: {why}")
        self.notes.put(EndItem(self.clock.wall(), left=left_after(record)))
        return f"parked at {decision.target}"

    def _note(self, record: TickRecord) -> None:
        self.notes.record(record)
        self.notes.flush(NOTE_SECONDS)

    def _owing(self, sample: Sample) -> tuple[State, Capacity]:
        """Return the state that parks at the next reading, and the pair to park at."""
        state, last = self.state, self.ending.last
        found = [] if state.estimate is None else [state.estimate]
        recent = last is not None and sample.wall - last.tick.wall < KNOWN_SECONDS
        if last is not None and last.estimate is not None and (recent or not found):
            found.append(last.estimate)
        if not found:
            raise ServerError("not parked: two readings are needed for an estimate, and the journal has none")
        lowest, highest = bounds(state)
        law, home = law_of(state), home_of(state, sample.capacity)
        targets = [
            parked(
                one,
                law,
                state.settings,
                current=sample.io_capacity_max,
                lowest=lowest,
                highest=highest,
                home=home,
            )
            for one in found
        ]
        aim = max(targets, key=lambda pair: pair.io_capacity_max)
        state = replace(
            park_after_crash(state),
            settings=replace(state.settings, mode=Mode.ACTIVE),
            low_water=LowWater(),  # put back after the park
            park_target=aim,
        )
        return state, aim


BESIDE_A_DAEMON = (
    "a daemon holds this server's writer lock; ask it with innobrim restore --url …, or stop it first "
    "where it has no API (run --no-api)"
)
LOOK_SECONDS = 1.0
"""Between two looks at the server."""


def restore_offline(
    server: Server,
    originals: Capacity,
    *,
    low_water: int | None = None,
    say: Callable[[str], None],
    begins: Callable[[], None] = lambda: None,
    hidden: bool = False,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Put the originals back in the same steps, and at the same pace, as the daemon does.

    Args:
        server: reached already; where it can it counts the latency of writes.
        originals: the pair to end at.
        low_water: the low-water mark to put back first, in millionths of a percent, where a dead daemon's
            is in force; None for none.
        say: told each step in one line.
        begins: called once the server has answered that nobody else writes to it, before the first write.
        hidden: the account is known not to see the latency of writes, so that time alone sets the pace.
        wait: called with the seconds between two looks at the server.

    Raises:
        ServerError: the server did not answer, refused a write, or another daemon holds its writer lock;
            the message says what is in force.
    """
    reading = _read(server)
    begins()
    if low_water is not None and reading.low_water_mark == LOWEST_ABOVE_ZERO != low_water:
        _put_back(server, reading, low_water)
        say(f"{LOW_WATER_MARK} = {percent(low_water)} again")
    pace, begun = restore_pace.RestorePace(begun=reading.monotonic), reading.monotonic
    while reading.capacity != originals and pace.steps < LONGEST_RESTORE:
        pace = restore_pace.see(pace, reading)
        verdict = restore_pace.judge(pace, now=reading.monotonic, hidden=hidden)
        if verdict.go:
            target = _step(server, reading.capacity, originals)
            pace = restore_pace.stepped(pace, now=reading.monotonic)
            left = restore_steps(target, originals)
            rest = f"; {left} left, {left * restore_pace.STEP_SECONDS:.0f} s at least" if left else ""
            say(f"step {pace.steps}, at {target} of {originals}{rest}")
        else:
            wait(LOOK_SECONDS)
        reading = _read(server)
    if reading.capacity != originals:
        raise ServerError(
            f"still not at the originals after {pace.steps} steps and {reading.monotonic - begun:.0f} s"
        )
    say(f"originals {originals} are in force")


def _put_back(server: Server, reading: Sample, low_water: int) -> None:
    receipt = server.apply(((LOW_WATER_MARK, low_water),), reading.capacity)
    if receipt.error or receipt.low_water_mark != low_water:
        why = receipt.error or "somebody else changed it"
        raise ServerError(f"{LOW_WATER_MARK} = {percent(low_water)} could not be put back: {why}")


def _read(server: Server) -> Sample:
    reading = server.read()
    if isinstance(reading, Missed):
        raise ServerError(f"stopped on the way back: {reading.reason}")
    if not reading.writer:
        raise ServerError(BESIDE_A_DAEMON)
    return reading


def _step(server: Server, current: Capacity, originals: Capacity) -> Capacity:
    target = restore_step(current, originals)
    receipt = server.apply(plan(current, target), target)
    if receipt.error or receipt.in_force != target:
        left = "and what is in force is unknown" if receipt.in_force is None else f"at {receipt.in_force}"
        raise ServerError(f"stopped {left}: {receipt.error or 'somebody else changed the values'}")
    return target
