"""What the loop remembers between two ticks."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from policies.registry import make_policy
from policies.setpoint import SetPointSource
from tuner.core.baseline.guard import BaselineGuard
from tuner.core.estimate.clocks import Clocks
from tuner.core.estimate.estimator import EstimatorState
from tuner.core.estimate.occurrences import Occurrences
from tuner.core.estimate.sawtooth import Sawtooth
from tuner.core.estimate.trends import MeanRates, Trends
from tuner.core.fallback.relief import Relief
from tuner.core.fallback.unanswered import Unanswered
from tuner.core.gate import GateState
from tuner.core.savings.ledger import SavingsState
from tuner.core.setpoint.announced import Announced
from tuner.core.setpoint.caution import Caution
from tuner.core.trials.engine import Trials
from tuner.core.trials.proof import Proof
from tuner.core.writes.restore_pace import RestorePace
from tuner.core.writes.token_bucket import TokenBucket
from tuner.records import Capacity, Estimate, Facts, Hold, Lifecycle, Overlay, Sample, Window
from tuner.settings import Mode, Settings

SAME_START_SECONDS = 5.0
"""A server whose start time moved by less than this has not been restarted; uptime counts whole seconds."""


class ReplicationRole(StrEnum):
    """The part that a server plays among others."""

    PRIMARY = "primary"
    REPLICA = "replica"


class SeenRole(Struct, frozen=True):
    """A server's role as last seen, and whether it refuses clients' writes."""

    role: ReplicationRole
    read_only: bool

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.role.value}, read_only" if self.read_only else self.role.value


class Override(Struct, frozen=True):
    """A person's M, for a time."""

    io_capacity_max: int  # pages/s
    ends: float  # monotonic time when it is over, seconds
    who: str  # person, with where from


class Drain(Struct, frozen=True):
    """A checkpoint age that a person wants the age brought down to, for a time."""

    target: int  # checkpoint age to stay at or below, bytes
    begun: float  # monotonic time when it was asked for, seconds
    ends: float  # monotonic time when it is over, seconds
    who: str  # person, with where from
    start_age: int  # checkpoint age when it was asked for, bytes
    trends: Trends  # what was known of load and device before; a drain is no reason to think otherwise
    redo_rate: float  # R over a minute while draining, bytes/s
    rates: MeanRates  # R and F over some seconds
    reached: float | None = None  # monotonic time when the target was met first, None before
    cancelled: str = ""  # who ended it before its time; empty while nobody has
    scheduled: bool = False  # a window of the schedule asked for it, not a person
    shown: bool = False  # it was begun in advisory mode, and nothing is written for it
    lowest: bool = False  # to no certain age: as low as it safely goes, which follows the load


class Return(Struct, frozen=True):
    """The way back to the set-point after a drain."""

    begun: float  # monotonic time when the drain ended, seconds
    rates: MeanRates  # R and F over some seconds


class Writes(Struct, frozen=True):
    """What was written and what we believe is in force."""

    expected: Capacity | None = None  # the pair that should be in force; None when unknown
    own: Capacity | None = None  # the pair in force where our last write made it; None otherwise
    # what an earlier run's writes may have left, until the first reading shows what is in force
    left: tuple[Capacity, ...] = ()
    # the pairs of which one is in force where nobody changed it since the last run, the likeliest first;
    # empty where that is not known, and after the first reading
    known: tuple[Capacity, ...] = ()
    # the pair of a write whose outcome could not be read; the next reading shows what it left
    pending: Capacity | None = None
    before: Capacity | None = None  # the pair that was in force before the last write
    last: float | None = None  # monotonic time of the last write, None before the first
    counted: tuple[float, ...] = ()  # times of the writes of the last hour that count for the budget
    tokens: TokenBucket = TokenBucket()  # what the policy's own changes are paid from
    failures: int = 0  # writes that failed in a row
    raised_from: int = 0  # M before the emergency that made the one in force; 0 where none did
    too_low: int = 0  # an M of ours that an emergency found too low; 0 where none is remembered
    too_low_until: float = 0.0  # how long that is remembered, monotonic seconds
    # the pair last asked for where the server made another one of it; None otherwise
    adjusted: Capacity | None = None


class OriginalPair(Struct, frozen=True):
    """What the server was set to before us."""

    capacity: Capacity  # the pair as it was
    saved: bool = False  # it is durably on disk


class OtherServer(Struct, frozen=True):
    """The originals of another server that answered at this address before."""

    identity: str  # which server
    started: float  # when it had started, on our monotonic clock, seconds
    originals: OriginalPair  # what it was set to before us
    low_water: int | None = None  # the same of its low-water mark, where ours may be in force; None otherwise
    savings: SavingsState = SavingsState()  # what was saved there


class Latches(Struct, frozen=True):
    """Holds that stay until somebody or something clears them."""

    paused: Hold | None = None
    foreign: Hold | None = None
    restarted: Hold | None = None
    refused: Hold | None = None


class ParkFor(StrEnum):
    """What a park is owed for."""

    PERSON = "person"
    HOLD = "hold"
    CONTACT = "contact"
    ROLE = "role"
    LEAVING = "leaving"
    STOPPING = "stopping"
    CRASH = "crash"


class OwedPark(Struct, frozen=True):
    """A park that is to be written at the next reading that allows it."""

    kind: ParkFor  # what for; one for a person is owed whoever made the values in force
    why: str  # the same for people, with who or which
    in_steps: bool = False  # it was owed across a gap in time, and goes there by the step limit


class LowWater(Struct, frozen=True):
    """MariaDB's low-water mark of dirty pages; marks in millionths of a percent, times monotonic seconds."""

    original: int | None = None  # the operator's, while ours is or may be in force; None otherwise
    saved: bool = False  # that is on disk
    own: int | None = None  # ours, where our last write made it; None otherwise
    asked: int | None = None  # that of a write whose outcome is not known yet
    left: bool = False  # the original is an earlier run's: the next reading shows whose mark is in force
    failures: int = 0  # writes of it that failed in a row
    retry_at: float = 0.0  # it is not written before
    refused: str = ""  # why the server does not take ours; empty where it does, or was not asked
    foreign: bool = False  # the hold ``foreign_change`` is for this variable
    # when active mode was left, the original may be written until then; None before
    until: float | None = None

    @staticmethod
    def recalled(original: int | None) -> LowWater:
        """Return the slice at a start; an earlier run may not have put this mark of the operator's back."""
        return LowWater() if original is None else LowWater(original=original, saved=True, left=True)

    @property
    def ours(self) -> bool:
        """Tell whether a mark of ours is or may be in force."""
        return any(one not in {None, self.original} for one in (self.own, self.asked))

    @property
    def operators_beside_ours(self) -> int | None:
        """Return the operator's while ours is in force; None otherwise."""
        return self.original if self.ours else None


class State(Struct, frozen=True):
    """The whole state; each module owns its slice."""

    settings: Settings  # those in force
    facts: Facts
    mode: Mode
    lifecycle: Lifecycle = Lifecycle.STARTING
    clocks: Clocks = Clocks()
    estimator: EstimatorState = EstimatorState()
    estimate: Estimate | None = None
    gate: GateState = GateState()
    policy: Any = None
    set_point: float | None = None
    set_point_source: SetPointSource | None = None
    set_point_window: str = ""  # of the schedule, where one decides the set-point or the budget that does
    caution: Caution = Caution()
    announced: Announced = Announced()
    sawtooth: Sawtooth = Sawtooth()
    relief: Relief = Relief()
    unanswered: Unanswered = Unanswered()
    baseline_guard: BaselineGuard = BaselineGuard()
    savings: SavingsState = SavingsState()
    writes: Writes = Writes()
    originals: OriginalPair | None = None
    other_servers: tuple[OtherServer, ...] = ()
    latches: Latches = Latches()
    holds: tuple[Hold, ...] = ()
    override: Override | None = None
    drain: Drain | None = None
    returning: Return | None = None
    park_target: Capacity | None = None
    park_owed: OwedPark | None = None
    restoring: str = ""
    pace: RestorePace | None = None  # of the last restore
    last_good: float | None = None
    missed: str = ""
    good_since_restart: int = 0
    readopted: tuple[float, ...] = ()  # times at which the baseline was taken over again
    advisory_until_said: bool = False  # a restore's or a person's word against active mode
    active_until_said: bool = False  # a person's word for active mode, also outside the stage
    group_paused: bool = False  # [fleet] of the configuration has paused = true
    facts_due: bool = False  # the server's facts are to be read anew
    role: SeenRole | None = None  # as last seen
    occurrences: Occurrences = Occurrences()
    handed_over: float | None = None  # when a park for another role was taken over last
    # since when a park that is owed on leaving active mode waits for a reading
    unpaid_since: float | None = None
    # the server that the last run ended beside, where another one answers now; until that is said
    previous_server: str = ""
    # readings show who has the writer lock, which is asked for from the tick after active mode is entered
    lock_asked: bool = True
    why_advisory: str = ""  # whose word ``advisory_until_said`` is
    schedule: tuple[Window, ...] = ()  # the windows that are active
    trials: Trials = Trials()
    proof: Proof = Proof()
    low_water: LowWater = LowWater()  # MariaDB's low-water mark of dirty pages
    configured: Settings | None = None  # the configuration's, where an overlay makes the difference
    overlay: Overlay | None = None
    pending_events: tuple[tuple[str, str], ...] = ()  # code and message, said by the first tick
    unheard: str = ""  # why it is not known what stood when the run began, until a person ends that
    unrecorded: str = ""  # why no decision can be kept any more

    @property
    def set_point_now(self) -> float:
        """Return the set-point in force; 0.5 before a first estimate has decided it."""
        return 0.5 if self.set_point is None else self.set_point

    def highest_checkpoint_age(self, sample: Sample) -> float:
        """Return the checkpoint age above which it is higher than anybody wants it, bytes."""
        return self.sawtooth.allowed(sample, share=self.settings.max_checkpoint_age_ratio)

    @property
    def set_point_by(self) -> str:
        """Return who or what decides the set-point, as people read it."""
        source, window = self.set_point_source, self.set_point_window
        if source is None or source is SetPointSource.SCHEDULE:
            return window
        return f"{window}: {source}" if window else source.value


def encode_state(state: State) -> bytes:
    """Return the state in MessagePack; a policy's own state is stored by its field names."""
    relief = replace(state.relief, other=_plain(state.relief.other))
    return msgspec.msgpack.encode(replace(state, policy=_plain(state.policy), relief=relief))


def _plain(memory: object) -> dict[str, object] | None:
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
