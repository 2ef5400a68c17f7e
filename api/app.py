"""The application: every route, its errors and its gate."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from api.about import About
from api.documentation import documentation_routes
from api.gate import Gate
from api.metrics import MetricsPage
from api.openapi import DESCRIPTION, Document, answers
from api.problems import (
    ApiError,
    on_api_error,
    on_defect,
    on_http_error,
    on_invalid_parameter,
)
from api.reading import encoded, reading_routes
from api.steering import steering_routes
from api.timeline import timeline_routes
from api.vitals import Health, Vitals
from tuner.board import Board
from tuner.findings import Finding


def create_app(
    board: Board,
    *,
    token_sha256: str | None,
    about: About,
    advice: Callable[[], list[Finding]],
    host: str = "127.0.0.1",
) -> FastAPI:
    """Return the application.

    Args:
        board: the seam to the loop.
        token_sha256: hex SHA-256 of the token that changes over TCP need; None refuses them all.
        about: the daemon besides the board.
        advice: returns what a person could do now.
        host: the name or address listened on, which a Host header may name besides loopback's.
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
    app.add_exception_handler(ApiError, on_api_error)
    app.add_exception_handler(RequestValidationError, on_invalid_parameter)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(Exception, on_defect)
    app.include_router(reading_routes(board, about, vitals, advice), prefix="/v1")
    app.include_router(timeline_routes(board, about), prefix="/v1")
    app.include_router(steering_routes(board, about, vitals), prefix="/v1")
    _add_probes(app, vitals)
    metrics = MetricsPage(board, about, vitals)

    @app.get("/metrics", tags=["watch"], response_class=Response)
    async def metrics_page() -> Response:
        """Return every metric in Prometheus' text format."""
        return Response(metrics.text(), media_type=metrics.content_type)

    app.include_router(documentation_routes(Document(app)), include_in_schema=False)
    app.add_middleware(Gate, host=host, token_sha256=token_sha256)
    return app


def _route_name(route: APIRoute) -> str:
    return route.name


def _add_probes(app: FastAPI, vitals: Vitals) -> None:
    def probe(health: Health) -> Response:
        answer = encoded(health)
        answer.status_code = 200 if health.ok else 503
        return answer

    verdicts = answers(Health, "Yes.")
    verdicts[503] = {"description": "No.", "content": verdicts[200]["content"]}

    @app.get("/livez", tags=["watch"], responses=verdicts)
    async def livez() -> Response:
        """Say whether the loop ticks; asks no server."""
        return probe(vitals.live())

    @app.get("/readyz", tags=["watch"], responses=verdicts)
    async def readyz() -> Response:
        """Say whether the loop has a fresh good sample; asks no server."""
        return probe(vitals.ready())
