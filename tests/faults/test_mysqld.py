"""mysqld is killed."""

from __future__ import annotations

import pytest

from tests.faults.catalogue import EVERY, Group, fault
from tests.faults.deeds import mysqld_killed
from tests.faults.harness import Rig

pytestmark = pytest.mark.real


@fault(
    Group.MYSQLD,
    what="`kill -9` of mysqld, crash recovery, start",
    left="what mysqld starts with, until its law is verified again; these are the new originals",
    back="by itself within a minute, after ten good readings with flushing by age",
    invariants=(4, 6, 7),
    on=EVERY,
)
def test_mysqld_is_killed(rig: Rig) -> None:
    """After a crash of mysqld the loop takes its new values for originals, not for a change, and goes on."""
    daemon = rig.active()
    mysqld_killed(rig, daemon, unlimited=True)  # with 10000/20000 a slow disk would hold next to no age
    events = rig.finish().events()
    assert events.index("hold_stale") < events.index("hold_restarted") < events.index("clear_restarted")
    assert "foreign_change" not in events
