"""Samples, facts and ticks made by hand, and a server of a few lines: what the tests of the loop share."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from policies.types import Situation
from tuner.core.state import State
from tuner.core.step import start, step
from tuner.records import Capacity, Command, Estimate, Facts, Missed, Receipt, Sample, Tick, TickRecord
from tuner.servers.limits import redo_limits
from tuner.settings import Mode, Settings

IDENTITY = "11111111-2222-3333-4444-555555555555"
OTHER_IDENTITY = "99999999-8888-7777-6666-555555555555"
EPOCH = 1_767_225_600.0
MEBIBYTE = 1_048_576
REDO = 100 * MEBIBYTE
LIMITS = redo_limits(REDO)
A = LIMITS.flush_limit
C_NAME = "innodb_io_capacity"
M_NAME = "innodb_io_capacity_max"

FACTS = Facts(
    identity=IDENTITY,
    endpoint="innobrim@127.0.0.1:3306",
    version="9.7.4",
    version_comment="MySQL Community Server - GPL",
    family="mysql",
    flush_law="legacy",
    page_size=16_384,
    capacity_minimum=100,
    capacity_maximum=4_294_967_295,
    started=EPOCH - 86_400.0,
)

DEFAULT = Capacity(10_000, 20_000)
LOADED = 500
"""An M that a parked setting lies above, under the factory's load."""
ACTIVE = Settings(mode=Mode.ACTIVE)


def percentage(capacity: Capacity, age: float, flush_limit: float, low_water: float) -> int:
    """Return the server's LSN percentage, written down a second time so that it can disagree with ours."""
    if age < low_water:
        return 0
    return int((capacity.io_capacity_max // capacity.io_capacity) * (100.0 * age / flush_limit) ** 1.5 / 7.5)


def sample(seconds: float = 0.0, *, age: float | None = None, **changes: Any) -> Sample:  # noqa: ANN401 - any field
    """Return a reading ``seconds`` after the first, on a steady load that M = 450 holds.

    Redo at 1 MB/s, 400 pages/s flushed and dirtied, the age standing still at ``age`` bytes (0.7 of A).
    """
    bytes_old = 0.7 * A if age is None else age
    lsn = 10_000_000_000 + round(seconds * 1e6)
    made = Sample(
        monotonic=1000.0 + seconds,
        wall=EPOCH + seconds,
        read_seconds=0.001,
        identity=IDENTITY,
        uptime=86_400.0 + math.floor(seconds),
        io_capacity=225,
        io_capacity_max=450,
        redo_capacity=REDO,
        flush_limit=A,
        sync_point=LIMITS.sync_point,
        stall_point=LIMITS.stall_point,
        lsn_current=lsn,
        lsn_oldest=lsn - round(bytes_old),
        lsn_checkpoint=lsn - round(bytes_old) - 2 * MEBIBYTE,
        redo_logical_size=round(bytes_old) + 2 * MEBIBYTE,
        redo_enabled=True,
        resizing=False,
        adaptive_flushing=True,
        adaptive_flushing_lwm=10.0,
        flush_sync=True,
        pages_adaptive=1_000 + round(400 * seconds),
        pages_sync=0,
        pages_background=10,
        pages_lru=20,
        pages_neighbour=0,
        pages_dirty=20_000,
        pages_total=65_536,
        flush_percentage=0,
        flush_requested=400,
        flush_by_age=400,
        lsn_average_rate=1_000_000,
        free_page_waits=0,
        redo_space_waits=0,
        row_changes=5_000 + round(3_000 * seconds),
        commits=round(1_000 * seconds),
    )
    made = replace(made, **changes)
    if "flush_percentage" in changes:
        return made
    low_water = made.stall_point * made.adaptive_flushing_lwm / 100.0
    said = percentage(made.capacity, made.modified_age, made.flush_limit, low_water)
    return replace(made, flush_percentage=said)


def estimate(**changes: Any) -> Estimate:  # noqa: ANN401 - any field
    """Return what the estimator makes of such a steady load."""
    made = Estimate(
        modified_age=0.7 * A,
        checkpoint_age=0.7 * A + 2 * MEBIBYTE,
        age_ratio=0.7,
        age_slope=0.0,
        redo_rate=1e6,
        redo_rate_now=1e6,
        row_rate=3_000.0,
        flush_rate=400.0,
        sync_rate=0.0,
        lru_rate=0.0,
        demand=400.0,
        demand_ahead=400.0,
        demand_density=0.0004,
        ledger=True,
        combining_exponent=0.5,
        new_density=0.0004,
        flush_response=0.0,
        sustained_capacity=None,
        authority=1.0,
        burstiness=0.0,
        burst_bytes=0.0,
        checkpoint_lag=2.0 * MEBIBYTE,
        seconds_to_sync=None,
        seconds_to_stall=None,
    )
    return replace(made, **changes)


def situation(**changes: Any) -> Situation:  # noqa: ANN401 - any field
    """Return what a decision law is shown of a steady load at its set-point of 0.8."""
    values: dict[str, Any] = {
        "now": 1000.0,
        "age": 0.8 * A,
        "flush_limit": float(A),
        "sync_point": float(LIMITS.sync_point),
        "set_point": 0.8,
        "redo_rate": 1e6,
        "age_slope": 0.0,
        "demand": 400.0,
        "horizon": 30.0,
        "age_ahead": 0.8 * A,
        "pages_due": 12_000.0,
        "combining_exponent": 0.5,
        "new_density": 0.0004,
        "flush_response": 0.0,
        "flush_rate": 400.0,
        "authority": 1.0,
        "io_capacity_max": 450,
        "sustained_capacity": None,
    }
    return Situation(**(values | changes))


def missed(seconds: float) -> Missed:
    """Return a reading that failed ``seconds`` after the first one."""
    return Missed(monotonic=1000.0 + seconds, wall=EPOCH + seconds, reason="did not answer within 1 s")


def tick(
    reading: Sample | Missed, *commands: Command, receipt: Receipt | None = None, number: int = 1
) -> Tick:
    """Return a tick at the time of its reading."""
    return Tick(
        number=number,
        now=reading.monotonic,
        wall=reading.wall,
        reading=reading,
        commands=commands,
        receipt=receipt,
    )


def command(name: str, **values: Any) -> Command:  # noqa: ANN401 - any field
    """Return a command that a person gives."""
    given: dict[str, Any] = {"name": name, "who": "ann", "number": 1}
    return Command(**(given | values))


SAVED = command("originals_saved", who="journal")


class FakeServer:
    """A server of a few lines behind the port, with a load of constant density, and faults on demand.

    Attributes:
        now: seconds since it was made; ``live`` moves them.
        capacity: the pair in force.
        ours: the pair in force was made by a write over the port.
        redo_rate: bytes/s of the load.
        density: dirty pages per redo byte.
        down: why it does not answer; empty when it does.
        drop_after: statements of the next write that get through before the connection is lost.
        unread: the next write cannot be read back.
        adjusts: the server makes this of the next write's last value.
        denied: it refuses for want of a privilege.
        refusal: why it refuses writes; empty when it does not.
        write_seconds: how long a writing statement takes; None where the account may not see it.
        skew: what is added to the flush percentage, as a server would with another law.
        device: pages/s that it flushes at most, whatever is asked for.
        held_redo: redo that another consumer holds beyond the checkpoint age, bytes.
        told: fields of the facts that are as given, such as ``recovery_seconds``.
        shows: fields of the reading that are as given, such as ``read_only`` or ``ddl_statements``.
        applied: every write asked for: steps, the pair wanted, the pair before.
    """

    def __init__(self, capacity: Capacity = DEFAULT, *, redo_rate: float = 1e6) -> None:
        self.now = 0.0
        self.capacity = capacity
        self.ours = False
        self.redo_rate = redo_rate
        self.density = 0.0004
        self.identity = IDENTITY
        self.started = -86_400.0
        self.redo_capacity = REDO
        self.resizing = False
        self.redo_enabled = True
        self.adaptive_flushing = True
        self.writer = True
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
        self.held_redo = 0
        self.told: dict[str, Any] = {}
        self.shows: dict[str, Any] = {}
        self.applied: list[tuple[tuple[tuple[str, int], ...], Capacity, Capacity]] = []
        self.closed = False
        self._reset(1e10)

    def _reset(self, lsn: float) -> None:
        self.lsn, self.oldest = lsn, lsn - 0.3 * redo_limits(self.redo_capacity).flush_limit
        self.flushed, self.lru, self.rows, self.requested, self.idled = 1000.0, 0.0, 0.0, 0.0, 10.0
        self.write_time = 0.0

    def live(self, seconds: float) -> None:
        """Let time pass: the load dirties, the flush law flushes."""
        left = seconds
        while left > 0:
            part = min(1.0, left)
            left -= part
            self.now += part
            limits = redo_limits(self.redo_capacity)
            self.lsn += self.redo_rate * part
            self.rows += self.redo_rate * part / 300.0
            self.write_time += self.redo_rate * part / 300.0 * (self.write_seconds or 0.0)
            self.lru += self.lru_rate * part
            age = self.lsn - self.oldest
            pair = self.capacity
            if self.redo_rate <= 0.0:
                self._idle(min(pair.io_capacity * part, age * self.density))
                continue
            law = (
                pair.io_capacity * percentage(pair, age, limits.flush_limit, 0.1 * limits.stall_point) / 100.0
            )
            demand = self.redo_rate * self.density
            self.requested = min(float(pair.io_capacity_max), (law + 2.0 * demand) / 3.0)
            flushed = min(self.requested * part, age * self.density, self.device * part)
            self.oldest += flushed / self.density
            if self.lsn - self.oldest > 1.1 * limits.flush_limit:
                self._full(self.lsn - self.redo_rate * part, 1.1 * limits.flush_limit)
            self.flushed += flushed

    def _idle(self, flushed: float) -> None:
        """Flush at the idle server's own pace; what the law asked for last stays in its counter."""
        self.oldest += flushed / self.density
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

    def facts(self) -> Facts:
        """Return what this server is."""
        return replace(FACTS, identity=self.identity, started=EPOCH + self.started, **self.told)

    def read(self) -> Sample | Missed:
        """Return one reading, or none while it is down."""
        if self.down:
            return replace(missed(self.now), reason=self.down)
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
            pages_dirty=round((self.lsn - self.oldest) * self.density),
            flush_requested=round(self.requested),
            flush_percentage=percentage(pair, lsn - oldest, limits.flush_limit, 0.1 * limits.stall_point)
            + self.skew,
            row_changes=round(self.rows),
            commits=round(self.rows / 3.0),
            writer=self.writer,
            write_statements=None if self.write_seconds is None else round(self.rows),
            write_time=None if self.write_seconds is None else self.write_time,
        )
        return replace(made, **self._shown(oldest))

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
        )

    def set_by_us(self) -> frozenset[str]:
        """Return what was last set over the port."""
        return frozenset({C_NAME, M_NAME} if self.ours else ())

    def _set(self, name: str, value: int) -> None:
        pair, bounded = self.capacity, max(FACTS.capacity_minimum, min(value, FACTS.capacity_maximum))
        if name == C_NAME:
            self.capacity = replace(pair, io_capacity=min(bounded, pair.io_capacity_max))
        else:
            self.capacity = replace(pair, io_capacity_max=max(bounded, pair.io_capacity))
        self.ours = True

    def close(self) -> None:
        """Note that the connection was given back."""
        self.closed = True


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

    def in_control(self) -> Bench:
        """Save the originals and tick until the loop's own writes have brought M down to the load's size."""
        self.turn()
        self.turn(SAVED)
        while self.server.capacity.io_capacity_max > LOADED:
            self.until("set")
        self.turn()
        return self


def codes(record: TickRecord) -> list[str]:
    """Return the codes of the tick's events."""
    return [event.code for event in record.events]


def held(record: TickRecord) -> set[str]:
    """Return the codes of the holds in force."""
    return {hold.code.value for hold in record.holds}
