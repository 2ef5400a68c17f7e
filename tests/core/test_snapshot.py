"""The loop's state as bytes and back: a run goes on from there as if nothing had happened."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.bench import Bench, replays
from tests.factory import ACTIVE, command
from tuner.core.snapshot import decode_state, encode_state
from tuner.records import Capacity
from tuner.settings import PolicyName


@pytest.mark.parametrize("policy", ["cascade", "bayes", "pid", "fixed"])
def test_a_run_goes_on_from_its_snapshot(policy: PolicyName) -> None:
    """Whatever the law, and after a change of the server's flush law, the same state decides the same."""
    bench = Bench(replace(ACTIVE, policy=policy, fixed_io_capacity_max=900))
    first = bench.state
    bench.ready()
    bench.turns(40)
    assert type(decode_state(encode_state(bench.state)).policy) is type(bench.state.policy)
    bench.server.shows = {"flush_law": "soft-limit"}
    bench.turns(5)

    assert decode_state(encode_state(bench.state)).policy == bench.state.policy
    assert replays(first, bench.records, restart=20) == bench.state


def test_everything_that_can_be_remembered_comes_back(bench: Bench) -> None:
    """Holds, latches, overrides, debts and originals are all part of the bytes."""
    bench.turn(command("override", value=600, ttl=600.0))
    assert bench.state.override is not None
    assert decode_state(encode_state(bench.state)) == bench.state
    bench.silent(9, command("pause"))
    assert bench.state.latches.paused is not None
    assert bench.state.park_owed
    assert decode_state(encode_state(bench.state)) == bench.state
    bench.turn(command("resume"))
    bench.server.capacity = Capacity(150, 450)
    bench.turn()
    assert bench.state.latches.foreign is not None
    assert decode_state(encode_state(bench.state)) == bench.state


def test_bytes_of_something_else_are_refused() -> None:
    """What is no state of this version is an error, not a guess."""
    with pytest.raises(msgspec.ValidationError):
        decode_state(msgspec.msgpack.encode({"settings": {"mode": "active", "surprise": 1}}))
