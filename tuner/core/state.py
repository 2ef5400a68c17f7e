"""What the loop remembers between two ticks."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from policies.registry import make_policy
from tuner.core.baseline.guard import BaselineGuard
from tuner.core.estimate.clocks import Clocks
from tuner.core.estimate.estimator import EstimatorState
from tuner.core.estimate.latency import RestorePace
from tuner.core.estimate.occurrences import Occurrences
from tuner.core.estimate.relief import Relief
from tuner.core.estimate.sawtooth import Sawtooth
from tuner.core.estimate.trends import MeanRates, Trends
from tuner.core.estimate.unanswered import Unanswered
from tuner.core.gate import GateState
from tuner.core.setpoint.announced import Announced
from tuner.core.setpoint.caution import Caution
from tuner.core.trials.engine import Trials
from tuner.core.writes.tokens import TokenBucket
from tuner.records import Capacity, Estimate, Facts, Hold, Lifecycle, Overlay, Window
from tuner.settings import Mode, Settings

SAME_START_SECONDS = 5.0
"""A server whose start time moved by less than this has not been restarted; uptime counts whole seconds."""


class Role(StrEnum):
    """The part that a server plays among others."""

    PRIMARY = "primary"
    REPLICA = "replica"


class SeenRole(Struct, frozen=True):
    """A server's role as last seen, and whether it refuses clients' writes."""

    role: Role
    read_only: bool

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.role.value}, read_only" if self.read_only else self.role.value


class Override(Struct, frozen=True):
    """A person's M, for a time.

    Attributes:
        io_capacity_max: pages/s.
        ends: monotonic time when it is over, seconds.
        who: person, with where from.
    """

    io_capacity_max: int
    ends: float
    who: str


class Drain(Struct, frozen=True):
    """A checkpoint age that a person wants the age brought down to, for a time.

    Attributes:
        target: checkpoint age to stay at or below, bytes.
        begun: monotonic time when it was asked for, seconds.
        ends: monotonic time when it is over, seconds.
        who: person, with where from.
        start_age: checkpoint age when it was asked for, bytes.
        trends: what was known of load and device before; a drain is no reason to think otherwise.
        redo_rate: R over a minute while draining, bytes/s.
        rates: R and F over some seconds.
        reached: monotonic time when the target was met first, None before.
        cancelled: who ended it before its time; empty while nobody has.
        scheduled: a window of the schedule asked for it, not a person.
        shown: it was begun in advisory mode, and nothing is written for it.
    """

    target: int
    begun: float
    ends: float
    who: str
    start_age: int
    trends: Trends
    redo_rate: float
    rates: MeanRates
    reached: float | None = None
    cancelled: str = ""
    scheduled: bool = False
    shown: bool = False


class Return(Struct, frozen=True):
    """The way back to the set-point after a drain.

    Attributes:
        begun: monotonic time when the drain ended, seconds.
        rates: R and F over some seconds.
    """

    begun: float
    rates: MeanRates


class Writes(Struct, frozen=True):
    """What was written and what we believe is in force.

    Attributes:
        expected: the pair that should be in force; None when unknown.
        own: the pair in force where our last write made it; None otherwise.
        left: what an earlier run's writes may have left, until the first reading shows what is in force.
        known: the pairs of which one is in force where nobody changed it since the last run, the
            likeliest first; empty where that is not known, and after the first reading.
        pending: the pair of a write whose outcome could not be read; the next reading shows what it left.
        before: the pair that was in force before the last write.
        last: monotonic time of the last write, None before the first.
        counted: times of the writes of the last hour that count for the budget.
        tokens: what the policy's own changes are paid from.
        failures: writes that failed in a row.
        raised_from: M before the emergency that made the one in force; 0 where none did.
        too_low: an M of ours that an emergency found too low; 0 where none is remembered.
        too_low_until: how long that is remembered, monotonic seconds.
        adjusted: the pair last asked for where the server made another one of it; None otherwise.
    """

    expected: Capacity | None = None
    own: Capacity | None = None
    left: tuple[Capacity, ...] = ()
    known: tuple[Capacity, ...] = ()
    pending: Capacity | None = None
    before: Capacity | None = None
    last: float | None = None
    counted: tuple[float, ...] = ()
    tokens: TokenBucket = TokenBucket()
    failures: int = 0
    raised_from: int = 0
    too_low: int = 0
    too_low_until: float = 0.0
    adjusted: Capacity | None = None


class Originals(Struct, frozen=True):
    """What the server was set to before us.

    Attributes:
        capacity: the pair as it was.
        saved: it is durably on disk.
    """

    capacity: Capacity
    saved: bool = False


class OtherServer(Struct, frozen=True):
    """The originals of another server that answered at this address before.

    Attributes:
        identity: which server.
        started: when it had started, on our monotonic clock, seconds.
        originals: what it was set to before us.
        low_water: the same of its low-water mark, where ours may be in force; None otherwise.
    """

    identity: str
    started: float
    originals: Originals
    low_water: int | None = None


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
    """A park that is to be written at the next reading that allows it.

    Attributes:
        kind: what for; one for a person is owed whoever made the values in force.
        why: the same for people, with who or which.
        in_steps: it was owed across a gap in time, and goes there by the step limit.
    """

    kind: ParkFor
    why: str
    in_steps: bool = False


class LowWater(Struct, frozen=True):
    """MariaDB's low-water mark of dirty pages; marks in millionths of a percent, times monotonic seconds.

    Attributes:
        original: the operator's, while ours is or may be in force; None otherwise.
        saved: that is on disk.
        own: ours, where our last write made it; None otherwise.
        asked: that of a write whose outcome is not known yet.
        left: the original is an earlier run's: the next reading shows whose mark is in force.
        failures: writes of it that failed in a row.
        retry_at: it is not written before.
        refused: why the server does not take ours; empty where it does, or was not asked.
        foreign: the hold ``foreign_change`` is for this variable.
        until: when active mode was left, the original may be written until then; None before.
    """

    original: int | None = None
    saved: bool = False
    own: int | None = None
    asked: int | None = None
    left: bool = False
    failures: int = 0
    retry_at: float = 0.0
    refused: str = ""
    foreign: bool = False
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
    """The whole state; each module owns its slice.

    Of the fields that do not say by themselves what they are: ``readopted`` has the times at which the
    baseline was taken over again; ``advisory_until_said`` is a restore's or a person's word against active
    mode; ``pace`` is the last restore's; ``facts_due`` waits for the server's facts to be read anew;
    ``why_advisory`` says whose word ``advisory_until_said`` is; ``role`` is the server's, with read_only,
    as last seen; ``handed_over`` is when a park for another role was taken over last; ``unpaid_since`` is
    since when a park that is owed on leaving active mode waits for a reading; ``previous_server`` is the
    server that the last run ended beside, where another one answers at its address now, until that is said;
    ``lock_asked`` tells that readings show who has the writer lock, which is asked for from the tick after
    active mode is entered; ``schedule`` has the windows that are active; ``low_water`` is about MariaDB's
    low-water mark of dirty pages; ``settings`` are those in force, ``configured`` the configuration's where
    an ``overlay`` makes the difference, None without one; ``pending_events`` are events, code and message,
    that the first tick says; ``unheard`` is why it is not known what stood when the run began, until a
    person ends that; ``unrecorded`` is why no decision can be kept any more.
    """

    settings: Settings
    facts: Facts
    mode: Mode
    lifecycle: Lifecycle = Lifecycle.STARTING
    clocks: Clocks = Clocks()
    estimator: EstimatorState = EstimatorState()
    estimate: Estimate | None = None
    gate: GateState = GateState()
    policy: Any = None
    set_point: float | None = None
    set_point_source: str = ""
    caution: Caution = Caution()
    announced: Announced = Announced()
    sawtooth: Sawtooth = Sawtooth()
    relief: Relief = Relief()
    unanswered: Unanswered = Unanswered()
    baseline_guard: BaselineGuard = BaselineGuard()
    writes: Writes = Writes()
    originals: Originals | None = None
    other_servers: tuple[OtherServer, ...] = ()
    latches: Latches = Latches()
    holds: tuple[Hold, ...] = ()
    override: Override | None = None
    drain: Drain | None = None
    returning: Return | None = None
    park_target: Capacity | None = None
    park_owed: OwedPark | None = None
    restoring: str = ""
    pace: RestorePace | None = None
    last_good: float | None = None
    missed: str = ""
    good_since_restart: int = 0
    readopted: tuple[float, ...] = ()
    advisory_until_said: bool = False
    facts_due: bool = False
    role: SeenRole | None = None
    occurrences: Occurrences = Occurrences()
    handed_over: float | None = None
    unpaid_since: float | None = None
    previous_server: str = ""
    lock_asked: bool = True
    why_advisory: str = ""
    schedule: tuple[Window, ...] = ()
    trials: Trials = Trials()
    low_water: LowWater = LowWater()
    configured: Settings | None = None
    overlay: Overlay | None = None
    pending_events: tuple[tuple[str, str], ...] = ()
    unheard: str = ""
    unrecorded: str = ""


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
