"""How long the last crash recovery took, by the server's error log."""

from __future__ import annotations

import pymysql
import pytest

from tests.servers.scripted import Scripted
from tuner.servers.surroundings import CRASHED, CRASHED_LATER, ENDED, STARTED, last_recovery, recovery_seconds

CLEAN = [(STARTED, 1000.0), (ENDED, 1000.5)]
CRASH = [(STARTED, 2000.0), (CRASHED[0], 2000.2), (CRASHED[1], 2000.3), (ENDED, 2007.25)]


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        (CRASH, 7.25),
        ([*CLEAN, *CRASH], 7.25),
        ([*CRASH, (STARTED, 3000.0), (ENDED, 3000.5)], None),
        ([(STARTED, 10.0), (ENDED, 14.0), (CRASHED_LATER, 14.1)], 4.0),
        (CLEAN, None),
        (CRASH[:-1], None),
        (CRASH[1:], None),
        ([], None),
    ],
    ids=["crash", "clean, crash", "crash, clean", "by binary log", "clean", "no end", "no start", "nothing"],
)
def test_only_the_last_start_counts_and_only_after_a_crash(
    lines: list[tuple[str, float]], seconds: float | None
) -> None:
    """The time is that of the last start, where that one recovered; anything else is unknown."""
    assert last_recovery(lines) == seconds


def test_a_log_that_may_not_be_read_is_no_error(session: Scripted) -> None:
    """Without the grant, or before the table existed, nothing is known and nothing fails."""
    session.fails["error_log"] = pymysql.OperationalError(1142, "SELECT command denied")

    assert recovery_seconds(session) is None
