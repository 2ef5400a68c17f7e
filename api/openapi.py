"""The OpenAPI document: schemas from the records themselves, problems on every route."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from msgspec import Struct

from api.access import role_for
from api.bodies import DrainBody, ModeBody, OverrideBody, ReasonBody, SettingsBody
from api.changes import Change
from api.examples import example_of
from api.messages import MESSAGES
from api.problems import MEDIA_TYPE, PROBLEMS, Problem
from api.register import Role
from api.status import Status
from api.views import Advice, Decisions, Events, HistoryAnswer, Policies
from api.vitals import Health
from tuner.config.schema import Config

DESCRIPTION = (
    "Watch and steer the loop that holds InnoDB's uncheckpointed bytes. Over TCP a change needs a token with "
    "the role operate, and reading none on loopback; over the unix socket the file's permission is enough."
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
    SettingsBody,
    ReasonBody,
)

Responses = dict[int | str, dict[str, Any]]


def reference(model: type[Struct]) -> dict[str, str]:
    """Return the reference to a model's schema."""
    return {"$ref": f"#/components/schemas/{model.__name__}"}


EVERYWHERE = ("cross-origin", "too-slow", "foreign-host", "header", "too-many", "internal", "busy")
"""Problems that any request can end in, before its route is asked."""


def answers(model: type[Struct], description: str, *problems: str) -> Responses:
    """Return a route's answers: the good one and its own problems by name."""
    found: Responses = {
        200: {"description": description, "content": {"application/json": {"schema": reference(model)}}}
    }
    for name in problems:
        add_problem(found, name)
    return found


def add_problem(answers: Responses, name: str, key: Callable[[int], int | str] = int) -> None:
    """Add a problem to a route's answers; several may have the same status.

    Args:
        answers: by status.
        name: of the problem.
        key: how the answers write a status.
    """
    status, title, meaning = PROBLEMS[name]
    example = Problem(type=f"/docs#{name}", title=title, status=status, detail=meaning)
    made = answers.setdefault(key(status), {"description": ""})
    content = made.setdefault("content", {}).setdefault(MEDIA_TYPE, {"schema": reference(Problem)})
    shown = content.setdefault("examples", {})
    if name not in shown:
        made["description"] = f"{made['description']} {title}. {meaning}".strip()
        shown[name] = {"value": msgspec.to_builtins(example)}


def takes(model: type[Struct], example: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return the extra of a route that takes a body."""
    return {
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": reference(model), "example": example}},
        }
    }


def guard(method: str, path: str, route: dict[str, Any]) -> None:
    """Add to a route what the gate in front of it answers, and what it asks for."""
    needed = role_for(method.upper(), path)
    problems = list(EVERYWHERE)
    if needed is not None:
        problems.append("unauthorised")
        route["security"] = [{"token": []}, {}]
    if needed is Role.OPERATE:
        problems.append("forbidden")
    for name in problems:
        add_problem(route["responses"], name, str)
    for answer in route["responses"].values():
        for content in answer.get("content", {}).values():
            name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
            example = example_of(name) if name else None
            if example is not None:
                content["example"] = example


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
        for path, methods in document.get("paths", {}).items():
            for method, route in methods.items():
                guard(method, path, route)
        _, schemas = msgspec.json.schema_components(SCHEMAS, ref_template="#/components/schemas/{name}")
        components = document.setdefault("components", {})
        components["schemas"] = schemas
        components["securitySchemes"] = {
            "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "A token that innobrim token make has printed, or the one in the file token "
                "of the state directory. Not needed over the unix socket.",
            }
        }
        return document
