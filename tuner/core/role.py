"""What part a server plays: it takes the writes, or it replays another's."""

from __future__ import annotations

from typing import Literal

from tuner.records import Sample

Role = Literal["primary", "replica"]

SECONDARY = "SECONDARY"
"""What a group calls its members that take no writes (``replication_group_members.MEMBER_ROLE``)."""


def role_of(sample: Sample) -> Role:
    """Return the role that a reading shows.

    A replica has an applier at work or is a group's secondary; ``read_only`` alone makes none, since
    maintenance sets it on a primary too.
    """
    if sample.replica or sample.group_role.upper() == SECONDARY:
        return "replica"
    return "primary"
