"""The role of the server in its group of servers, and what is left behind when it changes."""

from __future__ import annotations

from msgspec.structs import replace

from tuner.core.state import OwedPark, ParkFor, ReplicationRole, SeenRole, State
from tuner.records import Event, Sample

SECONDARY = "SECONDARY"
"""What a group calls its members that take no writes (``replication_group_members.MEMBER_ROLE``)."""

HANDOVER_SECONDS = 60.0  # A role that flaps is parked for once in this time


def role_of(sample: Sample) -> ReplicationRole:
    """Return the role that a reading shows.

    A replica has an applier at work or is a group's secondary; ``read_only`` alone makes none, since
    maintenance sets it on a primary too.
    """
    if sample.replica or sample.group_role.upper() == SECONDARY:
        return ReplicationRole.REPLICA
    return ReplicationRole.PRIMARY


def seen_role(sample: Sample) -> SeenRole:
    """Return the role that a server plays, and whether it takes clients' writes."""
    return SeenRole(role_of(sample), read_only=sample.read_only or sample.super_read_only)


def update(state: State, sample: Sample, *, now: float) -> tuple[State, list[Event], OwedPark | None]:
    """Note the role that a server plays now, where it is known.

    Returns:
        The next state, an event where the role is another one, and the park that is owed for that: the new
        role's load is unknown. It is owed where the server takes writes, or may be tuned while it is
        read-only, and no person has just said what C and M are to be; None where none is. Whoever takes it
        over says so with ``handed_over``.
    """
    old, new = state.role, seen_role(sample)
    if old == new or not sample.role_known:
        return state, [], None
    state = replace(state, role=new)
    if old is None:
        return state, [], None
    change = f"{old} → {new}"
    events = [Event(code="role", message=f"the server's role changed: {change}")]
    last = state.handed_over
    lately = last is not None and now - last < HANDOVER_SECONDS
    asked = state.override is not None or bool(state.restoring)
    if lately or asked or read_only(state, sample):
        return state, events, None
    return state, events, OwedPark(ParkFor.ROLE, f"role change {change}")


def read_only(state: State, sample: Sample) -> str:
    """Return which variable makes this server one that is not to be written; empty where it may be."""
    if state.settings.allow_read_only_writes:
        return ""
    if sample.super_read_only:
        return "super_read_only"
    return "read_only" if sample.read_only else ""
