"""A server that does not answer what its role is: the last word stands, and none is made up."""

from __future__ import annotations

import pymysql
import pytest

from lab.plant.clock import SimClock
from tests.servers.scripted import QUIET, Scripted, good
from tuner.core.role import role_of
from tuner.records import Missed, Sample
from tuner.servers.mysql import MySQLServer
from tuner.servers.port import Unreachable
from tuner.servers.surroundings import MISSING_SECONDS, PARTS, SURROUNDINGS_SECONDS

REPLICA = [("replica", "1", "1"), ("worker", "7.25", None), ("coordinator", "3", None)]
TIMED_OUT = Unreachable("innobrim@127.0.0.1:3306: timed out")
TOO_SLOW = pymysql.OperationalError(3024, "Query execution was interrupted, maximum execution time exceeded")
TOO_SLOW_MARIADB = pymysql.OperationalError(
    1969, "Query execution was interrupted (max_statement_time exceeded)"
)
DENIED = pymysql.OperationalError(1142, "SELECT command denied to user 'innobrim'@'localhost'")
FAILURES = pytest.mark.parametrize(
    "failure", [TIMED_OUT, TOO_SLOW, DENIED], ids=["timed out", "too slow", "denied"]
)


@pytest.fixture
def replica(server: MySQLServer, session: Scripted) -> MySQLServer:
    """Return the adapter of a group's secondary that replicates, after its first look and reading."""
    session.around |= {"replica": REPLICA, "group": [("group", "SECONDARY", None)]}
    server._surroundings.look(session)
    good(server)
    return server


def readings(server: MySQLServer, clock: SimClock, count: int) -> list[Sample | Missed]:
    """Return that many, a second apart."""
    found = []
    for _ in range(count):
        clock.advance_to(clock.monotonic() + 1.0)
        found.append(server.read())
    return found


@FAILURES
def test_a_look_that_fails_changes_no_role(
    replica: MySQLServer, session: Scripted, clock: SimClock, failure: Exception
) -> None:
    """While another part keeps the one statement from its answer, the role is the one known before."""
    session.around["locks"] = failure
    found = readings(replica, clock, 40)

    samples = [one for one in found if isinstance(one, Sample)]
    assert len(samples) >= 38
    assert {(one.replica, one.group_role, one.role_known) for one in samples} == {(True, "SECONDARY", True)}
    assert samples[-1].replica_lag == 7.25


@pytest.mark.parametrize(
    "failure", [TIMED_OUT, TOO_SLOW, TOO_SLOW_MARIADB], ids=["timed out", "too slow", "too slow, MariaDB"]
)
def test_a_role_that_hangs_is_asked_for_again(
    replica: MySQLServer, session: Scripted, clock: SimClock, failure: Exception
) -> None:
    """A role part that gives no answer in time keeps its last word, and a later answer replaces it."""
    session.around["group"] = failure
    for one in readings(replica, clock, 30):
        assert isinstance(one, Missed) or (one.group_role, one.role_known) == ("SECONDARY", True)

    session.around["replica"] = QUIET["replica"]
    session.around["group"] = [("group", "PRIMARY", None)]
    readings(replica, clock, int(MISSING_SECONDS + SURROUNDINGS_SECONDS))
    assert role_of(good(replica)) == "primary"


def test_a_new_look_that_times_out_keeps_the_role(
    replica: MySQLServer, session: Scripted, clock: SimClock
) -> None:
    """After a restart of mysqld a slow start of its tables is no change of role; an old lock is forgotten."""
    session.around["locks"] = [("locks", "1", "0")]
    readings(replica, clock, int(SURROUNDINGS_SECONDS))
    session.around |= {"replica": TIMED_OUT, "locks": TIMED_OUT}
    replica._surroundings.look(session)

    samples = [one for one in readings(replica, clock, 20) if isinstance(one, Sample)]
    assert samples
    assert all(one.replica and one.role_known and not one.backup_locked for one in samples)


def test_a_role_never_answered_is_not_known(server: MySQLServer, session: Scripted, clock: SimClock) -> None:
    """Where the first look hangs nothing is said of the role, until its first answer."""
    session.around["replica"] = TIMED_OUT
    server._surroundings.look(session)
    samples = [one for one in readings(server, clock, 20) if isinstance(one, Sample)]
    assert samples
    assert not any(one.role_known for one in samples)

    session.around["replica"] = REPLICA
    readings(server, clock, int(MISSING_SECONDS + SURROUNDINGS_SECONDS))
    assert good(server).role_known
    assert good(server).replica


@pytest.mark.parametrize("part", ["replica", "group"])
def test_a_role_that_may_not_be_seen_is_no_open_question(
    replica: MySQLServer, session: Scripted, clock: SimClock, part: str
) -> None:
    """A grant that is taken away ends what was known of that part alone, and it is not asked for again."""
    session.around[part] = DENIED
    readings(replica, clock, 20)
    session.asked.clear()
    readings(replica, clock, 100)
    last = good(replica)

    assert (last.replica, last.group_role) == ((False, "SECONDARY") if part == "replica" else (True, ""))
    assert last.role_known
    assert not any(PARTS[part].statement in one for one in session.asked)


def test_parts_in_doubt_are_not_lost(replica: MySQLServer, session: Scripted, clock: SimClock) -> None:
    """A second failure while parts are tried one by one costs none of those that wait for their turn."""
    session.around["replica"] = TOO_SLOW
    readings(replica, clock, 12)
    session.around["group"] = TOO_SLOW
    session.connection = object()
    readings(replica, clock, 1)
    session.around |= {"group": [("group", "SECONDARY", None)], "clone": [("clone", "1", None)]}
    readings(replica, clock, int(MISSING_SECONDS))

    assert good(replica).cloning
