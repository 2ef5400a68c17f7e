"""What takes a while, and how far it is: a drain, a restore."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tuner.records import OptimiserHealth, OptimiserProgress, Sample, TickRecord


class DrainInForce(Struct, frozen=True):
    """A drain and how far it is, until it ends."""

    target: Annotated[int, Meta(description="checkpoint age to stay at or below, bytes")]
    start_age: Annotated[int, Meta(description="checkpoint age when it was asked for, bytes")]
    age: Annotated[int | None, Meta(description="checkpoint age now, bytes; none when the reading failed")]
    seconds_left: Annotated[
        float | None,
        Meta(description="seconds until it is there, at the present slope; none while the age does not fall"),
    ]
    reached: Annotated[float | None, Meta(description="since when it is there, Unix time; none before")]
    ends: Annotated[float, Meta(description="when the loop goes back to its set-point, Unix time")]
    ends_in: Annotated[float, Meta(description="seconds until then")]
    who: str


class RestoreUnderWay(Struct, frozen=True):
    """The way back to the originals."""

    step: Annotated[int, Meta(description="steps taken")]
    steps_left: Annotated[int, Meta(description="steps to go")]
    seconds_left: Annotated[float, Meta(description="seconds to go where no step has to wait")]
    latency: Annotated[
        float | None, Meta(description="mean latency of writing statements, seconds; none where unknown")
    ]
    latency_limit: Annotated[
        float | None,
        Meta(description="a step waits while it is above this, seconds; none where it is not visible"),
    ]
    who: str


def drain_of(record: TickRecord) -> DrainInForce | None:
    """Return the drain in force, with the loop's times as people know them; None without one."""
    drain, tick = record.drain, record.tick
    if drain is None:
        return None
    left = max(0.0, drain.ends - tick.now)
    return DrainInForce(
        target=drain.target,
        start_age=drain.start_age,
        age=tick.reading.checkpoint_age if isinstance(tick.reading, Sample) else None,
        seconds_left=None if drain.seconds_left is None else round(drain.seconds_left, 1),
        reached=None if drain.reached is None else tick.wall - (tick.now - drain.reached),
        ends=tick.wall + left,
        ends_in=round(left, 3),
        who=drain.who,
    )


def restore_of(record: TickRecord) -> RestoreUnderWay | None:
    """Return the restore under way; None without one."""
    restore = record.restore
    if restore is None:
        return None
    return RestoreUnderWay(
        step=restore.step,
        steps_left=restore.steps_left,
        seconds_left=round(restore.seconds_left, 1),
        latency=restore.latency,
        latency_limit=restore.latency_limit,
        who=restore.who,
    )


class OptimiserUnderWay(Struct, frozen=True):
    """The outer loop of the policy bayes."""

    progress: OptimiserProgress
    process: Annotated[
        OptimiserHealth | None, Meta(description="the optimiser's own process; none without a daemon")
    ] = None


def optimiser_of(record: TickRecord, health: OptimiserHealth | None) -> OptimiserUnderWay | None:
    """Return what the outer loop is at; None where the policy has none."""
    return None if record.optimiser is None else OptimiserUnderWay(record.optimiser, health)
