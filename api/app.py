"""The application: every route, its errors, and who and what is let in."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from api.access import Access
from api.admission import Admission
from api.daemon import About, DaemonView
from api.openapi import DESCRIPTION, documentation_routes
from api.page import page_routes
from api.problems import ApiError, Refusals, on_error
from api.read import past_routes, present_routes, watching_routes
from api.scrape import MetricsPage
from api.steer import steering_routes
from api.stream import Streams, stream_routes
from api.why import why_routes
from tuner.daemon.board import Board
from tuner.system.imports import hidden


@hidden("pydantic.v1")  # 1.2 MB, in which FastAPI looks for models of pydantic 1; nobody here has one
def create_app(board: Board, *, access: Access, about: About) -> FastAPI:
    """Return the application over a loop's board."""
    app = FastAPI(
        title="InnoBrim",
        version=about.version,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    daemon = DaemonView(board, about)
    refusals = Refusals()
    streams = Streams(board, about.run, refusals)
    app.state.end_streams = streams.end
    app.state.refused = refusals.note
    for kind in (ApiError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, on_error)
    for router in (
        present_routes(daemon),
        past_routes(daemon),
        why_routes(daemon),
        stream_routes(streams),
        steering_routes(daemon),
        watching_routes(daemon, MetricsPage(daemon, refusals)),
        documentation_routes(app),
        page_routes(),
    ):
        app.router.routes.extend(router.routes)
    for route in app.routes:
        if isinstance(route, APIRoute):
            route.operation_id = route.name
    app.add_middleware(Admission, access=access, refusals=refusals)
    return app
