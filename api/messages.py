"""What the messages of the stream carry, made from records. No web framework here."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from api.views import DecisionAt, NumberedEvent
from tuner.fields import BY_NAME
from tuner.history import COLUMNS
from tuner.records import HoldCode, Lifecycle, Missed, Sample, TickRecord
from tuner.settings import Mode

FIELDS = (
    *COLUMNS,
    "age_slope",
    "sustained_capacity",
    "seconds_to_sync",
    "seconds_to_stall",
    "recovery_seconds",
    "shutdown_seconds",
    "recovery_at_set_point",
    "recovery_at_baseline",
    "shutdown_at_set_point",
    "shutdown_at_baseline",
)
"""What a tick's message carries of the table of fields, besides the set-point."""


class StreamTick(Struct, frozen=True):
    """One tick's numbers; the message ``tick``, the last one of its tick and the only one with an id."""

    number: Annotated[int, Meta(description="the tick's number")]
    wall: Annotated[float, Meta(description="when, Unix time")]
    lifecycle: Lifecycle
    mode: Mode
    holds: tuple[HoldCode, ...]
    missed: Annotated[str | None, Meta(description="why the reading failed; none when it did not")]
    override_seconds_left: Annotated[float | None, Meta(description="none without an override")]
    values: Annotated[
        dict[str, float | None],
        Meta(description=f"none where nothing was read: {', '.join(FIELDS)}, set_point"),
    ]


class StreamGap(Struct, frozen=True):
    """The message ``gap``: not all that came after the id is still there; /v1/history may have it."""

    after: Annotated[
        int | None, Meta(description="number of the last tick that was had; none where it was another run's")
    ]
    first: Annotated[int | None, Meta(description="number of the first tick that follows; none before one")]


MESSAGES: dict[str, type[Struct]] = {
    "tick": StreamTick,
    "event": NumberedEvent,
    "decision": DecisionAt,
    "gap": StreamGap,
}
"""What each name of a message carries as data."""


def tick_of(record: TickRecord) -> StreamTick:
    """Return a tick's numbers; none of the server's where the reading failed."""
    reading = record.tick.reading
    sample = reading if isinstance(reading, Sample) else None
    estimate = record.estimate if sample else None
    values = {name: BY_NAME[name].value(sample=sample, estimate=estimate) for name in FIELDS}
    ends = record.override_ends
    return StreamTick(
        number=record.tick.number,
        wall=record.tick.wall,
        lifecycle=record.lifecycle,
        mode=record.mode,
        holds=tuple(hold.code for hold in record.holds),
        missed=reading.reason if isinstance(reading, Missed) else None,
        override_seconds_left=None if ends is None else round(max(0.0, ends - record.tick.now), 3),
        values={**values, "set_point": record.decision.set_point},
    )
