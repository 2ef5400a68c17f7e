"""Writes the examples of the OpenAPI document: what the routes answer over a loop that was made by hand.

``python -m tests.api.examples`` from the repository's root, after a change to what a route answers.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import msgspec

from api.examples import FOLDER
from tests.api.factory import START, about, answering, application, bearer, browser
from tests.core.learned_document import full
from tuner.board import Board
from tuner.core.known import known_of
from tuner.records import Event

ASKED = {
    "Status": "/v1/status",
    "HistoryAnswer": "/v1/history?start=-120&step=60&columns=age_ratio,io_capacity_max",
    "Events": "/v1/events?limit=1",
    "Decisions": "/v1/decisions?limit=1",
    "Config": "/v1/config",
    "Advice": "/v1/advice",
    "Policies": "/v1/policies",
    "Health": "/livez",
}

USUAL_SHARE = 0.002


def write(folder: Path) -> None:
    """Write one file for each model."""
    board = Board()
    board.known = lambda: known_of(full())

    def spent() -> float:
        """Return the processor time of a daemon that takes a usual share of a core."""
        since, before = board.tally().begun or (0.0, 0.0)
        return before + USUAL_SHARE * (time.monotonic() - since)

    described = about(resident_bytes=lambda: 48_000_000, cpu_seconds=spent)

    async def ask(client: httpx.AsyncClient) -> dict[str, httpx.Response]:
        body = {"io_capacity_max": 4000, "ttl": 600, "reason": "bulk load"}
        change = await client.put("/v1/override", json=body, headers=bearer())
        return {"Change": change, **{name: await client.get(path) for name, path in ASKED.items()}}

    async def everything() -> dict[str, httpx.Response]:
        async with browser(application(board, about=described)) as client:
            return await ask(client)

    with answering(board) as loop:
        loop.publish(events=(Event(START, "set", "C/M → 225/450: 450 pages/s hold the age"),))
        for name, answer in asyncio.run(everything()).items():
            text = msgspec.json.format(answer.raise_for_status().content, indent=1)
            (folder / f"{name}.json").write_bytes(text + b"\n")


if __name__ == "__main__":
    write(FOLDER)
