"""A window of the schedule: from when to when, and what it asks of the loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from tuner.records.field import field

WHO = "schedule"
"""Who asks, in commands and records."""


class Window(Struct, frozen=True):
    """One window of the schedule while it is active.

    Attributes:
        name: of its schedule.
        drain_off: who called its drain off until its end; empty where nobody did.
        drain_waits: why its drain is not under way; empty while it is, and without one.
    """

    name: str
    began: Annotated[float, field("when the schedule's window in force began, Unix time", "seconds", "gauge")]
    ends: Annotated[float, field("when the schedule's window in force ends, Unix time", "seconds", "gauge")]
    set_point: Annotated[float | None, field("age ratio that the schedule's window asks for", "ratio")] = None
    drain: bool = False
    max_recovery_seconds: Annotated[
        float | None, field("recovery budget of the schedule's window", "seconds")
    ] = None
    max_shutdown_seconds: Annotated[
        float | None, field("shutdown budget of the schedule's window", "seconds")
    ] = None
    drain_off: str = ""
    drain_waits: str = ""

    @property
    def who(self) -> str:
        """Return the window as the source of a decision: ``schedule NAME``."""
        return f"{WHO} {self.name}"


NOTHING: dict[str, object] = {
    "set_point": None,
    "drain": False,
    "max_recovery_seconds": None,
    "max_shutdown_seconds": None,
}
"""Every effect with the value that asks for nothing."""


def effects(window: object) -> dict[str, object]:
    """Return what a window, or the table of a schedule, asks for: effect to value."""
    found = {name: getattr(window, name) for name in NOTHING}
    return {name: value for name, value in found.items() if value != NOTHING[name]}


def winners(windows: Sequence[Window]) -> dict[str, Window]:
    """Return which window each effect comes from where several are active: effect by effect the most careful.

    The lowest set-point, a drain before none, the smallest budget; of two that ask for the same, the one that
    stands first in the file.
    """
    asking = {name: [one for one in windows if name in effects(one)] for name in NOTHING}
    return {
        name: min(found, key=lambda one: float(getattr(one, name))) for name, found in asking.items() if found
    }


def said(effect: str, value: object) -> str:
    """Return an effect in words, as it stands in the file."""
    if isinstance(value, bool):
        return f"{effect} = {str(value).lower()}"
    return f"{effect} = {value:g}" if isinstance(value, int | float) else f"{effect} = {value}"
