"""The published invariants, called by a referee with books of its own on a server that misbehaves.

Rules do to the loop, between any two ticks, what people, mysqld and the network do; after every tick
the referee compares what was decided with what it saw itself.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from tests.core.machine import AskedLoop
from tests.core.strategies import PAIRS, orders
from tests.factory import MEBIBYTE, SAVED
from tuner.records import Capacity, Command
from tuner.settings import Mode

EXAMPLES = 250
RULES = 60

LONG_UP = 5.0
"""Uptime, seconds, from which on a restart shows in it at once."""

KEPT = ("read_only", "super_read_only", "replica", "degraded")
"""Fields of a reading that are no occurrence."""


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
