"""The OpenAPI document, from the routes and the models that they name, and a page made from it.

The page has no script and asks no other host, so that it works offline.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI, Response
from fastapi.openapi.utils import get_openapi
from msgspec import Struct

from api.access import role_for
from api.problems import MEDIA_TYPE, PROBLEMS, Problem
from api.tokens import Role

DESCRIPTION = (
    "Watch and steer the loop that holds InnoDB's uncheckpointed bytes. Over TCP a change needs a token with "
    "the role operate, and reading none on loopback; over the unix socket the file's permission is enough."
)
EVERYWHERE = ("cross-origin", "too-slow", "foreign-host", "header", "too-many", "internal", "busy")
"""Problems that any request can end in, before its route is asked."""

Responses = dict[int | str, dict[str, Any]]

_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token that innobrim token make has printed, or the one in the file token of the state "
    "directory. Not needed over the unix socket.",
}
_named: dict[str, type[Struct]] = {}
"""Every model that a route names."""


def reference(model: type[Struct]) -> dict[str, str]:
    """Return the reference to a model's schema, which the document then has."""
    _named[model.__name__] = model
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def answers(model: type[Struct], description: str, *problems: str) -> Responses:
    """Return a route's answers: the good one and its own problems by name."""
    responses: Responses = {
        200: {"description": description, "content": {"application/json": {"schema": reference(model)}}}
    }
    for name in problems:
        _add_problem(responses, name)
    return responses


def takes(model: type[Struct], example: dict[str, Any], *, required: bool) -> dict[str, Any]:
    """Return the extra of a route that takes a body."""
    return {
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": reference(model), "example": example}},
        }
    }


def documentation_routes(app: FastAPI) -> APIRouter:
    """Return ``/openapi.json`` and ``/docs``, each made when it is first asked for and kept."""
    routes = APIRouter()

    @functools.cache
    def document() -> bytes:
        return msgspec.json.encode(build(app))

    @functools.cache
    def page() -> str:
        return render(msgspec.json.decode(document()))

    @routes.get("/openapi.json", include_in_schema=False)
    async def openapi_json() -> Response:
        """Return the OpenAPI document."""
        return Response(document(), media_type="application/json")

    @routes.get("/docs", include_in_schema=False)
    async def documentation_page() -> Response:
        """Return the document as a page for people."""
        return Response(page(), media_type="text/html", headers={"Content-Security-Policy": _POLICY})

    return routes


def build(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            _add_admission(method, path, route)
    _, schemas = msgspec.json.schema_components(_named.values(), ref_template="#/components/schemas/{name}")
    document["components"] = {"schemas": schemas, "securitySchemes": {"token": _TOKEN}}
    return document


def render(document: dict[str, Any]) -> str:
    """Return an OpenAPI document as one page of HTML."""
    from jinja2 import (  # noqa: PLC0415 - a megabyte for a page that few daemons are asked for
        ChainableUndefined,
        Environment,
        FileSystemLoader,
    )

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("docs.html.j2").render(document=document, problems=PROBLEMS)


def _add_problem(answers: Responses, name: str) -> None:
    """Add a problem to a route's answers; several may have the same status."""
    status, title, meaning = PROBLEMS[name]
    example = Problem(type=f"/docs#{name}", title=title, status=status, detail=meaning)
    made = answers.setdefault(str(status), {"description": ""})
    content = made.setdefault("content", {}).setdefault(MEDIA_TYPE, {"schema": reference(Problem)})
    shown = content.setdefault("examples", {})
    if name not in shown:
        made["description"] = f"{made['description']} {title}. {meaning}".strip()
        shown[name] = {"value": msgspec.to_builtins(example)}


def _add_admission(method: str, path: str, route: dict[str, Any]) -> None:
    """Add to a route what admission in front of it answers, and what it asks for."""
    needed = role_for(method.upper(), path)
    problems = list(EVERYWHERE)
    if needed is not None:
        problems.append("unauthorised")
        route["security"] = [{"token": []}, {}]
    if needed is Role.OPERATE:
        problems.append("forbidden")
    for name in problems:
        _add_problem(route["responses"], name)
