"""Windows of the schedule as the loop is told of them."""

from __future__ import annotations

from typing import Any

from tests.factory import EPOCH, command
from tuner.records import Command, Window

LATER = EPOCH + 1_000_000.0
"""The end of a window that no test outlasts."""


def window(name: str = "nightly", *, ends: float = LATER, **asked: Any) -> Window:  # noqa: ANN401 - any effect
    """Return an active window that asks for something."""
    return Window(name=name, began=EPOCH, ends=ends, **asked)


def active(*windows: Window) -> Command:
    """Return what tells the loop that these windows are active, and no other."""
    return command("schedule", who="schedule", windows=windows)
