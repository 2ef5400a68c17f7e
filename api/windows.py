"""Which windows of the schedule are active, and how much of what they ask for counts."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from tuner.records import TickRecord, Window, effects, winners
from tuner.settings import Settings

PERSON = "person"


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


def windows_of(record: TickRecord, settings: Settings | None) -> tuple[WindowInForce, ...]:
    """Return the active windows, in the file's order.

    Args:
        record: of a tick.
        settings: those in force; None where unknown.
    """
    deciding = winners(record.schedule)
    return tuple(
        WindowInForce(
            name=one.name,
            began=one.began,
            ends=one.ends,
            seconds_left=round(max(0.0, one.ends - record.tick.wall), 3),
            effects=asked_for(one),
            overruled=_overruled(one, deciding, settings),
            waits=one.drain_waits or None,
        )
        for one in record.schedule
    )


def asked_for(window: object) -> dict[str, float | bool]:
    """Return the effects of a window, or of a schedule's table, as plain values."""
    return {name: value for name, value in effects(window).items() if isinstance(value, float | bool)}


def _overruled(window: Window, deciding: dict[str, Window], settings: Settings | None) -> dict[str, str]:
    found = {
        effect: deciding[effect].who
        for effect, value in effects(window).items()
        if getattr(deciding[effect], effect) != value
    }
    if window.set_point is not None and settings is not None and settings.set_point is not None:
        found["set_point"] = PERSON
    if window.drain_off:
        found["drain"] = window.drain_off
    return found
