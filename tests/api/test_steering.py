"""Who may change what, and what they are told."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from api import steer
from api.access import Access
from api.admission import LARGEST_BODY
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
from tuner.daemon.board import Board

CHANGES = [
    ("PUT", "/v1/mode", {"mode": "active"}),
    ("PUT", "/v1/override", {"io_capacity_max": 4000, "ttl": 600}),
    ("DELETE", "/v1/override", None),
    ("POST", "/v1/drain", {"to_age": "10%"}),
    ("POST", "/v1/drain", None),
    ("DELETE", "/v1/drain", None),
    ("PATCH", "/v1/settings", {"max_io_capacity_max": 4000}),
    ("DELETE", "/v1/settings", None),
    ("POST", "/v1/pause", {"reason": "backup"}),
    ("POST", "/v1/resume", None),
    ("POST", "/v1/park", None),
    ("POST", "/v1/restore", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_a_change_over_tcp_needs_a_token_that_may_operate(
    app: FastAPI, loop: AnsweringLoop, method: str, path: str, body: dict[str, object] | None
) -> None:
    """Nobody else changes anything; who has the token gets the loop's own answer, before and after."""
    wrong = (bearer("wrong"), bearer(EXPIRED), {"Authorization": "Basic abc"}, {"Authorization": "Bearer "})
    for headers in ({}, *wrong):
        answer = ask(app, method, path, json=body, headers=headers)

        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["www-authenticate"].startswith("Bearer")

    looks = ask(app, method, path, json=body, headers=bearer(READER))
    assert (looks.status_code, looks.json()["type"]) == (403, "/docs#forbidden")
    assert "the token grafana may read" in looks.json()["detail"]
    assert loop.commands == []

    operates = ask(app, method, path, json=body, headers=bearer())
    assert operates.status_code == 200
    assert operates.json()["message"].endswith("accepted")
    assert set(operates.json()) == {"command", "message", "old", "new"}
    assert [command.who for command in loop.commands] == ["token oncall from 127.0.0.1"]


def test_only_the_unix_socket_needs_no_token(board: Board, app: FastAPI, loop: AnsweringLoop) -> None:
    """There the file's permission is enough, also for a daemon without tokens; no header can claim it."""
    claims = {
        "X-Forwarded-For": "unix:",
        "X-Forwarded-Proto": "unix",
        "Forwarded": "for=unix",
        "innobrim.transport": "unix",
    }
    without = application(board, access=Access(None))

    assert ask(app, "POST", "/v1/pause", headers=claims).status_code == 401
    assert ask(without, "POST", "/v1/pause", headers=bearer("")).status_code == 401
    assert loop.commands == []
    assert ask(app, "POST", "/v1/pause", over_socket=True).status_code == 200
    assert ask(without, "POST", "/v1/pause", over_socket=True).status_code == 200
    assert all(command.who.endswith("over the unix socket") for command in loop.commands)


def test_override_shows_old_and_new(app: FastAPI, loop: AnsweringLoop) -> None:
    """An override's answer says what was and what will be, and status shows the time left."""
    body = {"io_capacity_max": 4000, "ttl": 600}
    answer = ask(app, "PUT", "/v1/override", json=body, headers=bearer()).json()
    status = ask(app, "GET", "/v1/status").json()

    assert answer["old"]["override_seconds_left"] is None
    assert answer["new"]["override_seconds_left"] == 600
    assert answer["new"]["target"] == {"io_capacity": 2000, "io_capacity_max": 4000}
    assert status["override"]["io_capacity_max"] == 4000
    assert (loop.commands[0].value, loop.commands[0].ttl) == (4000, 600.0)


def test_drain_shows_how_far_it_is(app: FastAPI, loop: AnsweringLoop) -> None:
    """A drain's answer says what will be, and status where it began, where it is and when it ends."""
    answer = ask(app, "POST", "/v1/drain", json={"to_age": "64MiB"}, headers=bearer()).json()
    drain = ask(app, "GET", "/v1/status").json()["drain"]

    assert answer["old"]["drain_target"] is None
    assert answer["new"]["drain_target"] == drain["target"] == 64 * MEBIBYTE
    assert (drain["start_age"], drain["age"]) == (80 * MEBIBYTE, 61_000_000)
    assert drain["seconds_left"] is drain["reached"] is None
    assert drain["ends_in"] > 0
    assert drain["who"] == "token oncall from 127.0.0.1"
    assert (loop.commands[0].value, loop.commands[0].ttl) == ("64MiB", 3600.0)


def test_settings_are_handed_over_as_they_were_sent(app: FastAPI, loop: AnsweringLoop) -> None:
    """Only what was sent reaches the loop, null as the way back to the file, with who and from where."""
    body = {"max_io_capacity_max": 4000, "set_point": None, "reason": "noisy neighbour"}

    assert ask(app, "PATCH", "/v1/settings", json=body, headers=bearer()).status_code == 200

    command = loop.commands[0]
    assert (command.name, command.who) == ("overlay", "token oncall from 127.0.0.1")
    assert command.overlay == {"max_io_capacity_max": 4000, "set_point": None}
    assert command.reason == "noisy neighbour"


OVERRIDE = {"io_capacity_max": 4000, "ttl": 600}


@pytest.mark.parametrize(
    "case",
    [
        ("/v1/override", OVERRIDE | {"io_capacity_max": 5}, "io_capacity_max", "at least 100"),
        ("/v1/override", OVERRIDE | {"io_capacity_max": "4000"}, "io_capacity_max", "whole number"),
        ("/v1/override", OVERRIDE | {"io_capacity_max": 4000.5}, "io_capacity_max", "whole number"),
        ("/v1/override", {"io_capacity_max": 4000}, "ttl", "seconds"),
        ("/v1/override", OVERRIDE | {"ttl": -1}, "ttl", "above 0"),
        ("/v1/override", OVERRIDE | {"ttl": 1e9}, "ttl", "at most 604800"),
        ("/v1/override", OVERRIDE | {"reason": "x" * 600}, "reason", "at most 500"),
        ("/v1/override", OVERRIDE | {"tll": 600}, "tll", "ttl"),
        ("/v1/override", [1], "body", "an object"),
        ("/v1/drain", {"to_age": ""}, "to_age", "64M or 2G, or a share of the redo capacity, such as 10%"),
        ("/v1/drain", {"to_age": "64 megabytes"}, "to_age", "such as 64M"),
        ("/v1/drain", {"to_age": 64}, "to_age", "a text"),
        (
            "/v1/drain",
            {"to_age": "10%", "io_capacity_max": 4},
            "io_capacity_max",
            "only the fields to_age, ttl",
        ),
        (
            "/v1/settings",
            {"set_point": 1.5},
            "set_point",
            "at most 1.0 (age to hold, as a share of the flush limit; null for the file's)",
        ),
        ("/v1/settings", {"max_io_capacity_max": "many"}, "max_io_capacity_max", "a whole number"),
        ("/v1/settings", {"max_io_capacity": 4000}, "max_io_capacity", "the field max_io_capacity_max"),
        ("/v1/settings", {"mode": "active"}, "mode", "only the fields"),
        ("/v1/mode", {"mode": "on"}, "mode", "active or advisory"),
        *[
            ("/v1/override", OVERRIDE | {name: number}, name, "at most")
            for name in ("io_capacity_max", "ttl")
            for number in (2**63, 2**64 + 1, 10**300)
        ],
    ],
)
def test_an_invalid_body_names_field_value_and_fix(
    app: FastAPI, loop: AnsweringLoop, case: tuple[str, object, str, str]
) -> None:
    """It is refused with the field, its value and what would be right; the loop is asked nothing."""
    path, body, field, hint = case
    method = {"/v1/drain": "POST", "/v1/settings": "PATCH"}.get(path, "PUT")

    answer = ask(app, method, path, json=body, headers=bearer())

    assert (answer.status_code, answer.json()["status"]) == (422, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    error = answer.json()["errors"][0]
    assert error["field"] == field
    assert error["value"] == (body.get(field) if isinstance(body, dict) else body)
    assert hint in error["expected"]
    assert field in answer.json()["detail"]
    assert loop.commands == []


DEEP = 7_000


@pytest.mark.parametrize(
    ("content", "media_type", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"io_capacity_max": "x", ', "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b'{"reason": "' + b"x" * LARGEST_BODY, "application/json", 413),
        (b"[" * DEEP, "application/json", 400),
        (b"[" * DEEP + b"]" * DEEP, "application/json", 400),
        (b'{"a":' * 2_500 + b"1" + b"}" * 2_500, "application/json", 400),
        (b'{"reason":' + b"[" * DEEP + b"]" * DEEP + b"}", "application/json", 400),
        (b'{"reason":' + b"9" * 5_000 + b"}", "application/json", 400),
        (b'{"reason":-' + b"9" * 5_000 + b"}", "application/json", 400),
        (b'{"reason":1e400}', "application/json", 400),
        (b'{"reason":-1e999999999}', "application/json", 400),
        (b'{"reason":NaN}', "application/json", 400),
        (b'{"reason":"\xff"}', "application/json", 400),
    ],
)
def test_an_unreadable_body_is_a_problem(
    app: FastAPI, loop: AnsweringLoop, content: bytes, media_type: str, status: int
) -> None:
    """What is no JSON, too large or too deep is the sender's fault, on every route that takes a body."""
    headers = bearer() | {"Content-Type": media_type}
    for method, path in (("PUT", "/v1/override"), ("POST", "/v1/pause"), ("PATCH", "/v1/settings")):
        answer = ask(app, method, path, content=content, headers=headers)

        assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert loop.commands == []


@pytest.mark.parametrize("field", ["reason", "unknown", "io_capacity_max"])
def test_json_of_any_depth_is_answered(app: FastAPI, loop: AnsweringLoop, field: str) -> None:
    """However deep a value is, its sender is told what is wrong with it."""
    headers = {**bearer(), "Content-Type": "application/json"}
    for depth in (1, 10, 100, 300, 500, 700, 800, 900, 950, 990):
        body = b'{"%s":' % field.encode() + b"[" * depth + b"]" * depth + b"}"

        assert ask(app, "PUT", "/v1/override", content=body, headers=headers).status_code in {400, 422}
    assert loop.commands == []


@pytest.mark.parametrize(
    "path", ["/v1/history?start=", "/v1/history?step=", "/v1/events?after=", "/v1/events?limit="]
)
def test_a_parameter_beyond_all_bounds_is_no_defect(app: FastAPI, path: str) -> None:
    """A number in a query that nobody can mean is the sender's fault."""
    for value in ("9" * 5_000, "1e999", "-1e999", "nan", "inf", "1e400", str(2**64)):
        assert ask(app, "GET", path + value).status_code < 500, value


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


def test_a_loop_that_is_dead_or_has_not_begun_gets_no_command(board: Board) -> None:
    """A command to it is refused at once, with why, and not left behind for a loop that comes back."""
    board.waiting("waiting for the server: refused")
    early = ask(application(board), "POST", "/v1/pause", headers=bearer())
    AnsweringLoop(board).publish()
    late = about(monotonic=lambda: 1e12)
    dead = ask(application(board, about=late), "POST", "/v1/pause", headers=bearer())

    assert (early.status_code, dead.status_code) == (503, 503)
    assert early.json()["detail"] == "waiting for the server: refused"
    assert board.commands.take() == ()
