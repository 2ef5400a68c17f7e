"""The loop's state as bytes and back, so that a replay can begin in the middle of a run."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass

import msgspec
from msgspec.structs import replace

from policies.registry import make_policy
from tuner.core.state import State


def encode_state(state: State) -> bytes:
    """Return the state in MessagePack; a policy's own state is stored by its field names."""
    relief = replace(state.relief, other=_plain(state.relief.other))
    return msgspec.msgpack.encode(replace(state, policy=_plain(state.policy), relief=relief))


def _plain(memory: object) -> dict[str, object] | None:
    """Return a policy's own state by its field names; None for none."""
    return asdict(memory) if is_dataclass(memory) and not isinstance(memory, type) else None


def decode_state(blob: bytes) -> State:
    """Return the state that was encoded.

    Raises:
        msgspec.ValidationError: the bytes are of another version's state.
    """
    state = msgspec.msgpack.decode(blob, type=State)
    if state.policy is None and state.relief.other is None:
        return state
    policy = make_policy(
        state.settings.policy,
        flush_law=state.facts.flush_law,
        fixed_io_capacity_max=state.settings.fixed_io_capacity_max,
    )
    fresh = policy.start()

    def memory(plain: object) -> object:
        return None if fresh is None or plain is None else msgspec.convert(plain, type(fresh))

    relief = replace(state.relief, other=memory(state.relief.other))
    return replace(state, policy=memory(state.policy), relief=relief)
