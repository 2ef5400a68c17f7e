"""What else goes on in a server, and an account that may look at only some of it."""

from __future__ import annotations

from typing import Any

import pymysql
import pytest

from lab.plant.clock import SimClock
from tests.servers.scripted import Scripted, good
from tuner.records import Missed, Sample
from tuner.servers.mysql import MySQLServer
from tuner.servers.port import Unreachable
from tuner.servers.surroundings import (
    MISSING_SECONDS,
    PARTS,
    SURROUNDINGS_SECONDS,
    UNDO_SECONDS,
    Surroundings,
    UndoWatch,
)

DENIED = pymysql.OperationalError(1142, "SELECT command denied to user 'innobrim'@'localhost'")
ABSENT = pymysql.ProgrammingError(1146, "Table 'performance_schema.clone_status' doesn't exist")


@pytest.fixture
def known(server: MySQLServer, session: Scripted) -> MySQLServer:
    """Return the adapter after it found out what can be seen; nothing is counted yet."""
    server._surroundings.look(session)
    session.asked.clear()
    return server


def after(clock: SimClock, seconds: float) -> None:
    """Let time pass."""
    clock.advance_to(clock.monotonic() + seconds)


def test_the_surroundings_are_asked_now_and_then(
    known: MySQLServer, session: Scripted, clock: SimClock
) -> None:
    """Two statements a reading, a third one every ten seconds; its answer stands in between."""
    session.around["clone"] = [("clone", "1", None)]
    for _ in range(10):
        assert good(known).cloning
        session.around["clone"] = [("clone", "0", None)]
        after(clock, 1.0)
    assert len(session.asked) == 21

    assert not good(known).cloning
    assert len(session.third()) == 2


def test_a_new_connection_asks_at_once(known: MySQLServer, session: Scripted) -> None:
    """After a reconnect, which may be a restart of mysqld, no old answer is carried on."""
    good(known)
    session.connection = object()
    session.around["locks"] = [("locks", "1", "0")]

    assert good(known).backup_locked


@pytest.mark.parametrize(
    ("part", "rows", "fields"),
    [
        (
            "replica",
            [("replica", "1", "1"), ("worker", "7.25", None), ("coordinator", "3", None)],
            {"replica": True, "replica_lag": 7.25},
        ),
        (
            "replica",
            [("replica", "2", "2"), ("worker", "0", None), ("coordinator", None, None)],
            {"replica": True, "replica_lag": 0.0},
        ),
        (
            "replica",
            [("replica", "1", "1"), ("worker", "1767225600", None), ("coordinator", "0", None)],
            {"replica": True, "replica_lag": None},
        ),
        (
            "replica",
            [("replica", "0", "1"), ("worker", "0", None), ("coordinator", None, None)],
            {"replica": False, "replica_lag": 0.0},
        ),
        ("replica", None, {"replica": False, "replica_lag": None}),
        ("group", [("group", b"SECONDARY", None)], {"group_role": "SECONDARY"}),
        ("group", [], {"group_role": ""}),
        (
            "latency",
            [("latency", "1000", "2500000000000")],
            {"write_statements": 1000, "write_time": 2.5},
        ),
        ("latency", [("latency", None, None)], {"write_statements": None, "write_time": None}),
        ("clone", [("clone", 1, None)], {"cloning": True}),
        ("locks", [("locks", "1", "0")], {"backup_locked": True, "read_locked": False}),
        ("locks", [("locks", "0", "2")], {"backup_locked": False, "read_locked": True}),
        ("locks", [("locks", None, None)], {"backup_locked": False, "read_locked": False}),
    ],
)
def test_each_part_is_in_the_sample(
    known: MySQLServer,
    session: Scripted,
    part: str,
    rows: list[tuple[Any, ...]] | None,
    fields: dict[str, Any],
) -> None:
    """What the server shows of a part is in the sample; what it does not say is none, not zero."""
    if rows is not None:
        session.around[part] = rows
    reading = good(known)

    assert {name: getattr(reading, name) for name in fields} == fields


@pytest.mark.parametrize("part", list(PARTS))
def test_a_part_that_may_not_be_seen_is_named_and_left_out(session: Scripted, part: str) -> None:
    """One missing grant costs that part alone, and the refused table is not asked for again."""
    session.around[part] = DENIED
    surroundings = Surroundings()

    assert surroundings.look(session) == (part,)
    session.asked.clear()
    for now in range(0, 200, 10):
        surroundings.read(session, float(now), latency=False)
    assert len(session.asked) == 20
    assert all(PARTS[part].statement not in one for one in session.asked)


def test_a_plugin_that_is_not_there_is_no_missing_grant(session: Scripted) -> None:
    """Without the clone plugin nothing is unseen; once it is installed, clones are seen."""
    session.around["clone"] = ABSENT
    surroundings = Surroundings()
    assert surroundings.look(session) == ()

    session.around["clone"] = [("clone", "1", None)]
    seen = [
        surroundings.read(session, float(now), latency=False).cloning
        for now in range(int(MISSING_SECONDS + 2 * SURROUNDINGS_SECONDS))
    ]
    assert seen[0] is False
    assert seen[-1] is True


def test_latency_can_be_watched_closely(known: MySQLServer, session: Scripted, clock: SimClock) -> None:
    """While somebody needs it, the latency is asked at every reading, and nothing else with it."""
    known.watches_latency = True
    good(known)
    session.around["latency"] = [("latency", "1500", "4000000000000")]
    after(clock, 1.0)
    reading = good(known)

    assert (reading.write_statements, reading.write_time) == (1500, 4.0)
    assert session.third()[-1] == PARTS["latency"].statement


def test_a_privilege_revoked_costs_no_reading(known: MySQLServer, session: Scripted, clock: SimClock) -> None:
    """When a grant goes while the daemon runs, readings go on, and the other parts come back."""
    session.around["group"] = [("group", "PRIMARY", None)]
    session.around["locks"] = [("locks", "1", "0")]
    assert good(known).backup_locked
    session.around["locks"] = DENIED
    after(clock, SURROUNDINGS_SECONDS)
    good(known)

    for _ in PARTS:
        after(clock, 1.0)
        before = len(session.asked)
        reading = good(known)
        assert len(session.asked) - before <= 3
    assert reading.group_role == "PRIMARY"
    assert not reading.backup_locked


def test_a_part_that_hangs_is_not_asked_again(known: MySQLServer, session: Scripted, clock: SimClock) -> None:
    """A part that gives no answer in time costs two readings in all, however long the daemon runs."""
    good(known)
    session.around["locks"] = Unreachable("innobrim@127.0.0.1:3306: timed out")
    readings: list[Sample | Missed] = []
    for _ in range(60):
        after(clock, 1.0)
        readings.append(known.read())

    assert sum(isinstance(reading, Missed) for reading in readings) == 2
    last = readings[-1]
    assert isinstance(last, Sample)
    assert last.write_statements == 1000


@pytest.mark.parametrize("grant", [True, False], ids=["all granted", "one denied"])
def test_a_part_that_hangs_keeps_nobody_from_starting(
    server: MySQLServer, session: Scripted, clock: SimClock, *, grant: bool
) -> None:
    """A part that gives no answer in time is left out; the server and all other parts are used."""
    session.around["clone"] = Unreachable("innobrim@127.0.0.1:3306: timed out")
    if not grant:
        session.around["group"] = DENIED
    server._surroundings.look(session)
    readings: list[Sample | Missed] = []
    for _ in range(20):
        readings.append(server.read())
        after(clock, 1.0)

    assert sum(isinstance(reading, Missed) for reading in readings) <= 1
    last = readings[-1]
    assert isinstance(last, Sample)
    assert (last.write_statements, last.cloning) == (1000, False)


def test_an_answer_without_sense_is_a_part_unseen(session: Scripted) -> None:
    """A middleware that makes something else of a part's answer does not keep the server from being used."""
    session.around["replica"] = [("replica", "many", "few")]

    assert Surroundings().look(session) == ("replica",)


def test_locks_are_unseen_where_the_performance_schema_is_off(session: Scripted) -> None:
    """An empty table of locks says nothing there: `check` must not call a backup's lock visible."""
    session.around["locks"] = [("locks", "off", None)]

    assert Surroundings().look(session) == ("locks",)


def test_an_undo_tablespace_set_aside_is_not_being_truncated() -> None:
    """An undo tablespace that stays inactive is no truncation; another one that follows is."""
    watch = UndoWatch()

    assert not watch.truncating(0.0, 0)
    assert watch.truncating(1.0, 1)
    assert watch.truncating(UNDO_SECONDS, 1)
    assert not watch.truncating(UNDO_SECONDS + 1.0, 1)
    assert watch.truncating(UNDO_SECONDS + 2.0, 2)
    assert not watch.truncating(UNDO_SECONDS + 3.0, 1)
    assert not watch.truncating(UNDO_SECONDS + 4.0, 0)
    assert watch.truncating(UNDO_SECONDS + 5.0, 1)
