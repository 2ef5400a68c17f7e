"""Errors as RFC 9457 problem details, and the count of what was turned away, by reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.routing import Match

from tuner.system.imports import built_when_used

with built_when_used():  # 1.5 MB of FastAPI's own models, which only /openapi.json and /docs need
    from fastapi import Request, Response
    from fastapi.exceptions import RequestValidationError

MEDIA_TYPE = "application/problem+json"

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Every answer has them, except where its route says otherwise."""

PROBLEMS: dict[str, tuple[int, str, str]] = {
    "malformed": (400, "Malformed", "The request cannot be read as HTTP, or its body as JSON."),
    "unauthorised": (401, "Token needed", "Over TCP this needs a token that is valid."),
    "forbidden": (403, "Role not enough", "The token is valid, and its role does not cover this."),
    "cross-origin": (403, "Another origin", "A page of another origin asks; only the daemon's own may."),
    "not-found": (404, "No such path", "There is nothing under this path."),
    "method": (405, "Method not allowed", "The path exists, but not with this method."),
    "refused": (409, "Refused by the loop", "The command was understood, and the loop said no."),
    "too-slow": (408, "Too slow", "The request did not come whole in time."),
    "too-large": (413, "Body too large", "No request of this API needs a body of this size."),
    "media-type": (415, "Not a JSON body", "A body must be sent as application/json."),
    "foreign-host": (421, "Foreign host", "The Host header names another machine than this one."),
    "validation": (
        422,
        "Invalid value",
        "A parameter or a field of the body has a value that cannot be used.",
    ),
    "header": (431, "Header too large", "No request of this API needs a header of this size."),
    "too-many": (429, "Too many requests", "This peer asks more often than the daemon answers."),
    "internal": (500, "Internal error", "A defect in the daemon; its log has the details."),
    "busy": (503, "Too much at a time", "Too many requests are in hand; none was begun for this one."),
    "unavailable": (503, "Loop not available", "The loop has not started or does not tick."),
    "no-answer": (504, "No answer", "The loop did not answer in time; the command may still be carried out."),
}
"""Status, title and meaning of each kind of problem."""

_BY_STATUS = {status: name for name, (status, _, _) in PROBLEMS.items()}


class Refusal(StrEnum):
    """Why a request or a connection was turned away before anything was done for it."""

    NO_TOKEN = "no_token"  # noqa: S105 - why a request is refused, no secret
    UNKNOWN_TOKEN = "unknown_token"  # noqa: S105 - the same
    EXPIRED_TOKEN = "expired_token"  # noqa: S105 - the same
    ROLE = "role"
    HOST = "host"
    ORIGIN = "origin"
    RATE = "rate"
    BUSY = "busy"
    CONNECTIONS = "connections"
    STREAMS = "streams"
    BODY = "body"
    HEADER = "header"
    SLOW = "slow"
    MALFORMED = "malformed"
    TLS = "tls"


class Refusals:
    """How often each reason came."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = dict.fromkeys(Refusal, 0)

    def note(self, why: Refusal | None) -> None:
        """Count one; None is an error of another kind."""
        if why is not None:
            self._counts[why] += 1

    @property
    def counts(self) -> Mapping[str, int]:
        """Return every reason with its count."""
        return self._counts


class FieldProblem(Struct, frozen=True):
    """One value that cannot be used."""

    field: Annotated[str, Meta(description="parameter or path of the field in the body")]
    value: Annotated[Any, Meta(description="what was sent; none where it is missing")]
    expected: Annotated[str, Meta(description="what would be right")]


class Problem(Struct, frozen=True):
    """An RFC 9457 problem."""

    type: Annotated[str, Meta(description="kind of problem; resolves to its explanation")]
    title: str
    status: int
    detail: Annotated[str, Meta(description="this very case, in words")]
    errors: Annotated[tuple[FieldProblem, ...], Meta(description="the values that cannot be used")] = ()


class ApiError(Exception):
    """A request that ends in a problem."""

    def __init__(
        self,
        name: str,
        detail: str,
        *,
        errors: Sequence[FieldProblem] = (),
        headers: dict[str, str] | None = None,
        refusal: Refusal | None = None,
    ) -> None:
        """Take what the answer has.

        Args:
            name: of the kind of problem.
            detail: this very case, in words.
            errors: the values that cannot be used.
            headers: of the answer.
            refusal: the reason it counts for; None where the request was let in.
        """
        super().__init__(detail)
        self.name = name
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = headers or {}
        self.refusal = refusal

    def response(self) -> Response:
        """Return the problem as an HTTP answer."""
        status, title, _ = PROBLEMS[self.name]
        problem = Problem(
            type=f"/docs#{self.name}", title=title, status=status, detail=self.detail, errors=self.errors
        )
        body = msgspec.json.encode(problem)
        return Response(body, status_code=status, headers=HEADERS | self.headers, media_type=MEDIA_TYPE)


def validation_error(errors: Sequence[FieldProblem]) -> ApiError:
    """Return the problem for values that cannot be used."""
    detail = "; ".join(
        f"{error.field} is missing: expected {error.expected}"
        if error.value is None
        else f"{error.field} is {_shown(error.value)}: expected {error.expected}"
        for error in errors
    )
    return ApiError("validation", detail, errors=errors)


async def on_error(request: Request, error: Exception) -> Response:
    """Answer an ``ApiError``, a parameter that the framework refused, or an unknown path or method."""
    if isinstance(error, RequestValidationError):
        wrong = [
            FieldProblem(
                field=".".join(str(part) for part in one["loc"][1:]) or str(one["loc"][0]),
                value=None if one["type"] == "missing" else one.get("input"),
                expected=str(one["msg"]).removeprefix("Input should be ").removeprefix("Value error, "),
            )
            for one in error.errors()
        ]
        error = validation_error(wrong)
    elif isinstance(error, HTTPException):
        error = _of_the_router(request, error)
    if not isinstance(error, ApiError):
        raise error
    return error.response()


def _of_the_router(request: Request, error: HTTPException) -> ApiError:
    name = _BY_STATUS.get(error.status_code, "internal")
    headers = dict(error.headers or {})
    detail = f"{request.method} {request.url.path}: {PROBLEMS[name][1].lower()}"
    if "Allow" in headers:  # the router names the methods of the path's first route alone
        matching = (one for one in request.app.routes if one.matches(request.scope)[0] is not Match.NONE)
        methods = set().union(*(one.methods for one in matching))
        headers["Allow"] = ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))
        detail += f"; allowed: {headers['Allow']}"
    return ApiError(name, detail, headers=headers)


def defect(method: str, path: str) -> ApiError:
    """Return the problem for an error that nobody foresaw."""
    return ApiError("internal", f"{method} {path} failed; see the daemon's log")


def _shown(value: object, longest: int = 100) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= longest else text[:longest] + "…"
