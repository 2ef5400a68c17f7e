"""Somebody has the daemon's password: what the server lets him do, and what not, whatever the daemon is."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pymysql
import pytest
from pymysql.constants import COMMAND

from lab.servers.base import LabServer
from lab.servers.spec import MYSQL, MYSQL_56, Account
from tests.real.families import FAMILIES, SPEC, named
from tests.real.fixtures import available
from tests.real.guarded import BOUNDS, guard
from tests.real.support import in_force, until
from tests.real.thefts import ATTEMPTS, EVERYBODY, ITS_OWN, MAY_NOT, of
from tuner.cli.setup_sql import drawn
from tuner.findings.check import check
from tuner.records import Bounds, Capacity, Facts
from tuner.servers.server import RealServer
from tuner.servers.setupsql import CONNECTIONS
from tuner.settings import Settings
from tuner.system.clock import SystemClock

pytestmark = pytest.mark.real

SERVERS = ("mysql-9.7", "mysql-5.6.24", "mariadb-11.8")
START = Capacity(1000, 2000)
LEAST = 40
"""Statements that are refused, on each server."""

HAMMERED = 4.0
"""Seconds for which two sessions of the account work against each other."""

PAUSE = 0.02
"""Seconds between the procedure's check and its SET, meanwhile."""


@dataclass(frozen=True, slots=True)
class Stolen:
    """A server, and the account whose password is known.

    Attributes:
        server: it has a table that is nobody's business.
        account: as setup-sql makes it.
    """

    server: LabServer
    account: Account

    def session(self) -> contextlib.closing[pymysql.Connection[Any]]:
        """Return a session of the thief's."""
        return contextlib.closing(self.server.connect(self.account))

    def adapter(self) -> RealServer:
        """Return the daemon's own way to the server, with that account."""
        return RealServer(self.server.endpoint(self.account), SystemClock())


@pytest.fixture(scope="module", params=SERVERS)
def stolen(request: pytest.FixtureRequest) -> Iterator[Stolen]:
    """Yield one server after the other, with nothing on it but a table and the account."""
    spec = replace(SPEC, buffer_pool=SPEC.buffer_pool // 4, monitors=False)
    if request.param in FAMILIES:
        family = FAMILIES[request.param]
        found = named(family.name, replace(spec, extra=family.extra))
    else:
        found = available().server(spec)
    with found:
        found.query("CREATE TABLE innobrim_lab.precious (id INT PRIMARY KEY, secret VARCHAR(40))")
        found.query("INSERT INTO innobrim_lab.precious VALUES (1, 'ours')")
        found.set_capacity(START.io_capacity, START.io_capacity_max)
        yield Stolen(found, guard(found, Account("innobrim_stolen", drawn())))


def told(cursor: Any, statement: str) -> int:  # noqa: ANN401 - the driver's
    """Return the number of the error that a statement came to, 0 where it was carried out."""
    try:
        cursor.execute(statement)
        while cursor.nextset():
            pass
    except pymysql.MySQLError as error:
        return int(error.args[0])
    return 0


def picture(server: LabServer) -> list[object]:
    """Return what no thief may change: rows, definitions, accounts, variables."""
    users = "SELECT user, host FROM mysql.user ORDER BY user, host"
    body = server.query("SHOW CREATE PROCEDURE innobrim.set_global")
    variables = dict(server.query("SHOW GLOBAL VARIABLES"))
    moving = ("gtid", "timestamp", "innodb_redo_log_encrypt")
    return [
        server.query("SELECT * FROM innobrim_lab.precious"),
        server.query("SHOW TABLES FROM innobrim_lab"),
        server.query("SHOW DATABASES"),
        server.query(users),
        server.query("SHOW GRANTS FOR 'innobrim_stolen'@'%'"),
        body[0][2],
        {name: value for name, value in variables.items() if not name.startswith(moving)},
    ]


@pytest.mark.parametrize("after", ATTEMPTS)
def test_the_server_refuses(stolen: Stolen, after: str) -> None:
    """With the daemon's password each of these is refused by the server, and leaves everything as it was."""
    tries, refusals = ATTEMPTS[after]
    before = picture(stolen.server)
    wrong: list[str] = []
    with contextlib.closing(stolen.server.connect()) as other, stolen.session() as session:
        admin = other.thread_id()
        with session.cursor() as cursor:
            for statement in of(tries, stolen.server.kind):
                made = statement.replace("{admin}", str(admin)).replace("{user}", stolen.account.user)
                number = told(cursor, made)
                if number not in refusals:
                    wrong.append(f"{number}: {made}")
        other.ping(reconnect=False)
    assert wrong == []
    assert picture(stolen.server) == before


def test_they_are_enough_to_count(stolen: Stolen) -> None:
    """On each server at least forty different statements were tried."""
    statements = {one for tries, _ in ATTEMPTS.values() for one in of(tries, stolen.server.kind)}

    assert len(statements) >= LEAST


def test_the_command_that_ends_a_server_is_refused(stolen: Stolen) -> None:
    """Where the protocol has a command that ends the server, which mysqladmin sends, it is refused."""
    if stolen.server.kind is MYSQL:
        pytest.skip("MySQL 8.0 and later have no such command any more")
    with stolen.session() as session:
        session._execute_command(COMMAND.COM_SHUTDOWN, "\0")
        with pytest.raises(pymysql.MySQLError) as refused:
            session._read_ok_packet()

    assert refused.value.args[0] in MAY_NOT
    assert stolen.server.alive()


def test_without_its_strict_mode_the_bounds_hold_as_well(stolen: Stolen) -> None:
    """A session that has its arguments cut instead of refused gets nothing else through."""
    tries, refusals = ATTEMPTS["the procedure out of bounds"]
    with stolen.session() as session, session.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = ''")
        numbers = {one: told(cursor, one) for one in of(tries, stolen.server.kind)}

    assert {one for one, number in numbers.items() if number not in refusals} == set()
    assert in_force(stolen.server) == START


def test_where_there_is_no_refusal_there_is_nothing_to_see(stolen: Stolen) -> None:
    """LOAD_FILE, and a server asked for tables that are not the account's, answer with nothing."""
    with stolen.session() as session, session.cursor() as cursor:
        cursor.execute("SELECT LOAD_FILE('/etc/passwd')")
        file = cursor.fetchall()
        tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'innobrim_lab'"
        cursor.execute("SHOW TABLES FROM innobrim_lab" if stolen.server.kind is MYSQL_56 else tables)
        names = cursor.fetchall()

    assert (file, names) == (((None,),), ())


def test_what_every_account_may_do_is_what_the_page_says(stolen: Stolen) -> None:
    """What docs/security-model.md leaves to a thief is possible, and its own sessions are its own to end."""
    with stolen.session() as session, stolen.session() as second, session.cursor() as cursor:
        mine = [*of(EVERYBODY, stolen.server.kind), *of(ITS_OWN, stolen.server.kind)]
        numbers = {one: told(cursor, one) for one in mine}
        numbers["KILL"] = told(cursor, f"KILL {second.thread_id()}")

    assert {one: number for one, number in numbers.items() if number} == {}
    assert in_force(stolen.server) == START


def test_it_takes_no_more_than_ten_connections(stolen: Stolen) -> None:
    """A thief cannot use up the server's connections: the account's eleventh is refused, others come in."""
    until(lambda: _sessions(stolen) == 0, 60.0, "the end of the sessions before")
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            stack.enter_context(stolen.session())
        with pytest.raises(pymysql.MySQLError) as refused:
            stolen.server.connect(stolen.account)
        stolen.server.query("SELECT 1")

    assert refused.value.args[0] == 1226
    until(lambda: _sessions(stolen) == 0, 60.0, "the end of its sessions")


def _sessions(stolen: Stolen) -> int:
    count = "SELECT COUNT(*) FROM information_schema.processlist"
    return int(stolen.server.query(f"{count} WHERE user = '{stolen.account.user}'")[0][0])


def test_two_sessions_at_once_stay_within_the_bounds(stolen: Stolen) -> None:
    """Sessions that set C and M past each other, each after the other's check, never leave the bounds.

    MariaDB makes M twice a C that is set above it.
    """
    server, done = stolen.server, [0, 0]
    tight = Bounds(lowest_io_capacity_max=200, highest_io_capacity_max=1000, highest_io_capacity=1000)
    guard(server, stolen.account, tight, pause=PAUSE)

    def hammer(number: int, name: str, values: tuple[int, ...]) -> None:
        dice = random.Random(number)  # noqa: S311 - which value is tried next is no secret
        with stolen.session() as session, session.cursor() as cursor:
            end = time.monotonic() + HAMMERED
            while time.monotonic() < end:
                done[number] += not told(cursor, f"CALL innobrim.set_global('{name}', {dice.choice(values)})")

    server.set_capacity(200, 1000)
    work = (("innodb_io_capacity", (100, 900, 1000)), ("innodb_io_capacity_max", (200, 500, 1000)))
    threads = [
        threading.Thread(target=hammer, args=(number, name, values), daemon=True)
        for number, (name, values) in enumerate(work)
    ]
    seen: set[Capacity] = set()
    try:
        for one in threads:
            one.start()
        with contextlib.closing(server.connect()) as admin, admin.cursor() as cursor:
            while any(one.is_alive() for one in threads):
                cursor.execute("SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max")
                ((capacity, maximum),) = cursor.fetchall()
                seen.add(Capacity(int(capacity), int(maximum)))
    finally:
        for one in threads:
            one.join(10.0)
        guard(server, stolen.account)
        server.set_capacity(START.io_capacity, START.io_capacity_max)

    assert all(count > 0 for count in done), done
    assert len(seen) > 1
    # read one after the other, so that C may seem to be above M; each for itself was in force
    assert {pair for pair in seen if not (100 <= pair.io_capacity <= 1000)} == set()
    assert {pair for pair in seen if not (200 <= pair.io_capacity_max <= 1000)} == set()


@pytest.fixture
def daemon(stolen: Stolen) -> Iterator[RealServer]:
    """Yield the daemon's own adapter, logged in with that account."""
    found = stolen.adapter()
    yield found
    found.close()


def test_the_daemon_writes_through_the_procedure(stolen: Stolen, daemon: RealServer) -> None:
    """The daemon finds the procedure and its bounds, writes by it, and reads both values back."""
    facts = daemon.facts()
    up = daemon.apply((("innodb_io_capacity_max", 3000), ("innodb_io_capacity", 1500)), Capacity(1500, 3000))
    ours = daemon.set_by_us()
    down = daemon.apply((("innodb_io_capacity", 1000), ("innodb_io_capacity_max", 2000)), START)

    assert facts.procedure == BOUNDS
    assert daemon.may_write() is False
    assert (up.error, up.in_force, up.done) == ("", Capacity(1500, 3000), 2)
    assert (down.error, down.in_force) == ("", START)
    if stolen.server.kind is MYSQL:
        assert ours == {"innodb_io_capacity", "innodb_io_capacity_max"}


def test_the_daemon_turns_counters_on_through_the_procedure(stolen: Stolen) -> None:
    """Where the operator lets it, the daemon turns InnoDB's counters on without any privilege of its own."""
    stolen.server.query("SET GLOBAL innodb_monitor_disable = 'module_log'")
    stolen.server.query("SET GLOBAL innodb_monitor_disable = 'module_buffer'")
    daemon = stolen.adapter()
    try:
        daemon.enables_counters = True
        facts: Facts = daemon.facts()
    finally:
        daemon.close()

    assert facts.disabled_counters == ()


def test_a_write_that_the_procedure_refuses_says_why(daemon: RealServer) -> None:
    """Beyond its bounds nothing is set; the receipt has the procedure's words, and is no lost privilege."""
    daemon.facts()
    beyond = BOUNDS.highest_io_capacity_max + 1
    receipt = daemon.apply((("innodb_io_capacity_max", beyond),), Capacity(START.io_capacity, beyond))

    assert f"innodb_io_capacity_max = {beyond}: must be from 200 to 20000" in receipt.error
    assert (receipt.done, receipt.in_force, receipt.denied) == (0, START, False)


def test_check_says_which_way_is_in_force(stolen: Stolen, daemon: RealServer) -> None:
    """The procedure alone is fine; the privilege beside it is a warning with the REVOKE that mends it."""
    privilege = daemon.facts().write_privilege
    alone = _privilege_line(daemon)
    stolen.server.query(f"GRANT {privilege} ON *.* TO 'innobrim_stolen'@'%'")
    try:
        beside = _privilege_line(daemon)
        (mend,) = beside.sql
        stolen.server.query(mend)
        mended = _privilege_line(daemon)
    finally:
        with contextlib.suppress(pymysql.MySQLError):
            stolen.server.query(f"REVOKE {privilege} ON *.* FROM 'innobrim_stolen'@'%'")

    assert (alone.severity, beside.severity, mended.severity) == ("ok", "warning", "ok")
    assert "and in no other way" in alone.title
    assert str(BOUNDS) in alone.title


def test_a_procedure_that_is_gone_is_a_lost_privilege(stolen: Stolen, daemon: RealServer) -> None:
    """Without its procedure the daemon writes nothing; once it is back, the next write finds it."""
    daemon.claims_writer = True
    daemon.read()
    daemon.facts()
    steps = (("innodb_io_capacity_max", 2000),)
    stolen.server.query("DROP PROCEDURE innobrim.set_global")
    try:
        lost = daemon.apply(steps, START)
        still = daemon.apply(steps, START)
    finally:
        guard(stolen.server, stolen.account)
    back = until(lambda: _without_error(daemon, steps), 60.0, "a write through the new procedure")

    assert (lost.denied, still.denied) == (True, True)
    assert back == START


def _without_error(daemon: RealServer, steps: tuple[tuple[str, int], ...]) -> Capacity | None:
    receipt = daemon.apply(steps, START)
    return None if receipt.error else receipt.in_force


def _privilege_line(daemon: RealServer) -> Any:  # noqa: ANN401 - a line
    report = check(daemon, active=False, settings=Settings(ratio=2))
    return next(line for line in report.findings if line.id == "privilege")
