"""What goes on beside the load, where people look."""

from __future__ import annotations

from msgspec.structs import replace

from api.views import status_of
from tests.api.factory import FACTS, START, application, get, record
from tuner.board import Board
from tuner.cli.status_table import table
from tuner.logs import canonical
from tuner.settings import Settings

BUSY = record(7, occurrences=("backup_lock", "ddl"))


def test_status_names_what_goes_on(board: Board) -> None:
    """GET /v1/status lists it, and is an empty list where nothing does."""
    client = application(board)
    board.publish(BUSY, Settings(), FACTS)
    assert get(client, "/v1/status").json()["occurrences"] == ["backup_lock", "ddl"]
    board.publish(replace(BUSY, occurrences=()), Settings(), FACTS)

    assert get(client, "/v1/status").json()["occurrences"] == []


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
