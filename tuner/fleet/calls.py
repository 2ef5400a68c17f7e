"""One change, asked of every daemon of a fleet at once, within bounded time whoever answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Literal

import httpx
import msgspec
from msgspec import Meta, Struct

from tuner.fleet.sources import Target

AT_A_TIME = 200
"""Daemons that are asked side by side: each takes a file descriptor, of which 1024 are usual."""

SECONDS = 5.0
"""What one daemon may take."""

_CONFLICT = 409

Outcome = Literal["done", "unreachable", "refused"]


class Told(Struct, frozen=True):
    """What became of the change at one daemon."""

    host: str
    outcome: Outcome
    said: Annotated[str, Meta(description="the daemon's answer, or why there is none")]


class _Problem(Struct):
    detail: str = ""
    title: str = ""
    message: str = ""


class _Status(Struct):
    holds: list[Mapping[str, object]] = []


async def tell(
    targets: Sequence[Target],
    action: Literal["pause", "park", "resume"],
    *,
    tokens: Mapping[str, str],
    reason: str,
    verify: ssl.SSLContext,
) -> list[Told]:
    """Return what became of a change at each target; takes ``SECONDS`` for each ``AT_A_TIME`` of them.

    Args:
        targets: the daemons.
        action: what they are asked for.
        tokens: by the name of a target; that under "" is for the others.
        reason: for the record.
        verify: whom to trust.
    """
    turns = asyncio.Semaphore(AT_A_TIME)
    # by default a few threads look up all names, and wait for those that nobody knows
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(AT_A_TIME))
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)

    async def one(target: Target) -> Told:
        token = tokens.get(target.name, tokens.get("", ""))
        if not token:
            lacks = f"the token file has no line that begins with {target.name}, and no token for all others"
            return Told(target.name, "refused", lacks)
        async with turns:
            try:
                async with asyncio.timeout(SECONDS):
                    return await _ask(client, target, action, reason, token)
            except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError) as error:
                why = f"no answer within {SECONDS:g} s" if isinstance(error, TimeoutError) else str(error)
                return Told(target.name, "unreachable", f"{target.url}: {why or type(error).__name__}")

    async with httpx.AsyncClient(limits=limits, timeout=SECONDS, verify=verify, trust_env=False) as client:
        return await asyncio.gather(*map(one, targets))


async def _ask(client: httpx.AsyncClient, target: Target, action: str, reason: str, token: str) -> Told:
    headers = {"Authorization": f"Bearer {token}"}
    answer = await client.post(f"{target.url}/v1/{action}", json={"reason": reason}, headers=headers)
    said = _said(answer)
    if answer.is_success:
        return Told(target.name, "done", said)
    if answer.status_code == _CONFLICT:  # it may be so already, as by the same command before
        status = await client.get(f"{target.url}/v1/status", headers=headers)
        if status.is_success and _paused(status) is (action != "resume"):
            return Told(target.name, "done", f"already so: {said}")
    outcome: Outcome = "unreachable" if answer.is_server_error else "refused"
    return Told(target.name, outcome, f"{answer.status_code} {answer.reason_phrase}: {said}")


def _said(answer: httpx.Response) -> str:
    try:
        found = msgspec.json.decode(answer.content, type=_Problem)
    except msgspec.DecodeError:
        return "no daemon of ours answers there"
    return found.message or found.detail or found.title


def _paused(status: httpx.Response) -> bool:
    try:
        return any(
            hold.get("code") == "paused" for hold in msgspec.json.decode(status.content, type=_Status).holds
        )
    except msgspec.DecodeError:
        return False
