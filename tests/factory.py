"""Samples, facts and ticks made by hand: the plain values that the tests of the loop share."""

from __future__ import annotations

import math
from typing import Any

from msgspec.structs import replace

from policies.types import Situation
from tuner.records import (
    Capacity,
    Command,
    Decision,
    DecisionKind,
    Estimate,
    Facts,
    Lifecycle,
    Missed,
    Receipt,
    Sample,
    Tick,
    TickRecord,
)
from tuner.servers.families.redo_capacity import redo_limits
from tuner.settings import Mode, Settings

IDENTITY = "11111111-2222-3333-4444-555555555555"
OTHER_IDENTITY = "99999999-8888-7777-6666-555555555555"
EPOCH = 1_767_225_600.0
MEBIBYTE = 1_048_576
REDO = 100 * MEBIBYTE
LIMITS = redo_limits(REDO)
A = LIMITS.flush_limit
C_NAME = "innodb_io_capacity"
M_NAME = "innodb_io_capacity_max"

FACTS = Facts(
    identity=IDENTITY,
    endpoint="innobrim@127.0.0.1:3306",
    version="9.7.4",
    version_comment="MySQL Community Server - GPL",
    family="mysql",
    flush_law="legacy",
    page_size=16_384,
    capacity_minimum=100,
    capacity_maximum=4_294_967_295,
    started=EPOCH - 86_400.0,
)

DEFAULT = Capacity(10_000, 20_000)
LOADED = 500
"""An M that a parked setting lies above, under the factory's load."""
ACTIVE = Settings(mode=Mode.ACTIVE)
BAYES = Settings(mode=Mode.ACTIVE, policy="bayes")


def percentage(capacity: Capacity, age: float, flush_limit: float, low_water: float) -> int:
    """Return the server's LSN percentage, written down a second time so that it can disagree with ours."""
    if age < low_water:
        return 0
    return int((capacity.io_capacity_max // capacity.io_capacity) * (100.0 * age / flush_limit) ** 1.5 / 7.5)


def sample(seconds: float = 0.0, *, age: float | None = None, **changes: Any) -> Sample:  # noqa: ANN401 - any field
    """Return a reading ``seconds`` after the first, on a steady load that M = 450 holds.

    Redo at 1 MB/s, 400 pages/s flushed and dirtied, the age standing still at ``age`` bytes (0.7 of A).
    """
    bytes_old = 0.7 * A if age is None else age
    lsn = 10_000_000_000 + round(seconds * 1e6)
    made = Sample(
        monotonic=1000.0 + seconds,
        wall=EPOCH + seconds,
        read_seconds=0.001,
        identity=IDENTITY,
        uptime=86_400.0 + math.floor(seconds),
        io_capacity=225,
        io_capacity_max=450,
        redo_capacity=REDO,
        flush_limit=A,
        sync_point=LIMITS.sync_point,
        stall_point=LIMITS.stall_point,
        lsn_current=lsn,
        lsn_oldest=lsn - round(bytes_old),
        lsn_checkpoint=lsn - round(bytes_old) - 2 * MEBIBYTE,
        redo_logical_size=round(bytes_old) + 2 * MEBIBYTE,
        redo_enabled=True,
        resizing=False,
        adaptive_flushing=True,
        adaptive_flushing_lwm=10.0,
        flush_sync=True,
        pages_adaptive=1_000 + round(400 * seconds),
        pages_sync=0,
        pages_background=10,
        pages_lru=20,
        pages_neighbour=0,
        pages_dirty=round(4e-4 * bytes_old),
        pages_total=65_536,
        flush_percentage=0,
        flush_requested=400,
        flush_by_age=400,
        lsn_average_rate=1_000_000,
        free_page_waits=0,
        redo_space_waits=0,
        row_changes=5_000 + round(3_000 * seconds),
        commits=round(1_000 * seconds),
    )
    made = replace(made, **changes)
    if "flush_percentage" in changes:
        return made
    low_water = made.stall_point * made.adaptive_flushing_lwm / 100.0
    said = percentage(made.capacity, made.modified_age, made.flush_limit, low_water)
    return replace(made, flush_percentage=said)


def estimate(**changes: Any) -> Estimate:  # noqa: ANN401 - any field
    """Return what the estimator makes of such a steady load."""
    made = Estimate(
        modified_age=0.7 * A,
        checkpoint_age=0.7 * A + 2 * MEBIBYTE,
        age_ratio=0.7,
        age_slope=0.0,
        redo_rate=1e6,
        redo_rate_now=1e6,
        row_rate=3_000.0,
        flush_rate=400.0,
        sync_rate=0.0,
        lru_rate=0.0,
        demand=400.0,
        demand_ahead=400.0,
        demand_density=0.0004,
        ledger=True,
        combining_exponent=0.5,
        new_density=0.0004,
        flush_response=0.0,
        sustained_capacity=None,
        authority=1.0,
        burstiness=0.0,
        burst_bytes=0.0,
        checkpoint_lag=2.0 * MEBIBYTE,
        seconds_to_sync=None,
        seconds_to_stall=None,
    )
    return replace(made, **changes)


def situation(**changes: Any) -> Situation:  # noqa: ANN401 - any field
    """Return what a policy is shown of a steady load at its set-point of 0.8."""
    values: dict[str, Any] = {
        "now": 1000.0,
        "age": 0.8 * A,
        "flush_limit": float(A),
        "sync_point": float(LIMITS.sync_point),
        "set_point": 0.8,
        "redo_rate": 1e6,
        "age_slope": 0.0,
        "demand": 400.0,
        "horizon": 30.0,
        "age_ahead": 0.8 * A,
        "pages_due": 12_000.0,
        "combining_exponent": 0.5,
        "new_density": 0.0004,
        "flush_response": 0.0,
        "flush_rate": 400.0,
        "authority": 1.0,
        "io_capacity_max": 450,
    }
    return Situation(**(values | changes))


def missed(seconds: float) -> Missed:
    """Return a reading that failed ``seconds`` after the first one."""
    return Missed(monotonic=1000.0 + seconds, wall=EPOCH + seconds, reason="did not answer within 1 s")


def tick(
    reading: Sample | Missed, *commands: Command, receipt: Receipt | None = None, number: int = 1
) -> Tick:
    """Return a tick at the time of its reading."""
    return Tick(
        number=number,
        now=reading.monotonic,
        wall=reading.wall,
        reading=reading,
        commands=commands,
        receipt=receipt,
    )


def command(name: str, **values: Any) -> Command:  # noqa: ANN401 - any field
    """Return a command that a person gives."""
    given: dict[str, Any] = {"name": name, "who": "ann", "number": 1}
    return Command(**(given | values))


SAVED = command("originals_saved", who="journal")


def codes(record: TickRecord) -> list[str]:
    """Return the codes of the tick's events."""
    return [event.code for event in record.events]


def held(record: TickRecord) -> set[str]:
    """Return the codes of the holds in force."""
    return {hold.code.value for hold in record.holds}


def would_set(**changes: Any) -> TickRecord:  # noqa: ANN401 - any field
    """Return the record of an advisory tick that would set 300/600."""
    made = TickRecord(
        tick=tick(sample()),
        lifecycle=Lifecycle.RUNNING,
        mode=Mode.ADVISORY,
        estimate=estimate(),
        decision=Decision(
            kind=DecisionKind.KEEP,
            reason="advisory",
            detail="advisory mode writes nothing; would: age ratio 0.700, set-point 0.800",
            target=Capacity(225, 450),
            would=Capacity(300, 600),
            set_point=0.8,
        ),
    )
    return replace(made, **changes)
