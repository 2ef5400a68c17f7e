"""A loop that a referee watches tick by tick, and what people, mysqld and the network do to it in between."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from policies.flushlaw import LEGACY
from tests.bench import Bench, FakeServer
from tests.core.referee import Referee
from tests.core.strategies import PAIRS, loop_settings, orders, windows
from tests.factory import DEFAULT, MEBIBYTE, SAVED, A, command
from tuner.core.ages import LOWEST
from tuner.core.estimate.tail import KNOTS
from tuner.core.ownership import foreign
from tuner.core.state import decode_state, encode_state
from tuner.core.step import step
from tuner.core.writes.guards import DEAD_BAND
from tuner.records import Capacity, Command, Lifecycle, Sample
from tuner.settings import Mode, Settings

SHORT_COOL_DOWN = 5.0
"""A baseline's cool-down that a handful of ticks outlast, seconds."""


def hardly_lower(pair: Capacity, target: Capacity) -> bool:
    """Tell whether a pair is a parked one, or below it by less than is worth a write, with its ratio."""
    room = target.io_capacity_max / pair.io_capacity_max - 1.0
    ratios = {one.io_capacity_max / one.io_capacity for one in (pair, target)}
    return pair == target or (0.0 <= room < DEAD_BAND and len(ratios) == 1)


TRIED_DENSITY = 0.0002
"""Pages that the load of a trial dirties for each byte of redo."""

LONG_UP = 5.0
"""Uptime, seconds, from which on a restart shows in it at once."""

KEPT = ("read_only", "super_read_only", "replica", "degraded")
"""Fields of a reading that are no occurrence."""


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

    @rule(
        age=st.one_of(st.just(LOWEST), st.integers(20, 60).map("{}%".format)),
        ttl=st.sampled_from([5.0, 60.0, 600.0]),
        count=st.integers(1, 40),
    )
    def drain(self, age: str, ttl: float, count: int) -> None:
        """A person wants the age brought down, for a time: to an age, or as low as it safely goes."""
        self.turn(command("drain", value=age, ttl=ttl))
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


class Loop(AskedLoop):
    """A loop, a server, and everything that can come between them."""

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

    @rule(
        seconds=st.sampled_from([0.4, 1.5, 2.5, 6.0, 30.0, 300.0]),
        how=st.sampled_from(["still", "still", "all still", "paused", "set"]),
        down=st.integers(0, 9),
        asked=st.lists(orders(), max_size=1),
        count=st.integers(1, 14),
    )
    def lose_time(self, seconds: float, how: str, down: int, asked: list[Command], count: int) -> None:
        """The daemon's clock stands still, or the server does, or a clock is set; readings may be missed."""
        if how == "paused":
            self.bench.pause_server(seconds)
        elif how == "set":
            self.bench.server.wall_ahead += seconds
        else:
            self.bench.stand_still(seconds, wall=how == "all still")
        if down:
            self.lose_contact(down, [], writer=self.bench.server.writer)
        self.turn(*asked)
        self.go_on(count)

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
    @rule(pair=PAIRS, recovered=st.sampled_from([None, 0.0, 3.0, 1e6]))
    def restart(self, pair: Capacity, recovered: float | None) -> None:
        """Somebody restarts mysqld, or it crashes and recovers."""
        server, last = self.bench.server, self.referee.last
        server.told = {"recovery_seconds": recovered}
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

    @rule(writer=st.sampled_from([True, True, False]), stranger=st.booleans(), count=st.integers(1, 3))
    def compete(self, *, writer: bool, stranger: bool, count: int) -> None:
        """Another InnoBrim takes the writer lock, or somebody who is none, or it is given back."""
        self.bench.server.writer, self.bench.server.stranger = writer, stranger
        self.go_on(count)

    @rule(
        read_only=st.booleans(),
        firmly=st.booleans(),
        role=st.sampled_from([{}, {"replica": True}, {"group_role": "SECONDARY"}]),
        count=st.integers(1, 6),
    )
    def hand_over(self, role: dict[str, Any], count: int, *, read_only: bool, firmly: bool) -> None:
        """The server becomes a replica or a primary, read-only or writable."""
        variables = {"read_only": read_only, "super_read_only": read_only and firmly}
        roleless = {"replica": False, "group_role": ""}
        self.bench.server.shows = {**self.bench.server.shows, **roleless, **role, **variables}
        self.go_on(count)

    @rule(degraded=st.booleans(), count=st.integers(1, 12))
    def blind_counters(self, count: int, *, degraded: bool) -> None:
        """InnoDB's counters are turned off, or on again."""
        self.bench.server.shows = {**self.bench.server.shows, "degraded": degraded}
        self.go_on(count)

    @rule(
        field=st.sampled_from(
            ["backup_locked", "read_locked", "cloning", "undo_truncating", "pool_loading", "nothing"]
        ),
        ddl=st.sampled_from([0, 0, 1, 20]),
        drops=st.sampled_from([0, 0, 1]),
        count=st.integers(1, 35),
    )
    def go_on_beside(self, field: str, ddl: int, drops: int, count: int) -> None:
        """Something else goes on in the server: locks, a clone, a warm-up, statements; or it ends."""
        server = self.bench.server
        kept = {
            name: value for name, value in server.shows.items() if not isinstance(value, bool) or name in KEPT
        }
        kept["ddl_statements"] = kept.get("ddl_statements", 0) + ddl
        kept["drop_statements"] = kept.get("drop_statements", 0) + drops
        server.shows = kept if field == "nothing" else {**kept, field: True}
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
        dirty_limit=st.sampled_from([90.0, 90.0, 75.0, 10.0]),
        waits=st.sampled_from([0, 0, 5, 5_000]),
        held=st.sampled_from([0, 0, 20, 90]),
        device=st.sampled_from([1e9, 1e9, 1e9, 100.0]),
        lru=st.sampled_from([0.0, 0.0, 300.0]),
        count=st.integers(1, 40),
    )
    def press(
        self, *, dirty_limit: float, waits: int, held: int, device: float, lru: float, count: int
    ) -> None:
        """Buffer pool, device or another consumer of redo come under pressure, or out of it."""
        server = self.bench.server
        server.held_redo, server.device, server.lru_rate = held * MEBIBYTE, device, lru
        for _ in range(count):
            waited = server.shows.get("free_page_waits", 0) + waits
            server.shows = {**server.shows, "dirty_limit": dirty_limit, "free_page_waits": waited}
            self.turn()

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


class Tried(Loop):
    """The same from a loop that has its own values in force, with a trial under way most of the time."""

    @initialize(
        set_point=st.sampled_from([0.5, 0.7]),
        rate=st.sampled_from([1e6, 4e6]),
        writes_take=st.sampled_from([None, 0.005]),
        warm=st.booleans(),
    )
    def begin(self, set_point: float, rate: float, writes_take: float | None, *, warm: bool) -> None:
        """Start where a trial can begin at once, and begin one."""
        wanted = round(rate * TRIED_DENSITY * LEGACY.gain_over_demand(set_point) / 2.0)
        server = FakeServer(Capacity(wanted, 2 * wanted), redo_rate=rate)
        server.density, server.write_seconds = TRIED_DENSITY, writes_take
        server.oldest, server.ours = server.lsn - set_point * A, True
        chosen = Settings(mode=Mode.ACTIVE, set_point=set_point, max_changes_per_hour=3600)
        self.bench = Bench(chosen, server, DEFAULT, left=(server.capacity,))
        self.first = self.bench.state
        self.referee = Referee(saved=True)
        self.go_on(60)
        self.trial(1, 7200.0, 400 if warm else 1)

    @rule(seed=st.integers(0, 3), ttl=st.sampled_from([1800.0, 7200.0, 86_400.0]), count=st.integers(1, 100))
    def trial(self, seed: int, ttl: float, count: int) -> None:
        """A person wants it proven what InnoBrim's values bring."""
        self.turn(command("trial", value=seed, ttl=ttl))
        self.go_on(count)

    @precondition(lambda self: self.bench.state.proof.running is not None)
    @rule(count=st.integers(30, 300))
    def let_it_be_tried(self, count: int) -> None:
        """The trial under way goes on quietly, through the end of a block or of its time."""
        self.go_on(count)
