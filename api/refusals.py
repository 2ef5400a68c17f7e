"""What the API has refused since it began, by reason: for the metrics. Lives on the API's thread."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


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
