"""Every record that crosses a room's border, and the one table of their fields.

Each field carries its unit, help, metric kind and, where PMM charts the same thing, PMM's
name. Metrics, CSV header, JSON schema and the metrics reference are generated from here
(``tuner.fields``). Bytes, pages, seconds and their rates throughout.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from tuner.settings import Mode, Settings


def _field(help_text: str, unit: str = "", kind: str = "", pmm: str = "") -> Meta:
    """Describe a field: ``kind`` is gauge, counter or empty where it is no metric."""
    extra: dict[str, Any] = {"unit": unit, "kind": kind, "pmm": pmm}
    return Meta(description=help_text, extra=extra)


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


class DecisionKind(StrEnum):
    """What one tick decided."""

    KEEP = "keep"
    SET = "set"
    EMERGENCY = "emergency"
    OVERRIDE = "override"
    PARK = "park"
    RESTORE = "restore"


class Capacity(Struct, frozen=True):
    """The pair of knobs, pages/s."""

    io_capacity: Annotated[int, _field("innodb_io_capacity", "pages/s")]
    io_capacity_max: Annotated[int, _field("innodb_io_capacity_max", "pages/s")]


class Facts(Struct, frozen=True):
    """What does not change while a server runs."""

    identity: Annotated[str, _field("server_uuid: which server this is, whatever its address")]
    endpoint: Annotated[str, _field("how it is reached, without credentials")]
    version: Annotated[str, _field("server version")]
    version_comment: Annotated[str, _field("server build")]
    family: Annotated[str, _field("mysql, simulated")]
    flush_law: Annotated[str, _field("name of the adaptive flush law in force")]
    page_size: Annotated[int, _field("InnoDB page size", "bytes")]
    capacity_minimum: Annotated[
        int, _field("lowest value that the server accepts for either knob", "pages/s")
    ]
    capacity_maximum: Annotated[
        int, _field("highest value that the server accepts for either knob", "pages/s")
    ]
    started: Annotated[float, _field("when the server started, Unix time", "seconds")]
    disabled_counters: Annotated[
        tuple[str, ...], _field("InnoDB counters that the loop needs and that are off")
    ] = ()
    blockers: Annotated[tuple[str, ...], _field("reasons why this server cannot be controlled at all")] = ()


class Sample(Struct, frozen=True):
    """One reading of the server, counters as they stand."""

    monotonic: Annotated[float, _field("when the reading ended, on the daemon's monotonic clock", "seconds")]
    wall: Annotated[float, _field("when the reading ended, Unix time", "seconds")]
    read_seconds: Annotated[float, _field("how long the reading took", "seconds", "gauge")]
    identity: Annotated[str, _field("server_uuid at this reading")]
    uptime: Annotated[float, _field("server uptime", "seconds", "gauge")]
    io_capacity: Annotated[int, _field("C in force", "pages/s", "gauge", "IO Capacity")]
    io_capacity_max: Annotated[int, _field("M in force", "pages/s", "gauge", "IO Capacity Max")]
    redo_capacity: Annotated[int, _field("S, redo capacity in force", "bytes", "gauge")]
    flush_limit: Annotated[int, _field("A, the age that the flush law divides by", "bytes", "gauge")]
    sync_point: Annotated[int, _field("modified age where sync flushing starts", "bytes", "gauge")]
    stall_point: Annotated[
        int, _field("checkpoint age where writers block", "bytes", "gauge", "Max Checkpoint Age")
    ]
    lsn_current: Annotated[int, _field("current LSN", "bytes", "counter")]
    lsn_oldest: Annotated[
        int, _field("oldest modification in the flush lists; current LSN when none is dirty", "bytes")
    ]
    lsn_checkpoint: Annotated[int, _field("last checkpoint LSN", "bytes")]
    redo_logical_size: Annotated[int, _field("redo held for any consumer", "bytes", "gauge")]
    redo_enabled: Annotated[bool, _field("redo logging is on")]
    resizing: Annotated[bool, _field("a redo capacity change is under way")]
    adaptive_flushing: Annotated[bool, _field("innodb_adaptive_flushing")]
    adaptive_flushing_lwm: Annotated[float, _field("innodb_adaptive_flushing_lwm", "percent")]
    flush_sync: Annotated[bool, _field("innodb_flush_sync")]
    pages_adaptive: Annotated[int, _field("pages flushed by adaptive flushing", "pages", "counter")]
    pages_sync: Annotated[int, _field("pages flushed by sync flushing", "pages", "counter", "Sync Flush")]
    pages_background: Annotated[int, _field("pages flushed while idle", "pages", "counter")]
    pages_lru: Annotated[int, _field("pages flushed from the LRU tail", "pages", "counter")]
    pages_neighbour: Annotated[int, _field("pages flushed as neighbours", "pages", "counter")]
    pages_dirty: Annotated[int, _field("dirty pages in the buffer pool", "pages", "gauge")]
    pages_total: Annotated[int, _field("pages in the buffer pool", "pages", "gauge")]
    flush_percentage: Annotated[
        int,
        _field("the server's own LSN flush percentage (buffer_flush_pct_for_lsn)", "percent of C", "gauge"),
    ]
    flush_requested: Annotated[
        int, _field("pages the flush law asked for in its last round", "pages", "gauge")
    ]
    flush_by_age: Annotated[int, _field("pages the server expects to flush for age", "pages", "gauge")]
    lsn_average_rate: Annotated[int, _field("the server's smoothed redo rate", "bytes/s", "gauge")]
    free_page_waits: Annotated[int, _field("waits for a free page", "1", "counter")]
    redo_space_waits: Annotated[int, _field("writers that waited for redo space", "1", "counter")]
    row_changes: Annotated[
        int, _field("rows inserted, updated and deleted", "rows", "counter", "Row Changes")
    ]
    commits: Annotated[int, _field("engine commits", "1", "counter")]
    writer: Annotated[bool, _field("no other daemon holds the server's writer lock")] = True

    @property
    def modified_age(self) -> int:
        """Return current LSN minus oldest modification, bytes, never negative."""
        return max(0, self.lsn_current - self.lsn_oldest)

    @property
    def checkpoint_age(self) -> int:
        """Return the uncheckpointed bytes: current LSN minus last checkpoint, never negative."""
        return max(0, self.lsn_current - self.lsn_checkpoint)

    @property
    def age_ratio(self) -> float:
        """Return x, the modified age over the flush limit."""
        return self.modified_age / self.flush_limit

    @property
    def capacity(self) -> Capacity:
        """Return the pair in force."""
        return Capacity(self.io_capacity, self.io_capacity_max)


class Missed(Struct, frozen=True):
    """A reading that failed."""

    monotonic: float
    wall: float
    reason: str


class Estimate(Struct, frozen=True):
    """What the samples so far say about load and device."""

    modified_age: Annotated[float, _field("modified age", "bytes", "gauge")]
    checkpoint_age: Annotated[float, _field("uncheckpointed bytes", "bytes", "gauge", "Uncheckpointed Bytes")]
    age_ratio: Annotated[float, _field("x, modified age over flush limit", "ratio", "gauge")]
    age_slope: Annotated[float, _field("growth of the modified age", "bytes/s", "gauge")]
    redo_rate: Annotated[float, _field("R, redo written", "bytes/s", "gauge", "Redo Generation Rate")]
    row_rate: Annotated[float, _field("row changes", "rows/s", "gauge")]
    flush_rate: Annotated[float, _field("F, flush-list pages flushed", "pages/s", "gauge")]
    sync_rate: Annotated[float, _field("pages flushed by sync flushing", "pages/s", "gauge")]
    lru_rate: Annotated[float, _field("pages flushed from the LRU tail", "pages/s", "gauge")]
    demand: Annotated[float, _field("P, pages that hold the age still", "pages/s", "gauge")]
    demand_ahead: Annotated[
        float, _field("P at the tail over the next half residence time, from the ledger", "pages/s", "gauge")
    ]
    demand_density: Annotated[float, _field("dirty pages per redo byte at the tail", "pages/byte", "gauge")]
    ledger: Annotated[bool, _field("the ledger of dirty pages covers the whole age")]
    combining_exponent: Annotated[float, _field("b, write combining", "ratio", "gauge")]
    new_density: Annotated[float, _field("pages newly dirtied per redo byte", "pages/byte", "gauge")]
    flush_response: Annotated[
        float, _field("redo bytes that the load gives up for each page flushed", "bytes/page", "gauge")
    ]
    sustained_capacity: Annotated[
        float | None, _field("D, what the device keeps up; none until it was the limit", "pages/s", "gauge")
    ]
    authority: Annotated[float, _field("pages flushed per page asked for", "ratio", "gauge")]
    burstiness: Annotated[float, _field("standard deviation of R over its mean", "ratio", "gauge")]
    burst_bytes: Annotated[
        float, _field("redo that the largest recent burst added beyond the device", "bytes", "gauge")
    ]
    checkpoint_lag: Annotated[
        float, _field("highest recent distance of checkpoint age beyond modified age", "bytes", "gauge")
    ]
    seconds_to_sync: Annotated[
        float | None, _field("time to the sync point at this slope", "seconds", "gauge")
    ]
    seconds_to_stall: Annotated[
        float | None, _field("time to the stall point at this slope", "seconds", "gauge")
    ]


class Hold(Struct, frozen=True):
    """One reason not to write."""

    code: HoldCode
    since: float
    reason: str
    clears: str


class Decision(Struct, frozen=True):
    """What one tick decided and why.

    Attributes:
        kind: what is done.
        reason: one stable code; ``detail`` says it in words.
        target: the pair wanted after guards; equal to the pair in force when kept.
        steps: the SETs, in order; empty in advisory mode, under a hold and when kept.
        would: what an active loop would have set, where that differs from ``steps``.
        policy: the decision law asked.
        set_point: f in force; None before the first good estimate.
        set_point_source: which bound or person it comes from.
        source: who decided, in the order of precedence.
        guards: codes of the guards that changed or stopped the answer.
        terms: the law's named parts.
    """

    kind: DecisionKind
    reason: str
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
    """

    monotonic: float
    requested: Capacity
    in_force: Capacity | None
    done: int
    seconds: float
    error: str = ""
    denied: bool = False


class Command(Struct, frozen=True):
    """Something a person, a signal or a part of the daemon asks of the loop.

    Attributes:
        name: pause, resume, park, restore, override, cancel_override, mode, settings, stop,
            originals_saved.
        who: person or part, with where from.
        number: stable id for the acknowledgement.
        value: M for override, mode name for mode; for originals_saved the server and pair that
            are on disk, None for whichever are waited for.
        ttl: seconds an override lives.
        settings: the new settings, for ``settings``.
        reason: free text for the record.
    """

    name: str
    who: str
    number: int = 0
    value: str | int | None = None
    ttl: float | None = None
    settings: Settings | None = None
    reason: str = ""


class Tick(Struct, frozen=True):
    """All that one step may know.

    Attributes:
        number: counts up in a run.
        now: on the daemon's monotonic clock, seconds.
        wall: Unix time, seconds.
        reading: of the server.
        commands: asked for since the last tick.
        receipt: of the last tick's write.
        facts: read anew, after mysqld was restarted or another server answered; None otherwise.
    """

    number: int
    now: float
    wall: float
    reading: Sample | Missed
    commands: tuple[Command, ...] = ()
    receipt: Receipt | None = None
    facts: Facts | None = None


class Event(Struct, frozen=True):
    """A change of state worth keeping: hold entered or left, write, command, restart.

    Attributes:
        wall: when, Unix time.
        code: stable name.
        message: the same in words.
        who: person or part that caused it.
    """

    wall: float
    code: str
    message: str
    who: str = "loop"


class Acknowledgement(Struct, frozen=True):
    """The loop's answer to one command: accepted or refused, with the reason."""

    number: int
    accepted: bool
    message: str


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
