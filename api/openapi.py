"""The OpenAPI document: schemas from the records themselves, problems on every route."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from msgspec import Struct

from api.bodies import DrainBody, ModeBody, OverrideBody, ReasonBody
from api.messages import MESSAGES
from api.problems import MEDIA_TYPE, PROBLEMS, Problem
from api.views import Advice, Change, Decisions, Events, HistoryAnswer, Policies, Status
from api.vitals import Health
from tuner.config.schema import Config

DESCRIPTION = (
    "Watch and steer the loop that holds InnoDB's uncheckpointed bytes. Reading is open; a change needs the "
    "daemon's token over TCP, and nothing but the file's permission over the unix socket."
)
SCHEMAS: tuple[type[Struct], ...] = (
    Status,
    Change,
    Events,
    Decisions,
    HistoryAnswer,
    Advice,
    Policies,
    *MESSAGES.values(),
    Health,
    Problem,
    Config,
    ModeBody,
    OverrideBody,
    DrainBody,
    ReasonBody,
)

Responses = dict[int | str, dict[str, Any]]


def reference(model: type[Struct]) -> dict[str, str]:
    """Return the reference to a model's schema."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def answers(model: type[Struct], description: str, *problems: str) -> Responses:
    """Return a route's answers: the good one and its problems by name."""
    found: Responses = {
        200: {"description": description, "content": {"application/json": {"schema": reference(model)}}}
    }
    for name in (*problems, "foreign-host", "internal"):
        status, title, meaning = PROBLEMS[name]
        found[status] = {
            "description": f"{title}. {meaning}",
            "content": {MEDIA_TYPE: {"schema": reference(Problem)}},
        }
    return found


def takes(model: type[Struct], example: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return the extra of a route that takes a body and, over TCP, the token."""
    return {
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": reference(model), "example": example}},
        },
        "security": [{"token": []}, {}],
    }


class Document:
    """The OpenAPI document, built when it is first asked for and kept as bytes."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._encoded: bytes | None = None

    def encoded(self) -> bytes:
        """Return the document as JSON."""
        with self._lock:
            if self._encoded is None:
                self._encoded = msgspec.json.encode(self.build())
            return self._encoded

    def build(self) -> dict[str, Any]:
        """Return the document; a new one each time."""
        app = self._app
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        _, schemas = msgspec.json.schema_components(SCHEMAS, ref_template="#/components/schemas/{name}")
        components = document.setdefault("components", {})
        components["schemas"] = schemas
        components["securitySchemes"] = {
            "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "The daemon's token, in the file token of its state directory. "
                "Not needed over the unix socket.",
            }
        }
        return document
