"""One question to a daemon over HTTP, and its answer."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from tuner.cli.errors import CommandError, Refused, Unreachable, Unusable
from tuner.config.schema import is_loopback
from tuner.imports import hidden

with hidden("pygments"):  # httpx has a command line of its own, which takes rich along
    import httpx

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 10.0

UNAUTHORISED = 401
_CONFLICT = 409
_FIRST_SERVER_ERROR = 500

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a daemon.

    Attributes:
        method: of HTTP.
        path: of the route.
        body: makes it a change; None to read.
    """

    method: str
    path: str
    body: dict[str, Any] | None = None


def send(
    request: Request,
    *,
    url: str,
    name: str,
    tried: list[str],
    uds: str | None = None,
    token: str | None = None,
    verify: ssl.SSLContext | None = None,
) -> httpx.Response | None:
    """Return the answer; None, with a line in ``tried``, where nobody listens.

    Args:
        request: what is asked.
        url: of the API.
        name: of the place, for people.
        tried: gets a line where nobody listens.
        uds: the unix socket that it goes over in place of TCP.
        token: proves that a change is allowed.
        verify: whom to trust for https.

    Raises:
        Unreachable: somebody listens, and does not answer.
        Unusable: the URL is none.
    """
    timeout = httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.HTTPTransport(uds=uds, verify=verify or False)
    try:
        with httpx.Client(transport=transport, base_url=url, timeout=timeout, trust_env=False) as client:
            return client.request(request.method, request.path, json=request.body, headers=headers)
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        tried.append(f"{name}: {_plain(error)}")
        return None
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise Unusable(f"{url!r} is no URL of an API: {error}") from error
    except httpx.RequestError as error:
        raise Unreachable(f"the daemon at {name} was reached and did not answer: {_plain(error)}") from error


def decoded(response: httpx.Response, answer: type[AnswerT]) -> AnswerT:
    """Return what an answer says.

    Raises:
        CommandError: it is a problem, or not from this version.
    """
    if response.is_success:
        try:
            return msgspec.json.decode(response.content, type=answer)
        except msgspec.DecodeError as error:
            raise Unusable(f"the daemon's answer is not this version's: {error}") from None
    try:
        problem = msgspec.json.decode(response.content, type=dict[str, Any])
    except msgspec.DecodeError:
        problem = {"status": response.status_code, "title": response.reason_phrase}
    said = str(problem.get("detail") or problem.get("title"))
    raise _failure(response.status_code)(said, problem)


def in_the_clear(url: str) -> bool:
    """Tell whether what is sent there can be read on the way."""
    try:
        found = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return found.scheme == "http" and not is_loopback(found.host)


def _plain(error: Exception) -> str:
    """Return the system's words without its number."""
    text = str(error) or type(error).__name__
    return (text.partition("] ")[2] if text.startswith("[Errno") else text).lower()


def _failure(status: int) -> type[CommandError]:
    if status == _CONFLICT:
        return Refused
    return Unreachable if status >= _FIRST_SERVER_ERROR else Unusable
