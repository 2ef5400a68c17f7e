"""What doctor asks a server beside the readings."""

from __future__ import annotations

import pymysql
from pymysql.constants import ER

from tests.servers.fixtured import Fixtured
from tests.servers.plain import plain
from tuner.servers.survey import survey

DENIED = pymysql.OperationalError(ER.TABLEACCESS_DENIED_ERROR, "SELECT command denied to user 'innobrim'")


def test_a_part_that_is_refused_is_named_and_the_others_are_there() -> None:
    """An account without SELECT on performance_schema loses the writes to files, and nothing else."""
    session = Fixtured(plain(), file_summary_by_event_name=DENIED)
    look = survey(session, 5.0, "status = 'enabled'")

    assert list(look.lacking) == ["files"]
    assert "denied" in look.lacking["files"]
    assert look.variables["innodb_max_dirty_pages_pct"]
