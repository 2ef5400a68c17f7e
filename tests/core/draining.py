"""What the tests of a drain share: what a person asks, and what a tick saw."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.factory import ACTIVE, MEBIBYTE, command
from tuner.records import Command, Sample, TickRecord

HIGH = replace(ACTIVE, set_point=0.8)
TARGET = "40MiB"
BYTES = 40 * MEBIBYTE


def drain(age: str = TARGET, ttl: float = 600.0, **more: Any) -> Command:  # noqa: ANN401 - any field
    """Return what a person asks."""
    return command("drain", value=age, ttl=ttl, **more)


def age_of(record: TickRecord) -> int:
    """Return the checkpoint age that a tick saw."""
    assert isinstance(record.tick.reading, Sample)
    return record.tick.reading.checkpoint_age
