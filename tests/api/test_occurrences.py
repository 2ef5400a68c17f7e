"""What goes on beside the load, where people look."""

from __future__ import annotations

import msgspec

from api.views import status_of
from tests.api.factory import FACTS, START, record
from tuner.cli.status import table
from tuner.ticklog import canonical

BUSY = record(7, occurrences=("backup_lock", "ddl"))


def test_status_names_what_goes_on() -> None:
    """GET /v1/status answers with it, and with an empty list where nothing does."""
    busy = status_of(BUSY, facts=FACTS, wall=START, process=None)
    quiet = status_of(record(7), facts=FACTS, wall=START, process=None)

    assert msgspec.to_builtins(busy)["occurrences"] == ("backup_lock", "ddl")
    assert quiet.occurrences == ()


def test_the_table_says_that_nothing_is_learned() -> None:
    """Innobrim status has a line for it while it lasts, and none otherwise."""
    shown = table(status_of(BUSY, facts=FACTS, wall=START, process=None))
    quiet = table(status_of(record(7), facts=FACTS, wall=START, process=None))

    assert "backup_lock, ddl; nothing is learned meanwhile" in shown
    assert "learned" not in quiet


def test_the_log_names_it() -> None:
    """Each record that is logged has it, and none has it where nothing goes on."""
    assert canonical(BUSY)["occurrences"] == ["backup_lock", "ddl"]
    assert "occurrences" not in canonical(record(7))
