"""Records made by hand, and a loop that only answers: what the API's tests put on a board."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from msgspec.structs import replace

from api.access import Access
from api.app import create_app
from api.daemon import About
from api.server import ApiServer
from api.tokens import Register, Role, Token, Tokens
from tests import factory
from tuner.config.schema import Config
from tuner.daemon.board import Board
from tuner.findings.finding import Finding
from tuner.records import (
    Acknowledgement,
    Capacity,
    Command,
    Decision,
    DecisionKind,
    DrainProgress,
    Estimate,
    Event,
    Facts,
    Hold,
    HoldCode,
    Lifecycle,
    Missed,
    Remedy,
    Sample,
    Tick,
    TickRecord,
)
from tuner.settings import Mode, Settings

MEBIBYTE = factory.MEBIBYTE
TOKEN = "a-token-of-more-than-thirty-two-characters"  # noqa: S105 - of these tests alone
READER = "another-token-which-may-look-at-everything"
EXPIRED = "a-third-token-whose-time-was-over-long-ago"
START = 1_700_000_000.0
CERTIFICATES = Path(__file__).parents[1] / "fixtures" / "api"
COUNTED: dict[str, Any] = {
    "write_statements": 7_000,
    "write_time": 35.0,
    "select_statements": 63_000,
    "change_statements": 7_000,
}
"""What not every server counts, as fields of a sample."""

FACTS = Facts(
    identity="11111111-2222-3333-4444-555555555555",
    endpoint="127.0.0.1:3306",
    version="9.7.4",
    version_comment="MySQL Community Server - GPL",
    family="mysql",
    flush_law="adaptive",
    page_size=16384,
    capacity_minimum=100,
    capacity_maximum=4_294_967_295,
    started=START - 86_400,
)
FINDING = Finding(
    id="set-io-capacity",
    severity="info",
    title="set io_capacity 225, io_capacity_max 450",
    reason="page demand is 410 pages/s at an age ratio of 0.72",
    effect="one step on the way; at the set-point about 2% fewer page writes per byte of redo "
    "(age ratio 0.71 → 0.74, combining exponent 0.60)",
    fix="paste the statements in this order, or let active mode do it; the best value moves with the load",
    sql=("SET GLOBAL innodb_io_capacity = 225", "SET GLOBAL innodb_io_capacity_max = 450"),
)


def sample(number: int = 1, **changes: Any) -> Sample:  # noqa: ANN401 - any field
    """Return a good reading of a server with 100 MiB of redo."""
    lsn = 10_000_000_000 + number * 1_000_000
    given: dict[str, Any] = {
        "monotonic": 100.0 + number,
        "wall": START + number,
        "identity": FACTS.identity,
        "flush_limit": 85_000_000,
        "sync_point": 85_000_000,
        "stall_point": 92_000_000,
        "lsn_current": lsn,
        "lsn_oldest": lsn - 60_000_000,
        "lsn_checkpoint": lsn - 61_000_000,
        "redo_logical_size": 61_000_000,
        "pages_dirty": 30_000,
        "flush_percentage": 120,
    }
    return factory.sample(float(number), **(given | changes))


def estimate(**changes: Any) -> Estimate:  # noqa: ANN401 - any field
    """Return what the loop makes of such readings."""
    given: dict[str, Any] = {
        "modified_age": 60_000_000.0,
        "checkpoint_age": 61_000_000.0,
        "age_ratio": 60 / 85,
        "demand": 410.0,
        "demand_ahead": 410.0,
        "burstiness": 0.1,
        "burst_bytes": 1_000_000.0,
        "checkpoint_lag": 1_000_000.0,
    }
    return factory.estimate(**(given | changes))


def record(number: int = 1, *, reading: Sample | Missed | None = None, **changes: Any) -> TickRecord:  # noqa: ANN401 - any field
    """Return the record of one quiet tick."""
    made = TickRecord(
        tick=Tick(number=number, now=100.0 + number, wall=START + number, reading=reading or sample(number)),
        lifecycle=Lifecycle.RUNNING,
        mode=Mode.ADVISORY,
        estimate=estimate(),
        decision=Decision(
            kind=DecisionKind.KEEP,
            reason="dead_band",
            detail="age 71 % of the flush limit; set-point 72 %: close enough, so nothing is changed",
            target=Capacity(225, 450),
            policy="cascade",
            set_point=0.72,
            source="policy",
        ),
        originals=Capacity(10_000, 20_000),
    )
    return replace(made, **changes)


def missed(number: int) -> Missed:
    """Return a reading that failed."""
    return Missed(
        monotonic=100.0 + number, wall=START + number, reason="127.0.0.1:3306 did not answer within 1 s"
    )


class AnsweringLoop:
    """Publishes a record for each command, as the loop does: accepts what ``judge`` does not refuse."""

    def __init__(self, board: Board, judge: Callable[[Command], str | None] = lambda _: None) -> None:
        self.board = board
        self.commands: list[Command] = []
        self.template: TickRecord | None = None
        self._judge = judge
        self.holding: tuple[Hold, ...] = ()
        self._number = 1
        self._mode = Mode.ADVISORY
        self._paused = False
        self._override: tuple[int, float] | None = None
        self._drain: DrainProgress | None = None

    def publish(self, *, events: tuple[Event, ...] = (), answers: tuple[Acknowledgement, ...] = ()) -> None:
        """Put the next tick on the board."""
        self._number += 1
        made = self.template or record(self._number)
        holds = (
            (Hold(HoldCode.PAUSED, made.tick.now, "a person asked", (Remedy.RESUME,)),)
            if self._paused
            else ()
        )
        decision = made.decision
        if self._override:
            value = self._override[0]
            decision = replace(decision, source="person", target=Capacity(value // 2, value))
        self.board.publish(
            replace(
                made,
                mode=self._mode,
                holds=(*holds, *self.holding),
                decision=decision,
                override_ends=made.tick.now + self._override[1] if self._override else None,
                drain=made.drain or self._drain,
                events=events,
                acknowledgements=answers,
            ),
            Settings(),
            FACTS,
        )

    def serve(self, stop: threading.Event) -> None:
        """Answer commands until told to stop."""
        while not stop.is_set():
            self.board.pulse.beat()
            for command in self.board.commands.take(timeout=0.02):
                self._take(command)

    def _take(self, command: Command) -> None:
        self.commands.append(command)
        refusal = self._judge(command)
        if refusal is None:
            if command.name == "mode":
                self._mode = Mode(str(command.value))
            elif command.name in {"pause", "resume"}:
                self._paused = command.name == "pause"
            elif command.name == "override":
                self._override = (int(command.value or 0), command.ttl or 0.0)
            elif command.name == "cancel_override":
                self._override = None
            elif command.name == "drain":
                self._drain = DrainProgress(64 * MEBIBYTE, 80 * MEBIBYTE, 700.0, command.who)
            elif command.name == "cancel_drain":
                self._drain = None
        message = refusal or f"{command.name} accepted"
        self.publish(
            events=(Event(code=command.name, message=message, who=command.who, wall=START),),
            answers=(Acknowledgement(command.number, refusal is None, message),),
        )


@contextmanager
def answering(
    board: Board, judge: Callable[[Command], str | None] = lambda _: None
) -> Iterator[AnsweringLoop]:
    """Run such a loop in a thread; publish its first tick before anybody asks."""
    loop = AnsweringLoop(board, judge)
    loop.publish()
    stop = threading.Event()
    thread = threading.Thread(target=loop.serve, args=(stop,))
    thread.start()
    try:
        yield loop
    finally:
        stop.set()
        thread.join()


def about(**changes: Any) -> About:  # noqa: ANN401 - any field
    """Return the description of a daemon that ticks once a second."""
    values: dict[str, Any] = {
        "version": "0.1.0",
        "interval": 1.0,
        "started": START,
        "configuration": Config,
    }
    return About(**(values | changes))


class GivenTokens(Tokens):
    """Tokens that stand in no file."""

    def __init__(self, register: Register) -> None:
        self._register = register
        self._wall = lambda: START

    def _look(self) -> None:
        """Look nowhere."""


def tokens(*, anonymous: bool = True) -> Tokens:
    """Return the tests' tokens: one for each role, and one whose time is over."""

    def made(name: str, role: Role, secret: str, expires: float | None = None) -> Token:
        return Token(name, role, hashlib.sha256(secret.encode()).hexdigest(), START - 86_400, expires)

    return GivenTokens(
        Register(
            anonymous=anonymous,
            tokens=(
                made("oncall", Role.OPERATE, TOKEN),
                made("grafana", Role.READ, READER),
                made("gone", Role.OPERATE, EXPIRED, START - 1),
            ),
        )
    )


def application(board: Board, **changes: Any) -> FastAPI:  # noqa: ANN401 - any field
    """Return the application over a board, with the tests' tokens."""
    values: dict[str, Any] = {
        "access": Access(tokens()),
        "about": about(),
    }
    return create_app(board, **(values | changes))


def over(*records: TickRecord, settings: Settings | None = None, facts: Facts = FACTS) -> FastAPI:
    """Return the application over a board with these ticks on it."""
    board = Board()
    for one in records:
        board.publish(one, settings or Settings(), facts)
    return application(board)


def browser(app: FastAPI, *, over_socket: bool = False, **changes: Any) -> httpx.AsyncClient:  # noqa: ANN401 - any field
    """Return a client that calls the application in this process, as if over a listener."""
    client = ("uid 1000", 1) if over_socket else ("127.0.0.1", 50_000)
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app, client=client, raise_app_exceptions=False),
        base_url="http://localhost:8633",
        **changes,
    )


def ask(
    app: FastAPI,
    method: str,
    path: str,
    *,
    over_socket: bool = False,
    **request: Any,  # noqa: ANN401 - any argument of a request
) -> httpx.Response:
    """Return the answer to one request."""

    async def once() -> httpx.Response:
        async with browser(app, over_socket=over_socket) as client:
            return await client.request(method, path, **request)

    return asyncio.run(once())


def get(app: FastAPI, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
    """Return the answer to one GET over TCP."""
    return ask(app, "GET", path, headers=headers)


def bearer(token: str = TOKEN) -> dict[str, str]:
    """Return the header that proves who may change things."""
    return {"Authorization": f"Bearer {token}"}


def free_port() -> int:
    """Return a TCP port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(app: FastAPI, **changes: Any) -> Iterator[ApiServer]:  # noqa: ANN401 - any argument of a server
    """Serve an application, over TCP on loopback unless told otherwise."""
    server = ApiServer(app, **({"host": "127.0.0.1", "port": free_port(), "socket_path": None} | changes))
    server.start()
    try:
        yield server
    finally:
        assert server.stop(timeout=10.0)


def put_certificate(name: str, folder: Path) -> str:
    """Put one of the certificates in place; return how the configuration names it."""
    for kind in ("crt", "key"):
        shutil.copy(CERTIFICATES / f"{name}.{kind}", folder / f"api.{kind}")
    (folder / "api.key").chmod(0o600)
    return f"{folder / 'api.crt'}:{folder / 'api.key'}"
