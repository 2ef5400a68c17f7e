"""Statements over real sockets: rows, refusals, silence, lost connections, and how often one is made anew."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable

import pymysql
import pytest

from tests.servers.sockets.mysqld import LIMIT, PATIENCE, Answer, Mysqld, endpoint, refused
from tuner.servers.session import LONGEST, LONGEST_DENIED, Patience, Session

LOGIN_WAITS = 4
"""A login waits for the connection, the greeting, the taking of the password and its answer."""

BY_DRIVER = "SET NAMES utf8mb4"
"""The driver's own statement at each login, whose wait it announces when the server may have heard it."""

MAX_CONNECT_ERRORS = 100
"""mysqld's default: so many interrupted connections in a row shut a whole host out."""


def hanging(*, uptime: int) -> Callable[[str], Answer]:
    """Return what a server answers that has been up so long, seconds, and hangs when asked something slow."""

    def answer(statement: str) -> Answer:
        if "slow" in statement:
            return "hang"
        return [("Uptime", str(uptime))] if "Uptime" in statement else [("1",)]

    return answer


def lose(session: Session) -> float:
    """Have a session lose its connection at a statement that hangs; return how many seconds that took."""
    session.query("SELECT 1")
    return refused(session, "SELECT slow")[1]


@pytest.fixture
def timed(listener: socket.socket, clock: list[float]) -> Session:
    """Return a session on a clock of its own."""
    return Session(endpoint(listener), lambda: clock[0])


@pytest.fixture
def clock() -> list[float]:
    """Return the seconds of that clock."""
    return [0.0]


def test_a_statement_gets_its_rows(mysqld: Mysqld, session: Session) -> None:
    """Rows come back as they are, over one connection that is kept."""
    mysqld.answers = lambda statement: [("Uptime", "77")] if "Uptime" in statement else [("1",)]

    assert session.query("SHOW GLOBAL STATUS LIKE 'Uptime'") == (("Uptime", "77"),)
    first = session.current
    session.query("SELECT 1")
    assert session.current is first
    assert len(mysqld.logins) == 1


@pytest.mark.parametrize(
    ("version", "knows"),
    [
        (b"9.7.4", "wait_timeout = 15, SESSION lock_wait_timeout = 2, SESSION max_execution_time = 300"),
        (b"8.0.44 (ProxySQL)", "max_statement_time = 0.3"),
        (b"8.0.30-as-the-clients-want-it", "max_statement_time = 0.3"),
        (b"5.5.5-10.6.18-mariadb", "max_statement_time = 0.3"),
        (b"10.11.6-MariaDB", "max_execution_time = 300"),
        (b"8.0.11", "wait_timeout = 15, SESSION lock_wait_timeout = 2"),
        (b"5.6.51", "wait_timeout = 15, SESSION lock_wait_timeout = 2"),
    ],
)
def test_a_session_limits_itself_on_the_server_as_far_as_that_can(
    mysqld: Mysqld, session: Session, version: bytes, knows: str
) -> None:
    """Its locks and statements end there by themselves, also behind a proxy or under a chosen version."""
    mysqld.version = version
    mysqld.refuses = lambda said: None if said.endswith(knows) else (1193, "Unknown system variable")

    assert session.query("SELECT 1") == (("1",),)
    assert [one for one in mysqld.statements if "wait_timeout" in one][-1].endswith(knows)


def test_a_statement_that_hangs_is_given_up_and_its_session_ended(mysqld: Mysqld, session: Session) -> None:
    """A silent server costs one time-out; the next statement connects again and ends the lost session."""
    mysqld.answers = hanging(uptime=77)

    assert lose(session) < LIMIT + 0.5
    assert session.current is None
    assert session.query("SELECT 1") == (("1",),)
    assert "KILL 1" in mysqld.statements
    assert len(mysqld.logins) == 2


def test_no_answer_is_waited_for_in_silence(mysqld: Mysqld, listener: socket.socket) -> None:
    """Each wait has a sign of life that covers it alone: a slow login is not taken for a dead loop."""
    mysqld.answers, asked = hanging(uptime=77), threading.Event()
    beats: list[float] = []
    heard: list[tuple[str, int, int]] = []

    def notice(statement: str) -> None:
        heard.append((statement, len(mysqld.logins), len(beats)))
        if "slow" in statement:
            asked.set()

    mysqld.noticed = notice
    session = Session(endpoint(listener), beat=beats.append)
    lose(session)
    assert asked.wait(PATIENCE), "the server was to hear even what was given up"
    session.query("SELECT 1")
    session.close()

    assert "KILL 1" in mysqld.statements
    assert set(beats) == {LIMIT}
    for number, (statement, logins, signs) in enumerate(heard, start=1):
        if statement != BY_DRIVER:
            assert signs == LOGIN_WAITS * logins + number, statement


def test_a_session_lost_before_a_restart_of_mysqld_is_not_looked_for(
    mysqld: Mysqld, timed: Session, clock: list[float]
) -> None:
    """After a restart the number of a lost session is somebody else's, who is left alone."""
    mysqld.answers = hanging(uptime=2)
    lose(timed)
    clock[0] = 10.0

    assert timed.query("SELECT 1") == (("1",),)
    assert not any(statement.startswith("KILL") for statement in mysqld.statements)
    timed.drop()


def test_a_lost_session_whose_number_is_another_accounts_is_left_alone(
    mysqld: Mysqld, session: Session
) -> None:
    """Where the number of a lost session belongs to somebody else by now, that session is not ended."""
    hangs = hanging(uptime=77)

    def answer(statement: str) -> Answer:
        of_this_user = re.search(r"\buser = SUBSTRING_INDEX\(USER\(\), '@', 1\)", statement)
        return [] if of_this_user else hangs(statement)  # session 1 is there, and another account's

    mysqld.answers = answer
    lose(session)

    assert session.query("SELECT 1") == (("1",),)
    assert sum("processlist" in statement for statement in mysqld.statements) == 1
    assert not any(statement.startswith("KILL") for statement in mysqld.statements)


def test_a_lost_connection_is_made_anew(mysqld: Mysqld, session: Session) -> None:
    """When the server closes the connection one statement is lost, and the next one works."""
    mysqld.answers = lambda statement: "close" if "bye" in statement else [("1",)]
    session.query("SELECT 1")
    refused(session, "SELECT bye")

    assert session.query("SELECT 1") == (("1",),)


def test_a_refused_statement_keeps_the_connection(mysqld: Mysqld, session: Session) -> None:
    """A missing privilege is the server's word, not a broken connection."""
    mysqld.answers = lambda statement: (1227, "Access denied; you need") if "x" in statement else [("1",)]
    session.query("SELECT 1")
    before = session.current
    with pytest.raises(pymysql.OperationalError, match="1227"):
        session.query("SELECT x")

    assert session.current is before
    session.query("SELECT 1")
    assert len(mysqld.logins) == 1


def test_a_hanging_server_is_not_asked_into_shutting_the_host_out() -> None:
    """The first two attempts come at once; in half an hour fewer are made than mysqld takes from one host."""
    now = 0.0
    patience, made = Patience(lambda: now), []
    while now < 25 * 60.0:
        while patience.over:
            made.append(now)
            patience.interrupted()
        now += 1.0

    assert made[:6] == [0.0, 0.0, 1.0, 3.0, 7.0, 15.0]
    assert made[6] - made[5] == LONGEST
    assert len(made) < MAX_CONNECT_ERRORS


def test_a_silent_server_is_left_alone_for_a_while(
    mysqld: Mysqld, timed: Session, clock: list[float]
) -> None:
    """Between two attempts the session says what it found last, without another connection."""
    mysqld.greets = False
    said = [refused(timed) for _ in range(4)]
    mysqld.greets = True

    assert {what for what, _ in said} == {said[0][0]}
    assert sum(seconds > 0.1 for _, seconds in said) == 2
    assert refused(timed)[0] == said[0][0]

    clock[0] = 1.0
    timed.query("SELECT 1")
    timed.drop()
    assert len(mysqld.logins) == 1


def test_a_refusal_is_asked_again_at_once(mysqld: Mysqld, session: Session) -> None:
    """A login that was refused for no fault of its own counts for nothing: let in again, it is in at once."""
    mysqld.denies = (1040, "Too many connections")
    for _ in range(3):
        refused(session)
    mysqld.denies = None

    session.query("SELECT 1")
    assert len(mysqld.logins) == 4


def test_a_wrong_password_is_tried_ever_more_seldom(
    mysqld: Mysqld, timed: Session, clock: list[float]
) -> None:
    """Servers lock accounts by what failed: in the first ten minutes there are 16 attempts, and not 600."""
    mysqld.denies = (1045, "Access denied")
    said = set()
    for _ in range(600):
        said.add(refused(timed)[0])
        clock[0] += 1.0

    assert len(said) == 1
    assert len(mysqld.logins) == 16
    mysqld.denies = None
    clock[0] += LONGEST_DENIED
    timed.query("SELECT 1")
    timed.drop()
