"""Which server it is where it keeps nothing that says so, and that no write reaches another one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.factory import EPOCH, MEBIBYTE, sample
from tests.servers.fixtured import Fixtured
from tests.servers.scripted import Scripted, good
from tuner.records import Capacity, Sample
from tuner.servers.families.mariadb import MariaDBAdapter
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.fixture import load
from tuner.servers.identity import Identity
from tuner.servers.mysql import MySQLServer
from tuner.servers.port import MESSAGE_CHARACTERS, ServerError, Unreachable, Unsupported

OLD = "9f1c2d3e4b5a:3306:/var/lib/mysql/"
MADE_ANEW = "c0ffee123456:3306:/var/lib/mysql/"
POD = "mariadb-0:3306:/var/lib/mysql/"
MARIADB = MariaDBAdapter()
DAY = 86_400.0
LSN = 40_000 * MEBIBYTE
STEPS = (("innodb_io_capacity", 300), ("innodb_io_capacity_max", 600))
FIXTURES = sorted(Path(__file__).parents[1].glob("fixtures/servers/*mariadb*.json"))


class Watcher:
    """A daemon at one address; ``reads`` gives what it takes whatever answers there for.

    ``over_another`` has the next reading come over a connection of its own.
    """

    def __init__(self, name: str = "") -> None:
        self.identity, self.session = Identity(name), Scripted()

    def over_another(self) -> Watcher:
        """Lose the connection."""
        self.session.opened += 1
        return self

    def reads(
        self,
        named: str,
        at: float,
        *,
        up: float,
        lsn: int = LSN,
        number: str = "1",
        wsrep: str = "0",
        rows: int = 10**9,
    ) -> str:
        """Return what a server is known as, by a reading at a time, seconds, with its uptime, seconds."""
        made = sample(
            at, uptime=up, lsn_current=lsn, lsn_oldest=lsn - 1000, lsn_checkpoint=lsn - 8 * MEBIBYTE
        )
        made = replace(made, identity=named, wall=EPOCH + at, row_changes=rows)
        answers = {"server_id": number, "wsrep_on": wsrep}
        return self.identity.of_reading(self.session, MARIADB, made, answers).identity


def test_a_container_made_anew_around_the_same_data_is_the_same_server() -> None:
    """Another host name, the same port and directory, a start since, and a log that goes on."""
    watcher = Watcher()
    first = watcher.reads(OLD, 0.0, up=DAY)

    assert watcher.reads(MADE_ANEW, 40.0, up=12.0, lsn=LSN + 3 * MEBIBYTE) == first == OLD
    assert watcher.reads(MADE_ANEW, 41.0, up=13.0, lsn=LSN + 4 * MEBIBYTE) == OLD
    assert watcher.identity.of_facts(MARIADB, MADE_ANEW) == OLD
    assert watcher.reads("deadbeef0001:3306:/var/lib/mysql/", 90.0, up=9.0, lsn=LSN + 5 * MEBIBYTE) == OLD


def test_what_a_crash_loses_of_the_log_makes_no_other_server() -> None:
    """The log may end before the last reading's end, and never before its checkpoint."""
    watcher = Watcher()
    watcher.reads(OLD, 0.0, up=DAY)

    assert watcher.reads(MADE_ANEW, 40.0, up=12.0, lsn=LSN - 7 * MEBIBYTE) == OLD


@pytest.mark.parametrize(
    "unlike",
    [
        {"up": DAY},
        {"lsn": LSN - 9 * MEBIBYTE},
        {"lsn": 50_000},
        {"lsn": 2 * LSN},
        {"number": "2"},
        {"wsrep": "1"},
        {"named": "c0ffee123456:3307:/var/lib/mysql/"},
        {"named": "c0ffee123456:3306:/srv/mysql/"},
    ],
    ids=str,
)
def test_whatever_does_not_fit_is_another_server(unlike: dict[str, Any]) -> None:
    """A server that was up before, another log, number, port or directory, or a cluster's node is another."""
    watcher = Watcher()
    watcher.reads(OLD, 0.0, up=DAY)
    given = {"named": MADE_ANEW, "up": 12.0, "lsn": LSN + MEBIBYTE, **unlike}
    named = given.pop("named")

    assert watcher.reads(named, 40.0, **given) == named


@pytest.mark.parametrize(
    ("up", "lsn"), [(5 * DAY, LSN // 3), (5 * DAY, 2 * LSN), (5.0, 50_000), (3000.0, LSN - 100 * MEBIBYTE)]
)
def test_two_stateful_sets_with_a_mariadb_0_are_two_servers(up: float, lsn: int) -> None:
    """The same host name, port and directory, and a log that does not go on: the daemon hears of another."""
    watcher = Watcher()
    first = watcher.reads(POD, 0.0, up=DAY)
    other = watcher.over_another().reads(POD, 20.0, up=up, lsn=lsn, rows=5000)

    assert first == POD
    assert other != first
    assert other.startswith(POD)
    assert watcher.reads(POD, 21.0, up=up + 1.0, lsn=lsn + 1000, rows=5100) == other
    assert watcher.identity.of_facts(MARIADB, POD) == other
    assert watcher.over_another().reads(POD, 30.0, up=DAY + 30.0) not in {first, other}, (
        "nobody can tell that it is the first"
    )


@pytest.mark.parametrize(
    ("at", "up", "lsn"),
    [
        (1.0, DAY + 1.0, LSN + 500 * MEBIBYTE),
        (60.0, 10.0, LSN + MEBIBYTE),
        (60.0, 10.0, LSN - 5 * MEBIBYTE),
        (1.0, DAY + 3600.0, LSN + MEBIBYTE),
        (1.0, DAY - 3600.0, LSN + MEBIBYTE),
        (301.0, DAY + 1.0, LSN + MEBIBYTE),
        (1.0, DAY + 301.0, LSN + 300 * MEBIBYTE),
    ],
    ids=["goes on", "restart", "crash", "clock on", "clock back", "paused", "our clock stood still"],
)
def test_what_happens_to_one_server_makes_no_two(at: float, up: float, lsn: int) -> None:
    """A restart, a crash, a clock that is set and a gap in time are no other server."""
    watcher = Watcher()

    assert watcher.reads(POD, 0.0, up=DAY) == POD
    assert watcher.reads(POD, at, up=up, lsn=lsn) == POD


def test_a_name_that_a_person_gave_lasts() -> None:
    """Whatever started since under another host name is that server; one that was up before is not."""
    watcher = Watcher("orders")
    assert watcher.identity.of_facts(MARIADB, OLD) == "orders"
    assert watcher.reads(OLD, 0.0, up=DAY) == "orders"
    assert watcher.reads(MADE_ANEW, 40.0, up=12.0, lsn=90_000) == "orders"

    assert watcher.reads("db7:3306:/var/lib/mysql/", 41.0, up=DAY, lsn=LSN) == "db7:3306:/var/lib/mysql/"


@pytest.mark.parametrize("path", FIXTURES[:1], ids=lambda path: path.stem)
def test_a_named_server_says_what_it_calls_itself(path: Path) -> None:
    """What was kept before it had a name is found by that."""
    session = Fixtured(load(path))
    server = MySQLServer(session.endpoint, SimClock(start=50.0), session=session, name="orders")
    facts = server.facts()

    assert facts.names == ("orders", facts.calls_itself)
    assert facts.calls_itself.endswith(session.reading.variables["datadir"])
    assert good(server).identity == "orders"


def test_a_server_uuid_needs_no_witness() -> None:
    """Where the server has a lasting identity, that alone counts, and no name overrules it."""
    identity, session, adapter = Identity("orders"), Scripted(), RedoCapacityAdapter()
    before = replace(sample(), identity="uuid-1")
    after = replace(sample(1.0, uptime=3.0, lsn_current=5), identity="uuid-1")

    assert [identity.of_reading(session, adapter, one, {}).identity for one in (before, after)] == [
        "uuid-1"
    ] * 2
    assert identity.of_facts(adapter, "uuid-1") == "uuid-1"


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_mariadb_is_known_as_it_was(path: Path) -> None:
    """A state directory of before knows its server: the first reading and the facts give the old form."""
    session = Fixtured(load(path))
    server = MySQLServer(session.endpoint, SimClock(start=50.0), session=session)
    facts = server.facts()
    variables = session.reading.variables

    assert facts.identity == ":".join(variables[one] for one in ("hostname", "port", "datadir"))
    assert good(server).identity == facts.identity


@pytest.mark.parametrize("name", ["", "orders"])
@pytest.mark.parametrize("seconds", [10.0, 600.0, 3 * DAY])
def test_a_machine_whose_clocks_stood_still_knows_its_server(name: str, seconds: float) -> None:
    """Both of our clocks stopped while mysqld worked on, and the connection lasted: it is the same server."""
    watcher = Watcher(name)
    first = watcher.reads(POD, 0.0, up=DAY)
    made, rows = int(200 * MEBIBYTE * seconds), 10**9 + int(100_000 * seconds)

    assert watcher.reads(POD, 1.0, up=DAY + seconds, lsn=LSN + made, rows=rows) == first == (name or POD)


@pytest.mark.parametrize("again", [False, True])
def test_a_twin_is_none_the_less_one(*, again: bool) -> None:
    """A twin with a longer log is another server, over a new connection and behind a proxy's old one."""
    watcher = Watcher("orders")
    first = watcher.reads(POD, 0.0, up=DAY)
    rows = 2 * 10**9 if again else 5000
    watcher = watcher.over_another() if again else watcher
    other = watcher.reads(POD, 1.0, up=5 * DAY, lsn=2 * LSN, rows=rows)

    assert other != first
    assert other.startswith("orders, started at ")


class Moved(Scripted):
    """A session behind an address that another server takes between a reading and a write."""

    def move(self, identity: str, lsn: int | None = None) -> None:
        """Lose the connection; the next one leads elsewhere."""
        self.opened += 1
        self.connection = object()
        self.variables["identity"] = identity
        if lsn is not None:
            self.counters["log_lsn_current"] = lsn


def sets(session: Scripted) -> Sequence[str]:
    """Return the SETs that were sent."""
    return [one for one in session.asked if one.startswith("SET GLOBAL")]


@pytest.mark.parametrize("again", [False, True])
def test_no_set_reaches_the_server_that_a_failover_brought(*, again: bool) -> None:
    """After a new connection the server is asked who it is before anything is sent."""
    session = Moved()
    server = MySQLServer(session.endpoint, SimClock(start=50.0), session=session)
    first = good(server).identity
    session.move(first if again else "another")
    receipt = server.apply(STEPS, Capacity(300, 600))

    assert bool(sets(session)) is again
    assert (receipt.error == "") is again
    assert "another answers" in receipt.error or again
    server.close()


@pytest.mark.parametrize("lsn", [1_000, 900 * MEBIBYTE])
def test_no_set_reaches_another_mariadb_of_the_same_name(lsn: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers of one host name, port and directory are told apart by their logs before a write."""
    session = Moved()
    server = MySQLServer(session.endpoint, SimClock(start=50.0), session=session)
    monkeypatch.setattr(RedoCapacityAdapter, "lasting", False)
    session.counters["log_lsn_last_checkpoint"] = 8_000_000
    first = good(server)
    assert isinstance(first, Sample)
    session.move(first.identity, lsn)
    receipt = server.apply(STEPS, Capacity(300, 600))

    assert sets(session) == []
    assert "with another log" in receipt.error
    server.close()


@pytest.mark.parametrize("odd", ["", "abc", "1e999", "inf", "1_000", "\u0661", "9" * 400, "9" * 5000, "-1"])
def test_a_number_without_sense_before_a_write_ends_in_words(
    odd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a new connection says its log's number is, nothing is written, and the receipt says why."""
    session = Moved()
    server = MySQLServer(session.endpoint, SimClock(start=50.0), session=session)
    monkeypatch.setattr(RedoCapacityAdapter, "lasting", False)
    session.counters["log_lsn_last_checkpoint"] = 8_000_000
    first = good(server)
    session.move(first.identity)
    session.counters["log_lsn_current"] = odd  # type: ignore[assignment]  # what no server says
    receipt = server.apply(STEPS, Capacity(300, 600))

    assert receipt.done == 0
    assert receipt.error
    assert sets(session) == []
    server.close()


def test_whoever_answers_a_write_is_named_in_one_short_line(server: MySQLServer, session: Scripted) -> None:
    """What another server calls itself fills no log and steers no terminal."""
    good(server)
    session.opened += 1
    session.variables["identity"] = "A" * 2_000_000 + "\x1b[2J\n"
    receipt = server.apply(STEPS, Capacity(300, 600))

    assert "nothing is written" in receipt.error
    assert receipt.error.isprintable()
    assert len(receipt.error) < 1000


@pytest.mark.parametrize(
    "error",
    [
        ServerError("x" * 2_000_000),
        Unsupported("\x1b[2J\n" * 100_000),
        Unreachable("no answer\n", "\x1b" * 2_000_000),
        Unreachable("\n" * 2_000_000, "start the server"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_of_a_server_is_longer_than_people_read(error: ServerError) -> None:
    """Whatever words a server's went into an error, it is of bounded length and steers no terminal."""
    parts = (error.message, error.fix) if isinstance(error, Unreachable) else ()
    for words in (str(error), *parts):
        assert words.replace("\n", "").isprintable()
        assert len(words) <= MESSAGE_CHARACTERS + 1


def test_the_lines_of_our_own_message_are_kept() -> None:
    """A message with statements to carry out by hand has each on a line of its own."""
    assert str(Unreachable("no answer\nSET GLOBAL x = 1", "start the server")).splitlines() == [
        "no answer",
        "SET GLOBAL x = 1; start the server",
    ]
