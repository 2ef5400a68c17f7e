"""What ``innobrim schedule`` tells of a configuration: active and coming windows, and where they overlap."""

from __future__ import annotations

from msgspec import Struct


class Overlap(Struct, frozen=True):
    """Windows of another schedule that have a part of a window's time in common.

    Attributes:
        name: of their schedule.
        times: how many there are.
        begins: when the first begins, ISO 8601 with the offset of its own time zone; None as of the window.
        ends: when the last ends, the same; None as of the window.
        wins: of the effects that both ask for, whose value counts meanwhile.
        drain_decides: whose drain decides, while it is under way, over what the other asks of the set-point;
            None where neither does so.
    """

    name: str
    times: int
    begins: str | None
    ends: str | None
    wins: dict[str, str]
    drain_decides: str | None = None


class Pair(Struct, frozen=True):
    """Two schedules whose windows overlap, where at least one of these is active or begins in the time.

    Attributes:
        names: of the schedules, in the file's order.
        times: how often.
        begins: when both are active first, ISO 8601 with an offset; None where they have been since longer
            than is looked back.
        ends: until when they then are, the same; None for without end.
        wins: as in ``Overlap``.
        drain_decides: as in ``Overlap``.
    """

    names: tuple[str, str]
    times: int
    begins: str | None
    ends: str | None
    wins: dict[str, str]
    drain_decides: str | None = None


class Planned(Struct, frozen=True):
    """One window.

    Attributes:
        name: of its schedule.
        timezone: of its schedule.
        begins: when it begins, ISO 8601 with the zone's offset then; None where its schedule has begun again
            before it was over for more than a week.
        ends: when it ends, the same; None where its schedule always begins again by then.
        begins_at: the same as Unix time, seconds.
        ends_at: the same as Unix time, seconds.
        effects: what it asks for.
        overlaps: other schedules with a part of its time in common.
    """

    name: str
    timezone: str
    begins: str | None
    ends: str | None
    begins_at: float | None
    ends_at: float | None
    effects: dict[str, object]
    overlaps: tuple[Overlap, ...]


class Later(Struct, frozen=True):
    """A window that is not listed.

    Attributes:
        name: of its schedule.
        begins: when it begins, ISO 8601 with the zone's offset then.
        begins_at: the same as Unix time, seconds.
    """

    name: str
    begins: str
    begins_at: float


class Plan(Struct, frozen=True):
    """What is active and what comes.

    Attributes:
        now: Unix time, seconds.
        days: how far it looks ahead.
        active: windows that are active now, the one that began last at the end.
        coming: windows that begin in that time, the next first; no more than were asked for.
        more: how many begin after these and are left out of them.
        last: where some are left out, the last of them; None otherwise.
        overlaps: every two schedules that overlap, those that are left out among them.
        later: where none begins in that time, the next after it; None where there is none either.
        notes: what keeps a window from having its effect.
    """

    now: float
    days: int
    active: tuple[Planned, ...]
    coming: tuple[Planned, ...]
    more: int = 0
    last: Later | None = None
    overlaps: tuple[Pair, ...] = ()
    later: Later | None = None
    notes: tuple[str, ...] = ()
