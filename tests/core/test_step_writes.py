"""Writes that go wrong, and what the loop believes afterwards."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.factory import ACTIVE, DEFAULT, FACTS, codes, command, held
from tuner.core.writes.plan import gain
from tuner.records import Capacity, DecisionKind
from tuner.remedies import clears
from tuner.settings import Mode


def test_three_failures_wait_for_a_person(bench: Bench) -> None:
    """An account whose writes are refused is not tried for ever: after three refusals a person is asked."""
    bench.server.refusal = "the server is read-only (error 1290)"
    bench.turns(200)
    tried = len(bench.server.applied)
    (hold,) = bench.turns(60).holds

    assert bench.said("write_failed") == ["the server is read-only (error 1290)"] * 3
    assert hold.code.value == "not_writer"
    assert "error 1290" in hold.reason
    assert len(bench.server.applied) == tried
    bench.server.refusal = ""
    assert held(bench.turn(command("resume"))) == set()
    bench.server.redo_rate = 3e6
    bench.until("set", "emergency")


def test_a_lost_privilege_is_named_at_once(bench: Bench) -> None:
    """One refusal for want of a privilege is enough: the hold has the GRANT, and no second write is tried."""
    bench.state = replace(bench.state, facts=replace(FACTS, account="innobrim@10.0.0.%"))
    bench.server.refusal, bench.server.denied = "Access denied; you need SYSTEM_VARIABLES_ADMIN", True
    bench.until("set", "emergency")
    tried = len(bench.server.applied)
    (hold,) = bench.turns(120).holds

    assert hold.code.value == "privilege_lost"
    assert clears(hold, bench.state.facts).endswith(
        "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO 'innobrim'@'10.0.0.%'"
    )
    assert len(bench.server.applied) == tried


def test_a_value_that_the_server_adjusted_is_noted(bench: Bench) -> None:
    """When the server makes something else of a write, that is said, and is not a foreign change."""
    bench.server.adjusts = 777
    bench.until("set", "emergency")
    said = codes(bench.turn())

    assert "adjusted" in said
    assert "foreign_change" not in said
    assert bench.state.writes.expected == bench.server.capacity


def test_what_the_server_keeps_adjusting_is_asked_for_once(bench: Bench) -> None:
    """Where the server makes another one of a person's value, or of the originals, that is all."""
    bench.server.adjusts = 777
    tried = len(bench.server.applied)
    bench.turn(command("override", value=1_000, ttl=600.0))
    bench.turns(20)
    assert len(bench.server.applied) == tried + 1
    assert bench.record.decision.reason == "adjusted"

    tried = len(bench.server.applied)
    bench.turn(command("restore"))
    for _ in range(60):
        bench.server.adjusts = 777
        bench.turn()
    assert bench.state.mode is Mode.ADVISORY
    assert len(bench.server.applied) <= tried + 2
    assert bench.server.applied[-1][1] == DEFAULT


@pytest.mark.parametrize("after", [0, 1])
def test_a_write_lost_half_way_is_taken_up_again(bench: Bench, after: int) -> None:
    """When the connection dies between the two SETs, the loop goes on from what is read next."""
    bench.server.drop_after = after
    bench.until("set", "emergency")
    said, pair = codes(bench.turn()), bench.server.capacity

    assert "write_failed" in said
    assert "foreign_change" not in said
    assert pair.io_capacity <= pair.io_capacity_max
    assert bench.state.writes.expected == pair
    bench.until("set", "emergency")
    bench.turn()
    assert bench.m == bench.server.capacity.io_capacity < DEFAULT.io_capacity


def test_a_pair_left_half_way_is_not_taken_for_its_m() -> None:
    """Where a kill left 300/800, which flushes as 600 does, the next daemon that wants 800 writes it."""
    fixed = replace(ACTIVE, policy="fixed", fixed_io_capacity_max=800)
    bench = Bench(fixed, FakeServer(Capacity(300, 800))).ready()
    bench.until("set")

    assert gain(bench.server.capacity) == pytest.approx(800, rel=0.01)


def test_a_write_whose_outcome_was_not_read_is_still_our_own(bench: Bench) -> None:
    """What a write left is known at the next reading, and a stop still parks it."""
    bench.server.unread = True
    bench.until("set", "emergency")
    bench.turns(3)

    assert bench.turn(command("stop", value="park")).decision.kind is DecisionKind.PARK
    assert bench.server.capacity == bench.state.park_target
