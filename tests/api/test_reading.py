"""What everybody may see: history, events, decisions, configuration, advice, and the documentation."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import httpx
import msgspec
import pytest
from fastapi import FastAPI
from msgspec.structs import replace

from tests.api.factory import (
    FACTS,
    FINDING,
    START,
    about,
    application,
    ask,
    bearer,
    get,
    missed,
    over,
    record,
    serving,
)
from tuner.config.schema import Config, HookTable
from tuner.daemon.board import RING_EVENTS, Board
from tuner.daemon.history import MAX_POINTS
from tuner.records import Capacity, Decision, DecisionKind, Event
from tuner.settings import Settings


def fill(board: Board, ticks: int = 60) -> None:
    """Put ticks 1 to so many on the board; number 30 was missed."""
    for number in range(1, ticks + 1):
        made = record(number, reading=missed(number)) if number == 30 else record(number)
        board.publish(made, Settings(), FACTS)


def test_history_keeps_gaps(board: Board) -> None:
    """A second in which nothing was read is a gap in every column."""
    fill(board)

    found = get(application(board), "/v1/history?start=-60&columns=age_ratio,demand").json()

    assert found["columns"]["age_ratio"][30] is None
    assert found["columns"]["age_ratio"][31] == pytest.approx(60 / 85)
    assert found["columns"]["time"][0] == START
    assert found["units"] == {"age_ratio": "ratio", "demand": "pages/s"}


def test_history_takes_unix_time(board: Board) -> None:
    """A range may be given in Unix time, with a step."""
    fill(board)

    found = get(application(board), f"/v1/history?start={START}&end={START + 20}&step=10").json()

    assert found["columns"]["time"] == [START, START + 10]
    assert len(found["columns"]) == 18


def test_history_says_where_memory_begins(board: Board) -> None:
    """A range from before the start has an answer, which says that it is not a gap of the server's."""
    fill(board, 3)
    found = get(application(board), f"/v1/history?start={START - 600}&columns=age_ratio").json()

    assert found["start"] < START
    assert found["oldest"] == START + 1


def test_history_is_capped(board: Board) -> None:
    """However long the range, the answer has at most so many points."""
    fill(board)

    found = get(application(board), "/v1/history?start=1&step=0.001&columns=age_ratio").json()

    assert len(found["columns"]["time"]) <= MAX_POINTS
    assert found["step"] == pytest.approx(START / MAX_POINTS, rel=0.01)


def test_history_as_csv(board: Board) -> None:
    """CSV has a header of column names, one row a step, and empty cells for gaps."""
    fill(board)

    answer = get(application(board), "/v1/history?start=-60&columns=age_ratio,demand&format=csv")

    rows = list(csv.reader(io.StringIO(answer.text)))
    assert answer.headers["content-type"].startswith("text/csv")
    assert rows[0] == ["time", "age_ratio", "demand"]
    assert rows[31][1:] == ["", ""]
    assert float(rows[32][2]) == 410.0
    assert float(rows[-1][0]) == START + 60


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("columns=age_ration", "columns"),
        ("start=-10&end=-20", "end"),
        ("step=0", "step"),
        ("step=nan", "step"),
        ("start=inf", "start"),
        ("format=xml", "format"),
    ],
)
def test_invalid_history_names_the_parameter(board: Board, query: str, field: str) -> None:
    """A parameter that cannot be used is named, with its value."""
    fill(board, 1)

    answer = get(application(board), f"/v1/history?{query}")

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"][0]["field"] == field


def test_decisions_show_only_changes(board: Board) -> None:
    """A thousand equal decisions are one line."""
    fill(board, 20)
    raised = Decision(kind=DecisionKind.SET, reason="raise", detail="")
    board.publish(record(21, decision=raised), Settings(), FACTS)
    for number in (22, 23):
        wish = replace(raised, would=Capacity(225, 450 + number))
        board.publish(record(number, decision=wish), Settings(), FACTS)

    found = get(application(board), "/v1/decisions").json()["decisions"]

    assert [(item["tick"], item["decision"]["kind"]) for item in found] == [
        (1, "keep"),
        (21, "set"),
        (22, "set"),
    ]


def happen(board: Board, count: int) -> None:
    """Put so many events on the board."""
    events = tuple(
        Event(
            code="override", message=f"event {number}", who="uid 0 over the unix socket", wall=START + number
        )
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


def test_config_shows_the_settings_in_force() -> None:
    """The configuration shows what the loop uses now, also after a reload."""
    found = get(over(record(), settings=Settings(set_point=0.6)), "/v1/config").json()

    assert (found["loop"]["set_point"], found["api"]["port"]) == (0.6, 8633)
    assert "password" not in str(found)


def test_config_shows_no_secret_of_a_hook(board: Board) -> None:
    """Whoever has the whole URL, or a command's words, may have what the receiver knows its senders by."""
    url = HookTable("web", url="https://alerts.example.com/geheim")
    command = HookTable("local", command=("/bin/page", "geheim"))
    app = application(board, about=about(configuration=lambda: Config(hook=(url, command))))

    found = get(app, "/v1/config")

    assert [one["name"] for one in found.json()["hook"]] == ["web", "local"]
    assert "https://alerts.example.com/" in found.text
    assert "geheim" not in found.text


def test_advice_has_sql_and_a_stable_id(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice carries a stable id, its reason, and statements to paste."""
    fill(board, 1)
    monkeypatch.setattr(board, "advice", lambda: [FINDING])
    (found,) = get(application(board), "/v1/advice").json()["findings"]

    assert (found["id"], found["sql"]) == (FINDING.id, list(FINDING.sql))


def test_policies_are_told_with_the_one_in_force() -> None:
    """The laws are there before the first tick, and after it the one that decided."""
    before = get(over(), "/v1/policies").json()
    made = record(1)
    decided = replace(made, decision=replace(made.decision, policy="pace"))

    assert before["in_force"] == ""
    assert {"cascade", "pid", "fixed", "pace"} <= {one["name"] for one in before["policies"]}
    assert get(over(decided), "/v1/policies").json() == {**before, "in_force": "pace"}


def test_unknown_path_and_method_are_problems(board: Board) -> None:
    """A wrong path or method is answered as a problem, with the methods that exist."""
    app = application(board)
    nothing = ask(app, "GET", "/v1/nothing", over_socket=True)
    method = ask(app, "POST", "/v1/override", over_socket=True)

    assert (nothing.status_code, nothing.json()["type"]) == (404, "/docs#not-found")
    assert method.status_code == 405
    assert method.headers["allow"] == "DELETE, PUT"


def test_defect_is_a_problem_without_details(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody foresaw is a 500 problem that tells no internals; the log has them."""
    fill(board, 1)

    def broken() -> list[Any]:
        raise RuntimeError("secret internals")

    monkeypatch.setattr(board, "advice", broken)
    answer = get(application(board), "/v1/advice")

    assert answer.status_code == 500
    assert answer.json()["type"] == "/docs#internal"
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_documentation_works_offline(board: Board) -> None:
    """The page names every route and loads no script, nor from another host; each reference resolves."""
    app = application(board)

    page = get(app, "/docs")
    text = get(app, "/openapi.json").text
    document = msgspec.json.decode(text)

    for path in document["paths"]:
        assert path in page.text
    assert not re.search("<script|https?://", page.text)
    assert "style-src 'self'" in page.headers["content-security-policy"]
    assert document["openapi"].startswith("3.1")
    names = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert names
    assert names <= set(document["components"]["schemas"])


def test_every_change_is_documented_with_its_token(board: Board) -> None:
    """Each route that changes something says that it needs the token, and each has examples or answers."""
    document = msgspec.json.decode(get(application(board), "/openapi.json").content)

    for methods in document["paths"].values():
        for method, route in methods.items():
            assert "200" in route["responses"]
            if method != "get":
                assert {"token": []} in route["security"]
                assert {"401", "409"} <= set(route["responses"])


PATHS = [
    "/",
    "/docs",
    "/livez",
    "/metrics",
    "/openapi.json",
    "/readyz",
    "/static/page.css",
    "/v1/advice",
    "/v1/config",
    "/v1/decisions",
    "/v1/events",
    "/v1/history",
    "/v1/policies",
    "/v1/status",
]


@pytest.mark.parametrize("path", PATHS)
def test_head_works_wherever_get_does(app: FastAPI, path: str) -> None:
    """HEAD has the status and the header of GET, and no body."""
    got, head = ask(app, "GET", path), ask(app, "HEAD", path)

    assert head.status_code == got.status_code == 200
    assert head.content == b""
    assert head.headers["content-type"] == got.headers["content-type"]
    assert "content-length" in head.headers


def test_head_of_what_is_no_page(app: FastAPI) -> None:
    """HEAD of the stream keeps none open; of what is not there, or only changed, it is refused."""
    head = ask(app, "HEAD", "/v1/stream")

    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"].startswith("text/event-stream")
    assert ask(app, "HEAD", "/v1/nothing").status_code == 404
    assert ask(app, "HEAD", "/v1/override").status_code == 405
    for path in ("/v1/status", "/static/page.css"):
        assert ask(app, "POST", path, headers=bearer()).headers["allow"] == "GET, HEAD"


def test_head_over_a_connection_leaves_the_next_request_whole(app: FastAPI) -> None:
    """After a HEAD with the length of a body that was not sent the connection goes on."""
    with serving(app) as server, httpx.Client(trust_env=False, timeout=10.0) as client:
        url = f"http://127.0.0.1:{server.port}/v1/status"
        codes = [client.request(method, url).status_code for method in ("HEAD", "GET", "HEAD")]

    assert codes == [200, 200, 200]
