"""How events are followed: by number and run, over several answers, and past a restart of the daemon."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.factory import FACTS, START, application, get, record
from tuner.board import RING_EVENTS, Board
from tuner.records import Event
from tuner.settings import Settings


def happen(board: Board, count: int) -> None:
    """Put so many events on the board."""
    events = tuple(
        Event(START + number, "override", f"event {number}", "uid 0 over the unix socket")
        for number in range(1, count + 1)
    )
    board.publish(record(events=events), Settings(), FACTS)


def numbers(answer: dict[str, Any]) -> list[int]:
    """Return the numbers of an answer's events."""
    return [event["number"] for event in answer["events"]]


def test_events_can_be_followed(board: Board) -> None:
    """Events are numbered, so that a reader asks only for what is new."""
    happen(board, 5)
    app = application(board)

    everything = get(app, "/v1/events").json()
    newer = get(app, f"/v1/events?after=3&run={everything['run']}").json()

    assert numbers(everything) == [1, 2, 3, 4, 5]
    assert [event["message"] for event in newer["events"]] == ["event 4", "event 5"]
    assert newer["events"][0]["who"] == "uid 0 over the unix socket"
    assert not newer["gap"]


def test_a_slow_follower_misses_no_event(board: Board) -> None:
    """More events than one answer holds come in their order over several; without a number, the newest do."""
    happen(board, 10)
    app = application(board)
    found: list[int] = []
    while newer := numbers(get(app, f"/v1/events?after={found[-1] if found else 0}&limit=4").json()):
        found += newer

    assert found == list(range(1, 11))
    assert numbers(get(app, "/v1/events?limit=4").json()) == [7, 8, 9, 10]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("after=2&run=18bcfe56800", [3]),
        ("after=2&run=18bcfe567ff", [1, 2, 3]),
        ("after=57&run=18bcfe567ff", [1, 2, 3]),
        ("after=57", [1, 2, 3]),
        ("run=18bcfe567ff", [1, 2, 3]),
    ],
    ids=["same run", "lower number", "higher number", "higher number alone", "run alone"],
)
def test_a_follower_is_told_of_a_restart(board: Board, query: str, found: list[int]) -> None:
    """A number of an earlier run is answered with all events of this one, and with a gap."""
    happen(board, 3)
    answer = get(application(board), f"/v1/events?{query}").json()

    assert numbers(answer) == found
    assert answer["run"] == "18bcfe56800"
    assert answer["gap"] == (found != [3])


def test_a_follower_is_told_of_events_that_are_gone(board: Board) -> None:
    """Who was away for more events than are kept gets those that there are, and is told of the gap."""
    happen(board, RING_EVENTS + 5)
    app = application(board)
    late, in_time = (get(app, f"/v1/events?after={number}&limit=1").json() for number in (4, 5))

    assert (numbers(late), late["gap"]) == ([6], True)
    assert (numbers(in_time), in_time["gap"]) == ([6], False)
