"""Park and restore without a daemon, with the journal's help."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from tuner.clock import Clock
from tuner.core.estimate import latency
from tuner.core.holds import not_writer
from tuner.core.laws import law_of
from tuner.core.leaving.park_restore import LONGEST_RESTORE, parked, restore_step, restore_steps
from tuner.core.limits import bounds, home_of
from tuner.core.ownership.standing import Standing
from tuner.core.ownership.transitions import adopt, park_after_crash
from tuner.core.state import LowWater, State, encode_state
from tuner.core.step import step
from tuner.core.writes.plan import CAPACITY, CAPACITY_MAX, plan
from tuner.journal.ending import Ending, left_after
from tuner.journal.tables import OFFLINE
from tuner.journal.writer import JournalWriter
from tuner.records import (
    LOW_WATER_MARK,
    LOWEST_ABOVE_ZERO,
    Capacity,
    Command,
    Decision,
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


class ClaimingServer(Server, Protocol):
    """A server whose writer lock can be asked for, and which knows who set its values."""

    claims_writer: bool

    def set_by_us(self) -> frozenset[str]:
        """Return which variables this account was the last to set; never raises."""
        ...


class Watch:
    """The one step, turned by hand: no inbox, no threads, and an end.

    Attributes:
        state: after the last tick.
        before: the state that the last tick began with.
        number: of the last tick.
    """

    def __init__(self, server: Server, clock: Clock, state: State) -> None:
        self.state = self.before = state
        self.number = 0
        self._server = server
        self._clock = clock

    def turn(self, *commands: Command, receipt: Receipt | None = None) -> TickRecord:
        """Read, and step once."""
        self.number += 1
        reading = self._server.read()
        tick = Tick(
            number=self.number,
            now=self._clock.monotonic(),
            wall=self._clock.wall(),
            reading=reading,
            commands=commands,
            receipt=receipt,
        )
        self.before = self.state
        self.state, record = step(self.state, tick)
        return record


def spared(ending: Ending, state: State, in_force: Capacity, *, unattended: bool) -> str:
    """Return why there is nothing to park; empty where there is.

    Args:
        ending: how the last run ended.
        state: after a reading.
        in_force: the pair that it showed.
        unattended: nobody asked: what is parked is left, and so is what an advisory run found.
    """
    writes = ending.writes.get(state.facts.identity, ())
    newest = writes[0] if writes else None
    if state.writes.own != in_force:
        if state.originals is not None and in_force == state.originals.capacity:
            return f"the originals {in_force} are in force"
        wrote = "nothing" if newest is None else str(newest.target)
        return f"{in_force} is in force and {wrote} was written last: not ours"
    if not unattended:
        return ""
    parks = newest is not None and newest.parks
    if newest is not None and parks and newest.target == in_force:
        return f"parked at {in_force} already"
    if not ending.active and not parks:
        return "the last daemon was in advisory mode, which writes nothing"
    return ""


def park_offline(
    server: ClaimingServer,
    clock: Clock,
    state: State,
    ending: Ending,
    *,
    standing: Standing | None = None,
    notes: Notebook,
    began: float,
    unattended: bool = False,
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
        notes: told of a park before it is carried out, and of the mark when it is back.
        began: monotonic time that the limits count from, seconds.
        unattended: nobody asked; see ``spared``.
        wait: called with the seconds between two readings.

    Raises:
        Unreachable: the server gave no reading in time, to begin with or to park at.
        ServerError: another daemon keeps the writer lock, there is nothing to estimate from, or the write
            failed, or that of the low-water mark; the message says what is in force.
    """
    watch = Watch(server, clock, state)
    server.claims_writer = True
    why = _observe(watch, server, clock, ending, began=began, unattended=unattended, wait=wait)
    mark, sample = watch.state.low_water, watch.state.estimator.last
    failure: ServerError | None = None
    said = f"nothing to park: {why}"
    if not why:
        try:
            watch.state = _owing(watch.state, ending)
            said = _park(watch, server, clock, notes=notes, began=began, wait=wait)
        except Unreachable:
            raise
        except ServerError as error:
            failure, said = error, str(error)
    if mark.ours and mark.original is not None and sample is not None:
        if bars := not_writer(watch.state, sample):
            ours = f"{LOW_WATER_MARK} = {percent(LOWEST_ABOVE_ZERO)}, ours, stays in force"
            said = f"{said}; {ours}: {'; '.join(reason for reason, _ in bars)}"
        else:
            try:
                _put_back(server, sample, mark.original)
            except ServerError as error:
                raise ServerError(f"{said}; {error}") from error
            back = f"{LOW_WATER_MARK} = {percent(mark.original)} again"
            notes.done(back, wall=clock.wall(), who=WHO)
            if standing is not None:
                notes.stands(replace(standing, low_water=None))
            said = f"{said}; {back}"
    if failure is not None:
        raise ServerError(said) from failure
    return said


def _park(
    watch: Watch,
    server: Server,
    clock: Clock,
    *,
    notes: Notebook,
    began: float,
    wait: Callable[[float], None],
) -> str:
    """Write the park that the state owes; return what was done."""
    record = watch.turn()
    while record.decision.reason != Reason.PARK and clock.monotonic() - began < LIMIT_SECONDS:
        wait(INTERVAL)
        record = watch.turn()
    decision = record.decision
    if decision.reason != Reason.PARK:
        aim = watch.state.park_target
        where = "not parked" if aim is None else f"not parked at {aim}"
        if watch.state.missed:
            raise Unreachable(f"{where}: {watch.state.missed}")
        raise ServerError(f"{where}: {decision.detail}")
    if not decision.steps or decision.target is None:
        return f"nothing to park: {_unneeded(watch, decision)}"
    notes.begin(watch.before, number=watch.number - 1, wall=clock.wall())
    notes.record(record)
    receipt = server.apply(decision.steps, decision.target)
    notes.record(watch.turn(Command(name="stop", who=WHO, value="leave"), receipt=receipt))
    if receipt.error or receipt.in_force != decision.target:
        left = "what is in force is unknown" if receipt.in_force is None else str(receipt.in_force)
        raise ServerError(
            f"not parked at {decision.target}: {left}: {receipt.error or 'somebody else changed the values'}"
        )
    notes.end(clock.wall())
    return f"parked at {decision.target}"


def _observe(
    watch: Watch,
    server: ClaimingServer,
    clock: Clock,
    ending: Ending,
    *,
    began: float,
    unattended: bool,
    wait: Callable[[float], None],
) -> str:
    """Take readings until they are enough for an estimate; return why there is nothing to park."""
    seen: Sample | None = None
    first: float | None = None
    while True:
        reading = watch.turn().tick.reading
        now = clock.monotonic()
        if isinstance(reading, Sample):
            if first is None:
                watch.state = _adopted(watch.state, ending, server, reading.capacity)
            why = spared(ending, watch.state, reading.capacity, unattended=unattended)
            if why and (reading.writer or not watch.state.low_water.ours):
                return why
            seen, first = reading, now if first is None else first
            if reading.writer and now - first >= READ_SECONDS and watch.state.estimate is not None:
                break
        if now - began >= WAIT_SECONDS:
            if seen is None:
                raise Unreachable(f"no reading within {WAIT_SECONDS:.0f} s: {watch.state.missed}")
            break
        wait(INTERVAL)
    if not seen.writer:
        raise ServerError(
            f"another daemon has held this server's writer lock for {WAIT_SECONDS:.0f} s; "
            "ask that one: innobrim park --url …; without an API (run --no-api) it parks when it is stopped"
        )
    return "; ".join(reason for reason, _ in not_writer(watch.state, seen))


def _unneeded(watch: Watch, decision: Decision) -> str:
    """Return in words why a park that was owed was not written."""
    if decision.target is None or decision.target != watch.before.park_target:
        return decision.detail
    slack = watch.state.settings.park_slack
    return f"{decision.target} has room for {slack:g} times the load already"


def _adopted(state: State, ending: Ending, server: ClaimingServer, in_force: Capacity) -> State:
    """Return the state with the pair in force as ours, where the server knows better than the journal.

    A kill may come between a write and the note of it, which takes the disk some milliseconds. The pair is
    ours where we were the last to set what differs from the pair before.
    """
    if state.originals is None or in_force in {state.writes.own, state.originals.capacity}:
        return state
    writes = ending.writes.get(state.facts.identity, ())
    before = writes[0].target if writes else state.originals.capacity
    differs = set()
    if in_force.io_capacity != before.io_capacity:
        differs.add(CAPACITY)
    if in_force.io_capacity_max != before.io_capacity_max:
        differs.add(CAPACITY_MAX)
    if not differs <= server.set_by_us():
        return state
    return adopt(state, in_force)


def _owing(state: State, ending: Ending) -> State:
    """Return the state that parks at the next reading, by what was seen now and before the daemon died.

    Raises:
        ServerError: nothing was seen that an estimate can come from.
    """
    found, last, sample = [], ending.last, state.estimator.last
    if state.estimate is not None:
        found.append(state.estimate)
    recent = last is not None and sample is not None and sample.wall - last.tick.wall < KNOWN_SECONDS
    if last is not None and last.estimate is not None and (recent or not found):
        found.append(last.estimate)
    if not found or sample is None:
        raise ServerError("not parked: two readings are needed for an estimate, and the journal has none")
    lowest, highest = bounds(state)
    law, home = law_of(state), home_of(state, sample.capacity)
    current = sample.io_capacity_max
    targets = [
        parked(one, law, state.settings, current=current, lowest=lowest, highest=highest, home=home)
        for one in found
    ]
    return replace(
        park_after_crash(state),
        settings=replace(state.settings, mode=Mode.ACTIVE),
        low_water=LowWater(),  # put back after the park
        park_target=max(targets, key=lambda pair: pair.io_capacity_max),
    )


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
    pace, begun = latency.RestorePace(begun=reading.monotonic), reading.monotonic
    while reading.capacity != originals and pace.steps < LONGEST_RESTORE:
        pace = latency.see(pace, reading)
        verdict = latency.judge(pace, now=reading.monotonic, hidden=hidden)
        if verdict.go:
            target = _step(server, reading.capacity, originals)
            pace = latency.stepped(pace, now=reading.monotonic)
            left = restore_steps(target, originals)
            rest = f"; {left} left, {left * latency.STEP_SECONDS:.0f} s at least" if left else ""
            say(f"step {pace.steps}, at {target} of {originals}{rest}")
        if not verdict.go or target != originals:
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
        force = receipt.in_force or current
        raise ServerError(f"stopped at {force}: {receipt.error or 'somebody else changed the values'}")
    return target


NOTE_SECONDS = 2.0
"""How long the disk may take for a note."""


class Notebook:
    """The journal, as far as a park or a restore needs it: a write is on disk before it is carried out.

    A disk that takes nothing is no reason not to write to the server.
    """

    def __init__(self, directory: Path, *, keep_ticks: int) -> None:
        """Use a state directory; nothing is touched before the first note.

        Args:
            directory: where the journal is.
            keep_ticks: ticks that it holds.
        """
        self._why = ""
        self._journal: JournalWriter | None = None
        self._last: TickRecord | None = None
        self._directory = directory
        self._keep_ticks = keep_ticks

    def begin(self, state: State, *, number: int, wall: float) -> None:
        """Begin a run with the state before its first tick, after the tick of that number."""
        self._opened().begin_run(
            settings=state.settings,
            facts=state.facts,
            state=encode_state(state),
            tick_number=number,
            wall=wall,
        )

    def done(self, message: str, *, wall: float, who: str) -> None:
        """Note what was done to a server without its daemon, for whoever asks for the status."""
        self._opened().note(wall=wall, code=OFFLINE, message=message, who=who)

    def record(self, record: TickRecord) -> None:
        """Put a tick on disk."""
        if self._journal is not None:
            self._last = record
            self._journal.record(record)
            self._journal.flush(NOTE_SECONDS)

    def stands(self, standing: Standing) -> None:
        """Put on disk what the next daemon has to know of a server."""
        journal = self._opened()
        journal.save_standing(standing.identity, msgspec.json.encode(standing).decode())
        journal.flush(NOTE_SECONDS)

    def given_back(self, identity: str) -> None:
        """Note that a server has its originals again."""
        self._opened().given_back(identity)

    @property
    def begun(self) -> bool:
        """Tell whether anything was noted."""
        return self._journal is not None

    def end(self, wall: float) -> None:
        """Note that the run ended in order, and which pair it leaves."""
        if self._journal is not None:
            self._journal.end_run(wall, left=left_after(self._last))

    def close(self) -> str:
        """Write what is left; return why something was lost, empty where nothing was."""
        if self._journal is None or self._journal.close(NOTE_SECONDS):
            return ""
        return self._why or f"{self._directory}: the disk took no notes within {NOTE_SECONDS:.0f} s"

    def _opened(self) -> JournalWriter:
        if self._journal is None:
            self._journal = JournalWriter(
                self._directory, keep_ticks=self._keep_ticks, on_error=self._note_trouble
            )
            self._journal.start()
        return self._journal

    def _note_trouble(self, message: str) -> None:
        self._why = self._why or message
