"""What hooks tell, and how they are."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from tuner.records.decision import HoldCode
from tuner.records.server import Capacity
from tuner.settings import Mode


class HookType(StrEnum):
    """What happened; the word before the full stop is what a hook's ``on`` names."""

    HOLD_BEGUN = "hold.begun"
    HOLD_CLEARED = "hold.cleared"
    EMERGENCY_BEGUN = "emergency.begun"
    EMERGENCY_ENDED = "emergency.ended"
    MODE_CHANGED = "mode.changed"
    BASELINE_BACK = "baseline.back"
    BASELINE_LEFT = "baseline.left"
    TEST = "test"

    @property
    def meaning(self) -> str:
        """Return what it means, for the reference."""
        return _MEANINGS[self]


_MEANINGS = {
    HookType.HOLD_BEGUN: "nothing may be written; `text` says why and what ends it",
    HookType.HOLD_CLEARED: "it is over; `holds` has those that are left",
    HookType.EMERGENCY_BEGUN: "sync flushing was near: `innodb_io_capacity_max` is raised",
    HookType.EMERGENCY_ENDED: "that value is no longer in force",
    HookType.MODE_CHANGED: "from advisory to active, or back",
    HookType.BASELINE_BACK: "the server did worse than with the originals: they come back",
    HookType.BASELINE_LEFT: "that is over",
    HookType.TEST: "`config check --hooks`",
}


class HookServer(Struct, frozen=True):
    """The server that it is about."""

    identity: Annotated[str, Meta(description="what it is known by: server_uuid, or a name")]
    endpoint: Annotated[str, Meta(description="where the daemon finds it: host and port, or socket")]
    version: Annotated[str, Meta(description="of MySQL or MariaDB")]


class HookData(Struct, frozen=True):
    """What happened, and how things are then."""

    code: Annotated[str, Meta(description="of the event; where /v1/events has it, as there")]
    text: Annotated[str, Meta(description="what happened, why, and what ends it, for people")]
    host: Annotated[str, Meta(description="name of the daemon's machine")]
    innobrim: Annotated[str, Meta(description="InnoBrim's version")]
    server: Annotated[HookServer | None, Meta(description="none in a test")]
    mode: Mode
    holds: Annotated[tuple[HoldCode, ...], Meta(description="those in force")]
    in_force: Annotated[
        Capacity | None, Meta(description="both values as last read; none where the reading failed")
    ]
    set_to: Annotated[
        Capacity | None, Meta(description="both values as they are being written; none where nothing is")
    ]


class HookEvent(Struct, frozen=True):
    """The body of a request, and what a command reads."""

    type: HookType
    timestamp: Annotated[str, Meta(description="when it happened, ISO 8601 in UTC")]
    data: HookData


class HookHealth(Struct, frozen=True):
    """How a hook is."""

    name: Annotated[str, Meta(description="of its table")]
    to: Annotated[str, Meta(description="whom it tells: the command, or the URL without its path")]
    waiting: Annotated[int, Meta(description="events that are still to be delivered")] = 0
    delivered: Annotated[int, Meta(description="events delivered since the daemon started")] = 0
    failed: Annotated[int, Meta(description="attempts that failed since then")] = 0
    dropped: Annotated[
        int, Meta(description="events given up since then: refused, an hour old, or too many")
    ] = 0
    failing_since: Annotated[
        float | None, Meta(description="since when no attempt has succeeded, Unix time; none where one has")
    ] = None
    error: Annotated[str, Meta(description="why the last attempt failed; empty where it did not")] = ""
