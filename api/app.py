"""The application: every route, its errors and its gate."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from api.about import About
from api.access import Access
from api.documentation import documentation_routes
from api.gate import Gate
from api.metrics import MetricsPage
from api.openapi import DESCRIPTION, Document
from api.page import page_routes
from api.problems import (
    ApiError,
    on_api_error,
    on_http_error,
    on_invalid_parameter,
)
from api.reading import reading_routes
from api.refusals import Refusals
from api.steering import steering_routes
from api.stream import stream_routes, streams_of
from api.timeline import timeline_routes
from api.vitals import Vitals
from api.watching import watching_routes
from tuner.board import Board
from tuner.findings import Finding


def create_app(
    board: Board,
    *,
    access: Access,
    about: About,
    advice: Callable[[], list[Finding]],
) -> FastAPI:
    """Return the application.

    Args:
        board: the seam to the loop.
        access: who may ask what over TCP.
        about: the daemon besides the board.
        advice: returns what a person could do now.
    """
    app = FastAPI(
        title="InnoBrim",
        version=about.version,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        generate_unique_id_function=_route_name,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    vitals = Vitals(board, about)
    refusals = Refusals()
    streams = streams_of(board, about, refusals)
    app.state.end_streams = streams.end
    app.state.refused = refusals.note
    app.add_exception_handler(ApiError, on_api_error)
    app.add_exception_handler(RequestValidationError, on_invalid_parameter)
    app.add_exception_handler(HTTPException, on_http_error)
    routers = (
        ("/v1", reading_routes(board, about, vitals, advice)),
        ("/v1", timeline_routes(board, about)),
        ("/v1", stream_routes(streams)),
        ("/v1", steering_routes(board, about, vitals)),
        ("", watching_routes(vitals, MetricsPage(board, about, vitals, refusals))),
    )
    for prefix, router in routers:
        app.include_router(router, prefix=prefix)
    documentation = documentation_routes(Document(app))
    page = page_routes()
    app.include_router(documentation, include_in_schema=False)
    app.include_router(page, include_in_schema=False)
    app.state.methods = _methods(*routers, ("", documentation), ("", page))
    app.add_middleware(Gate, access=access, refusals=refusals)
    return app


def _route_name(route: APIRoute) -> str:
    return route.name


def _methods(*routers: tuple[str, APIRouter]) -> dict[str, set[str]]:
    """Return every path's methods, for the header Allow."""
    found: dict[str, set[str]] = {}
    for prefix, router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute):
                found.setdefault(prefix + route.path, set()).update(route.methods or ())
    for methods in found.values():
        if "GET" in methods:
            methods.add("HEAD")
    return found
