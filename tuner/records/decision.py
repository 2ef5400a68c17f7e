"""What one tick takes in and gives out."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec import Struct

from policies.types import Suggestion
from tuner.records.estimate import Estimate
from tuner.records.optimiser import OptimiserProgress
from tuner.records.sample import Missed, Sample
from tuner.records.server import Capacity, Facts
from tuner.records.trial import TrialResult
from tuner.records.window import Window
from tuner.settings import Mode, Settings


class Lifecycle(StrEnum):
    """Where the daemon is in its life; the only state that is a table."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


class HoldCode(StrEnum):
    """Why nothing may be written although the mode may be active."""

    STALE = "stale"
    RESTARTED = "restarted"
    FOREIGN_CHANGE = "foreign_change"
    PAUSED = "paused"
    NOT_WRITER = "not_writer"
    PRIVILEGE_LOST = "privilege_lost"
    INERT = "inert"
    RESIZING = "resizing"
    MODEL_MISMATCH = "model_mismatch"


class Remedy(StrEnum):
    """What ends a hold or lets the loop write; the words are in ``tuner.findings.remedies``."""

    RESUME = "resume"
    GROUP_GOES_ON = "group_goes_on"
    RESUME_WITH_GRANT = "resume_with_grant"
    RESUME_AFTER_CAUSE = "resume_after_cause"
    BASELINE_UNTOUCHED = "baseline_untouched"
    BASELINE_SPENT = "baseline_spent"
    MODE_ACTIVE = "mode_active"
    RESTORE_OFFLINE = "restore_offline"
    SETTLED = "settled"
    GOOD_SAMPLE = "good_sample"
    SERVER_ITSELF = "server_itself"
    ENABLE_REDO_LOG = "enable_redo_log"
    ADAPTIVE_FLUSHING = "adaptive_flushing"
    RESIZE_DONE = "resize_done"
    RESTART_DAEMON = "restart_daemon"
    LOCK_HOLDER_GONE = "lock_holder_gone"
    OTHER_DAEMON_GONE = "other_daemon_gone"
    PROVIDER = "provider"
    OWNER = "owner"
    READ_ONLY_OFF = "read_only_off"
    OTHER_LIMITS = "other_limits"
    UPGRADE = "upgrade"
    ENABLE_COUNTERS = "enable_counters"
    MATCHING_AGAIN = "matching_again"
    REPORT = "report"
    MATCHING_UNDER_LOAD = "matching_under_load"
    SHOW_WHO_CHANGED = "show_who_changed"


class DecisionKind(StrEnum):
    """What one tick decided."""

    KEEP = "keep"
    SET = "set"
    EMERGENCY = "emergency"
    RELIEF = "relief"
    OVERRIDE = "override"
    DRAIN = "drain"
    PARK = "park"
    RESTORE = "restore"
    LOW_WATER = "low_water"
    TRIAL = "trial"

    @property
    def in_words(self) -> str:
        """Return it as people read it."""
        words = {"keep": "no change", "set": "change", "relief": "relief of the device"}
        return words.get(self.value, self.value.replace("_", " "))


class Reason(StrEnum):
    """Why a tick came to what it did; ``Decision.detail`` says it in words."""

    MISSED = "missed"
    NO_ESTIMATE = "no_estimate"
    ADVISORY = "advisory"
    HELD = "held"
    STOPPING = "stopping"
    ORIGINALS_PENDING = "originals_pending"

    LIMITS = "limits"
    AUTHORITY = "authority"
    DEAD_BAND = "dead_band"
    DWELL = "dwell"
    BUDGET = "budget"
    RESERVE = "reserve"
    NO_RAISE = "no_raise"
    SPACING = "spacing"
    ADJUSTED = "adjusted"

    WARMING_UP = "warming_up"
    IDLE = "idle"
    FADING = "fading"
    WITHIN_BAND = "within_band"
    APPROACHING = "approaching"
    NO_AUTHORITY = "no_authority"
    SAVING = "saving"
    UNANSWERED = "unanswered"
    RAISE = "raise"
    LOWER = "lower"
    WAY_BACK = "way_back"
    RELIEF = "relief"
    RELIEF_OVER = "relief_over"

    OVERRIDE = "override"
    DRAINING = "draining"
    DRAINED = "drained"
    EMERGENCY = "emergency"

    PARK = "park"
    RESTORE = "restore"
    RESTORED = "restored"
    LOW_WATER = "low_water"
    LOW_WATER_BACK = "low_water_back"
    TRIAL = "trial"


class EventCode(StrEnum):
    """Events that a program goes by; the others are for people alone."""

    RESTARTED = "restarted"
    OTHER_SERVER = "other_server"
    COUNTERS_BACK = "counters_back"
    ORIGINALS = "originals"
    RESTORED = "restored"
    FOREIGN_CHANGE = "foreign_change"
    WRITE_FAILED = "write_failed"
    TRIAL_ENDED = "trial_ended"
    SUGGESTION_UNSAFE = "suggestion_unsafe"
    TRIAL_BEGUN = "trial_begun"
    BASELINE_TRIAL_BEGUN = "baseline_trial_begun"
    BASELINE_TRIAL_ENDED = "baseline_trial_ended"


class Hold(Struct, frozen=True):
    """One reason not to write.

    Attributes:
        code: which.
        since: monotonic time when it was entered, seconds.
        reason: the same in words.
        remedies: what ends it; none while that is worked out at each tick.
        seconds: left of a time that ends it.
    """

    code: HoldCode
    since: float
    reason: str
    remedies: tuple[Remedy, ...] = ()
    seconds: float = 0.0


class Decision(Struct, frozen=True):
    """What one tick decided and why.

    Attributes:
        kind: what is done.
        reason: why; ``detail`` says it in words.
        target: the pair wanted after guards; equal to the pair in force when kept.
        steps: the SETs, in order; empty in advisory mode, under a hold and when kept.
        would: what an active loop would have set, where that differs from ``steps``.
        policy: the policy asked.
        set_point: f in force; None before the first good estimate.
        set_point_source: which bound or person it comes from.
        source: who decided, in the order of precedence.
        guards: codes of the guards that changed or stopped the answer.
        terms: the law's named parts.
    """

    kind: DecisionKind
    reason: Reason
    detail: str
    target: Capacity | None = None
    steps: tuple[tuple[str, int], ...] = ()
    would: Capacity | None = None
    policy: str = ""
    set_point: float | None = None
    set_point_source: str = ""
    source: str = ""
    guards: tuple[str, ...] = ()
    terms: dict[str, float] = msgspec.field(default_factory=dict)


class Receipt(Struct, frozen=True):
    """What became of a write.

    Attributes:
        monotonic: when it ended.
        requested: the pair asked for.
        in_force: the pair read back; None when it could not be read.
        done: how many statements the server accepted.
        seconds: how long it took.
        error: why it failed, empty when it did not.
        denied: the account lacks the privilege.
        low_water_asked: the low-water mark asked for, in millionths of a percent; None where C or M was.
        low_water_mark: the one read back; None where it could not be read, or was not asked for.
    """

    monotonic: float
    requested: Capacity
    in_force: Capacity | None
    done: int
    seconds: float
    error: str = ""
    denied: bool = False
    low_water_asked: int | None = None
    low_water_mark: int | None = None


LONGEST_TTL = 7 * 86_400
"""How long an override or a drain may last, seconds."""


class Command(Struct, frozen=True):
    """Something a person, a signal or a part of the daemon asks of the loop.

    Attributes:
        name: pause, resume, park, restore, override, cancel_override, drain, cancel_drain, mode,
            settings, overlay, cancel_overlay, stop, originals_saved, low_water_saved, schedule,
            suggest, trial, stop_trial, worker_died, redo_growth, fleet.
        who: person or part, with where from.
        number: stable id for the acknowledgement.
        value: M for override, mode name for mode, checkpoint age for drain as ``tuner.core.ages``
            reads it; for originals_saved the server and pair that are on disk, None for whichever
            are waited for; for low_water_saved the server and mark; for suggest the number of the trial;
            for redo_growth what is told; for trial the seed of the order of its blocks; for fleet whether
            the group is paused, 1 or 0; for settings what ``handlers.STAGE`` means.
        ttl: seconds an override, a drain or a trial lives.
        settings: the new settings, for ``settings``.
        windows: those of the schedule that are active from now on, for ``schedule``.
        reason: free text for the record.
        suggestion: for suggest, what to try; None for nothing.
        overlay: for overlay, settings to change; None as a value goes back to the configuration's.
    """

    name: str
    who: str
    number: int = 0
    value: str | int | None = None
    ttl: float | None = None
    settings: Settings | None = None
    windows: tuple[Window, ...] = ()
    reason: str = ""
    suggestion: Suggestion | None = None
    overlay: dict[str, float | None] | None = None


class Tick(Struct, frozen=True):
    """All that one step may know.

    Attributes:
        number: counts up in a run.
        now: on the daemon's monotonic clock, seconds.
        wall: Unix time, seconds.
        reading: of the server.
        commands: asked for since the last tick.
        receipt: of the last tick's write.
        facts: read anew, after a restart of mysqld, with another server, or once counters are back.
    """

    number: int
    now: float
    wall: float
    reading: Sample | Missed
    commands: tuple[Command, ...] = ()
    receipt: Receipt | None = None
    facts: Facts | None = None


class Event(Struct, frozen=True, kw_only=True):
    """A change of state worth keeping: hold entered or left, write, command, restart.

    Attributes:
        wall: when, Unix time; that of its tick, which ``tuner.core.step`` stamps on it.
        code: stable name.
        message: the same in words.
        who: person or part that caused it.
        subject: what it is about, where a program goes by it: the server of ``other_server``, and what
            ``trial_ended`` came to, won or not_used.
        remedies: what ends it.
    """

    wall: float = 0.0
    code: str
    message: str
    who: str = "loop"
    subject: str = ""
    remedies: tuple[Remedy, ...] = ()


class DrainProgress(Struct, frozen=True):
    """How far a drain is.

    Attributes:
        target: checkpoint age to stay at or below, bytes.
        start_age: checkpoint age when it was asked for, bytes.
        ends: monotonic time when it is over, seconds.
        who: person, with where from.
        reached: monotonic time since when the age is there, None before.
        seconds_left: until it is there, as planned or at the slope seen; None while the age does not fall.
        lowest: no certain age was asked for, and the target follows the load as low as it safely goes.
    """

    target: int
    start_age: int
    ends: float
    who: str
    reached: float | None = None
    seconds_left: float | None = None
    lowest: bool = False


class RestoreProgress(Struct, frozen=True):
    """How far a restore is.

    Attributes:
        who: person, with where from.
        step: steps taken.
        steps_left: steps to go.
        seconds_left: until the originals are in force if nothing has to be waited for.
        latency: mean write latency of the last seconds, seconds; None where unknown.
        latency_limit: a step waits while the latency is above this, seconds; None where it is not visible.
    """

    who: str
    step: int
    steps_left: int
    seconds_left: float
    latency: float | None = None
    latency_limit: float | None = None


class LowWaterMark(Struct, frozen=True):
    """MariaDB's low-water mark of dirty pages, with ``loop.low_water_mark``; in millionths of a percent.

    Attributes:
        in_force: as last read; None where it decides nothing.
        operator: as it was found, which comes back with a restore; None where it decides nothing.
        ours: the one in force is, or may be, ours.
        why: why it cannot be set here; empty where it can.
    """

    in_force: int | None
    operator: int | None
    ours: bool
    why: str = ""


class Overlay(Struct, frozen=True):
    """What counts instead of the configuration's, until it is cancelled or the daemon ends.

    Attributes:
        values: setting to value, in the unit of the setting.
        who: person, with where from; of the last change.
        since: monotonic time of the last change, seconds.
    """

    values: dict[str, float]
    who: str
    since: float


class Acknowledgement(Struct, frozen=True):
    """The loop's answer to one command: accepted or refused, with the reason and what would change it."""

    number: int
    accepted: bool
    message: str
    remedies: tuple[Remedy, ...] = ()


class TickRecord(Struct, frozen=True):
    """What one tick took in and gave out; journal, log, metrics and stream carry nothing else."""

    tick: Tick
    lifecycle: Lifecycle
    mode: Mode
    estimate: Estimate | None
    decision: Decision
    holds: tuple[Hold, ...] = ()
    events: tuple[Event, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()
    override_ends: float | None = None
    changes_last_hour: int = 0
    originals: Capacity | None = None
    occurrences: tuple[str, ...] = ()
    drain: DrainProgress | None = None
    restore: RestoreProgress | None = None
    advisory: str = ""
    schedule: tuple[Window, ...] = ()
    optimiser: OptimiserProgress | None = None
    overlay: Overlay | None = None
    unkept: tuple[str, ...] = ()
    low_water: LowWaterMark | None = None
    trial: TrialResult | None = None  # of a trial against the baseline, at the tick at which it ended
