"""What holds the loop, and what a person has asked for: as the routes answer it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tuner.findings import ended_by
from tuner.records import Hold, HoldCode, TickRecord


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


def hold_of(record: TickRecord, hold: Hold, provider: str) -> HoldInForce:
    """Turn the monotonic time of a hold into one that people know."""
    seconds = max(0.0, record.tick.now - hold.since)
    return HoldInForce(
        code=hold.code,
        since=record.tick.wall - seconds,
        seconds=round(seconds, 3),
        reason=hold.reason,
        clears=ended_by(hold.clears, provider),
    )


def overlay_of(record: TickRecord) -> OverlayInForce | None:
    """Return the settings that a person changed; None where nobody did."""
    overlay = record.overlay
    if overlay is None:
        return None
    since = record.tick.wall - max(0.0, record.tick.now - overlay.since)
    return OverlayInForce(values=overlay.values, since=since, who=overlay.who)


def override_of(record: TickRecord) -> OverrideInForce | None:
    """Return a person's value; None where there is none."""
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
