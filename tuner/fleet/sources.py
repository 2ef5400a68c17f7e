"""Where a fleet is read from: Prometheus' targets, by http_sd or file_sd, and its HTTP API."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import httpx
import msgspec
from msgspec import Meta, Struct

from tuner.config.schema import is_loopback
from tuner.system.files import read_whole

SECONDS = 10.0
"""An answer of Prometheus, or of a service that lists targets, may take so long."""

MOST_BYTES = 64 * 1024 * 1024


class SourceError(Exception):
    """Targets or figures that cannot be had; the message names what was asked, and what would be right.

    Attributes:
        reached: whoever was asked answered.
    """

    def __init__(self, message: str, *, reached: bool = False) -> None:
        super().__init__(message)
        self.reached = reached


class Group(Struct):
    """One entry of http_sd and file_sd."""

    targets: list[str]
    labels: dict[str, str] = {}


class Target(Struct, frozen=True):
    """One daemon's API.

    Attributes:
        name: its label ``instance``; without one its address.
        url: of its API.
    """

    name: str
    url: str


class Series(Struct):
    """One series of an instant query."""

    metric: dict[str, str]
    value: tuple[float, str]

    @property
    def number(self) -> float:
        """Return its value."""
        return float(self.value[1])


class _Data(Struct):
    result: list[Series]


class _Answer(Struct):
    status: Annotated[str, Meta(pattern="^success$")]
    data: _Data


def get(url: str, client: httpx.Client, **parameters: Any) -> bytes:  # noqa: ANN401 - httpx's own arguments
    """Return what a URL answers.

    Raises:
        SourceError: nobody answers, or with an error.
    """
    try:
        response = client.request("POST" if "data" in parameters else "GET", url, **parameters)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise SourceError(
            f"{url!r} is no URL: {error}; it begins with http:// or https://", reached=True
        ) from error
    except httpx.HTTPError as error:
        raise SourceError(f"{url} does not answer: {str(error) or type(error).__name__}") from error
    if response.is_success:
        return response.content
    said = response.text.strip()[:300]
    raise SourceError(f"{url} answers {response.status_code} {response.reason_phrase}: {said}", reached=True)


def client(token: str, verify: ssl.SSLContext) -> httpx.Client:
    """Return what asks; ``token``: for a service that wants one, empty without."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(timeout=SECONDS, verify=verify, headers=headers, trust_env=False)


def targets(source: str, asking: httpx.Client) -> list[Target]:
    """Return the targets that a URL (http_sd) or a file (file_sd) lists.

    Raises:
        SourceError: it cannot be read, or is no such list.
    """
    if source.startswith(("http://", "https://")):
        content = get(source, asking)
    else:
        try:
            content = read_whole(source, MOST_BYTES)
        except OSError as error:
            what = "a file of Prometheus' file_sd, or a URL of its http_sd"
            raise SourceError(f"--targets {source}: {error.strerror}; name {what}", reached=True) from error
    try:
        groups = msgspec.json.decode(content, type=list[Group])
    except msgspec.DecodeError as error:
        shape = '[{"targets": ["db1:8633"], "labels": {"instance": "db1"}}]'
        yaml = "; YAML is not read, write it as JSON" if Path(source).suffix in {".yml", ".yaml"} else ""
        raise SourceError(
            f"--targets {source}: {error}{yaml}; it must be like {shape}", reached=True
        ) from error
    return [_target(address, group.labels) for group in groups for address in group.targets]


def _target(address: str, labels: Mapping[str, str]) -> Target:
    host = address.rpartition(":")[0].strip("[]") or address
    scheme = labels.get("__scheme__") or ("http" if is_loopback(host) else "https")
    return Target(labels.get("instance") or address, f"{scheme}://{address}")


class Prometheus:
    """Prometheus, asked for the newest value of many series at once."""

    def __init__(self, url: str, asking: httpx.Client) -> None:
        """Take its address; nothing is asked yet."""
        self._url = f"{url.rstrip('/')}/api/v1/query"
        self._client = asking

    def query(self, expression: str) -> Sequence[Series]:
        """Return the series of an expression.

        Raises:
            SourceError: it does not answer, refuses the expression, or is no Prometheus.
        """
        content = get(self._url, self._client, data={"query": expression})
        try:
            return msgspec.json.decode(content, type=_Answer).data.result
        except msgspec.DecodeError as error:
            what = "no answer of Prometheus' HTTP API; --prometheus is its address without /api"
            raise SourceError(f"{self._url}: {what} ({error})", reached=True) from error
