"""The published invariants, called by a referee with books of its own on a server that misbehaves.

Rules do to the loop, between any two ticks, what people, mysqld and the network do; after every tick
the referee compares what was decided with what it saw itself.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.factory import FACTS, MEBIBYTE, SAVED, Bench, FakeServer, command
from tuner.core.guards import HOUR
from tuner.core.ledger import KNOTS
from tuner.core.plan import gain
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.state import State
from tuner.core.step import step
from tuner.records import (
    Capacity,
    Command,
    Decision,
    DecisionKind,
    HoldCode,
    Lifecycle,
    Sample,
    TickRecord,
)
from tuner.settings import Mode, Settings

EXAMPLES = 250
RULES = 60

PACED = {DecisionKind.SET, DecisionKind.EMERGENCY, DecisionKind.OVERRIDE}
"""What a hold, a stop or missing originals must keep from writing."""

NEVER_PARKED = {HoldCode.FOREIGN_CHANGE, HoldCode.RESTARTED, HoldCode.NOT_WRITER}
PARKED = {HoldCode.PAUSED, HoldCode.INERT, HoldCode.RESIZING, HoldCode.MODEL_MISMATCH}

LONG_UP = 5.0
"""Uptime, seconds, from which on a restart shows in it at once."""

PERMITS = {"park": "asked", "stop": "stopping", "resume": ""}
"""Why a park may be written after a command."""

PAIRS = st.one_of(
    st.builds(lambda c, k: Capacity(c, k * c), st.integers(100, 12_000), st.integers(1, 10)),
    st.builds(lambda c, more: Capacity(c, c + more), st.integers(100, 12_000), st.integers(0, 12_000)),
    st.just(Capacity(10_000, 20_000)),
)


@st.composite
def loop_settings(draw: st.DrawFn) -> Settings:
    """Return settings that hold together, as the configuration checks them."""
    ratio = draw(st.sampled_from([1, 2, 2, 2, 3, 7]))
    lowest = draw(st.integers(100 * ratio, 1_500))
    return Settings(
        mode=draw(st.sampled_from([Mode.ACTIVE, Mode.ACTIVE, Mode.ACTIVE, Mode.ADVISORY])),
        policy=draw(st.sampled_from(["feedforward", "feedforward", "pid", "fixed"])),
        set_point=draw(st.sampled_from([None, None, 0.5, 0.95])),
        fixed_io_capacity_max=draw(st.integers(100, 20_000)),
        min_io_capacity_max=lowest,
        max_io_capacity_max=draw(st.integers(lowest + ratio, 20_000)),
        ratio=ratio,
        step_factor=draw(st.floats(1.1, 4.0)),
        dwell_seconds=draw(st.floats(1.0, 20.0)),
        max_changes_per_hour=draw(st.sampled_from([1, 3, 120])),
        dead_band=draw(st.floats(0.0, 0.2)),
        stale_seconds=draw(st.floats(2.0, 6.0)),
        park_slack=draw(st.floats(1.0, 3.0)),
    )


@st.composite
def orders(draw: st.DrawFn) -> Command:
    """Return something that a person asks for."""
    name = draw(
        st.sampled_from(
            ["pause", "resume", "resume", "override", "cancel_override", "park", "restore", "mode"]
        )
    )
    if name == "override":
        value: Any = draw(st.one_of(st.integers(0, 25_000), st.none()))
        return command(name, value=value, ttl=draw(st.sampled_from([None, -1.0, 5.0, 60.0])))
    if name == "mode":
        return command(name, value=draw(st.sampled_from(["active", "active", "advisory", "nonsense"])))
    return command(name)


class Referee:
    """Books of its own about writes, permits and originals; ``judge`` calls every breach.

    Attributes:
        saved: the originals in force are on disk.
        permit: why a park may be written once; empty for no reason.
        restoring: a person asked for the originals.
        override_ends: until when a person's value holds.
        writes: time and kind of every write on this server.
        kept: by server, whether its originals were on disk when another one answered.
        tampered: the pair that the loop should believe in force, after somebody else changed it.
    """

    def __init__(self, *, saved: bool) -> None:
        self.saved, self.taken = saved, saved
        self.permit = ""
        self.restoring = False
        self.override_ends = float("-inf")
        self.writes: list[tuple[float, DecisionKind]] = []
        self.tampered: Capacity | None = None
        self.codes: set[HoldCode] = set()
        self.last: Sample | None = None
        self.kept: dict[str, bool] = {}

    def judge(self, before: State, record: TickRecord, after: State, *, ours: bool) -> None:
        """Compare one tick's decision with the invariants."""
        tick, decision = record.tick, record.decision
        reading = tick.reading if isinstance(tick.reading, Sample) else None
        assert [answer.number for answer in record.acknowledgements] == [one.number for one in tick.commands]
        assert decision.reason
        codes = {event.code for event in record.events}
        self._hear(before, record)
        self._trusted(record, reading)
        if codes & {"restarted", "other_server"}:
            self._call_off()
            self.permit, self.tampered = "", None
            if "other_server" in codes and reading is not None:
                self._moved(reading, after)
                self.writes = []
            else:
                self.saved = self.taken = False
        if "originals" in codes:
            self.taken, self.saved = True, False
        if "foreign_change" in codes:
            self.permit = ""
            self._call_off()
        self._follow_holds(record, codes)
        self._yielded(record, reading, codes)
        if decision.steps:
            assert reading is not None, "5: a write without a reading"
            self._may(before, record, after, reading, ours=ours)
            self._where(decision, reading.capacity, after.settings)
            self.writes.append((tick.now, decision.kind))
        else:
            assert decision.kind is DecisionKind.KEEP
        if decision.reason in {"park", "restored"}:
            self.permit = ""
        if decision.reason == "restored" or decision.kind is DecisionKind.EMERGENCY:
            self._call_off()
        self.last = reading or self.last

    def _moved(self, reading: Sample, after: State) -> None:
        """Begin the books of another server; one that was here before may bring its originals along."""
        if self.last is not None:
            self.kept[self.last.identity] = self.saved
        again = after.originals is not None and after.originals.saved
        assert not again or self.kept.get(reading.identity), "7: originals of a server never seen"
        self.saved = self.taken = again

    def _trusted(self, record: TickRecord, reading: Sample | None) -> None:
        """See that nothing is estimated across a reading that went back or came from elsewhere."""
        last = self.last
        if reading is None or last is None:
            assert record.estimate is None, "5: an estimate from one reading"
        elif (
            reading.identity != last.identity
            or reading.lsn_current < last.lsn_current
            or reading.uptime < last.uptime
        ):
            assert record.estimate is None, "5: an estimate across a reversed counter"

    def _call_off(self) -> None:
        """Note that an override and a restore are over."""
        self.restoring, self.override_ends = False, float("-inf")

    def _hear(self, before: State, record: TickRecord) -> None:
        """Note what the commands of this tick permit and what they end."""
        active = before.mode is Mode.ACTIVE
        for one, answer in zip(record.tick.commands, record.acknowledgements, strict=True):
            if one.name == "originals_saved":
                self.saved = self.taken
            if not answer.accepted:
                continue
            leaving = active and _asks_for(one, Mode.ADVISORY)
            if leaving or one.name in {"pause", "park", "stop", "override", "restore"}:
                self._call_off()
            self.permit = "leaving" if leaving else PERMITS.get(one.name, self.permit)
            self._note(one, record.tick.now)
            active = not leaving and (active or _asks_for(one, Mode.ACTIVE))

    def _note(self, one: Command, now: float) -> None:
        """Note what a command that was accepted begins."""
        if one.name == "restore":
            self.restoring = True
        elif one.name == "override" and one.ttl is not None:
            self.override_ends = now + one.ttl
        elif one.name == "cancel_override":
            self.override_ends = float("-inf")
        elif one.name == "resume":
            self.tampered = None
            self.codes -= {HoldCode.FOREIGN_CHANGE, HoldCode.PAUSED}

    def _follow_holds(self, record: TickRecord, codes: set[str]) -> None:
        """Note which holds were entered; a foreign change stays until a person resumes."""
        now = {hold.code for hold in record.holds}
        if not codes & {"restarted", "other_server"}:
            kept = self.codes & {HoldCode.FOREIGN_CHANGE}
            assert kept <= now, "6: a foreign change was forgotten without a person"
        entered = (now - self.codes) & PARKED
        if (entered or (HoldCode.STALE in self.codes - now)) and record.mode is Mode.ACTIVE:
            self.permit = self.permit or "entry"
        self.codes = now

    def _yielded(self, record: TickRecord, reading: Sample | None, codes: set[str]) -> None:
        """See that a change by somebody else was noticed at the first reading that shows it."""
        if reading is None or self.tampered is None:
            return
        if reading.capacity != self.tampered and record.mode is Mode.ACTIVE:
            assert "foreign_change" in codes, "6: a foreign change went unnoticed"
            assert HoldCode.FOREIGN_CHANGE in self.codes
        self.tampered = None

    def _may(self, before: State, record: TickRecord, after: State, reading: Sample, *, ours: bool) -> None:
        """See that this kind of write was permitted now."""
        kind, now = record.decision.kind, record.tick.now
        assert self.saved, "7: a write before the originals were on disk"
        assert reading.writer, "10: a write beside another writer"
        if kind in PACED:
            assert record.mode is Mode.ACTIVE, "4: a write in advisory mode"
            assert not record.holds, "4: a write under a hold"
            assert record.lifecycle is not Lifecycle.STOPPING, "8: a write that nobody will follow up"
            assert record.estimate is not None, "5: a decision without an estimate"
        if kind is DecisionKind.SET:
            self._paced(record, reading, after)
        elif kind is DecisionKind.EMERGENCY:
            target = record.decision.target
            assert target is not None
            assert target.io_capacity_max > reading.io_capacity_max, "an emergency raises"
        elif kind is DecisionKind.OVERRIDE:
            assert now < self.override_ends, "an override outlived its time"
        elif kind is DecisionKind.RESTORE:
            assert self.restoring, "4: a restore that nobody asked for"
            assert record.mode is Mode.ACTIVE
        elif kind is DecisionKind.PARK:
            assert self.permit, "4: a park that nothing permits"
            if self.permit != "asked":
                assert ours, "4: a park on values that are not our own"
                assert not self.codes & NEVER_PARKED, "4: a park on entering a hold that never parks"
            if record.mode is Mode.ADVISORY:
                assert self.permit in {"leaving", "stopping"}, "4: a write in advisory mode"
                assert before.mode is Mode.ACTIVE or before.park_owed

    def _paced(self, record: TickRecord, reading: Sample, after: State) -> None:
        """See that dwell, budget and step factor were kept."""
        now, chosen, target = record.tick.now, after.settings, record.decision.target
        assert target is not None
        last = max((at for at, kind in self.writes if kind is not DecisionKind.PARK), default=float("-inf"))
        assert now - last >= chosen.dwell_seconds, "3: dwell"
        counted = [
            at
            for at, kind in self.writes
            if kind in {DecisionKind.SET, DecisionKind.EMERGENCY} and now - at < HOUR
        ]
        assert len(counted) < chosen.max_changes_per_hour, "3: budget"
        old, new = reading.io_capacity_max, target.io_capacity_max
        factor, slack = chosen.step_factor, chosen.ratio / 2.0
        back = chosen.max_io_capacity_max - chosen.ratio <= new < old
        back = back or old < new <= chosen.min_io_capacity_max + chosen.ratio
        assert back or old / factor - slack <= new <= old * factor + slack, "3: step"

    def _where(self, decision: Decision, old: Capacity, chosen: Settings) -> None:
        """See that every SET keeps C and M legal, inside the limits, and the gain between old and new."""
        target = decision.target
        assert target is not None
        server = FakeServer(old)
        low, high = sorted((gain(old), gain(target)))
        for name, value in decision.steps:
            server.apply(((name, value),), target)
            pair = server.capacity
            assert value in {pair.io_capacity, pair.io_capacity_max}, "1: the server would clamp it"
            assert low <= gain(pair) <= high, "2: the gain leaves the way from old to new"
        assert server.capacity == target
        if decision.kind is DecisionKind.RESTORE:
            return
        assert target.io_capacity_max == chosen.ratio * target.io_capacity, "2: a whole ratio"
        assert target.io_capacity >= FACTS.capacity_minimum, "1: the server's minimum"
        assert chosen.min_io_capacity_max <= target.io_capacity_max <= chosen.max_io_capacity_max, "1: limits"


def _asks_for(one: Command, mode: Mode) -> bool:
    """Tell whether a command asks for this mode."""
    if one.name == "settings":
        return one.settings is not None and one.settings.mode is mode
    return one.name == "mode" and one.value == mode.value


class Loop(RuleBasedStateMachine):
    """A loop, a server, and everything that can come between them."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.referee = Referee(saved=False)
        self.stuck = False
        self.owed: tuple[Command, ...] = ()
        self.stopped = False
        self.first = self.bench.state
        self.number = 0

    @initialize(
        chosen=loop_settings(),
        pair=PAIRS,
        rate=st.floats(1e4, 5e6),
        known=st.booleans(),
        warm=st.booleans(),
        stuck=st.sampled_from([False, False, True]),
    )
    def begin(
        self, chosen: Settings, pair: Capacity, rate: float, *, known: bool, warm: bool, stuck: bool
    ) -> None:
        """Start a loop beside a server; most of the time let it come to its first write."""
        self.stuck = stuck
        server = FakeServer(pair, redo_rate=rate)
        self.bench = Bench(chosen, server, pair if known else None)
        self.first = self.bench.state
        self.referee = Referee(saved=known)
        for _ in range(15 if warm else 0):
            self.turn()

    def turn(self, *asked: Command, seconds: float = 1.0) -> None:
        """Tick once and let the referee look."""
        if self.stopped:
            return
        commands = []
        for one in (*self.owed, *asked):
            self.number += 1
            commands.append(
                command(**{n: getattr(one, n) for n in one.__struct_fields__} | {"number": self.number})
            )
        self.owed = ()
        before, ours = self.bench.state, self.bench.server.ours
        record = self.bench.turn(*commands, seconds=seconds)
        self.referee.judge(before, record, self.bench.state, ours=ours)
        if any(event.code == "originals" for event in record.events) and not self.stuck:
            self.owed = (SAVED,)
        self.stopped = record.lifecycle is Lifecycle.STOPPING

    @property
    def blind(self) -> bool:
        """Tell whether the loop does not know yet what its last write left."""
        return self.bench.receipt is not None

    @rule(count=st.integers(1, 15))
    def go_on(self, count: int) -> None:
        """Let it turn quietly."""
        for _ in range(count):
            self.turn()

    @rule(asked=st.lists(orders(), min_size=1, max_size=3), count=st.integers(0, 3))
    def ask(self, asked: list[Command], count: int) -> None:
        """A person asks for something, perhaps for several things at once."""
        self.turn(*asked)
        self.go_on(count)

    @rule(share=st.floats(0.0, 1.0), ttl=st.sampled_from([5.0, 60.0]), count=st.integers(1, 12))
    def override(self, share: float, ttl: float, count: int) -> None:
        """A person holds M at a value inside the limits, for a time."""
        chosen = self.bench.state.settings
        room = chosen.max_io_capacity_max - chosen.min_io_capacity_max
        value = chosen.min_io_capacity_max + round(share * room)
        self.turn(command("override", value=value, ttl=ttl))
        self.go_on(count)

    @precondition(lambda self: len(self.bench.records) % 3 == 0)
    @rule(chosen=loop_settings())
    def reload(self, chosen: Settings) -> None:
        """The configuration is read again, with another content."""
        self.turn(command("settings", settings=chosen))

    @rule(stuck=st.booleans())
    def journal(self, *, stuck: bool) -> None:
        """The journal's disk is full, or has room again."""
        self.stuck = stuck
        if not stuck:
            self.owed = (SAVED,)

    @rule(seconds=st.sampled_from([0.2, 3.0, 12.0, 30.0]))
    def be_late(self, seconds: float) -> None:
        """A tick comes early or late."""
        self.turn(seconds=seconds)

    @rule(count=st.integers(1, 9), asked=st.lists(orders(), max_size=1), writer=st.booleans())
    def lose_contact(self, count: int, asked: list[Command], *, writer: bool) -> None:
        """The server does not answer for some seconds; somebody may ask, or begin to write, meanwhile."""
        self.bench.server.down = "did not answer within 1 s"
        for _ in range(count):
            self.turn(*asked)
            asked = []
        self.bench.server.down, self.bench.server.writer = "", writer

    @precondition(lambda self: not self.blind)
    @rule(pair=PAIRS, away=st.booleans())
    def tamper(self, pair: Capacity, *, away: bool) -> None:
        """Somebody else sets C and M, perhaps while the server is out of reach."""
        server = self.bench.server
        if self.bench.records and self.bench.state.mode is Mode.ACTIVE and self.bench.state.writes.expected:
            self.referee.tampered = self.referee.tampered or server.capacity
        server.capacity, server.ours = pair, False
        if away:
            self.lose_contact(2, [], writer=server.writer)

    @precondition(lambda self: not self.blind and len(self.bench.records) % 5 == 0)
    @rule(pair=PAIRS)
    def restart(self, pair: Capacity) -> None:
        """Somebody restarts mysqld."""
        server, last = self.bench.server, self.referee.last
        told = (
            not self.stopped
            and last is not None
            and last.identity == server.identity
            and last.uptime > LONG_UP
        )
        server.restart(pair)
        self.referee.tampered = None
        self.turn()
        codes = {event.code for event in self.bench.record.events} if told else {"restarted"}
        assert "restarted" in codes, "7: a restart went unnoticed"
        assert "foreign_change" not in codes, "7: a restart was taken for somebody else's change"

    @precondition(lambda self: not self.blind and len(self.bench.records) % 10 == 0)
    @rule(number=st.integers(0, 3))
    def move(self, number: int) -> None:
        """Another server answers behind the same address."""
        name = f"server {number}"
        self.bench.server.ours = self.bench.server.ours and name == self.bench.server.identity
        self.bench.server.identity = name
        self.referee.tampered = None
        self.turn()

    @rule(
        after=st.one_of(st.none(), st.integers(0, 2)),
        unread=st.booleans(),
        value=st.one_of(st.none(), st.integers(100, 20_000)),
    )
    def spoil(self, after: int | None, value: int | None, *, unread: bool) -> None:
        """The next write gets lost half-way, cannot be read back, or is changed by the server."""
        server = self.bench.server
        server.drop_after, server.unread, server.adjusts = after, unread, value

    @rule(refusal=st.sampled_from(["", "", "access denied"]))
    def refuse(self, refusal: str) -> None:
        """The account loses or gets its privilege."""
        self.bench.server.refusal = refusal

    @rule(writer=st.sampled_from([True, True, False]), count=st.integers(1, 3))
    def compete(self, *, writer: bool, count: int) -> None:
        """Another InnoBrim takes the writer lock, or gives it back."""
        self.bench.server.writer = writer
        self.go_on(count)

    @rule(
        resizing=st.sampled_from([False, False, True]),
        redo=st.sampled_from([True, True, False]),
        adaptive=st.sampled_from([True, True, False]),
        lru=st.sampled_from([0.0, 0.0, 5_000.0]),
        skew=st.sampled_from([0, 0, 500]),
        size=st.sampled_from([8, 100, 1024]),
        count=st.integers(1, 12),
    )
    def change_server(
        self, *, resizing: bool, redo: bool, adaptive: bool, lru: float, skew: int, size: int, count: int
    ) -> None:
        """Somebody changes what makes the server controllable."""
        server = self.bench.server
        server.resizing, server.redo_enabled, server.adaptive_flushing = resizing, redo, adaptive
        server.lru_rate, server.skew, server.redo_capacity = lru, skew, size * MEBIBYTE
        self.go_on(count)

    @rule(
        rate=st.sampled_from([0.0, 1e5, 1e6, 4e6, 3e7]),
        density=st.floats(1e-5, 1e-2),
        count=st.integers(1, 15),
    )
    def change_load(self, rate: float, density: float, count: int) -> None:
        """The load changes."""
        self.bench.server.redo_rate, self.bench.server.density = rate, density
        self.go_on(count)

    @precondition(lambda self: len(self.bench.records) % 5 == 0)
    @rule(back=st.floats(1.0, 1e9))
    def reverse(self, back: float) -> None:
        """The LSN goes back, as after a clone."""
        self.bench.server.lsn -= back
        self.bench.server.oldest -= back
        self.turn()

    @precondition(lambda self: len(self.bench.records) > 60)
    @rule(value=st.sampled_from(["park", "park", "leave"]))
    def stop(self, value: str) -> None:
        """The daemon is told to stop: it leaves a parked setting behind where the values are its own."""
        if self.stopped:
            return
        server, state = self.bench.server, self.bench.state
        held = bool(state.holds) or state.mode is not Mode.ACTIVE
        ours, owner = server.ours, state.writes.own
        self.turn(command("stop", who="SIGTERM", value=value))
        target = self.bench.state.park_target
        faulty = self.bench.receipt is not None and self.bench.receipt.error
        reading = self.bench.record.tick.reading
        if value == "park" and ours and owner == server.capacity and not held and isinstance(reading, Sample):
            holds_now = self.bench.record.holds
            assert holds_now or faulty or server.capacity == target, "8: left at a setting that is not parked"

    def teardown(self) -> None:
        """Replay all of it from the first state and from its bytes: the same decisions come out."""
        state = decode_state(encode_state(self.first))
        for number, record in enumerate(self.bench.records):
            if number == len(self.bench.records) // 2:
                state = decode_state(encode_state(state))
            state, again = step(state, record.tick)
            assert again.decision == record.decision
        assert state == self.bench.state
        assert len(state.estimator.ledger.lsns) <= 2 * KNOTS + KNOTS // 4 + 1
        assert len(state.estimator.window) <= 200


def test_invariants_hold_whatever_comes_between_two_ticks() -> None:
    """No order of faults, commands and changes makes the loop break what the docs promise, or fail."""
    run_state_machine_as_test(
        Loop,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=RULES,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.explicit, Phase.reuse, Phase.generate),
            report_multiple_bugs=False,
        ),
    )
