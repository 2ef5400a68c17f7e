"""What the tests of ``innobrim watch`` share: answers of a daemon, and a picture as text."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from rich.console import Console
from rich.segment import Segment

from api.models import HistoryAnswer, NumberedEvent, Process, Status
from api.views import status_of
from tests import factory
from tuner.cli.picture import HISTORY, Picture, View
from tuner.records import Capacity, Decision, DecisionKind, Event, Lifecycle, TickRecord
from tuner.settings import Mode, Settings

NOW = 1000.0
"""Monotonic time of the answer."""

SECONDS = 300
"""That the history goes back."""

PROCESS = Process(
    version="0.1.0",
    started=factory.EPOCH,
    interval=1.0,
    resident_bytes=60 * 2**20,
    cpu_seconds=1.0,
    core_share=0.002,
)


def record(number: int = SECONDS, **changes: Any) -> TickRecord:  # noqa: ANN401 - any field
    """Return an active tick of the factory's steady load, ``number`` seconds after its first."""
    given: dict[str, Any] = {
        "tick": factory.tick(factory.sample(float(number)), number=number),
        "lifecycle": Lifecycle.RUNNING,
        "mode": Mode.ACTIVE,
        "estimate": factory.estimate(),
        "decision": Decision(
            DecisionKind.KEEP,
            "dead_band",
            "450 pages/s hold the age",
            set_point=0.72,
            set_point_source="headroom",
        ),
        "originals": Capacity(10_000, 20_000),
        "changes_last_hour": 7,
    }
    return TickRecord(**(given | changes))


def status(made: TickRecord | None = None, **changes: Any) -> Status:  # noqa: ANN401 - any field
    """Return the answer to ``GET /v1/status`` right after a tick."""
    made = made or record()
    found = status_of(made, facts=factory.FACTS, settings=Settings(), wall=made.tick.wall, process=PROCESS)
    return replace(found, **changes)


def history(gap: range = range(0), **columns: float) -> HistoryAnswer:
    """Return the answer to ``GET /v1/history`` up to the last tick; nothing was read in the gap."""
    values = {
        "checkpoint_age": 0.7 * factory.A,
        "stall_point": float(factory.LIMITS.stall_point),
        "sync_point": float(factory.LIMITS.sync_point),
        "flush_limit": float(factory.A),
        "set_point": 0.72,
        "io_capacity": 225.0,
        "io_capacity_max": 450.0,
        "redo_rate": 1e6,
        "flush_rate": 400.0,
        "sync_rate": 0.0,
        "lru_rate": 0.0,
        "row_rate": 3000.0,
    } | columns
    made: dict[str, list[float | None]] = {
        name: [None if second in gap else values[name] for second in range(SECONDS)] for name in HISTORY
    }
    made["time"] = [factory.EPOCH + second for second in range(SECONDS)]
    return HistoryAnswer(factory.EPOCH, factory.EPOCH + SECONDS, 1.0, made, {}, oldest=factory.EPOCH)


def event(number: int, code: str, message: str) -> NumberedEvent:
    """Return one event, so many seconds after the first sample."""
    made = Event(factory.EPOCH + number, code, message)
    return NumberedEvent(number, made.wall, made.code, made.message, made.who)


def view(now: Status | None = None, past: HistoryAnswer | None = None, **changes: Any) -> View:  # noqa: ANN401 - any field
    """Return all that is known of a daemon that holds a steady load."""
    now = now or status()
    made = View(
        status=now,
        answered=NOW,
        history=past or history(),
        asked=NOW,
        span=float(SECONDS),
        events=(event(1, "mode", "mode advisory → active"), event(9, "set", "C/M → 225/450")),
    )
    return replace(made, **changes)


def segments(
    found: View | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    **look: Any,  # noqa: ANN401 - any field
) -> list[list[Segment]]:
    """Return the picture as rich draws it."""
    console = Console(width=size[0], height=size[1], color_system="truecolor", legacy_windows=False)
    made = Picture(found or view(), float(SECONDS), **look)
    return console.render_lines(made, console.options.update(height=size[1]), pad=False)


def drawn(found: View | None = None, **look: Any) -> list[str]:  # noqa: ANN401 - any field
    """Return the picture as plain lines."""
    return ["".join(part.text for part in line) for line in segments(found, **look)]
