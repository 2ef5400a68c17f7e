"""What the routes answer, made from records. No web framework here: the command line uses it too."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from api.budgets import BudgetInForce, budgets_of
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
from policies.catalogue import CATALOGUE, About
from tuner.findings import Finding
from tuner.managed import ended_by
from tuner.records import (
    Capacity,
    Decision,
    Estimate,
    Facts,
    Hold,
    HoldCode,
    Lifecycle,
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


class OverrideInForce(Struct, frozen=True):
    """A person's value, until it ends."""

    io_capacity_max: Annotated[
        int | None, Meta(description="M asked for, pages/s; none where it is held back")
    ]
    ends: Annotated[float, Meta(description="when it ends, Unix time")]
    seconds_left: Annotated[float, Meta(description="seconds until it ends")]


class OverlayInForce(Struct, frozen=True):
    """Settings that a person changed; they end with the daemon, and a restart goes back to the file."""

    values: Annotated[dict[str, float], Meta(description="setting to value in force")]
    since: Annotated[float, Meta(description="last change, Unix time")]
    who: str
    outlives_restart: Annotated[bool, Meta(description="always false")] = False


class HoldInForce(Struct, frozen=True):
    """One reason why nothing is written."""

    code: HoldCode
    since: Annotated[float, Meta(description="Unix time")]
    seconds: Annotated[float, Meta(description="how long it has held")]
    reason: str
    clears: Annotated[str, Meta(description="who or what ends it")]


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
        Meta(description="crash recovery and shutdown, were they now; none without an estimate"),
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
    overlay: Annotated[
        OverlayInForce | None, Meta(description="settings that a person changed; none where nobody did")
    ] = None


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


class NumberedEvent(Struct, frozen=True):
    """One change of state worth keeping."""

    number: Annotated[int, Meta(description="from 1 in each run, and one more for each event")]
    wall: Annotated[float, Meta(description="when, Unix time")]
    code: Annotated[str, Meta(description="stable name")]
    message: str
    who: Annotated[str, Meta(description="person or part that caused it")]


class Events(Struct, frozen=True):
    """Events, oldest first; ``run`` and the last one's number ask for those that follow."""

    events: tuple[NumberedEvent, ...]
    run: Annotated[str, Meta(description="this run of the daemon, as in the ids of /v1/stream")]
    gap: Annotated[
        bool,
        Meta(
            description="some events after the number asked for are gone: too many came, or the run is over"
        ),
    ]


class DecisionAt(Struct, frozen=True):
    """A decision and when it was made."""

    tick: int
    wall: Annotated[float, Meta(description="Unix time")]
    decision: Decision


class Decisions(Struct, frozen=True):
    """Decisions that differ from the one before, oldest first."""

    decisions: tuple[DecisionAt, ...]


class HistoryAnswer(Struct, frozen=True):
    """Numbers over time, one list a column; none where nothing was read."""

    start: Annotated[float, Meta(description="Unix time of the first point")]
    end: Annotated[float, Meta(description="Unix time after the last point")]
    step: Annotated[float, Meta(description="seconds per point")]
    columns: dict[str, list[float | None]]
    units: dict[str, str]
    oldest: Annotated[
        float | None, Meta(description="where memory begins, Unix time: before it nothing is known here")
    ]


class Advice(Struct, frozen=True):
    """What a person could do now."""

    findings: tuple[Finding, ...]


class Policies(Struct, frozen=True):
    """The decision laws that there are."""

    default: Annotated[str, Meta(description="the one where the configuration names none")]
    policies: tuple[About, ...]
    in_force: Annotated[str, Meta(description="the one that decided last; empty without a tick")] = ""


def policies_of(record: TickRecord | None = None) -> Policies:
    """Return what there is, and which of them decided the newest record."""
    in_force = "" if record is None else record.decision.policy
    return Policies(default=Settings().policy, policies=CATALOGUE, in_force=in_force)


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
    optimiser: OptimiserHealth | None = None,
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
        optimiser: how the optimiser's process is; None without a daemon.
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
        holds=tuple(_hold_of(record, hold, facts.managed if facts else "") for hold in record.holds),
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
        override=_override_of(record),
        drain=drain_of(record),
        drain_ended=drain_ended or None,
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
        overlay=_overlay_of(record),
    )


def state_of(record: TickRecord) -> State:
    """Return the part of a tick that a command may change."""
    reading = record.tick.reading
    sample = reading if isinstance(reading, Sample) else None
    override = _override_of(record)
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


def _hold_of(record: TickRecord, hold: Hold, provider: str) -> HoldInForce:
    """Turn the monotonic time of a hold into one that people know."""
    seconds = max(0.0, record.tick.now - hold.since)
    return HoldInForce(
        code=hold.code,
        since=record.tick.wall - seconds,
        seconds=round(seconds, 3),
        reason=hold.reason,
        clears=ended_by(hold.clears, provider),
    )


def _overlay_of(record: TickRecord) -> OverlayInForce | None:
    overlay = record.overlay
    if overlay is None:
        return None
    since = record.tick.wall - max(0.0, record.tick.now - overlay.since)
    return OverlayInForce(values=overlay.values, since=since, who=overlay.who)


def _override_of(record: TickRecord) -> OverrideInForce | None:
    if record.override_ends is None:
        return None
    left = max(0.0, record.override_ends - record.tick.now)
    decision = record.decision
    target = decision.target if decision.source == "person" else None
    return OverrideInForce(
        io_capacity_max=target.io_capacity_max if target else None,
        ends=record.tick.wall + left,
        seconds_left=round(left, 3),
    )
