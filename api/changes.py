"""What a command has changed: the part of a tick that it may change, old and new."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from api.in_force import override_of
from tuner.records import Capacity, HoldCode, Sample, TickRecord
from tuner.settings import Mode


class State(Struct, frozen=True):
    """What a command may change."""

    mode: Mode
    holds: tuple[HoldCode, ...]
    io_capacity: Annotated[int | None, Meta(description="C in force, pages/s")]
    io_capacity_max: Annotated[int | None, Meta(description="M in force, pages/s")]
    target: Annotated[Capacity | None, Meta(description="the pair that the loop is going to")]
    override_seconds_left: Annotated[float | None, Meta(description="none without an override")]
    drain_target: Annotated[int | None, Meta(description="checkpoint age, bytes; none without a drain")]
    overlay: Annotated[
        dict[str, float] | None, Meta(description="settings that a person changed; none where nobody did")
    ] = None


class Change(Struct, frozen=True):
    """An accepted command."""

    command: Annotated[str, Meta(description="what was asked")]
    message: Annotated[str, Meta(description="the loop's answer in words")]
    old: Annotated[State, Meta(description="before")]
    new: Annotated[State, Meta(description="at the tick that accepted it")]


def state_of(record: TickRecord) -> State:
    """Return the part of a tick that a command may change."""
    reading = record.tick.reading
    sample = reading if isinstance(reading, Sample) else None
    override = override_of(record)
    return State(
        mode=record.mode,
        holds=tuple(hold.code for hold in record.holds),
        io_capacity=sample.io_capacity if sample else None,
        io_capacity_max=sample.io_capacity_max if sample else None,
        target=record.decision.target,
        override_seconds_left=override.seconds_left if override else None,
        drain_target=record.drain.target if record.drain else None,
        overlay=record.overlay.values if record.overlay else None,
    )
