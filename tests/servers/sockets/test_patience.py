"""How often a server is asked that takes connections and says nothing."""

from __future__ import annotations

import socket

from tests.servers.sockets.mysqld import Mysqld, endpoint, refused
from tuner.servers.session import LONGEST, Patience, Session

MAX_CONNECT_ERRORS = 100
"""mysqld's default: so many interrupted connections in a row shut a whole host out."""


def test_a_hanging_server_is_not_asked_into_shutting_the_host_out() -> None:
    """In half an hour of silence fewer connections are made than mysqld tolerates from one host."""
    now = 0.0
    patience = Patience(lambda: now)
    made = 0
    while now < 25 * 60.0:
        if patience.over:
            made += 1
            patience.interrupted()
        now += 1.0

    assert made < MAX_CONNECT_ERRORS


def test_a_short_silence_costs_no_time() -> None:
    """The first two attempts come at once, and no two are further apart than the longest wait."""
    now = 0.0
    patience = Patience(lambda: now)
    for waited in (0.0, 1.0, 2.0, 4.0, 8.0, LONGEST, LONGEST):
        patience.interrupted()
        assert patience.over == (waited == 0.0)
        now += waited
        assert patience.over


def test_a_silent_server_is_left_alone_for_a_while(listener: socket.socket, mysqld: Mysqld) -> None:
    """Between two attempts the session says what it found last, without another connection."""
    now = 0.0
    session = Session(endpoint(listener), lambda: now)
    mysqld.greets = False
    said = [refused(session) for _ in range(4)]
    mysqld.greets = True

    assert {what for what, _ in said} == {said[0][0]}
    assert sum(seconds > 0.1 for _, seconds in said) == 2
    assert refused(session)[0] == said[0][0]

    now = 1.0
    session.query("SELECT 1")
    session.drop()
    assert len(mysqld.logins) == 1


def test_a_refusal_is_asked_again_at_once(listener: socket.socket, mysqld: Mysqld) -> None:
    """A login that the server refused counts for nothing: when it is let in again, it is in at once."""
    session = Session(endpoint(listener))
    mysqld.denies = (1045, "Access denied")
    for _ in range(3):
        refused(session)
    mysqld.denies = None

    session.query("SELECT 1")
    session.drop()
    assert len(mysqld.logins) == 4
