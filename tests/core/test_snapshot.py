"""The loop's state as bytes and back: a run goes on from there as if nothing had happened."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench
from tests.factory import ACTIVE, SAVED, command
from tuner.core.snapshot import decode_state, encode_state
from tuner.core.step import step
from tuner.records import Capacity
from tuner.settings import PolicyName


@pytest.mark.parametrize("policy", ["cascade", "bayes", "pid", "fixed"])
def test_a_run_goes_on_from_its_snapshot(policy: PolicyName) -> None:
    """Whatever the law, a state that went through bytes is the same state and decides the same."""
    bench = Bench(replace(ACTIVE, policy=policy, fixed_io_capacity_max=900))
    bench.turn()
    bench.turn(SAVED)
    bench.turns(40)

    state = decode_state(encode_state(bench.state))

    assert state == bench.state
    assert type(state.policy) is type(bench.state.policy)
    seen = len(bench.records)
    bench.turns(40)
    for record in bench.records[seen:]:
        state, again = step(state, record.tick)
        assert again == record


def test_everything_that_can_be_remembered_comes_back() -> None:
    """Holds, latches, overrides, debts and originals are all part of the bytes."""
    bench = Bench().in_control()
    bench.turn(command("override", value=600, ttl=600.0))
    assert bench.state.override is not None
    assert decode_state(encode_state(bench.state)) == bench.state
    bench.server.down = "did not answer"
    bench.turn(command("pause"))
    bench.turns(8)
    bench.server.down = ""
    assert bench.state.latches.paused is not None
    assert bench.state.park_owed
    assert decode_state(encode_state(bench.state)) == bench.state
    bench.server.capacity = Capacity(150, 300)
    bench.turn(command("resume"))
    bench.server.capacity = Capacity(150, 450)
    bench.turn()
    assert bench.state.latches.foreign is not None

    assert decode_state(encode_state(bench.state)) == bench.state


def test_a_state_before_the_first_tick_comes_back() -> None:
    """A run can be replayed from its very beginning."""
    fresh = Bench().state

    assert decode_state(encode_state(fresh)) == fresh


def test_bytes_of_something_else_are_refused() -> None:
    """What is no state of this version is an error, not a guess."""
    with pytest.raises(msgspec.ValidationError):
        decode_state(msgspec.msgpack.encode({"settings": {"mode": "active", "surprise": 1}}))
