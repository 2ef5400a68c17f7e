"""Whatever a server answers, a reading is one or is none: no traceback, no endless wait, no file of ours."""

from __future__ import annotations

import itertools
import resource
import socket
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress

import pytest
from msgspec.structs import replace

from tests.servers.hostile import KINDS, VALUES, Case, Hostile, cases
from tests.servers.sockets.mysqld import LIMIT, endpoint
from tuner.records import Capacity, Missed, Sample
from tuner.servers.port import ServerError, Unreachable
from tuner.servers.server import RealServer
from tuner.servers.session import Session
from tuner.system.clock import SystemClock
from tuner.system.printable import ERROR_CHARACTERS

SEED = 20_261_126
REPLIES = 200

BUSY = 3.0
"""Seconds more that a machine with other work may take for a call."""

STATEMENTS = 30
"""More than any call sends."""

TRIES = 20
STEPS = (("innodb_io_capacity_max", 800), ("innodb_io_capacity", 400))
PLAIN, WIDE = "SELECT GET_LOCK('x', 0)", "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version')"


class Turn:
    """Which statement is answered oddly, and how.

    Attributes:
        case: the odd answer that is still to come.
        after: statements before it.
    """

    def __init__(self) -> None:
        self.case: Case | None = None
        self.after = 0

    def __call__(self, _statement: str) -> Case | None:
        """Answer the statement whose turn it is, once."""
        if self.case is None or self.after > 0:
            self.after -= 1
            return None
        case, self.case = self.case, None
        return case


@pytest.fixture
def turn() -> Turn:
    """Return what is odd."""
    return Turn()


@pytest.fixture
def hostile(turn: Turn) -> Iterator[Hostile]:
    """Return the server."""
    made = Hostile(socket.create_server(("127.0.0.1", 0)), turn)
    yield made
    made.end()


@pytest.fixture
def session(hostile: Hostile) -> Iterator[Session]:
    """Return a session to it that never waits before it tries again."""
    minutes = itertools.count(0.0, 60.0)
    made = Session(endpoint(hostile.listener), lambda: next(minutes))
    yield made
    made.drop()


@pytest.fixture
def server(session: Session) -> Iterator[RealServer]:
    """Return the adapter over it, which knows its server."""
    made = RealServer(session.endpoint, SystemClock(), session=session)
    assert reads(made)
    yield made
    made.close()


def reads(server: RealServer) -> bool:
    """Tell whether the server is known and read; a busy machine may need more than one try."""
    for _ in range(TRIES):
        with suppress(ServerError):
            server.facts()
            if isinstance(server.read(), Sample):
                return True
    return False


def wrote(server: RealServer) -> str:
    """Write, and return what is said; what is in force without an error must be possible."""
    receipt = server.apply(STEPS, Capacity(400, 800))
    found = receipt.in_force
    assert receipt.error or (found and 0 < found.io_capacity <= found.io_capacity_max < 2**64), found
    return receipt.error


def knew(server: RealServer) -> str:
    """Ask for the facts, and return what is said."""
    try:
        return server.facts().version
    except ServerError as error:
        return str(error)


def was_read(server: RealServer) -> str:
    """Take a reading, and return what is said; a sample must be possible."""
    reading = server.read()
    if isinstance(reading, Missed):
        return reading.reason
    assert 0 < reading.io_capacity <= reading.io_capacity_max < 2**64, reading
    assert 0.0 <= reading.age_ratio < 2**64, reading
    return reading.identity


CALLS = (was_read, was_read, was_read, knew, wrote)


@pytest.mark.parametrize("part", range(4))
def test_no_reply_breaks_a_reading_or_a_write(
    hostile: Hostile, turn: Turn, session: Session, server: RealServer, part: int
) -> None:
    """Of 200 odd replies each ends in a sample that can be so, or in words; in time; and no file is sent."""
    for number, case in enumerate(cases(SEED + part, REPLIES // 4)):
        turn.case = None
        if number % 10 == 9:  # every second write goes over a connection made anew
            session.drop()
            with suppress(ServerError):
                session.query(PLAIN)
        turn.case, turn.after = case, number % 3
        began = time.monotonic()
        said = CALLS[number % 5](server)
        assert time.monotonic() - began < STATEMENTS * LIMIT + BUSY, case
        assert len(said) <= 2 * ERROR_CHARACTERS, case
    turn.case = None
    assert reads(server)
    assert hostile.files == []


@pytest.mark.parametrize("kind", VALUES)
def test_no_odd_word_breaks_a_write_over_a_new_connection(
    turn: Turn, session: Session, server: RealServer, kind: str
) -> None:
    """Whoever is asked before the write who it is may answer what it likes: the receipt says it in words."""
    for seed in range(12):
        session.drop()
        with suppress(ServerError):
            session.query(PLAIN)
        turn.case, turn.after = Case(kind, seed), 0
        assert len(wrote(server)) <= 2 * ERROR_CHARACTERS
        assert turn.case is None


@pytest.mark.parametrize("kind", KINDS)
def test_no_greeting_breaks_a_connection(hostile: Hostile, kind: str) -> None:
    """Whatever answers a new connection, it is given up in words and in the time for all of connecting."""
    for seed in range(3):
        hostile.greeting = Case(kind, seed)
        began = time.monotonic()
        with pytest.raises(Unreachable) as caught:
            Session(endpoint(hostile.listener)).query("SELECT 1")

        assert time.monotonic() - began < LIMIT + BUSY
        assert len(str(caught.value)) < 3 * ERROR_CHARACTERS


def test_a_file_is_never_sent(hostile: Hostile, turn: Turn, session: Session) -> None:
    """A server that answers with LOCAL INFILE gets nothing, and the reason says what it asked for."""
    session.query(PLAIN)
    turn.case = Case("file", 1)
    with pytest.raises(Unreachable, match="LOCAL INFILE"):
        session.query(PLAIN)

    assert session.current is None
    assert hostile.files == []


@pytest.mark.parametrize("seed", range(4))
def test_a_server_that_drips_is_given_up_in_time(turn: Turn, session: Session, seed: int) -> None:
    """A statement has one deadline, however often a little of its answer comes."""
    session.query(PLAIN)
    turn.case = Case("drip", seed)
    began = time.monotonic()
    with pytest.raises(Unreachable, match=r"no whole answer within 0\.3 s"):
        session.query(WIDE)

    assert LIMIT <= time.monotonic() - began < LIMIT + BUSY


@pytest.mark.parametrize("seed", range(6))
def test_an_answer_without_end_costs_little_memory(turn: Turn, session: Session, seed: int) -> None:
    """An endless answer is not read to its end, and the reason names what there was too much of."""
    session.query(PLAIN)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    turn.case = Case("endless", seed)
    with pytest.raises(Unreachable, match=r"more than|no whole answer"):
        session.query(WIDE)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 96 * 1024


@pytest.mark.parametrize("seed", range(6))
def test_an_answer_of_short_values_costs_little_memory(turn: Turn, session: Session, seed: int) -> None:
    """However an answer within the largest size is cut into values, it is not kept many times over."""
    patient = Session(replace(session.endpoint, timeout=10.0))
    patient.query(PLAIN)
    turn.case = Case("wide", seed)
    tracemalloc.start()
    try:
        with pytest.raises(Unreachable, match="more than"):
            patient.query(WIDE)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        patient.drop()

    assert most < 24 * 1024 * 1024
