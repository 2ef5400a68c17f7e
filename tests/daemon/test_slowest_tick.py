"""How many statements a tick sends at most, against the number that the watchdog's time is checked with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import pymysql
import pytest

from tests.servers.fixtured import Fixtured
from tests.servers.plain import COUNTERS, VARIABLES, plain
from tuner.config.checks import (
    CONNECTS_OF_A_TICK,
    STATEMENTS_OF_A_CONNECT,
    STATEMENTS_OF_A_NEW_LOGIN,
    STATEMENTS_OF_A_READING,
    STATEMENTS_OF_A_TICK,
    STATEMENTS_OF_A_WRITE,
    STATEMENTS_OF_THE_FACTS,
)
from tuner.core.writes.plan import LONGEST
from tuner.records import Capacity, Sample
from tuner.servers import session
from tuner.servers.adapter import SHOWN
from tuner.servers.endpoint import Endpoint
from tuner.servers.failures import LOST
from tuner.servers.server import RealServer
from tuner.servers.surroundings import PARTS
from tuner.system.clock import SystemClock

DENIED = pymysql.OperationalError(1142, "SELECT command denied to user 'innobrim'@'localhost'")
LIMITS = ("log_max_modified_age_async", "log_max_modified_age_sync", "log_concurrency_margin")
STATES = [*((name, 0) for name in COUNTERS), *((name, 1) for name in LIMITS)]


class Wire:
    """A server behind the driver.

    Attributes:
        sent: every statement.
        connects: connections opened.
        answers: what it says.
        refuses: it lets nobody look at several parts of the surroundings at once.
        hangs: the part of the surroundings that gives no answer.
    """

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.connects = 0
        self.answers = Fixtured(plain())
        self.answers.instead["SELECT 1 FROM information_schema.processlist"] = [(1,)]  # the lost one lives on
        self.refuses = False
        self.hangs = ""

    def connect(self, **given: Any) -> Connection:  # noqa: ANN401 - the driver's own arguments
        """Open a connection."""
        self.connects += 1
        assert given["defer_connect"]
        return Connection(self)

    def answer(self, statement: str) -> Sequence[tuple[object, ...]]:
        """Return what the server answers."""
        asked = [name for name, part in PARTS.items() if part.statement in statement]
        if self.refuses and len(asked) > 1:
            raise DENIED
        if self.hangs and asked == [self.hangs]:
            raise pymysql.OperationalError(LOST, "Lost connection to MySQL server during query (timed out)")
        if "SHOW GLOBAL VARIABLES" in statement:
            return list(VARIABLES.items())
        if "SELECT name, status = 'enabled'" in statement:
            return STATES
        if "Uptime'" in statement and "UNIX_TIMESTAMP" in statement:
            return [(900.0, "innobrim@localhost")]
        if statement.startswith(f"SELECT name, {SHOWN}") and "UNION" not in statement:
            return [(name, 1) for name in LIMITS]
        return self.answers.query(statement)


class Connection:
    """A connection as the driver opens it; its own cursor."""

    open = True

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End."""

    def connect(self) -> None:
        """Be there."""

    def get_server_info(self) -> str:
        """Return what the greeting says."""
        return "9.7.4"

    def close(self) -> None:
        """Say goodbye."""

    def cursor(self) -> Self:
        """Return what runs statements."""
        return self

    def thread_id(self) -> int:
        """Return the session's number."""
        return 7

    def _force_close(self) -> None:
        self.open = False

    def execute(self, statement: str, _values: object = None) -> None:
        """Take one statement."""
        self._wire.sent.append(statement)
        self._rows = self._wire.answer(statement)

    def fetchall(self) -> Sequence[tuple[object, ...]]:
        """Return what the server answered."""
        return self._rows


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Return the server that the driver connects to."""
    made = Wire()
    monkeypatch.setattr(session, "DriverConnection", made.connect)
    return made


@pytest.fixture
def server() -> RealServer:
    """Return an adapter that lost its connection a moment ago."""
    made = RealServer(Endpoint(user="innobrim"), SystemClock())
    made._session._lost = (7, made._session._now())
    return made


def test_a_reading_and_a_write_are_counted(wire: Wire, server: RealServer) -> None:
    """A tick that connects, ends a lost session, reads and writes sends no more than what is counted."""
    server._surroundings.look(wire.answers)
    server.claims_writer = True
    assert isinstance(server.read(), Sample)
    server.apply((("innodb_io_capacity", 100),) * LONGEST, Capacity(100, 200))

    assert wire.connects == 1
    counted = STATEMENTS_OF_A_CONNECT + STATEMENTS_OF_A_READING + STATEMENTS_OF_A_WRITE
    assert len(wire.sent) == counted <= STATEMENTS_OF_A_TICK, wire.sent


def test_a_write_after_a_refused_one_is_counted(wire: Wire, server: RealServer) -> None:
    """A tick that logs in again to write sends no more than what is counted, the reading included."""
    server._surroundings.look(wire.answers)
    server.claims_writer = True
    wire.answers.instead["SET GLOBAL"] = pymysql.OperationalError(1227, "Access denied")
    assert server.apply((("innodb_io_capacity", 100),), Capacity(100, 200)).denied
    del wire.answers.instead["SET GLOBAL"]
    wire.sent.clear()
    server._session.drop()
    assert isinstance(server.read(), Sample)
    assert not server.apply((("innodb_io_capacity", 100),) * LONGEST, Capacity(100, 200)).error

    counted = STATEMENTS_OF_A_CONNECT + STATEMENTS_OF_A_READING
    counted += STATEMENTS_OF_A_NEW_LOGIN + STATEMENTS_OF_A_WRITE
    assert len(wire.sent) == counted <= STATEMENTS_OF_A_TICK, wire.sent


@pytest.mark.parametrize("hangs", ["", list(PARTS)[-1]], ids=["all refused", "the last part hangs"])
def test_the_facts_are_counted(wire: Wire, server: RealServer, hangs: str) -> None:
    """A tick that asks what server it is sends no more, whatever is off, refused, or gives no answer."""
    server.enables_counters = True
    wire.refuses, wire.hangs = True, hangs
    assert server.facts().disabled_counters

    assert wire.connects == (CONNECTS_OF_A_TICK if hangs else 1)
    assert len(wire.sent) == wire.connects * STATEMENTS_OF_A_CONNECT + STATEMENTS_OF_THE_FACTS, wire.sent
    assert len(wire.sent) == STATEMENTS_OF_A_TICK or not hangs


def test_every_statement_is_announced(wire: Wire) -> None:
    """Each wait for the server begins with a sign of life that covers it: none is taken for a dead loop."""
    beats: list[float] = []
    server = RealServer(Endpoint(user="innobrim", timeout=1.0), SystemClock(), beat=beats.append)
    server._session._lost = (7, server._session._now())
    server._surroundings.look(wire.answers)
    server.claims_writer = True
    assert isinstance(server.read(), Sample)
    server.apply((("innodb_io_capacity", 100),) * LONGEST, Capacity(100, 200))

    assert beats == [1.0] * len(wire.sent)
