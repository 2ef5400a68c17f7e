"""A loop that a referee watches tick by tick, and what people ask of it."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.bench import Bench, FakeServer
from tests.core.referee import Referee
from tests.core.strategies import PAIRS, loop_settings, orders, windows
from tests.factory import SAVED, command
from tuner.core import foreign
from tuner.core.guards import DEAD_BAND
from tuner.core.ledger import KNOTS
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.step import step
from tuner.records import Capacity, Command, Lifecycle, Sample
from tuner.settings import Mode, Settings

SHORT_COOL_DOWN = 5.0
"""A baseline's cool-down that a handful of ticks outlast, seconds."""


def hardly_lower(pair: Capacity, target: Capacity) -> bool:
    """Tell whether a pair is a parked one, or below it by less than is worth a write, with its ratio."""
    room = target.io_capacity_max / pair.io_capacity_max - 1.0
    ratios = {one.io_capacity_max / one.io_capacity for one in (pair, target)}
    return pair == target or (0.0 <= room < DEAD_BAND and len(ratios) == 1)


class AskedLoop(RuleBasedStateMachine):
    """A loop beside a server, judged after every tick, of which people ask what they like."""

    def __init__(self) -> None:
        super().__init__()
        self.cool_down, foreign.COOLDOWN_SECONDS = foreign.COOLDOWN_SECONDS, SHORT_COOL_DOWN
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

    @rule(share=st.integers(20, 60), ttl=st.sampled_from([5.0, 60.0, 600.0]), count=st.integers(1, 40))
    def drain(self, share: int, ttl: float, count: int) -> None:
        """A person wants the age brought down, for a time."""
        self.turn(command("drain", value=f"{share}%", ttl=ttl))
        self.go_on(count)

    @rule(told=windows(), count=st.integers(1, 30))
    def the_clock_strikes(self, told: Command, count: int) -> None:
        """Other windows of the schedule are active from now on."""
        self.turn(told)
        self.go_on(count)

    @precondition(lambda self: len(self.bench.records) % 3 == 0)
    @rule(chosen=loop_settings())
    def reload(self, chosen: Settings) -> None:
        """The configuration is read again, with another content."""
        self.turn(command("settings", settings=chosen))

    @precondition(lambda self: len(self.bench.records) > 60)
    @rule(value=st.sampled_from(["park", "park", "leave"]))
    def stop(self, value: str) -> None:
        """The daemon is told to stop: it leaves a parked setting behind where the values are its own.

        A restore under way is left where it is: the next daemon is not to undo it.
        """
        if self.stopped:
            return
        server, state = self.bench.server, self.bench.state
        held = bool(state.holds) or bool(state.restoring) or state.mode is not Mode.ACTIVE
        ours, owner = server.ours, state.writes.own
        self.turn(command("stop", who="SIGTERM", value=value))
        target = self.bench.state.park_target
        faulty = self.bench.receipt is not None and self.bench.receipt.error
        reading = self.bench.record.tick.reading
        if value == "park" and ours and owner == server.capacity and not held and isinstance(reading, Sample):
            holds_now = self.bench.record.holds
            parked = target is not None and hardly_lower(server.capacity, target)
            assert holds_now or faulty or parked, "8: left at a setting that is not parked"

    def teardown(self) -> None:
        """Replay all of it from the first state and from its bytes: the same decisions come out."""
        try:
            self.replay()
        finally:
            foreign.COOLDOWN_SECONDS = self.cool_down

    def replay(self) -> None:
        """See that the same ticks give the same decisions and the same state."""
        state = decode_state(encode_state(self.first))
        for number, record in enumerate(self.bench.records):
            if number == len(self.bench.records) // 2:
                state = decode_state(encode_state(state))
            state, again = step(state, record.tick)
            assert again.decision == record.decision
        assert state == self.bench.state
        assert len(state.estimator.tail.ledger.lsns) <= 2 * KNOTS + KNOTS // 4 + 1
        assert len(state.estimator.window) <= 200
