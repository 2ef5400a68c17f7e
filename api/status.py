"""One look at the loop, as ``/v1/status`` answers it and the command line shows it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from api.budgets import BudgetInForce, budgets_of
from api.in_force import HoldInForce, OverlayInForce, OverrideInForce, hold_of, overlay_of, override_of
from api.outlook import Burst, Without, burst_of, without_of
from api.parked import parked_of
from api.under_way import (
    DrainInForce,
    OptimiserUnderWay,
    RestoreUnderWay,
    drain_of,
    optimiser_of,
    restore_of,
)
from api.vitals import Process
from api.windows import WindowInForce, windows_of
from tuner.core.known import Known
from tuner.records import (
    Capacity,
    Decision,
    Estimate,
    Facts,
    Lifecycle,
    LowWaterMark,
    Missed,
    OptimiserHealth,
    Sample,
    TickRecord,
)
from tuner.settings import Mode, Settings


class Limits(Struct, frozen=True):
    """The ages that matter, as the server has them now."""

    redo_capacity: Annotated[int, Meta(description="S, bytes")]
    flush_limit: Annotated[int, Meta(description="A, the age that the flush law divides by, bytes")]
    sync_point: Annotated[int, Meta(description="modified age where sync flushing starts, bytes")]
    stall_point: Annotated[int, Meta(description="checkpoint age where writers block, bytes")]


class DoneSince(Struct, frozen=True):
    """What a command did to the server without a daemon."""

    at: Annotated[float, Meta(description="when, Unix time")]
    message: Annotated[str, Meta(description="what was done")]


class Status(Struct, frozen=True):
    """The loop in one look."""

    source: Annotated[Literal["daemon", "journal"], Meta(description="who says so")]
    at: Annotated[float, Meta(description="when the tick was, Unix time")]
    seconds_old: Annotated[float, Meta(description="how long ago that is")]
    tick: Annotated[int, Meta(description="the tick's number")]
    lifecycle: Lifecycle
    mode: Mode
    advisory: Annotated[str | None, Meta(description="why the mode is advisory; none in active mode")]
    holds: tuple[HoldInForce, ...]
    occurrences: Annotated[tuple[str, ...], Meta(description="what goes on in the server beside its load")]
    degraded: Annotated[bool, Meta(description="InnoDB's counters are off, so that less is seen")]
    decision: Decision
    set_point: Annotated[float | None, Meta(description="f, the age ratio that the loop holds")]
    in_force: Annotated[Capacity | None, Meta(description="C and M as read; none when the reading failed")]
    originals: Annotated[Capacity | None, Meta(description="C and M as they were before the first write")]
    missed: Annotated[str | None, Meta(description="why the last reading failed; none when it did not")]
    estimate: Estimate | None
    limits: Limits | None
    budgets: Annotated[
        dict[Literal["recovery", "shutdown"], BudgetInForce] | None,
        Meta(description="crash recovery and shutdown from three ages; none without an estimate"),
    ]
    override: OverrideInForce | None
    drain: DrainInForce | None
    drain_ended: Annotated[
        str | None, Meta(description="when and why the last drain ended; none without one within the hour")
    ]
    restore: RestoreUnderWay | None
    schedule: Annotated[tuple[WindowInForce, ...], Meta(description="windows that are active")]
    changes_last_hour: Annotated[int, Meta(description="writes in the last hour")]
    server: Facts | None
    process: Process | None
    journal: Annotated[str | None, Meta(description="why the journal cannot be written; none while it can")]
    alive: Annotated[bool, Meta(description="a daemon is at work, whether it answers or not")] = True
    since: Annotated[
        tuple[DoneSince, ...],
        Meta(description="what commands did without a daemon since its last tick, where that is shown"),
    ] = ()
    optimiser: Annotated[
        OptimiserUnderWay | None, Meta(description="the outer loop; none where the policy has none")
    ] = None
    changes_allowed: Annotated[
        int | None, Meta(description="writes that any hour may have; none where unknown")
    ] = None
    burst: Annotated[
        Burst | None, Meta(description="how long a burst could last; none without an estimate")
    ] = None
    without: Annotated[
        Without | None,
        Meta(description="the same load with the originals; none where that is what is seen, or unknown"),
    ] = None
    park: Annotated[
        Capacity | None, Meta(description="about what a park would write now; none where unknown")
    ] = None
    unkept: Annotated[
        tuple[str, ...],
        Meta(description="budgets that are not kept, with what would keep each and what that costs"),
    ] = ()
    low_water: Annotated[
        LowWaterMark | None, Meta(description="MariaDB's low-water mark, with loop.low_water_mark")
    ] = None
    overlay: Annotated[
        OverlayInForce | None, Meta(description="settings that a person changed; none where nobody did")
    ] = None
    forgotten: Annotated[
        tuple[str, ...],
        Meta(description="what was learned and begins afresh within this run's last day, when and why"),
    ] = ()
    learned: Annotated[
        Known | None, Meta(description="what was learned of the server; none where nothing is known yet")
    ] = None


def status_of(
    record: TickRecord,
    *,
    facts: Facts | None,
    settings: Settings | None = None,
    wall: float,
    process: Process | None,
    source: Literal["daemon", "journal"] = "daemon",
    journal: str = "",
    drain_ended: str = "",
    forgotten: tuple[str, ...] = (),
    optimiser: OptimiserHealth | None = None,
    learned: Known | None = None,
) -> Status:
    """Return one look at the loop.

    Args:
        record: the newest tick.
        facts: the server; None where unknown.
        settings: those in force; None where unknown.
        wall: now, Unix time in seconds.
        process: the daemon's own figures; None without a daemon.
        source: where the record comes from.
        journal: why the journal cannot be written; empty while it can.
        drain_ended: when and why the last drain ended.
        forgotten: what was learned and begins afresh, when and why.
        optimiser: how the optimiser's process is; None without a daemon.
        learned: what was learned of the server; None where nothing is known.
    """
    reading = record.tick.reading
    sample = reading if isinstance(reading, Sample) else None
    return Status(
        source=source,
        at=record.tick.wall,
        seconds_old=max(0.0, round(wall - record.tick.wall, 3)),
        tick=record.tick.number,
        lifecycle=record.lifecycle,
        mode=record.mode,
        advisory=(record.advisory or None) if record.mode is Mode.ADVISORY else None,
        holds=tuple(hold_of(record, hold, facts.managed if facts else "") for hold in record.holds),
        occurrences=record.occurrences,
        degraded=sample is not None and sample.degraded,
        decision=record.decision,
        set_point=record.decision.set_point,
        in_force=sample.capacity if sample else None,
        originals=record.originals,
        missed=reading.reason if isinstance(reading, Missed) else None,
        estimate=record.estimate,
        limits=None
        if sample is None
        else Limits(
            redo_capacity=sample.redo_capacity,
            flush_limit=sample.flush_limit,
            sync_point=sample.sync_point,
            stall_point=sample.stall_point,
        ),
        budgets=budgets_of(record, settings),
        override=override_of(record),
        drain=drain_of(record),
        drain_ended=drain_ended or None,
        forgotten=forgotten,
        learned=learned,
        restore=restore_of(record),
        schedule=windows_of(record, settings),
        changes_last_hour=record.changes_last_hour,
        server=facts,
        process=process,
        journal=journal or None,
        optimiser=optimiser_of(record, optimiser),
        changes_allowed=None if settings is None else settings.max_changes_per_hour,
        burst=burst_of(record, settings),
        without=without_of(record, facts),
        park=parked_of(record, facts, settings),
        overlay=overlay_of(record),
        unkept=record.unkept,
        low_water=record.low_water,
    )
