"""The low-water mark over a session whose answers are given: written with consent alone, and read back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.factory import FACTS
from tests.servers.test_procedure import Guarded
from tests.servers.test_setupsql import MARIADB, NEW, statements
from tests.servers.test_setupsql import asked as wanted_sql
from tuner.records import LOW_WATER_MARK, Bounds, Capacity, percent
from tuner.servers import mysql
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.mysql import MySQLServer
from tuner.servers.setupsql import removal
from tuner.servers.writing import WITH_CONSENT

STEPS = ((LOW_WATER_MARK, 1_000),)
PAIR = Capacity(225, 450)


class Marked(Guarded):
    """A server with a low-water mark, and with the procedures for it or without.

    Attributes:
        mark: in force, as the server shows it.
        procedures: how many of that name the account may call.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mark = "0.000000"
        self.procedures = 1

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Answer, or fail as told."""
        if "set_low_water_mark'" in statement:
            self.asked.append(statement)
            return [(self.procedures,)]
        if statement == f"SELECT @@GLOBAL.{LOW_WATER_MARK}":
            self.asked.append(statement)
            return [(self.mark,)]
        if statement.startswith((f"SET GLOBAL {LOW_WATER_MARK}", "CALL innobrim.set_low_water_mark")):
            self.asked.append(statement)
            self.mark = "0.001000" if statement.endswith(("0.001", "(1)")) else "0.000000"
            return []
        return super().query(statement)


@pytest.fixture
def session() -> Marked:
    """Return the session."""
    return Marked()


def adapter(session: Marked, monkeypatch: pytest.MonkeyPatch, *, called: bool) -> MySQLServer:
    """Return an adapter that knows of the procedures, or writes itself."""
    facts = replace(FACTS, procedure=Bounds() if called else None, disabled_counters=())
    monkeypatch.setattr(mysql, "detect", lambda _session: (facts, RedoCapacityAdapter()))
    return MySQLServer(session.endpoint, SimClock(), session=session)


def test_without_consent_it_is_on_no_list(session: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark needs a consent of its own: without it no statement names it, whoever asks."""
    server = adapter(session, monkeypatch, called=False)
    server.facts()
    receipt = server.apply(STEPS, PAIR)

    assert WITH_CONSENT == (LOW_WATER_MARK,)
    assert "may not be written" in receipt.error
    assert (receipt.done, session.mark) == (0, "0.000000")
    assert not any(one.startswith("SET GLOBAL") or "set_low_water" in one for one in session.asked)


@pytest.mark.parametrize("called", [False, True])
def test_it_is_one_statement_and_read_back(
    session: Marked, monkeypatch: pytest.MonkeyPatch, *, called: bool
) -> None:
    """With consent it is one SET, or one call of its procedure; the pair and the mark are read back."""
    server = adapter(session, monkeypatch, called=called)
    server.writes_low_water = True
    assert server.facts().sets_low_water is called
    session.asked.clear()
    receipt = server.apply(STEPS, PAIR)
    back = server.apply(((LOW_WATER_MARK, 0),), PAIR)

    said = "CALL innobrim.set_low_water_mark(1)" if called else f"SET GLOBAL {LOW_WATER_MARK} = 0.001"
    assert session.asked[0] == said
    assert (receipt.in_force, receipt.done, receipt.error) == (PAIR, 1, "")
    assert (receipt.low_water_asked, receipt.low_water_mark) == (1_000, 1_000)
    assert (back.low_water_asked, back.low_water_mark) == (0, 0)


def test_a_procedure_that_was_not_made_is_known(session: Marked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The facts say whether the account may set the mark by a procedure; it is asked with consent alone."""
    session.procedures = 0
    server = adapter(session, monkeypatch, called=True)
    server.writes_low_water = True

    assert not server.facts().sets_low_water


@pytest.mark.parametrize(
    ("mark", "said"), [(0, "0"), (1_000, "0.001"), (10_000_000, "10"), (500_000, "0.5"), (1, "0.000001")]
)
def test_a_mark_is_said_as_the_server_takes_it(mark: int, said: str) -> None:
    """Whole millionths of a percent are written as a plain decimal."""
    assert percent(mark) == said


def test_the_procedure_is_made_where_it_is_asked_for() -> None:
    """setup-sql makes it on MariaDB with --low-water-mark, takes it away without, and has none elsewhere."""
    made, without = statements(MARIADB, low_water=True), statements(MARIADB)
    text = next(one for one in made if one.startswith("CREATE DEFINER") and "set_low_water" in one)

    assert text.count("SET GLOBAL") == 2
    assert f"SET GLOBAL {LOW_WATER_MARK} = 0.001;" in text
    assert f"SET GLOBAL {LOW_WATER_MARK} = 0;" in text
    assert any(
        one.startswith("GRANT EXECUTE ON PROCEDURE innobrim.set_low_water_mark TO 'innobrim'") for one in made
    )
    assert [one for one in without if "set_low_water" in one] == [
        "DROP PROCEDURE IF EXISTS innobrim.set_low_water_mark"
    ]
    assert not any("set_low_water" in one for one in statements(NEW, low_water=True))
    undone = [one for part in removal(wanted_sql(MARIADB)) for one in part.statements]
    assert "DROP PROCEDURE IF EXISTS innobrim.set_low_water_mark" in undone
