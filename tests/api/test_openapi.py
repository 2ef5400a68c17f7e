"""What the OpenAPI document says holds, for whoever asks: requests made from it, over a loop that turns."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import requests
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api import admission
from api.access import READING, Access
from api.server import ApiServer
from lab.demo import ScaledClock, simulated_server
from tests.api.factory import READER, TOKEN, application, bearer, tokens
from tuner.core.state import State
from tuner.core.step import start
from tuner.daemon.board import Board, BoardInbox
from tuner.loop import drive
from tuner.records import Command, TickRecord
from tuner.settings import Mode, Settings

EXAMPLES = 12
"""Of each kind, for each operation."""

SPEED = 20.0
SOON = 60.0
ENDLESS = "/v1/stream"
"""Its good answer has no end; it is asked by itself."""

CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
ASKING: dict[str, dict[str, str]] = {
    "none": {},
    "wrong": bearer("wrong"),
    "read": bearer(READER),
    "operate": bearer(TOKEN),
}


class Served(NamedTuple):
    """An API that is served over a loop that turns."""

    app: FastAPI
    url: str


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """Serve the API over a loop in active mode beside a simulated server; each request counts as one."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(admission, "COSTS", {})
        yield from serve()


def serve() -> Iterator[Served]:
    """Serve until the tests are over."""
    board, clock = Board(), ScaledClock(SPEED)
    server = simulated_server(clock, seed=1)

    def publish(state: State, record: TickRecord) -> None:
        board.publish(record, state.settings, state.facts)
        if any(event.code == "originals" for event in record.events):
            board.submit(Command(name="originals_saved", who="journal"))

    def turn() -> None:
        state = start(Settings(mode=Mode.ACTIVE), server.facts())
        drive(server, clock, BoardInbox(board, clock, speed=SPEED), state, interval=1.0, publish=publish)

    loop = threading.Thread(target=turn)
    loop.start()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    app = application(board, access=Access(tokens()))
    serving = ApiServer(app, "127.0.0.1", port, None)
    try:
        assert board.wait(after=15, timeout=SOON)
        serving.start()
        yield Served(app, f"http://127.0.0.1:{port}")
    finally:
        serving.stop(timeout=10.0)
        board.submit(Command(name="stop", who="test", value="leave"))
        loop.join()


def test_every_operation_keeps_its_word(served: Served) -> None:
    """Whatever is sent by who may operate, no answer is a defect or undocumented, and nonsense is refused."""
    document = requests.get(f"{served.url}/openapi.json", timeout=SOON).json()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=served.url)
    session = requests.Session()
    seen = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path == ENDLESS:
            continue
        takes = bool(len(operation.query) or len(operation.body))
        for mode in GenerationMode if takes else [GenerationMode.POSITIVE]:

            @settings(
                max_examples=EXAMPLES,
                derandomize=True,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:  # noqa: ANN401 - a generated request
                nonlocal seen
                seen += 1
                answer = case.call(session=session, headers=bearer(TOKEN), timeout=SOON)
                assert answer.status_code < 500, (case.as_curl_command(), answer.text)
                case.validate_response(answer, checks=CHECKS)

            ask()
    assert seen > len(document["paths"])


@pytest.mark.parametrize("token", ["none", "wrong", "read"])
def test_no_unsafe_route_is_open(served: Served, token: str) -> None:
    """Every route there is, documented or not, refuses a change without the role for it, as documented."""
    paths = requests.get(f"{served.url}/openapi.json", timeout=SOON).json()["paths"]
    changes = [(one.path, method) for one in served.app.routes for method in one.methods - READING]  # type: ignore[attr-defined]
    assert len(changes) > 10
    for path, method in changes:
        answer = requests.request(method, served.url + path, headers=ASKING[token], timeout=SOON)

        assert answer.status_code == (403 if token == "read" else 401), (method, path)  # noqa: S105 - a name
        assert str(answer.status_code) in paths[path][method.lower()]["responses"]


@pytest.mark.parametrize(
    ("token", "status"), [("none", 200), ("wrong", 401), ("read", 200), ("operate", 200)]
)
def test_the_stream_keeps_its_word(served: Served, token: str, status: int) -> None:
    """The stream begins for whoever may read, and a place that is none is refused as documented."""
    url = served.url + ENDLESS
    with requests.get(url, headers=ASKING[token], stream=True, timeout=SOON) as answer:
        kind = answer.headers["content-type"].partition(";")[0]
        assert (answer.status_code, kind == "text/event-stream") == (status, status == 200)
    if status == 200:
        lost = {**ASKING[token], "Last-Event-ID": "nonsense"}
        assert requests.get(url, headers=lost, timeout=SOON).status_code == 422


def test_the_loop_goes_on_beside_it(served: Served) -> None:
    """After all of this the loop still ticks, and says so."""
    before = requests.get(f"{served.url}/v1/status", timeout=SOON).json()["tick"]
    ends = time.monotonic() + SOON
    while requests.get(f"{served.url}/v1/status", timeout=SOON).json()["tick"] == before:
        assert time.monotonic() < ends
        time.sleep(0.05)

    assert requests.get(f"{served.url}/livez", timeout=SOON).status_code == 200
