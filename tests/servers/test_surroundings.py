"""What else goes on in a server: an account that sees some of it, and a server that does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pymysql
import pytest

from lab.plant.clock import SimClock
from tests.servers.fixtured import Fixtured, good
from tests.servers.plain import QUIET
from tuner.core.ownership.handover import role_of
from tuner.records import Missed, Sample
from tuner.servers.port import Unreachable
from tuner.servers.server import RealServer
from tuner.servers.surroundings import (
    CRASHED,
    CRASHED_LATER,
    ENDED,
    MISSING_SECONDS,
    PARTS,
    STARTED,
    SURROUNDINGS_SECONDS,
    UNDO_SECONDS,
    Surroundings,
    UndoWatch,
    last_recovery,
    recovery_seconds,
)

DENIED = pymysql.OperationalError(1142, "SELECT command denied to user 'innobrim'@'localhost'")
ABSENT = pymysql.ProgrammingError(1146, "Table 'performance_schema.clone_status' doesn't exist")
TIMED_OUT = Unreachable("innobrim@127.0.0.1:3306: timed out")
TOO_SLOW = pymysql.OperationalError(3024, "Query execution was interrupted, maximum execution time exceeded")
TOO_SLOW_MARIADB = pymysql.OperationalError(1969, "Query execution was interrupted (max_statement_time)")

REPLICA = [("replica", "1", "1"), ("worker", "7.25", None), ("coordinator", "3", None)]
SECONDARY = [("group", "SECONDARY", None)]

Live = Callable[[float], list[Sample | Missed]]
"""Lets so many seconds go by, and returns a reading from each."""


@pytest.fixture
def live(server: RealServer, clock: SimClock) -> Live:
    """Return how readings are taken a second apart."""

    def take(seconds: float) -> list[Sample | Missed]:
        found = []
        for _ in range(int(seconds)):
            clock.advance_to(clock.monotonic() + 1.0)
            found.append(server.read())
        return found

    return take


@pytest.fixture
def known(server: RealServer, session: Fixtured) -> RealServer:
    """Return the adapter after it found out what can be seen; nothing is counted yet."""
    server._surroundings.look(session)
    session.asked.clear()
    return server


@pytest.fixture
def replica(server: RealServer, session: Fixtured) -> RealServer:
    """Return the adapter of a group's secondary that replicates, after its first look and reading."""
    session.around |= {"replica": REPLICA, "group": SECONDARY}
    server._surroundings.look(session)
    good(server)
    return server


def samples(readings: list[Sample | Missed]) -> list[Sample]:
    """Return the good ones, of which there are some."""
    found = [one for one in readings if isinstance(one, Sample)]
    assert found
    return found


def test_the_surroundings_are_asked_now_and_then(
    known: RealServer, session: Fixtured, clock: SimClock
) -> None:
    """Two statements a reading, a third one every ten seconds; its answer stands in between."""
    session.around["clone"] = [("clone", "1", None)]
    for _ in range(10):
        assert good(known).cloning
        session.around["clone"] = [("clone", "0", None)]
        clock.advance_to(clock.monotonic() + 1.0)
    assert len(session.asked) == 21

    assert not good(known).cloning
    assert len(session.third()) == 2


def test_a_new_connection_asks_at_once(known: RealServer, session: Fixtured) -> None:
    """After a reconnect, which may be a restart of mysqld, no old answer is carried on."""
    good(known)
    session.connection = object()
    session.around["locks"] = [("locks", "1", "0")]

    assert good(known).backup_locked


@pytest.mark.parametrize(
    ("rows", "fields"),
    [
        (REPLICA, {"replica": True, "replica_lag": 7.25}),
        (
            [("replica", "2", "2"), ("worker", "0", None), ("coordinator", None, None)],
            {"replica": True, "replica_lag": 0.0},
        ),
        (
            [("replica", "1", "1"), ("worker", "1767225600", None), ("coordinator", "0", None)],
            {"replica": True, "replica_lag": None},
        ),
        (
            [("replica", "0", "1"), ("worker", "0", None), ("coordinator", None, None)],
            {"replica": False, "replica_lag": 0.0},
        ),
        (QUIET["replica"], {"replica": False, "replica_lag": None}),
        ([("group", b"SECONDARY", None)], {"group_role": "SECONDARY"}),
        ([("latency", "1000", "2500000000000")], {"write_statements": 1000, "write_time": 2.5}),
        ([("latency", None, None)], {"write_statements": None, "write_time": None}),
        ([("clone", 1, None)], {"cloning": True}),
        ([("locks", "1", "0")], {"backup_locked": True, "read_locked": False}),
        ([("locks", "0", "2")], {"backup_locked": False, "read_locked": True}),
        ([("locks", None, None)], {"backup_locked": False, "read_locked": False, "group_role": ""}),
    ],
)
def test_each_part_is_in_the_sample(
    known: RealServer, session: Fixtured, rows: list[tuple[Any, ...]], fields: dict[str, Any]
) -> None:
    """What the server shows of a part is in the sample; what it does not say is none, not zero."""
    session.around[rows[0][0]] = rows
    reading = good(known)

    assert {name: getattr(reading, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("part", "answer"),
    [
        *((part, DENIED) for part in PARTS),
        ("replica", [("replica", "many", "few")]),
        ("locks", [("locks", "off", None)]),
    ],
    ids=[*PARTS, "a middleware's answer", "Performance Schema off"],
)
def test_a_part_that_may_not_be_seen_is_named_and_left_out(
    session: Fixtured, part: str, answer: list[tuple[Any, ...]] | Exception
) -> None:
    """A missing grant, or an answer without sense, costs that part alone, and it is not asked for again."""
    session.around[part] = answer
    surroundings = Surroundings()

    assert surroundings.look(session) == (part,)
    session.asked.clear()
    for now in range(0, 200, 10):
        surroundings.read(session, float(now), latency=False)
    assert len(session.asked) == 20
    assert all(PARTS[part].statement not in one for one in session.asked)


def test_a_plugin_that_is_not_there_is_no_missing_grant(session: Fixtured) -> None:
    """Without the clone plugin nothing is unseen; once it is installed, clones are seen."""
    session.around["clone"] = ABSENT
    surroundings = Surroundings()
    assert surroundings.look(session) == ()

    session.around["clone"] = [("clone", "1", None)]
    seen = [
        surroundings.read(session, float(now), latency=False).get("cloning", False)
        for now in range(int(MISSING_SECONDS + 2 * SURROUNDINGS_SECONDS))
    ]
    assert (seen[0], seen[-1]) == (False, True)


@pytest.mark.usefixtures("replica")
def test_the_role_over_a_new_connection_is_known_soon(session: Fixtured, live: Live) -> None:
    """After a failover behind one address, a part refused there costs the others seconds, and not ten."""
    live(2)
    session.connection = object()
    session.around |= {"group": [("group", "PRIMARY", None)], "locks": DENIED}

    assert samples(live(1 + len(PARTS)))[-1].group_role == "PRIMARY"


def test_latency_can_be_watched_closely(known: RealServer, session: Fixtured, live: Live) -> None:
    """While somebody needs it, the latency is asked at every reading, and nothing else with it."""
    known.watches_latency = True
    good(known)
    session.around["latency"] = [("latency", "1500", "4000000000000")]
    (reading,) = samples(live(1))

    assert (reading.write_statements, reading.write_time) == (1500, 4.0)
    assert session.third()[-1] == PARTS["latency"].statement


def test_a_privilege_revoked_costs_no_reading(known: RealServer, session: Fixtured, live: Live) -> None:
    """When a grant goes while the daemon runs, readings go on, and the other parts come back."""
    session.around |= {"group": [("group", "PRIMARY", None)], "locks": [("locks", "1", "0")]}
    assert good(known).backup_locked
    session.around["locks"] = DENIED
    for _ in range(int(SURROUNDINGS_SECONDS) + len(PARTS)):
        before = len(session.asked)
        (reading,) = samples(live(1))
        assert len(session.asked) - before <= 3

    assert (reading.group_role, reading.backup_locked) == ("PRIMARY", False)


def test_a_part_that_hangs_is_not_asked_again(known: RealServer, session: Fixtured, live: Live) -> None:
    """A part that gives no answer in time costs two readings in all, however long the daemon runs."""
    good(known)
    session.around["locks"] = TIMED_OUT
    found = live(60)

    assert len(samples(found)) == 58
    assert samples(found)[-1].write_statements == 1000


@pytest.mark.parametrize("group", [SECONDARY, DENIED], ids=["all granted", "one denied"])
def test_a_part_that_hangs_keeps_nobody_from_starting(
    server: RealServer, session: Fixtured, live: Live, group: list[tuple[Any, ...]] | Exception
) -> None:
    """A part that gives no answer in time is left out; the server and all other parts are used."""
    session.around |= {"clone": TIMED_OUT, "group": group}
    server._surroundings.look(session)
    found = samples(live(20))

    assert len(found) >= 19
    assert (found[-1].write_statements, found[-1].cloning) == (1000, False)


def test_an_undo_tablespace_set_aside_is_not_being_truncated() -> None:
    """An undo tablespace that stays inactive is no truncation; another one that follows is."""
    watch = UndoWatch()
    seen = [
        watch.truncating(now, inactive)
        for now, inactive in [
            *((0.0, 0), (1.0, 1), (UNDO_SECONDS, 1), (UNDO_SECONDS + 1.0, 1), (UNDO_SECONDS + 2.0, 2)),
            *((UNDO_SECONDS + 3.0, 1), (UNDO_SECONDS + 4.0, 0), (UNDO_SECONDS + 5.0, 1)),
        ]
    ]

    assert seen == [False, True, True, False, True, False, False, True]


@pytest.mark.parametrize("failure", [TIMED_OUT, TOO_SLOW, DENIED], ids=["timed out", "too slow", "denied"])
@pytest.mark.usefixtures("replica")
def test_a_look_that_fails_changes_no_role(session: Fixtured, live: Live, failure: Exception) -> None:
    """While another part keeps the one statement from its answer, the role is the one known before."""
    session.around["locks"] = failure
    found = samples(live(40))

    assert len(found) >= 38
    assert {(one.replica, one.group_role, one.role_known) for one in found} == {(True, "SECONDARY", True)}
    assert found[-1].replica_lag == 7.25


@pytest.mark.parametrize("failure", [TIMED_OUT, TOO_SLOW, TOO_SLOW_MARIADB], ids=repr)
def test_a_role_that_hangs_is_asked_for_again(
    replica: RealServer, session: Fixtured, live: Live, failure: Exception
) -> None:
    """A role part that gives no answer in time keeps its last word, and a later answer replaces it."""
    session.around["group"] = failure
    assert {(one.group_role, one.role_known) for one in samples(live(30))} == {("SECONDARY", True)}

    session.around |= {"replica": QUIET["replica"], "group": [("group", "PRIMARY", None)]}
    live(MISSING_SECONDS + SURROUNDINGS_SECONDS)
    assert role_of(good(replica)) == "primary"


def test_a_new_look_that_times_out_keeps_the_role(replica: RealServer, session: Fixtured, live: Live) -> None:
    """After a restart of mysqld a slow start of its tables is no change of role; an old lock is forgotten."""
    session.around["locks"] = [("locks", "1", "0")]
    live(SURROUNDINGS_SECONDS)
    session.around |= {"replica": TIMED_OUT, "locks": TIMED_OUT}
    replica._surroundings.look(session)

    assert all(one.replica and one.role_known and not one.backup_locked for one in samples(live(20)))


def test_a_role_never_answered_is_not_known(server: RealServer, session: Fixtured, live: Live) -> None:
    """Where the first look hangs nothing is said of the role, until its first answer."""
    session.around["replica"] = TIMED_OUT
    server._surroundings.look(session)
    assert not any(one.role_known for one in samples(live(20)))

    session.around["replica"] = REPLICA
    live(MISSING_SECONDS + SURROUNDINGS_SECONDS)
    assert good(server).role_known
    assert good(server).replica


@pytest.mark.parametrize(("part", "left"), [("replica", (False, "SECONDARY")), ("group", (True, ""))])
def test_a_role_that_may_not_be_seen_is_no_open_question(
    replica: RealServer, session: Fixtured, live: Live, part: str, left: tuple[bool, str]
) -> None:
    """A grant that is taken away ends what was known of that part alone, and it is not asked for again."""
    session.around[part] = DENIED
    live(20)
    session.asked.clear()
    live(100)
    last = good(replica)

    assert (last.replica, last.group_role, last.role_known) == (*left, True)
    assert not any(PARTS[part].statement in one for one in session.asked)


def test_parts_in_doubt_are_not_lost(replica: RealServer, session: Fixtured, live: Live) -> None:
    """A second failure while parts are tried one by one costs none of those that wait for their turn."""
    session.around["replica"] = TOO_SLOW
    live(12)
    session.around["group"] = TOO_SLOW
    session.connection = object()
    live(1)
    session.around |= {"group": SECONDARY, "clone": [("clone", "1", None)]}
    live(MISSING_SECONDS)

    assert good(replica).cloning


CLEAN = [(STARTED, 1000.0), (ENDED, 1000.5)]
CRASH = [(STARTED, 2000.0), (CRASHED[0], 2000.2), (CRASHED[1], 2000.3), (ENDED, 2007.25)]


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        pytest.param(CRASH, 7.25, id="crash"),
        pytest.param([*CLEAN, *CRASH], 7.25, id="clean, crash"),
        pytest.param([*CRASH, (STARTED, 3000.0), (ENDED, 3000.5)], None, id="crash, clean"),
        pytest.param([(STARTED, 10.0), (ENDED, 14.0), (CRASHED_LATER, 14.1)], 4.0, id="by binary log"),
        pytest.param(CLEAN, None, id="clean"),
        pytest.param(CRASH[:-1], None, id="no end"),
        pytest.param(CRASH[1:], None, id="no start"),
        pytest.param([], None, id="nothing"),
    ],
)
def test_only_the_last_start_counts_and_only_after_a_crash(
    lines: list[tuple[str, float]], seconds: float | None
) -> None:
    """The time is that of the last start, where that one recovered; anything else is unknown."""
    assert last_recovery(lines) == seconds


def test_a_log_that_may_not_be_read_is_no_error(session: Fixtured) -> None:
    """Without the grant, or before the table existed, nothing is known and nothing fails."""
    session.instead["error_log"] = DENIED

    assert recovery_seconds(session) is None
