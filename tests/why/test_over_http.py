"""``/v1/why``: the sentences of the command, for the page, from memory and from the journal behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.server import ApiServer
from tests.api.factory import about, application, free_port, get
from tests.cli.support import ended, innobrim
from tests.why.asked import END_SECONDS as LIVED_SECONDS
from tests.why.asked import day
from tests.why.situations import EPOCH
from tuner.config.schema import Config, DaemonSection
from tuner.daemon.board import Board
from tuner.journal.past import past_of
from tuner.journal.reader import trace
from tuner.records import TickRecord
from tuner.why.model import Why
from tuner.why.search import of_change

OVERRIDE, LOW = 1000, 1500
STOP_SECONDS = 10.0


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the state directory of a daemon that lived through a day's things."""
    return day(tmp_path_factory.mktemp("day"))


@pytest.fixture(scope="module")
def board(directory: Path) -> Board:
    """Return what that daemon has in memory."""
    made = Board()
    run, *items = trace(directory)
    for record in items:
        if isinstance(record, TickRecord):
            made.publish(record, run.settings, run.facts)  # type: ignore[union-attr] # it comes first
    return made


def why(board: Board, directory: Path, query: str = "") -> dict[str, Any]:
    """Return what the daemon says."""
    config = Config(daemon=DaemonSection(state_directory=str(directory)))
    found = get(application(board, about=about(configuration=lambda: config)), f"/v1/why{query}")
    assert found.status_code == 200, found.text
    answer: dict[str, Any] = found.json()
    return answer


def test_the_last_minutes_are_told_without_a_journal(board: Board, directory: Path) -> None:
    """Where the journal cannot be written memory tells the ticks that it has, and says no to those before."""
    told, early = why(board, directory, f"?at={EPOCH + LOW}"), why(board, directory, f"?at={EPOCH + 100}")

    assert told["source"] == "memory"
    assert "the drain's target was" in told["stories"][-1]["sentences"][1]
    assert (early["found"], early["later"] > EPOCH + OVERRIDE) == (False, True)


def test_page_and_command_say_the_same(board: Board, directory: Path) -> None:
    """An older change is told from the journal in the words of the command, by its time or its number."""
    board.journal("", 0, written=EPOCH)
    with past_of(directory) as past:
        change = next(one for one in past.changes(0.0, 1e12) if one.kind == "override")
        story = of_change(past, change.number).stories[0]

    for query in (f"?at={change.wall}", f"?change={change.number}"):
        (told,) = why(board, directory, query)["stories"]
        assert (told["headline"], told["sentences"]) == (story.headline, list(story.sentences))
    assert why(board, directory)["stories"][-1]["brief"].startswith("there was a hold")
    assert len(why(board, directory, "?last=3600")["stories"]) > 20


def test_ago_is_counted_by_the_clock_of_the_daemon(board: Board, directory: Path) -> None:
    """A moment is that of the daemon's newest tick, whose clock may be another than that of who asks."""
    config, port = Config(daemon=DaemonSection(state_directory=str(directory))), free_port()
    served = ApiServer(application(board, about=about(configuration=lambda: config)), "127.0.0.1", port, None)
    served.start()
    try:
        found = innobrim("why", "--url", f"http://127.0.0.1:{port}", "--at", "2m ago", "--json")
    finally:
        served.stop(STOP_SECONDS)

    ended(found, 0)
    answer = msgspec.json.decode(found.stdout, type=Why)
    assert answer.stories[-1].wall == pytest.approx(EPOCH + LIVED_SECONDS - 120.0, abs=2.0)


def test_two_questions_at_once_are_refused(board: Board) -> None:
    """Who asks for a moment and a change is told to ask for one of them."""
    found = get(application(board), "/v1/why?at=-5&change=3")

    assert found.status_code == 422
    assert "one of at, last and change" in found.text
