"""A server of a few lines, and a loop by hand beside it: one call is one tick."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from tests.factory import (
    ACTIVE,
    C_NAME,
    DEFAULT,
    EPOCH,
    FACTS,
    IDENTITY,
    LOADED,
    M_NAME,
    MEBIBYTE,
    REDO,
    SAVED,
    missed,
    percentage,
    sample,
    tick,
)
from tuner.core.ownership.standing import Standing, standing_of, take_up
from tuner.core.state import State, decode_state, encode_state
from tuner.core.step import start, step
from tuner.findings.remedies import told
from tuner.journal.codec import decode, encode
from tuner.records import (
    LOW_WATER_MARK,
    STRANGER,
    Capacity,
    Command,
    DecisionKind,
    Facts,
    Missed,
    Receipt,
    Sample,
    TickRecord,
)
from tuner.servers.families.redo_capacity import redo_limits
from tuner.settings import Settings


class FakeServer:
    """A server of a few lines behind the port, with a load of a density of its own, and faults on demand.

    Attributes:
        now: seconds since it was made; ``live`` moves them.
        capacity: the pair in force.
        ours: the pair in force was made by a write over the port.
        redo_rate: bytes/s of the load.
        density: dirty pages per redo byte at half the flush limit.
        combines: b, the exponent with which that falls as the age grows.
        down: why it does not answer; empty when it does.
        drop_after: statements of the next write that get through before the connection is lost.
        unread: the next write cannot be read back.
        adjusts: the server makes this of the next write's last value.
        denied: it refuses for want of a privilege.
        refusal: why it refuses writes; empty when it does not.
        write_seconds: how long a writing statement takes; None where the account may not see it.
        skew: what is added to the flush percentage, as a server would with another law.
        device: pages/s that it flushes at most, whatever is asked for.
        rests_at: age ratio that it comes to rest at whatever M, None where M decides.
        held_redo: redo that another consumer holds beyond the checkpoint age, bytes.
        told: fields of the facts that are as given, such as ``recovery_seconds``.
        shows: fields of the reading that are as given, such as ``read_only`` or ``ddl_statements``.
        mark: the low-water mark of dirty pages, in millionths of a percent; None for a server without.
        gains: factor on the row changes for a low-water mark.
        applied: every write asked for: steps, the pair wanted, the pair before.
        writer: nobody else has the writer lock.
        stranger: whoever has it is no InnoBrim.
        ahead: seconds that the daemon's monotonic clock counted and the server did not live; negative for
            those that it lived and the clock stood still.
        wall_ahead: the same of the daemon's wall clock.
    """

    def __init__(self, capacity: Capacity = DEFAULT, *, redo_rate: float = 1e6) -> None:
        self.now = 0.0
        self.capacity = capacity
        self.ours = False
        self.redo_rate = redo_rate
        self.density = 0.0004
        self.combines = 0.0
        self.identity = IDENTITY
        self.started = -86_400.0
        self.redo_capacity = REDO
        self.resizing = False
        self.redo_enabled = True
        self.adaptive_flushing = True
        self.writer, self.stranger = True, False
        self.lru_rate = 0.0
        self.write_seconds: float | None = None
        self.skew = 0
        self.down = ""
        self.refusal = ""
        self.denied = False
        self.drop_after: int | None = None
        self.unread = False
        self.adjusts: int | None = None
        self.device = math.inf
        self.rests_at: float | None = None
        self.held_redo = 0
        self.told: dict[str, Any] = {}
        self.shows: dict[str, Any] = {}
        self.applied: list[tuple[tuple[tuple[str, int], ...], Capacity, Capacity]] = []
        self.mark: int | None = None
        self.gains: dict[int | None, float] = {}
        self.closed = False
        self.ahead = self.wall_ahead = 0.0
        self._reset(1e10)

    def _reset(self, lsn: float) -> None:
        self.lsn, self.oldest = lsn, lsn - 0.3 * redo_limits(self.redo_capacity).flush_limit
        self.flushed, self.lru, self.rows, self.requested, self.idled = 1000.0, 0.0, 0.0, 0.0, 10.0
        self.write_time = 0.0

    @property
    def pages_per_byte(self) -> float:
        """Return the dirty pages per redo byte at the age of now."""
        ratio = (self.lsn - self.oldest) / redo_limits(self.redo_capacity).flush_limit
        return self.density * (2.0 * max(0.05, ratio)) ** -self.combines

    def live(self, seconds: float) -> None:
        """Let time pass: the load dirties, the flush law flushes."""
        left = seconds
        while left > 0:
            part = min(1.0, left)
            left -= part
            self.now += part
            limits = redo_limits(self.redo_capacity)
            self.lsn += self.redo_rate * part
            self.rows += self.redo_rate * part / 300.0 * self.gains.get(self.mark, 1.0)
            self.write_time += self.redo_rate * part / 300.0 * (self.write_seconds or 0.0)
            self.lru += self.lru_rate * part
            age = self.lsn - self.oldest
            pair = self.capacity
            if self.redo_rate <= 0.0:
                self._idle(min(pair.io_capacity * part, age * self.pages_per_byte))
                continue
            law = (
                pair.io_capacity * percentage(pair, age, limits.flush_limit, 0.1 * limits.stall_point) / 100.0
            )
            demand = self.redo_rate * self.pages_per_byte
            self.requested = min(float(pair.io_capacity_max), (law + 2.0 * demand) / 3.0)
            flushed = min(self.requested * part, age * self.pages_per_byte, self.device * part)
            if self.rests_at is not None:
                flushed = max(0.0, age - self.rests_at * limits.flush_limit) * self.pages_per_byte
            self.oldest += flushed / self.pages_per_byte
            if self.lsn - self.oldest > 1.1 * limits.flush_limit:
                self._full(self.lsn - self.redo_rate * part, 1.1 * limits.flush_limit)
            self.flushed += flushed

    def _idle(self, flushed: float) -> None:
        """Flush at the idle server's own pace; what the law asked for last stays in its counter."""
        self.oldest += flushed / self.pages_per_byte
        self.idled += flushed

    def _full(self, lsn: float, age: float) -> None:
        """Keep an age: writers wait where the device is the limit, else sync flushing does it."""
        if math.isinf(self.device):
            self.oldest = self.lsn - age
        else:
            self.lsn = max(lsn, self.oldest + age)

    def restart(self, capacity: Capacity) -> None:
        """Start mysqld again: counters begin anew and the configured pair is back."""
        self.started = self.now
        self.capacity, self.ours = capacity, False
        self._reset(self.lsn)

    def may_write(self) -> bool | None:
        """Return whether writes are refused."""
        return not self.refusal

    def facts(self) -> Facts:
        """Return what this server is."""
        return replace(FACTS, identity=self.identity, started=EPOCH + self.started, **self.told)

    def read(self) -> Sample | Missed:
        """Return one reading, or none while it is down."""
        if self.down:
            none = missed(self.now)
            monotonic, wall = none.monotonic + self.ahead, none.wall + self.wall_ahead
            return Missed(monotonic=monotonic, wall=wall, reason=self.down)
        limits = redo_limits(self.redo_capacity)
        lsn, oldest = round(self.lsn), round(self.oldest)
        pair = self.capacity
        made = sample(
            self.now,
            identity=self.identity,
            uptime=float(math.floor(self.now - self.started)),
            io_capacity=pair.io_capacity,
            io_capacity_max=pair.io_capacity_max,
            redo_capacity=self.redo_capacity,
            flush_limit=limits.flush_limit,
            sync_point=limits.sync_point,
            stall_point=limits.stall_point,
            lsn_current=lsn,
            lsn_oldest=oldest,
            lsn_checkpoint=oldest - 2 * MEBIBYTE,
            redo_logical_size=lsn - oldest + 2 * MEBIBYTE + self.held_redo,
            redo_enabled=self.redo_enabled,
            resizing=self.resizing,
            adaptive_flushing=self.adaptive_flushing,
            pages_adaptive=round(self.flushed),
            pages_background=round(self.idled),
            pages_lru=round(self.lru),
            pages_dirty=round((self.lsn - self.oldest) * self.pages_per_byte),
            flush_requested=round(self.requested),
            flush_percentage=percentage(pair, lsn - oldest, limits.flush_limit, 0.1 * limits.stall_point)
            + self.skew,
            row_changes=round(self.rows),
            commits=round(self.rows / 3.0),
            writer=self.writer,
            lock=f"{STRANGER}connection 7" if self.stranger and not self.writer else "",
            write_statements=None if self.write_seconds is None else round(self.rows),
            write_time=None if self.write_seconds is None else self.write_time,
            low_water_mark=self.mark,
        )
        at = {"monotonic": made.monotonic + self.ahead, "wall": made.wall + self.wall_ahead}
        return replace(made, **at, **self._shown(oldest))

    def _shown(self, oldest: int) -> dict[str, Any]:
        """Return what was asked to be shown; with its counters off a server shows neither tail nor law."""
        if not self.shows.get("degraded"):
            return self.shows
        blind = {"lsn_oldest": oldest - 2 * MEBIBYTE, "flush_requested": 0, "flush_percentage": 0}
        return {**blind, **self.shows}

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Carry out the SETs as MySQL does: what does not fit is clamped, with no error."""
        self.applied.append((steps, wanted, self.capacity))
        error, done = self.refusal, 0
        for name, value in steps:
            if error:
                break
            if done == self.drop_after:
                error = "connection lost"
                break
            self._set(name, value)
            done += 1
        if self.adjusts is not None and done:
            self._set(*steps[done - 1][:1], self.adjusts)
        asked = dict(steps).get(LOW_WATER_MARK)
        unread = self.unread or error == "connection lost"
        self.drop_after, self.adjusts, self.unread = None, None, False
        return Receipt(
            monotonic=1000.0 + self.now,
            requested=wanted,
            in_force=None if unread else self.capacity,
            done=done,
            seconds=0.002,
            error=error or ("read back: did not answer" if unread else ""),
            denied=self.denied and bool(self.refusal),
            low_water_asked=asked,
            low_water_mark=None if unread or asked is None else self.mark,
        )

    def set_by_us(self) -> frozenset[str]:
        """Return what was last set over the port."""
        return frozenset({C_NAME, M_NAME} if self.ours else ())

    def _set(self, name: str, value: int) -> None:
        if name == LOW_WATER_MARK:
            self.mark = value
            return
        pair, bounded = self.capacity, max(FACTS.capacity_minimum, min(value, FACTS.capacity_maximum))
        if name == C_NAME:
            self.capacity = replace(pair, io_capacity=min(bounded, pair.io_capacity_max))
        else:
            self.capacity = replace(pair, io_capacity_max=max(bounded, pair.io_capacity))
        self.ours = True

    def close(self) -> None:
        """Note that the connection was given back."""
        self.closed = True


class Worse(FakeServer):
    """A server on which fewer rows come through under values of ours.

    Attributes:
        factor: on the row changes, under a pair that was written over the port.
        slower: the same under whatever pair.
    """

    def __init__(self) -> None:
        super().__init__()
        self.write_seconds = 0.005
        self.factor = 0.9
        self.slower = 1.0

    def live(self, seconds: float) -> None:
        """Let time pass."""
        before = self.rows
        super().live(seconds)
        harmed = self.factor if self.ours and self.capacity != DEFAULT else 1.0
        self.rows = before + harmed * self.slower * (self.rows - before)


class Bench:
    """A loop by hand: one call is one tick on a ``FakeServer``, writes and receipts included.

    Attributes:
        server: what is ticked.
        state: after the last tick.
        record: of the last tick.
        records: of all ticks so far.
        receipt: of the last tick's write, for the next tick.
    """

    def __init__(
        self,
        settings: Settings = ACTIVE,
        server: FakeServer | None = None,
        originals: Capacity | None = None,
        left: tuple[Capacity, ...] = (),
    ) -> None:
        self.server = server or FakeServer()
        self.state: State = start(settings, self.server.facts(), originals, left=left)
        self.records: list[TickRecord] = []
        self.receipt: Receipt | None = None

    @property
    def record(self) -> TickRecord:
        """Return the record of the last tick."""
        return self.records[-1]

    def turn(self, *commands: Command, seconds: float = 1.0) -> TickRecord:
        """Let a second pass, then tick once with these commands; carry out what is decided."""
        self.server.live(seconds)
        made = tick(self.server.read(), *commands, receipt=self.receipt, number=len(self.records) + 1)
        if self.state.facts_due and isinstance(made.reading, Sample):
            made = replace(made, facts=self.server.facts())
        self.state, record = step(self.state, made)
        self.records.append(record)
        decision = record.decision
        self.receipt = None
        if decision.steps and decision.target is not None:
            self.receipt = self.server.apply(decision.steps, decision.target)
        return record

    def fork(self) -> Bench:
        """Return the same loop beside the same server, to go its own way from here on."""
        made, server = copy.copy(self), copy.copy(self.server)
        server.applied, server.shows = list(server.applied), dict(server.shows)
        server.told, server.gains = dict(server.told), dict(server.gains)
        made.server, made.records = server, list(self.records)
        return made

    def stand_still(self, seconds: float, *, wall: bool = False) -> None:
        """Let the server live on while the daemon's clock stands still; with ``wall`` its wall clock too."""
        self.server.live(seconds)
        self.server.ahead -= seconds
        self.server.wall_ahead -= seconds if wall else 0.0

    def pause_server(self, seconds: float) -> None:
        """Let time pass in which the server, with its clock, does not live."""
        self.server.ahead += seconds
        self.server.wall_ahead += seconds

    def turns(self, count: int) -> TickRecord:
        """Tick so many times; return the last record."""
        for _ in range(count):
            self.turn()
        return self.record

    def until(self, *kinds: str, limit: int = 60) -> TickRecord:
        """Tick until a decision of one of these kinds has SETs; fail when none comes."""
        for _ in range(limit):
            record = self.turn()
            if record.decision.steps and record.decision.kind.value in kinds:
                return record
        raise AssertionError(f"no {kinds} within {limit} ticks; last: {self.record.decision}")

    def silent(self, count: int, *commands: Command) -> TickRecord:
        """Tick so many times without an answer of the server, the first with these commands."""
        self.server.down = "did not answer within 1 s"
        for _ in range(count):
            self.turn(*commands)
            commands = ()
        self.server.down = ""
        return self.record

    def answer(self, *commands: Command) -> tuple[bool, str]:
        """Tick once; return whether the last of these commands was accepted, and what was said."""
        last = self.turn(*commands).acknowledgements[-1]
        return last.accepted, told(last)

    @property
    def m(self) -> int:
        """Return the innodb_io_capacity_max in force."""
        return self.server.capacity.io_capacity_max

    @property
    def set_point(self) -> float:
        """Return the set-point of the last tick."""
        found = self.record.decision.set_point
        assert found is not None
        return found

    @property
    def source(self) -> str:
        """Return what decided the set-point of the last tick."""
        return self.record.decision.set_point_source

    def said(self, code: str, *, since: int = 0) -> list[str]:
        """Return the messages of the events with this code, in the records from a place on."""
        return [
            told(event) for record in self.records[since:] for event in record.events if event.code == code
        ]

    def codes(self, *prefixes: str, since: int = 0) -> list[str]:
        """Return the codes of the events that begin like this, in the records from a place on."""
        found = [event.code for record in self.records[since:] for event in record.events]
        return [code for code in found if not prefixes or code.startswith(prefixes)]

    def wrote(self, *, since: int = 0) -> list[DecisionKind]:
        """Return the kinds of the decisions with SETs, in the records from a place on."""
        return [record.decision.kind for record in self.records[since:] if record.decision.steps]

    def ready(self) -> Bench:
        """Tick until the originals are noted and on disk."""
        self.turn()
        self.turn(SAVED)
        return self

    def in_control(self) -> Bench:
        """Save the originals and tick until the loop's own writes have brought M down to the load's size."""
        self.ready()
        while self.m > LOADED:
            self.until("set")
        self.turn()
        return self


def next_daemon(
    state: State,
    *,
    settings: Settings = ACTIVE,
    later: float = 0.0,
    identity: str = IDENTITY,
    originals: Capacity | None = None,
    left: tuple[Capacity, ...] = (),
    now: float = 50.0,
) -> State:
    """Return what the next daemon begins with, by way of the text that the journal keeps.

    Args:
        state: the last one of the daemon before.
        settings: of the next one.
        later: seconds by which mysqld was started later than the daemon before knows.
        identity: of the server that answers then.
        originals: as they are on disk.
        left: what the daemon before may have left in force.
        now: monotonic time, seconds.
    """
    kept = msgspec.json.decode(msgspec.json.encode(standing_of(state)), type=Standing)
    facts = replace(state.facts, started=state.facts.started + later, identity=identity)
    return take_up(start(settings, facts, originals, left=left), kept, now=now)


def replays(state: State, records: Sequence[TickRecord], *, restart: int) -> State:
    """See that the journal's bytes of records give each of them again; return the state after the last.

    Args:
        state: before the first.
        records: of consecutive ticks.
        restart: place at which the state goes through a snapshot.
    """
    for place, record in enumerate(records):
        if place == restart:
            state = decode_state(encode_state(state))
        again = decode(encode(record))
        assert again == record
        state, replayed = step(state, again.tick)
        assert replayed == record
    return state
