"""Which role a reading shows."""

from __future__ import annotations

from typing import Any

import pytest

from tests.factory import sample
from tuner.core.ownership.handover import role_of


@pytest.mark.parametrize(
    ("seen", "role"),
    [
        ({}, "primary"),
        ({"read_only": True, "super_read_only": True}, "primary"),
        ({"group_role": "PRIMARY"}, "primary"),
        ({"replica": True}, "replica"),
        ({"group_role": "SECONDARY"}, "replica"),
        ({"replica": True, "group_role": "PRIMARY"}, "replica"),
    ],
    ids=str,
)
def test_a_server_that_replays_another_ones_writes_is_a_replica(seen: dict[str, Any], role: str) -> None:
    """An applier at work or a group's word makes a replica; read_only alone does not."""
    assert role_of(sample(**seen)) == role
