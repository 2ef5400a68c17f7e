"""Who may change what, and what they are told."""

from __future__ import annotations

from typing import Any

import pytest

from api import steer
from api.access import Access
from api.gate import LARGEST_BODY
from tests.api.factory import (
    EXPIRED,
    MEBIBYTE,
    READER,
    AnsweringLoop,
    about,
    application,
    ask,
    bearer,
)
from tuner.board import Board

CHANGES = [
    ("PUT", "/v1/mode", {"mode": "active"}),
    ("PUT", "/v1/override", {"io_capacity_max": 4000, "ttl": 600}),
    ("DELETE", "/v1/override", None),
    ("POST", "/v1/drain", {"to_age": "10%"}),
    ("DELETE", "/v1/drain", None),
    ("PATCH", "/v1/settings", {"max_io_capacity_max": 4000}),
    ("DELETE", "/v1/settings", None),
    ("POST", "/v1/pause", {"reason": "backup"}),
    ("POST", "/v1/resume", None),
    ("POST", "/v1/park", None),
    ("POST", "/v1/restore", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_change_over_tcp_needs_the_token(
    board: Board, loop: AnsweringLoop, method: str, path: str, body: dict[str, object] | None
) -> None:
    """Nobody changes anything over TCP with no token, a wrong or expired one, or another scheme."""
    app = application(board)

    wrong = (bearer("wrong"), bearer(EXPIRED), {"Authorization": "Basic abc"}, {"Authorization": "Bearer "})
    for headers in ({}, *wrong):
        answer = ask(app, method, path, json=body, headers=headers)

        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert loop.commands == []


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_token_that_may_read_changes_nothing(
    board: Board, loop: AnsweringLoop, method: str, path: str, body: dict[str, object] | None
) -> None:
    """A token of the role read is told that its role is not enough, and by which name it goes."""
    answer = ask(application(board), method, path, json=body, headers=bearer(READER))

    assert answer.status_code == 403
    assert answer.json()["type"] == "/docs#forbidden"
    assert "the token grafana may read" in answer.json()["detail"]
    assert loop.commands == []


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_change_is_carried_out_with_the_token(
    board: Board, loop: AnsweringLoop, method: str, path: str, body: dict[str, object] | None
) -> None:
    """Whoever has the token gets the loop's own answer, with the state before and after."""
    answer = ask(application(board), method, path, json=body, headers=bearer())

    assert answer.status_code == 200
    assert answer.json()["message"].endswith("accepted")
    assert set(answer.json()) == {"command", "message", "old", "new"}
    assert loop.commands[0].who == "token oncall from 127.0.0.1"


def test_unix_socket_needs_no_token(board: Board, loop: AnsweringLoop) -> None:
    """Over the unix socket the file's permission is enough."""
    answer = ask(application(board), "POST", "/v1/pause", over_socket=True)

    assert answer.status_code == 200
    assert loop.commands[0].who.endswith("over the unix socket")


def test_headers_cannot_claim_the_unix_socket(board: Board, loop: AnsweringLoop) -> None:
    """No header makes a TCP request pass for one over the unix socket."""
    claims = {
        "X-Forwarded-For": "unix:",
        "X-Forwarded-Proto": "unix",
        "Forwarded": "for=unix",
        "innobrim.transport": "unix",
    }

    assert ask(application(board), "POST", "/v1/pause", headers=claims).status_code == 401
    assert loop.commands == []


def test_daemon_without_token_refuses_changes_over_tcp(board: Board, loop: AnsweringLoop) -> None:
    """A daemon that has no token takes no change over TCP at all."""
    app = application(board, access=Access(None))

    assert ask(app, "POST", "/v1/pause", headers=bearer("")).status_code == 401
    assert ask(app, "POST", "/v1/pause", over_socket=True).status_code == 200
    assert len(loop.commands) == 1


def test_override_shows_old_and_new(board: Board, loop: AnsweringLoop) -> None:
    """An override's answer says what was and what will be, and status shows the time left."""
    app = application(board)

    answer = ask(
        app, "PUT", "/v1/override", json={"io_capacity_max": 4000, "ttl": 600}, headers=bearer()
    ).json()
    status = ask(app, "GET", "/v1/status").json()

    assert answer["old"]["override_seconds_left"] is None
    assert answer["new"]["override_seconds_left"] == 600
    assert answer["new"]["target"] == {"io_capacity": 2000, "io_capacity_max": 4000}
    assert status["override"]["io_capacity_max"] == 4000
    assert (loop.commands[0].value, loop.commands[0].ttl) == (4000, 600.0)


def test_drain_shows_how_far_it_is(board: Board, loop: AnsweringLoop) -> None:
    """A drain's answer says what will be, and status where it began, where it is and when it ends."""
    app = application(board)

    answer = ask(app, "POST", "/v1/drain", json={"to_age": "64MiB"}, headers=bearer()).json()
    drain = ask(app, "GET", "/v1/status").json()["drain"]

    assert answer["old"]["drain_target"] is None
    assert answer["new"]["drain_target"] == drain["target"] == 64 * MEBIBYTE
    assert drain["start_age"] == 80 * MEBIBYTE
    assert drain["age"] == 61_000_000
    assert drain["seconds_left"] is None
    assert drain["reached"] is None
    assert drain["ends_in"] > 0
    assert drain["who"] == "token oncall from 127.0.0.1"
    assert (loop.commands[0].value, loop.commands[0].ttl) == ("64MiB", 3600.0)


@pytest.mark.parametrize(
    ("body", "field", "hint"),
    [
        ({}, "to_age", "64MiB or 2G, or a share of the redo capacity, such as 10%"),
        ({"to_age": "64 megabytes"}, "to_age", "such as 64MiB"),
        ({"to_age": 64}, "to_age", "a text"),
        ({"to_age": "10%", "ttl": 0}, "ttl", "above 0"),
        ({"to_age": "10%", "ttl": 1e9}, "ttl", "at most 604800"),
        (
            {"to_age": "10%", "io_capacity_max": 4000},
            "io_capacity_max",
            "only the fields to_age, ttl, reason",
        ),
    ],
)
def test_invalid_drain_names_field_and_fix(
    board: Board, loop: AnsweringLoop, body: dict[str, object], field: str, hint: str
) -> None:
    """A bad drain is refused with the field and what would be right; the loop is asked nothing."""
    answer = ask(application(board), "POST", "/v1/drain", json=body, headers=bearer())

    assert answer.status_code == 422
    error = answer.json()["errors"][0]
    assert error["field"] == field
    assert hint in error["expected"]
    assert loop.commands == []


@pytest.mark.parametrize(
    "case",
    [
        ({"io_capacity_max": 5, "ttl": 600}, "io_capacity_max", 5, "at least 100"),
        ({"io_capacity_max": "4000", "ttl": 600}, "io_capacity_max", "4000", "whole number"),
        ({"io_capacity_max": 4000.5, "ttl": 600}, "io_capacity_max", 4000.5, "whole number"),
        ({"io_capacity_max": 4000}, "ttl", None, "seconds"),
        ({"io_capacity_max": 4000, "ttl": -1}, "ttl", -1, "above 0"),
        ({"io_capacity_max": 4000, "ttl": 1e9}, "ttl", 1e9, "at most 604800"),
        ({"io_capacity_max": 4000, "ttl": 60, "reason": "x" * 600}, "reason", "x" * 600, "at most 500"),
        ({"io_capacity_max": 4000, "tll": 600, "ttl": 60}, "tll", 600, "ttl"),
        ([1], "body", [1], "an object"),
    ],
)
def test_invalid_override_names_field_value_and_fix(
    board: Board, loop: AnsweringLoop, case: tuple[object, str, object, str]
) -> None:
    """A bad override is refused as a problem that names the field, the value, and what would be right."""
    body, field, value, hint = case

    answer = ask(application(board), "PUT", "/v1/override", json=body, headers=bearer())

    problem = answer.json()
    assert (answer.status_code, problem["status"]) == (422, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["errors"][0]["field"] == field
    assert problem["errors"][0]["value"] == value
    assert hint in problem["errors"][0]["expected"]
    assert field in problem["detail"]
    assert loop.commands == []


def test_unknown_mode_names_the_known_ones(board: Board, loop: AnsweringLoop) -> None:
    """A mode that does not exist is answered with those that do."""
    problem = ask(application(board), "PUT", "/v1/mode", json={"mode": "on"}, headers=bearer()).json()

    assert "active" in problem["errors"][0]["expected"]
    assert "advisory" in problem["errors"][0]["expected"]
    assert loop.commands == []


@pytest.mark.parametrize(
    ("content", "media_type", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"io_capacity_max": "x", ', "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b'{"reason": "' + b"x" * LARGEST_BODY, "application/json", 413),
    ],
)
def test_unreadable_body_is_a_problem(
    board: Board, loop: AnsweringLoop, content: bytes, media_type: str, status: int
) -> None:
    """A body that is no JSON, no JSON type or too large is refused with the reason, never with a 500."""
    headers = bearer() | {"Content-Type": media_type}

    answer = ask(application(board), "PUT", "/v1/override", content=content, headers=headers)

    assert answer.status_code == status
    assert answer.json()["status"] == status
    assert loop.commands == []


def test_body_that_hides_its_size_is_cut_off(board: Board, loop: AnsweringLoop) -> None:
    """A chunked body is refused once it grows beyond the limit."""

    async def chunks() -> Any:  # noqa: ANN401 - an async generator
        for _ in range(20):
            yield b"x" * 1024

    headers = bearer() | {"Content-Type": "application/json"}

    assert ask(application(board), "POST", "/v1/pause", content=chunks(), headers=headers).status_code == 413
    assert loop.commands == []


def test_refusal_carries_the_loops_reason(board: Board, refusing: AnsweringLoop) -> None:
    """A command that the loop refuses ends in 409 with the loop's own words."""
    answer = ask(application(board), "POST", "/v1/park", headers=bearer())

    assert answer.status_code == 409
    assert answer.json()["detail"] == "the mode is advisory: no park"
    assert len(refusing.commands) == 1


def test_silent_loop_is_reported_in_time(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that lives but does not answer ends in 504, which says that the command may still happen."""
    monkeypatch.setattr(steer, "ANSWER_SECONDS", 0.1)
    AnsweringLoop(board).publish()

    answer = ask(application(board), "POST", "/v1/pause", headers=bearer())

    assert answer.status_code == 504
    assert "may still be carried out" in answer.json()["detail"]


def test_dead_loop_gets_no_command(board: Board) -> None:
    """A command to a dead loop is refused at once and not left behind for a loop that comes back."""
    AnsweringLoop(board).publish()
    late = about(monotonic=lambda: 1e12)

    answer = ask(application(board, about=late), "POST", "/v1/pause", headers=bearer())

    assert answer.status_code == 503
    assert board.inbox.take() == ()


def test_command_before_the_first_tick_is_refused(board: Board) -> None:
    """Before the first tick a command is answered with what the daemon waits for."""
    board.waiting("waiting for the server: refused")

    answer = ask(application(board), "POST", "/v1/pause", headers=bearer())

    assert answer.status_code == 503
    assert answer.json()["detail"] == "waiting for the server: refused"
    assert board.inbox.take() == ()


def test_settings_are_handed_over_as_they_were_sent(board: Board, loop: AnsweringLoop) -> None:
    """Only what was sent reaches the loop, null as the way back to the file, with who and from where."""
    body = {"max_io_capacity_max": 4000, "set_point": None, "reason": "noisy neighbour"}

    assert ask(application(board), "PATCH", "/v1/settings", json=body, headers=bearer()).status_code == 200

    command = loop.commands[0]
    assert (command.name, command.who) == ("overlay", "token oncall from 127.0.0.1")
    assert command.overlay == {"max_io_capacity_max": 4000, "set_point": None}
    assert command.reason == "noisy neighbour"


@pytest.mark.parametrize(
    ("body", "field", "hint"),
    [
        ({"set_point": 1.5}, "set_point", "at most 1.0 (age ratio to hold; null for the file's)"),
        ({"max_io_capacity_max": "many"}, "max_io_capacity_max", "a whole number"),
        ({"max_io_capacity": 4000}, "max_io_capacity", "the field max_io_capacity_max"),
        ({"mode": "active"}, "mode", "only the fields"),
    ],
)
def test_invalid_setting_names_field_and_fix(
    board: Board, loop: AnsweringLoop, body: dict[str, object], field: str, hint: str
) -> None:
    """A setting that is none, or out of its bounds, is refused with what would be right."""
    answer = ask(application(board), "PATCH", "/v1/settings", json=body, headers=bearer())

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert hint in answer.json()["errors"][0]["expected"]
    assert loop.commands == []


def test_wrong_method_on_a_file_of_the_page_is_a_problem(board: Board, loop: AnsweringLoop) -> None:
    """A method that a file of the page does not have is refused with those it has."""
    assert loop.board is board
    answer = ask(application(board), "POST", "/static/page.css", headers=bearer())

    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


DEEP = 7_000


@pytest.mark.parametrize(
    "body",
    [
        b"[" * DEEP,
        b"[" * DEEP + b"]" * DEEP,
        b'{"a":' * 2_500 + b"1" + b"}" * 2_500,
        b'{"reason":' + b"[" * DEEP + b"]" * DEEP + b"}",
        b'{"reason":' + b"9" * 5_000 + b"}",
        b'{"reason":-' + b"9" * 5_000 + b"}",
        b'{"reason":1e400}',
        b'{"reason":-1e999999999}',
        b'{"reason":NaN}',
        b'{"reason":"\xff"}',
    ],
)
@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/pause"), ("PATCH", "/v1/settings"), ("PUT", "/v1/override")]
)
def test_json_beyond_all_bounds_is_malformed(
    board: Board, loop: AnsweringLoop, method: str, path: str, body: bytes
) -> None:
    """What is nested too deep, or has a number that is none, is the sender's fault and changes nothing."""
    headers = {**bearer(), "Content-Type": "application/json"}

    answer = ask(application(board), method, path, content=body, headers=headers)

    assert answer.status_code == 400
    assert answer.json()["type"] == "/docs#malformed"
    assert loop.commands == []


@pytest.mark.parametrize("depth", [1, 10, 100, 300, 500, 700, 800, 900, 950, 990])
@pytest.mark.parametrize("field", ["reason", "unknown", "io_capacity_max"])
def test_json_of_any_depth_is_answered(board: Board, loop: AnsweringLoop, field: str, depth: int) -> None:
    """However deep a value is, its sender is told what is wrong with it."""
    body = b'{"%s":' % field.encode() + b"[" * depth + b"]" * depth + b"}"
    headers = {**bearer(), "Content-Type": "application/json"}

    answer = ask(application(board), "PUT", "/v1/override", content=body, headers=headers)

    assert answer.status_code in {400, 422}
    assert loop.commands == []


@pytest.mark.parametrize("number", [2**63, 2**64, 2**64 + 1, 10**23, -(2**63) - 1, 10**300])
@pytest.mark.parametrize("field", ["io_capacity_max", "ttl"])
def test_a_number_that_is_too_large_is_named(
    board: Board, loop: AnsweringLoop, field: str, number: int
) -> None:
    """A whole number of any size is refused with the bounds of its field."""
    body = {"io_capacity_max": 4000, "ttl": 600, field: number}

    answer = ask(application(board), "PUT", "/v1/override", json=body, headers=bearer())

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field
    assert loop.commands == []


@pytest.mark.parametrize("value", ["9" * 5_000, "1e999", "-1e999", "nan", "inf", "1e400", str(2**64)])
@pytest.mark.parametrize(
    "path", ["/v1/history?start=", "/v1/history?step=", "/v1/events?after=", "/v1/events?limit="]
)
def test_a_parameter_beyond_all_bounds_is_no_defect(
    board: Board, loop: AnsweringLoop, path: str, value: str
) -> None:
    """A number in a query that nobody can mean is the sender's fault."""
    assert loop.board is board

    assert ask(application(board), "GET", path + value).status_code < 500
