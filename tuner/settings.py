"""What decisions depend on: nearly all of it what an operator may tune; used by ``step``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct


class Mode(StrEnum):
    """What the operator asked for."""

    ADVISORY = "advisory"
    ACTIVE = "active"


class GrowTo(NamedTuple):
    """How large the daemon is to make the redo log."""

    size: int  # bytes
    unchecked: bool  # also where it cannot see how much room the server's disk has


PolicyName = Literal["cascade", "bayes", "pid", "fixed"]
"""The policies that can be asked for."""

OUTER: PolicyName = "bayes"
"""The policy with an optimiser."""

REMOVED_POLICIES: Mapping[str, str] = {
    "bayes-low-water": "it is gone; write bayes, or cascade, and low_water_mark = true to have it set",
    "feedforward": "it is called cascade now; write cascade",
    "probe": "it is gone: it won nowhere; write cascade, which is the default, or leave the key out",
}
"""Policies that there once were, each with what to write instead."""

HIGHEST_CHECKPOINT_AGE_RATIO = 0.79
"""Of ``max_checkpoint_age_ratio`` where nobody asks for less: PMM alarms at 0.80."""

FORMER_BUDGET_SECONDS = 300.0
"""Both budgets before they had no default."""


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The part of the configuration that decisions depend on."""

    mode: Annotated[Mode, Meta(description="advisory writes nothing; active writes")] = Mode.ADVISORY
    policy: Annotated[PolicyName, Meta(description="how innodb_io_capacity_max is chosen")] = "cascade"
    set_point: Annotated[
        Annotated[float, Meta(gt=0.2, le=1.0)] | None,
        Meta(description="age to hold, as a share of the flush limit; leave out to derive it from the load"),
    ] = None
    low_water_mark: Annotated[
        bool,
        Meta(
            description="MariaDB: set innodb_max_dirty_pages_pct_lwm to 0.001 in active mode, so that "
            "innodb_io_capacity_max moves the age; what was found comes back when active mode ends"
        ),
    ] = False
    fixed_io_capacity_max: Annotated[
        int, Meta(ge=100, le=4_000_000_000, description="innodb_io_capacity_max of the policy fixed, pages/s")
    ] = 2000
    min_io_capacity_max: Annotated[
        int, Meta(ge=100, le=4_000_000_000, description="lowest innodb_io_capacity_max ever written, pages/s")
    ] = 100
    max_io_capacity_max: Annotated[
        int,
        Meta(ge=100, le=4_000_000_000, description="highest innodb_io_capacity_max ever written, pages/s"),
    ] = 20_000
    ratio: Annotated[
        Annotated[int, Meta(ge=1, le=20)] | None,
        Meta(
            description="innodb_io_capacity_max is always this many times innodb_io_capacity; leave out to "
            "keep innodb_io_capacity near what it was"
        ),
    ] = None
    step_factor: Annotated[
        float, Meta(gt=1.0, le=10.0, description="largest change in one write, as a factor")
    ] = 2.0
    dwell_seconds: Annotated[
        float, Meta(ge=1.0, le=3600.0, description="shortest time between two writes")
    ] = 10.0
    max_changes_per_hour: Annotated[int, Meta(ge=1, le=3600, description="writes allowed in any hour")] = 60
    max_checkpoint_age_ratio: Annotated[
        float,
        Meta(
            gt=0.1,
            le=0.84,
            description="highest checkpoint age the set-point may lead to, as a share of the redo capacity; "
            "PMM alarms at 0.80; the default gives way where the settings found hold a steady load higher",
        ),
    ] = HIGHEST_CHECKPOINT_AGE_RATIO
    max_recovery_seconds: Annotated[
        Annotated[float, Meta(ge=1.0, le=86_400.0)] | None,
        Meta(
            description="longest estimated crash recovery that the set-point may lead to; leave out to have "
            "it only predicted and shown"
        ),
    ] = None
    max_shutdown_seconds: Annotated[
        Annotated[float, Meta(ge=1.0, le=86_400.0)] | None,
        Meta(
            description="longest estimated flushing at shutdown that the set-point may lead to; leave out "
            "to have it only predicted and shown"
        ),
    ] = None
    max_replica_set_point: Annotated[
        float,
        Meta(ge=0.2, le=1.0, description="highest set-point on a replica, which may have to take over soon"),
    ] = 0.8
    allow_read_only_writes: Annotated[
        bool,
        Meta(description="also tune a server that is read_only, such as a replica whose applier is at work"),
    ] = False
    accept_unverified: Annotated[
        bool,
        Meta(
            description="let active mode write to a server whose flush law nothing it exports can verify; "
            "docs/servers.md names them"
        ),
    ] = False
    park_slack: Annotated[
        float,
        Meta(ge=1.0, le=10.0, description="load growth that a parked setting leaves room for, as a factor"),
    ] = 1.5
    baseline: Annotated[
        Annotated[str, Meta(pattern=r"^[0-9]{1,10}/[0-9]{1,10}$", examples=["200/2000"])] | None,
        Meta(
            description="innodb_io_capacity/innodb_io_capacity_max that configuration management sets; the "
            "loop goes on from it after five minutes, while any other change waits for a person; to "
            "raise, set the maximum first, and to lower, innodb_io_capacity first, or MySQL clips a value"
        ),
    ] = None
    emergency_seconds: float = 8.0
    """Raise at once when the sync or the stall point is nearer than this; no key, two intervals at least."""

    stale_seconds: float = 5.0
    """Hold when the last good sample is older than this; no key, two intervals at least."""

    servers: tuple[str, ...] = ()
    """Identities that may answer in turn at the address; no key, ``servers`` of ``[fleet]``."""

    outside_stage: bool = False
    """``mode`` is advisory only because the server is outside its stage; no key, ``active_percent``."""


def as_formerly(settings: Settings) -> str:
    """Return the line on budgets that are written out as the default was before; empty without any."""
    names = [
        name
        for name in ("max_recovery_seconds", "max_shutdown_seconds")
        if getattr(settings, name) == FORMER_BUDGET_SECONDS
    ]
    if not names:
        return ""
    return (
        f"{' and '.join(names)} = {FORMER_BUDGET_SECONDS:g} is kept as your budget; it was the default "
        "before, and can be left out: then what it would take is shown, and the set-point is left alone"
    )
