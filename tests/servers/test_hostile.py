"""Whatever a server answers, a reading is one or is none: no traceback, no endless wait, no file of ours."""

from __future__ import annotations

import resource
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from tests.servers.hostile import KINDS, VALUES, Case, Hostile, cases
from tests.servers.hostile_replies import BUSY, WRITE_ANEW, Turn, answered, listening, reads, session_to
from tests.servers.sockets.mysqld import LIMIT, endpoint
from tuner.servers.mysql import MySQLServer
from tuner.servers.port import Unreachable
from tuner.servers.session import Session
from tuner.system.clock import SystemClock
from tuner.system.printable import ERROR_CHARACTERS

SEED = 20_261_126
REPLIES = 200


@pytest.fixture
def turn() -> Turn:
    """Return what is odd."""
    return Turn()


@pytest.fixture
def hostile(turn: Turn) -> Iterator[Hostile]:
    """Return the server."""
    with listening(turn) as made:
        yield made


@pytest.fixture
def session(hostile: Hostile) -> Iterator[Session]:
    """Return a session to it."""
    made = session_to(hostile)
    yield made
    made.drop()


@pytest.fixture
def server(session: Session) -> Iterator[MySQLServer]:
    """Return the adapter over it, which knows its server."""
    made = MySQLServer(session.endpoint, SystemClock(), session=session)
    assert reads(made)
    yield made
    made.close()


@pytest.mark.parametrize("part", range(4))
def test_no_reply_breaks_a_reading_or_a_write(
    hostile: Hostile, turn: Turn, session: Session, server: MySQLServer, part: int
) -> None:
    """Of 200 odd replies each ends in a sample that can be so, or in words; in time; and no file is sent."""
    for number, case in enumerate(cases(SEED + part, REPLIES // 4)):
        assert answered(server, session, turn, case, number) == "", case
    turn.case = None
    assert reads(server)
    assert hostile.files == []


@pytest.mark.parametrize("kind", VALUES)
def test_no_odd_word_breaks_a_write_over_a_new_connection(
    turn: Turn, session: Session, server: MySQLServer, kind: str
) -> None:
    """Whoever is asked before the write who it is may answer what it likes: the receipt says it in words."""
    for seed in range(12):
        assert answered(server, session, turn, Case(kind, seed), WRITE_ANEW) == "", seed
    assert turn.case is None


@pytest.mark.parametrize("kind", KINDS)
def test_no_greeting_breaks_a_connection(hostile: Hostile, kind: str) -> None:
    """Whatever answers a new connection, it is given up in words and in the time for all of connecting."""
    for seed in range(3):
        hostile.greeting = Case(kind, seed)
        session = Session(endpoint(hostile.listener))
        began = time.monotonic()
        with pytest.raises(Unreachable) as caught:
            session.query("SELECT 1")

        assert time.monotonic() - began < LIMIT + BUSY
        assert len(str(caught.value)) < 3 * ERROR_CHARACTERS


def test_a_file_is_never_sent(hostile: Hostile, turn: Turn, session: Session) -> None:
    """A server that answers with LOCAL INFILE gets nothing, and the reason says what it asked for."""
    session.query("SELECT GET_LOCK('x', 0)")
    turn.case = Case("file", 1)
    with pytest.raises(Unreachable, match="LOCAL INFILE"):
        session.query("SELECT GET_LOCK('x', 0)")

    assert session.current is None
    assert hostile.files == []


@pytest.mark.parametrize("seed", range(4))
def test_a_server_that_drips_is_given_up_in_time(turn: Turn, session: Session, seed: int) -> None:
    """A statement has one deadline, however often a little of its answer comes."""
    session.query("SELECT GET_LOCK('x', 0)")
    turn.case = Case("drip", seed)
    began = time.monotonic()
    with pytest.raises(Unreachable, match=r"no whole answer within 0\.3 s"):
        session.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version')")

    assert LIMIT <= time.monotonic() - began < LIMIT + BUSY


@pytest.mark.parametrize("seed", range(6))
def test_an_answer_without_end_costs_little_memory(turn: Turn, session: Session, seed: int) -> None:
    """An endless answer is not read to its end, and the reason names what there was too much of."""
    session.query("SELECT GET_LOCK('x', 0)")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    turn.case = Case("endless", seed)
    with pytest.raises(Unreachable, match=r"more than|no whole answer"):
        session.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version')")

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 96 * 1024


@pytest.mark.parametrize("seed", range(6))
def test_an_answer_of_short_values_costs_little_memory(turn: Turn, session: Session, seed: int) -> None:
    """However an answer within the largest size is cut into values, it is not kept many times over."""
    patient = Session(replace(session.endpoint, timeout=10.0))
    patient.query("SELECT GET_LOCK('x', 0)")
    turn.case = Case("wide", seed)
    tracemalloc.start()
    try:
        with pytest.raises(Unreachable, match="more than"):
            patient.query("SHOW GLOBAL VARIABLES WHERE Variable_name IN ('version')")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        patient.drop()

    assert most < 24 * 1024 * 1024
