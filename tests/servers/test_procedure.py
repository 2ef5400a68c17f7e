"""Writing through the procedure, over a session whose answers are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql
import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.factory import C_NAME, FACTS, M_NAME
from tests.servers.scripted import Scripted
from tuner.records import Bounds, Capacity
from tuner.servers import mysql
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.mysql import MySQLServer
from tuner.servers.writing import ASK, bounds

BOUNDS = Bounds(100, 20_000, 10_000)
STEPS = ((M_NAME, 600), (C_NAME, 300))
WANTED = Capacity(300, 600)


class Guarded(Scripted):
    """A server with the procedure, to an account that may call it.

    Attributes:
        answer: what it says of its bounds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.answer: list[tuple[Any, ...]] = [(100, 20_000, 10_000)]

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer, or fail as told."""
        if not statement.startswith("CALL "):
            return super().query(statement)
        self.asked.append(statement)
        for part, error in self.fails.items():
            if part in statement:
                raise error
        if statement == ASK:
            return self.answer
        if "set_global" in statement:
            name, value = statement.partition("(")[2].removesuffix(")").split(", ")
            self.pair[name.strip("'")] = int(value)
        return []


@pytest.fixture
def session() -> Guarded:
    """Return the session."""
    return Guarded()


@pytest.fixture
def server(session: Guarded, clock: SimClock, monkeypatch: pytest.MonkeyPatch) -> MySQLServer:
    """Return an adapter that was told of the procedure by the facts."""
    facts = replace(FACTS, procedure=Bounds(), disabled_counters=())
    monkeypatch.setattr(mysql, "detect", lambda _session: (facts, RedoCapacityAdapter()))
    return MySQLServer(session.endpoint, clock, session=session)


def test_each_set_is_a_call(server: MySQLServer, session: Guarded) -> None:
    """What was a SET GLOBAL is a call of the procedure, in the same order, and both values are read back."""
    assert server.facts().procedure == BOUNDS
    session.asked.clear()
    receipt = server.apply(STEPS, WANTED)

    assert session.asked == [
        "CALL innobrim.set_global('innodb_io_capacity_max', 600)",
        "CALL innobrim.set_global('innodb_io_capacity', 300)",
        "SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max",
    ]
    assert (receipt.in_force, receipt.done, receipt.error) == (WANTED, 2, "")


def test_a_server_without_the_procedure_is_asked_nothing_more(
    session: Guarded, clock: SimClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the account may call none, none is called, and writes are SETs."""
    monkeypatch.setattr(mysql, "detect", lambda _session: (FACTS, RedoCapacityAdapter()))
    server = MySQLServer(session.endpoint, clock, session=session)

    assert server.facts().procedure is None
    server.apply(STEPS, WANTED)
    assert not any(one.startswith("CALL") for one in session.asked)
    assert session.asked.count("SET GLOBAL innodb_io_capacity = 300") == 1


def test_a_refusal_of_the_procedure_is_no_lost_privilege(server: MySQLServer, session: Guarded) -> None:
    """Its words are the receipt's error; three in a row hold the loop, as any other refusals do."""
    server.facts()
    session.fails[M_NAME] = pymysql.OperationalError(1644, "innodb_io_capacity_max = 600: must be from 700")
    receipt = server.apply(STEPS, WANTED)

    assert (receipt.done, receipt.denied) == (0, False)
    assert "must be from 700" in receipt.error


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (1305, "PROCEDURE innobrim.set_global does not exist"),
        (1370, "execute command denied to user"),
        (1449, "The user specified as a definer does not exist"),
        (1227, "Access denied; you need SYSTEM_VARIABLES_ADMIN"),
    ],
)
def test_a_procedure_that_is_of_no_use_is_a_lost_privilege(
    server: MySQLServer, session: Guarded, number: int, said: str
) -> None:
    """A procedure that is gone, not for us, or without its definer or his privilege waits for a person."""
    server.facts()
    session.fails[M_NAME] = pymysql.OperationalError(number, said)

    assert server.apply(STEPS, WANTED).denied


def test_what_was_made_meanwhile_counts_at_the_next_write(
    session: Guarded, clock: SimClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a refused SET the account logs in again, and writes by a procedure that it may call by then."""
    monkeypatch.setattr(mysql, "detect", lambda _session: (FACTS, RedoCapacityAdapter()))
    server = MySQLServer(session.endpoint, clock, session=session)
    server.facts()
    session.fails["SET GLOBAL"] = pymysql.OperationalError(1227, "Access denied")
    assert server.apply(STEPS, WANTED).denied

    assert server.apply(STEPS, WANTED).in_force == WANTED
    assert session.asked.count("CALL innobrim.set_global('innodb_io_capacity', 300)") == 1


def test_counters_are_turned_on_by_a_call(
    session: Guarded, clock: SimClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account without the privilege turns InnoDB's counters on through the other procedure."""
    facts = replace(FACTS, procedure=Bounds(), disabled_counters=("log_lsn_current",))
    monkeypatch.setattr(mysql, "detect", lambda _session: (facts, RedoCapacityAdapter()))
    server = MySQLServer(session.endpoint, clock, session=session)
    server.enables_counters = True
    server.facts()

    assert "CALL innobrim.enable_counters()" in session.asked
    assert not any("SET GLOBAL innodb_monitor" in one for one in session.asked)


@pytest.mark.parametrize("answer", [[], [(1,)], [(None, 1, 1)], [("low", "high", "c")]])
def test_an_answer_without_sense_is_no_procedure(session: Guarded, answer: list[tuple[Any, ...]]) -> None:
    """Somebody else's procedure of that name is not called."""
    session.answer = answer

    assert bounds(session) is None
