"""A journal that cannot be written, where people look."""

from __future__ import annotations

import asyncio
import re

import httpx

from api.views import status_of
from tests.api.factory import FACTS, START, application, browser, record
from tuner.board import Board
from tuner.cli.status import table
from tuner.settings import Settings

FULL = "database or disk is full"


def get(board: Board, path: str) -> httpx.Response:
    """Return the answer to one GET."""

    async def once() -> httpx.Response:
        async with browser(application(board)) as client:
            return await client.get(path)

    return asyncio.run(once())


def scraped(board: Board) -> dict[str, float]:
    """Return the journal's metrics by name."""
    text = get(board, "/metrics").text
    found = re.findall(r"^(innobrim_journal_\w+) (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_a_journal_that_cannot_be_written_shows() -> None:
    """While it cannot, the status has the reason and a gauge is 0; ticks that are lost are counted."""
    board = Board()
    board.journal(FULL, 7)
    board.publish(record(1), Settings(), FACTS)
    found = get(board, "/v1/status").json()
    failing = scraped(board)
    board.journal("", 7)
    board.publish(record(2), Settings(), FACTS)

    assert found["journal"] == FULL
    assert failing == {"innobrim_journal_up": 0.0, "innobrim_journal_lost_ticks_total": 7.0}
    assert get(board, "/v1/status").json()["journal"] is None
    assert scraped(board)["innobrim_journal_up"] == 1.0


def test_the_table_has_a_line_for_it() -> None:
    """Innobrim status says it to a person, and nothing where all is well."""
    full = table(status_of(record(1), facts=FACTS, wall=START, process=None, journal=FULL))
    sound = table(status_of(record(1), facts=FACTS, wall=START, process=None))

    assert f"cannot be written: {FULL}; ticks wait in memory" in full
    assert "cannot be written" not in sound
