"""What is written, by a SET or by the procedure, over a session whose answers are given."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pymysql
import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.factory import C_NAME, FACTS, M_NAME
from tests.servers.fixtured import Fixtured, good
from tests.servers.plain import plain
from tuner.records import LOW_WATER_MARK, Bounds, Capacity, percent
from tuner.servers import server as server_module
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.port import Unreachable
from tuner.servers.server import READ_BACK, RealServer
from tuner.servers.writing import ASK, LOW_WATER_THERE, WITH_OPTION, WRITABLE, bounds

STEPS = ((C_NAME, 300), (M_NAME, 600))
WANTED = Capacity(300, 600)
MARK = ((LOW_WATER_MARK, 1_000),)
PAIR = Capacity(225, 450)
DENIED = pymysql.OperationalError(1227, "Access denied")
LOST = Unreachable("innobrim@db:3306: lost connection")

Knowing = Callable[..., RealServer]
"""Returns an adapter that knows its server, which it writes to by SETs or by calls."""


@pytest.fixture
def session() -> Fixtured:
    """Return a session to a server that has the procedures."""
    made = Fixtured(plain())
    made.instead[ASK] = [(100, 20_000, 10_000)]
    return made


@pytest.fixture
def knowing(session: Fixtured, clock: SimClock, monkeypatch: pytest.MonkeyPatch) -> Knowing:
    """Return how an adapter is made."""

    def make(*, called: bool, off: tuple[str, ...] = ()) -> RealServer:
        facts = replace(FACTS, procedure=Bounds() if called else None, disabled_counters=off)
        monkeypatch.setattr(server_module, "detect", lambda _session: (facts, RedoCapacityAdapter()))
        server = RealServer(session.endpoint, clock, session=session)
        server.enables_counters = bool(off)
        server.facts()
        session.asked.clear()
        return server

    return make


@pytest.mark.parametrize("called", [False, True])
def test_a_write_is_read_back(knowing: Knowing, session: Fixtured, *, called: bool) -> None:
    """SETs, or calls where there is a procedure, go out in order; the receipt has what is really in force."""
    receipt = knowing(called=called).apply(STEPS, WANTED)

    statement = "CALL innobrim.set_global('{}', {})" if called else "SET GLOBAL {} = {}"
    assert session.asked == [*(statement.format(*step) for step in STEPS), READ_BACK]
    assert (receipt.requested, receipt.in_force, receipt.done, receipt.error) == (WANTED, WANTED, 2, "")


@pytest.mark.parametrize("answer", [[], [(1,)], [(None, 1, 1)], [("low", "high", "c")]])
def test_an_answer_without_sense_is_no_procedure(session: Fixtured, answer: list[tuple[Any, ...]]) -> None:
    """The bounds are the procedure's own; somebody else's procedure of that name is not called."""
    assert bounds(session) == Bounds(100, 20_000, 10_000)
    session.instead[ASK] = answer

    assert bounds(session) is None


@pytest.mark.parametrize(("number", "there"), [(1047, True), (1969, True), (3024, True), (1305, False)])
def test_a_call_that_is_not_taken_now_is_no_lack_of_a_procedure(
    session: Fixtured, number: int, *, there: bool
) -> None:
    """A Galera node without its cluster, or a time limit, says nothing of what the account may."""
    session.instead[ASK] = pymysql.OperationalError(number, "not now")

    with pytest.raises(Unreachable, match="not now") if there else contextlib.nullcontext():
        assert bounds(session) is None


@pytest.mark.parametrize(
    ("called", "error", "in_force", "denied"),
    [
        pytest.param(False, DENIED, Capacity(300, 450), True, id="refused"),
        pytest.param(False, LOST, None, False, id="lost"),
        *(
            pytest.param(
                True, pymysql.OperationalError(number, "from 700"), Capacity(300, 450), denied, id=what
            )
            for number, denied, what in [
                (1644, False, "a bound of the procedure"),
                (1305, True, "the procedure is gone"),
                (1370, True, "it may not be called"),
                (1449, True, "its definer is gone"),
                (1227, True, "its definer may not"),
            ]
        ),
    ],
)
def test_a_write_that_ends_half_way_says_how_far_it_went(
    knowing: Knowing,
    session: Fixtured,
    error: Exception,
    in_force: Capacity | None,
    *,
    called: bool,
    denied: bool,
) -> None:
    """After the first failure nothing more is set; what waits for a person is told from what does not."""
    server = knowing(called=called)
    session.instead[M_NAME + ("'" if called else " =")] = error
    receipt = server.apply(STEPS, WANTED)

    assert (receipt.done, receipt.in_force, receipt.denied) == (1, in_force, denied)
    assert str(error.args[-1]) in receipt.error


@pytest.mark.parametrize("error", [ValueError("x"), OverflowError("x"), IndexError("x")], ids=repr)
@pytest.mark.parametrize("statement", ["SET GLOBAL", "innodb_metrics"])
def test_nothing_but_words_comes_of_a_write(
    server: RealServer, session: Fixtured, statement: str, error: Exception
) -> None:
    """An answer that makes no sense to whatever reads it fails the write and costs the connection."""
    good(server)
    session.connections += 1
    session.instead[statement] = error
    found = server.apply(STEPS, WANTED)

    assert (found.done, found.in_force) == (0, None)
    assert "unexpected answer" in found.error


def test_only_the_published_variables_can_be_written(server: RealServer, session: Fixtured) -> None:
    """Nothing else is ever written, whoever asks; the low-water mark needs an option of its own."""
    for steps in ((("innodb_flush_sync", 0),), MARK):
        receipt = server.apply(steps, WANTED)
        assert "may not be written" in receipt.error
        assert receipt.done == 0

    assert (WRITABLE, WITH_OPTION) == ((C_NAME, M_NAME), (LOW_WATER_MARK,))
    assert not any(one.startswith(("SET", "CALL")) for one in session.asked)


@pytest.mark.parametrize(
    ("called", "said"),
    [(False, f"SET GLOBAL {LOW_WATER_MARK} = 0.001"), (True, "CALL innobrim.set_low_water_mark(1)")],
)
def test_the_low_water_mark_is_one_statement_and_read_back(
    knowing: Knowing, session: Fixtured, said: str, *, called: bool
) -> None:
    """With the option it is one SET, or one call of its procedure; the pair and the mark are read back."""
    server = knowing(called=called)
    server.writes_low_water = True
    receipt = server.apply(MARK, PAIR)
    back = server.apply(((LOW_WATER_MARK, 0),), PAIR)

    assert session.asked[0] == said
    assert (receipt.in_force, receipt.done, receipt.error) == (PAIR, 1, "")
    assert (receipt.low_water_asked, receipt.low_water_mark) == (1_000, 1_000)
    assert (back.low_water_asked, back.low_water_mark) == (0, 0)


@pytest.mark.parametrize("procedures", [0, 1])
def test_a_procedure_for_the_mark_is_asked_for_with_the_option_alone(
    knowing: Knowing, session: Fixtured, procedures: int
) -> None:
    """The facts say whether the account may set the mark by a procedure."""
    session.instead[LOW_WATER_THERE] = [(procedures,)]
    server = knowing(called=True)
    assert not server.facts().sets_low_water
    server.writes_low_water = True

    assert server.facts().sets_low_water is bool(procedures)


@pytest.mark.parametrize(
    ("mark", "said"), [(0, "0"), (1_000, "0.001"), (10_000_000, "10"), (500_000, "0.5"), (1, "0.000001")]
)
def test_a_mark_is_said_as_the_server_takes_it(mark: int, said: str) -> None:
    """Whole millionths of a percent are written as a plain decimal."""
    assert percent(mark) == said


def test_counters_are_turned_on_by_a_call(knowing: Knowing, session: Fixtured) -> None:
    """An account without the privilege turns InnoDB's counters on through the other procedure."""
    knowing(called=True, off=("log_lsn_current",)).facts()

    assert "CALL innobrim.enable_counters()" in session.asked
    assert not any("SET GLOBAL innodb_monitor" in one for one in session.asked)


def test_what_was_made_meanwhile_counts_at_the_next_write(knowing: Knowing, session: Fixtured) -> None:
    """After a refused SET the account logs in again, and writes by a procedure that it may call by then."""
    server = knowing(called=False)
    session.instead["SET GLOBAL"] = DENIED
    assert server.apply(STEPS, WANTED).denied

    assert server.apply(STEPS, WANTED).in_force == WANTED
    assert session.asked.count("CALL innobrim.set_global('innodb_io_capacity', 300)") == 1


class Login(Fixtured):
    """A session that keeps the global privileges of its login, as SUPER is kept.

    Attributes:
        super: whether the account has it by now.
    """

    def __init__(self) -> None:
        super().__init__(plain())
        self.super = False
        self.instead["SET GLOBAL"] = DENIED

    def close(self) -> None:
        """Log in again with the next statement, by what the account has then."""
        self.connection = object()
        if self.super:
            self.instead.pop("SET GLOBAL", None)


@pytest.fixture
def login(clock: SimClock) -> Iterator[tuple[RealServer, Login]]:
    """Return a server that claims the writer lock, and was just refused a write; it would take one now."""
    session = Login()
    server = RealServer(session.endpoint, clock, session=session)
    server.claims_writer = True
    good(server)
    assert server.apply(STEPS, WANTED).denied
    session.asked.clear()
    session.super = True
    yield server, session
    server.close()


def test_a_privilege_that_was_granted_counts_at_the_next_write(login: tuple[RealServer, Login]) -> None:
    """SUPER counts from the next login on: a write after a refused one logs in again, and locks first."""
    server, session = login

    assert server.apply(STEPS, WANTED).in_force == WANTED
    released, got, asked, *rest = session.asked
    assert ("RELEASE_LOCK" in released, "GET_LOCK" in got, asked) == (True, True, ASK)
    assert len(rest) == 3
    server.apply(STEPS, WANTED)
    assert sum("GET_LOCK" in one for one in session.asked) == 1


def test_a_new_login_without_the_lock_writes_nothing(login: tuple[RealServer, Login]) -> None:
    """Where another daemon takes the lock between two logins, the write is given up and said to be."""
    server, session = login
    session.instead["GET_LOCK"] = [(0,)]
    receipt = server.apply(STEPS, WANTED)

    assert (receipt.done, receipt.denied) == (0, False)
    assert "took the writer lock" in receipt.error
    assert good(server).capacity == PAIR


@pytest.mark.parametrize(
    ("grant", "may"),
    [
        ("GRANT SYSTEM_VARIABLES_ADMIN,XA_RECOVER_ADMIN ON *.* TO `a`@`%` WITH GRANT OPTION", True),
        ("GRANT PROCESS, SUPER ON *.* TO `a`@`%`", True),
        ("GRANT ALL PRIVILEGES ON *.* TO `a`@`%`", True),
        ("GRANT PROCESS ON *.* TO `SUPER`@`%`", False),
        ("GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`", False),
        ("GRANT SESSION_VARIABLES_ADMIN ON *.* TO `a`@`%`", False),
    ],
)
def test_the_privilege_to_write_is_seen_in_the_grants(
    server: RealServer, session: Fixtured, grant: str, *, may: bool
) -> None:
    """Whether the account may write is known without a write, and unknown where the server says nothing."""
    session.instead["SHOW GRANTS"] = [("GRANT USAGE ON *.* TO `a`@`%`",), (grant,)]
    assert server.may_write() is may

    session.instead |= {"SHOW GRANTS": DENIED, "variables_info": DENIED}
    assert server.may_write() is None
    assert server.set_by_us() == frozenset()
