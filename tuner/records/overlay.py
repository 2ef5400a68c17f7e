"""Settings that a person has put over those of the configuration."""

from __future__ import annotations

from msgspec import Struct


class Overlay(Struct, frozen=True):
    """What counts instead of the configuration's, until it is cancelled or the daemon ends.

    Attributes:
        values: setting to value, in the unit of the setting.
        who: person, with where from; of the last change.
        since: monotonic time of the last change, seconds.
    """

    values: dict[str, float]
    who: str
    since: float
