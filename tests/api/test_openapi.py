"""What the OpenAPI document says holds, for whoever asks: requests made from it, over a loop that turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
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
from api.access import READING
from tests.api.factory import READER, TOKEN, bearer
from tests.real.support import until
from tests.served import Site

EXAMPLES = 12
"""Of each kind, for each operation."""

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


@pytest.fixture(scope="module")
def served() -> Iterator[Site]:
    """Serve the API over a loop in active mode beside a simulated server; each request counts as one."""
    with pytest.MonkeyPatch.context() as patched, Site(pace=0.05, history=30.0) as site:
        patched.setattr(admission, "COSTS", {})
        yield site


def test_every_operation_keeps_its_word(served: Site) -> None:
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
def test_no_unsafe_route_is_open(served: Site, token: str) -> None:
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
def test_the_stream_keeps_its_word(served: Site, token: str, status: int) -> None:
    """The stream begins for whoever may read, and a place that is none is refused as documented."""
    url = served.url + ENDLESS
    with requests.get(url, headers=ASKING[token], stream=True, timeout=SOON) as answer:
        kind = answer.headers["content-type"].partition(";")[0]
        assert (answer.status_code, kind == "text/event-stream") == (status, status == 200)
    if status == 200:
        lost = {**ASKING[token], "Last-Event-ID": "nonsense"}
        assert requests.get(url, headers=lost, timeout=SOON).status_code == 422


def test_the_loop_goes_on_beside_it(served: Site) -> None:
    """After all of this the loop still ticks, and says so."""
    before = requests.get(f"{served.url}/v1/status", timeout=SOON).json()["tick"]
    until(lambda: served.tick() > before, SOON, "a further tick")

    assert requests.get(f"{served.url}/livez", timeout=SOON).status_code == 200
