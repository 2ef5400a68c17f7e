"""What the routes answer, one type for each. No web framework here: the command line uses it too."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from api.ledger import Ledger
from api.outlook import Burst, Without
from policies.catalogue import About
from tuner.core.memory import Known
from tuner.core.setpoint.budgets import WARN_SECONDS
from tuner.daemon.history import COLUMNS
from tuner.findings.finding import Finding
from tuner.findings.redo_growth import Growing
from tuner.records import (
    Capacity,
    Decision,
    Estimate,
    Facts,
    HoldCode,
    Lifecycle,
    LowWaterMark,
    OptimiserHealth,
    OptimiserProgress,
    TrialProgress,
)
from tuner.records.hook import HookHealth
from tuner.settings import Mode

STREAMED = (
    *COLUMNS,
    "age_slope",
    "sustained_capacity",
    "seconds_to_sync",
    "seconds_to_stall",
    "recovery_seconds",
    "shutdown_seconds",
    "recovery_at_set_point",
    "recovery_at_baseline",
    "shutdown_at_set_point",
    "shutdown_at_baseline",
)
"""What a tick's message carries of the table of fields, besides the set-point."""


class Health(Struct, frozen=True):
    """The answer of a probe."""

    ok: Annotated[bool, Meta(description="the probe's answer")]
    reason: Annotated[str, Meta(description="why, in words")]
    tick_age_seconds: Annotated[
        float | None, Meta(description="seconds since the last sign of life; none before the first")
    ]
    limit_seconds: Annotated[
        float, Meta(description="after so long without a sign of life the loop is dead, in what it does now")
    ]


class Process(Struct, frozen=True):
    """The daemon itself."""

    version: Annotated[str, Meta(description="InnoBrim's version")]
    started: Annotated[float, Meta(description="when the daemon started, Unix time")]
    interval: Annotated[float, Meta(description="seconds between two ticks")]
    resident_bytes: Annotated[int, Meta(description="resident memory, bytes")]
    cpu_seconds: Annotated[float, Meta(description="processor time since the process started, seconds")]
    core_share: Annotated[float, Meta(description="share of one core since the first tick, 0 to 1")]
    speed: Annotated[
        float, Meta(description="seconds of the daemon's time in one real second; above 1 in a demo alone")
    ] = 1.0


class Limits(Struct, frozen=True):
    """The ages that matter, as the server has them now."""

    redo_capacity: Annotated[int, Meta(description="S, bytes")]
    flush_limit: Annotated[int, Meta(description="A, the age that the flush law divides by, bytes")]
    sync_point: Annotated[int, Meta(description="modified age where sync flushing starts, bytes")]
    stall_point: Annotated[int, Meta(description="checkpoint age where writers block, bytes")]


class HoldInForce(Struct, frozen=True):
    """One reason why nothing is written."""

    code: HoldCode
    since: Annotated[float, Meta(description="Unix time")]
    seconds: Annotated[float, Meta(description="how long it has held")]
    reason: str
    clears: Annotated[str, Meta(description="who or what ends it")]
    resume: Annotated[bool, Meta(description="a person ends it, with innobrim resume")] = False


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


class BudgetInForce(Struct, frozen=True):
    """What crash recovery or a shutdown would take, against its budget; seconds."""

    predicted: Annotated[float, Meta(description="what it would take now")]
    at_set_point: Annotated[
        float | None,
        Meta(description="at its longest with the age at the set-point; none before it is known"),
    ]
    at_baseline: Annotated[
        float | None,
        Meta(
            description="at its longest with the C and M that the server was found with; none where it is "
            "not known where the age would rest"
        ),
    ]
    allowed: Annotated[float | None, Meta(description="what it may take; none where nobody set a budget")]
    exceeded: Annotated[bool, Meta(description="it would take longer now than a budget that is set allows")]
    long: Annotated[
        bool,
        Meta(
            description=f"nobody set a budget, and one of the three is longer than {WARN_SECONDS:g} s; "
            "it moves nothing"
        ),
    ]


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
    lowest: Annotated[
        bool, Meta(description="to no certain age: as low as it safely goes, and the target follows the load")
    ] = False


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


class WindowInForce(Struct, frozen=True):
    """A window of the schedule while it is active."""

    name: Annotated[str, Meta(description="of its schedule")]
    began: Annotated[float, Meta(description="when it began, Unix time")]
    ends: Annotated[float, Meta(description="when it ends, Unix time")]
    seconds_left: Annotated[float, Meta(description="seconds until it ends")]
    effects: Annotated[dict[str, float | bool], Meta(description="what it asks for")]
    overruled: Annotated[
        dict[str, str],
        Meta(description="effects that count as another one has them, or a person: who, for each of them"),
    ]
    waits: Annotated[str | None, Meta(description="why its drain is not under way; none while it is")]


class OptimiserUnderWay(Struct, frozen=True):
    """The outer loop of the policy bayes."""

    progress: OptimiserProgress
    process: Annotated[
        OptimiserHealth | None, Meta(description="the optimiser's own process; none without a daemon")
    ] = None


class TrialShown(Struct, frozen=True):
    """A trial against the baseline that is under way; the last one where none is."""

    progress: TrialProgress
    verdict: Annotated[str, Meta(description="what it came to, or has come to so far, in one sentence")]
    ended: Annotated[str, Meta(description="why it ended, in words; empty while it goes on")] = ""


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
    changes_last_hour: Annotated[
        int,
        Meta(
            description="writes in the last hour that count for the budget: none of an emergency or its way "
            "back, a trial, an override, a park or a restore"
        ),
    ]
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
    hooks: Annotated[tuple[HookHealth, ...], Meta(description="how each hook is; none without a daemon")] = ()
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
    effect: Annotated[
        str | None,
        Meta(description="what the set-point would bring, in advisory mode; none where unknown, or active"),
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
    growth: Annotated[
        Growing | None, Meta(description="how far redo.grow_to is; none without it, or without a daemon")
    ] = None
    trial: Annotated[
        TrialShown | None, Meta(description="a trial against the baseline; none before the first")
    ] = None
    ledger: Annotated[
        Ledger | None, Meta(description="what was saved since activation; none before the first minute of it")
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
    """The policies that there are."""

    default: Annotated[str, Meta(description="the one where the configuration names none")]
    policies: tuple[About, ...]
    in_force: Annotated[str, Meta(description="the one that decided last; empty without a tick")] = ""


class StreamTick(Struct, frozen=True):
    """One tick's numbers; the message ``tick``, the last one of its tick and the only one with an id."""

    number: Annotated[int, Meta(description="the tick's number")]
    wall: Annotated[float, Meta(description="when, Unix time")]
    lifecycle: Lifecycle
    mode: Mode
    holds: tuple[HoldCode, ...]
    missed: Annotated[str | None, Meta(description="why the reading failed; none when it did not")]
    override_seconds_left: Annotated[float | None, Meta(description="none without an override")]
    values: Annotated[
        dict[str, float | None],
        Meta(description=f"none where nothing was read: {', '.join(STREAMED)}, set_point"),
    ]


class StreamGap(Struct, frozen=True):
    """The message ``gap``: not all that came after the id is still there; /v1/history may have it."""

    after: Annotated[
        int | None, Meta(description="number of the last tick that was had; none where it was another run's")
    ]
    first: Annotated[int | None, Meta(description="number of the first tick that follows; none before one")]
