"""The routes for machines that watch: probes and metrics. They ask no server."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api.metrics import MetricsPage
from api.openapi import Responses, answers
from api.reading import encoded
from api.vitals import Health, Vitals

_VERDICTS: Responses = answers(Health, "Yes.")
_VERDICTS[503] = {"description": "No; the body says why.", "content": _VERDICTS[200]["content"]}

_METRICS: Responses = answers(Health, "Every metric that has a value.")
_METRICS[200]["content"] = {"text/plain": {"schema": {"type": "string"}}}


def watching_routes(vitals: Vitals, metrics: MetricsPage) -> APIRouter:
    """Return ``/livez``, ``/readyz`` and ``/metrics``."""
    routes = APIRouter(tags=["watch"])

    @routes.get("/livez", responses=_VERDICTS)
    async def livez() -> Response:
        """Say whether the loop ticks."""
        return _verdict(vitals.live())

    @routes.get("/readyz", responses=_VERDICTS)
    async def readyz() -> Response:
        """Say whether the loop has a fresh good sample of its server."""
        return _verdict(vitals.ready())

    @routes.get("/metrics", responses=_METRICS, response_class=Response)
    async def metrics_page() -> Response:
        """Return every metric in Prometheus' text format."""
        return Response(metrics.text(), media_type=metrics.content_type)

    return routes


def _verdict(health: Health) -> Response:
    answer = encoded(health)
    answer.status_code = 200 if health.ok else 503
    return answer
