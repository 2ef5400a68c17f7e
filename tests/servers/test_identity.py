"""Which server it is where it keeps nothing that says so, and that no write reaches another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.factory import EPOCH, MEBIBYTE, sample
from tests.servers.fixtured import FILES, Fixtured, good, opened
from tests.servers.plain import plain
from tuner.records import Capacity
from tuner.servers.families.mariadb import MariaDBAdapter
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.identity import Identity
from tuner.servers.port import MESSAGE_CHARACTERS, ServerError, Unreachable, Unsupported
from tuner.servers.server import RealServer

OLD = "9f1c2d3e4b5a:3306:/var/lib/mysql/"
MADE_ANEW = "c0ffee123456:3306:/var/lib/mysql/"
POD = "mariadb-0:3306:/var/lib/mysql/"
MARIADB = MariaDBAdapter()
DAY = 86_400.0
LSN = 40_000 * MEBIBYTE
STEPS = (("innodb_io_capacity", 300), ("innodb_io_capacity_max", 600))
MARIADBS = [name for name in FILES if "mariadb" in name]


class Watcher:
    """A daemon at one address; ``reads`` gives what it takes whatever answers there for.

    ``over_another`` has the next reading come over a connection of its own.
    """

    def __init__(self, name: str = "") -> None:
        self.identity, self.session = Identity(name), Fixtured(plain())

    def over_another(self) -> Watcher:
        """Lose the connection."""
        self.session.connections += 1
        return self

    def reads(
        self,
        named: str,
        at: float,
        *,
        up: float = DAY,
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
    watcher.reads(OLD, 0.0)

    assert watcher.reads(MADE_ANEW, 40.0, up=12.0, lsn=LSN + 3 * MEBIBYTE) == OLD
    assert watcher.reads(MADE_ANEW, 41.0, up=13.0, lsn=LSN + 4 * MEBIBYTE) == OLD
    assert watcher.identity.of_facts(MARIADB, MADE_ANEW) == OLD
    assert watcher.reads("deadbeef0001:3306:/var/lib/mysql/", 90.0, up=9.0, lsn=LSN + 5 * MEBIBYTE) == OLD


@pytest.mark.parametrize(
    ("first", "now", "at", "given"),
    [
        pytest.param(POD, POD, 1.0, {"up": DAY + 1.0, "lsn": LSN + 500 * MEBIBYTE}, id="goes on"),
        pytest.param(POD, POD, 60.0, {"up": 10.0, "lsn": LSN + MEBIBYTE}, id="restart"),
        pytest.param(POD, POD, 60.0, {"up": 10.0, "lsn": LSN - 5 * MEBIBYTE}, id="crash"),
        pytest.param(OLD, MADE_ANEW, 40.0, {"up": 12.0, "lsn": LSN - 7 * MEBIBYTE}, id="crash, made anew"),
        pytest.param(POD, POD, 1.0, {"up": DAY + 3600.0, "lsn": LSN + MEBIBYTE}, id="clock on"),
        pytest.param(POD, POD, 1.0, {"up": DAY - 3600.0, "lsn": LSN + MEBIBYTE}, id="clock back"),
        pytest.param(POD, POD, 301.0, {"up": DAY + 1.0, "lsn": LSN + MEBIBYTE}, id="paused"),
        pytest.param(POD, POD, 1.0, {"up": DAY + 301.0, "lsn": LSN + 300 * MEBIBYTE}, id="ours stood still"),
    ],
)
def test_what_happens_to_one_server_makes_no_two(
    first: str, now: str, at: float, given: dict[str, Any]
) -> None:
    """A restart, a crash, a clock that is set and a gap in time are no other server."""
    watcher = Watcher()
    watcher.reads(first, 0.0)

    assert watcher.reads(now, at, **given) == first


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
    watcher.reads(OLD, 0.0)
    given = {"named": MADE_ANEW, "at": 40.0, "up": 12.0, "lsn": LSN + MEBIBYTE, **unlike}

    assert watcher.reads(**given) == given["named"]


@pytest.mark.parametrize(
    ("up", "lsn"), [(5 * DAY, LSN // 3), (5 * DAY, 2 * LSN), (5.0, 50_000), (3000.0, LSN - 100 * MEBIBYTE)]
)
def test_two_stateful_sets_with_a_mariadb_0_are_two_servers(up: float, lsn: int) -> None:
    """The same host name, port and directory, and a log that does not go on: the daemon hears of another."""
    watcher = Watcher()
    first = watcher.reads(POD, 0.0)
    other = watcher.over_another().reads(POD, 20.0, up=up, lsn=lsn, rows=5000)

    assert first == POD
    assert other != first
    assert other.startswith(POD)
    assert watcher.reads(POD, 21.0, up=up + 1.0, lsn=lsn + 1000, rows=5100) == other
    assert watcher.identity.of_facts(MARIADB, POD) == other
    back = watcher.over_another().reads(POD, 30.0, up=DAY + 30.0)
    assert back not in {first, other}, "nobody can tell that it is the first"


@pytest.mark.parametrize("again", [False, True])
def test_a_twin_is_none_the_less_one(*, again: bool) -> None:
    """A twin with a longer log is another server, over a new connection and behind a proxy's old one."""
    watcher = Watcher("orders")
    watcher.reads(POD, 0.0)
    watcher = watcher.over_another() if again else watcher
    other = watcher.reads(POD, 1.0, up=5 * DAY, lsn=2 * LSN, rows=2 * 10**9 if again else 5000)

    assert other.startswith("orders, started at ")


@pytest.mark.parametrize("name", ["", "orders"])
@pytest.mark.parametrize("seconds", [10.0, 600.0, 3 * DAY])
def test_a_machine_whose_clocks_stood_still_knows_its_server(name: str, seconds: float) -> None:
    """Both of our clocks stopped while mysqld worked on, and the connection lasted: it is the same server."""
    watcher = Watcher(name)
    first = watcher.reads(POD, 0.0)
    made, rows = int(200 * MEBIBYTE * seconds), 10**9 + int(100_000 * seconds)

    assert watcher.reads(POD, 1.0, up=DAY + seconds, lsn=LSN + made, rows=rows) == first == (name or POD)


def test_a_name_that_a_person_gave_lasts() -> None:
    """Whatever started since under another host name is that server; one that was up before is not."""
    watcher = Watcher("orders")
    assert watcher.identity.of_facts(MARIADB, OLD) == "orders"
    assert watcher.reads(OLD, 0.0) == "orders"
    assert watcher.reads(MADE_ANEW, 40.0, up=12.0, lsn=90_000) == "orders"

    assert watcher.reads("db7:3306:/var/lib/mysql/", 41.0) == "db7:3306:/var/lib/mysql/"


def test_a_named_server_says_what_it_calls_itself() -> None:
    """What was kept before it had a name is found by that."""
    _, session, _ = opened(MARIADBS[0])
    server = RealServer(session.endpoint, SimClock(start=50.0), session=session, name="orders")
    facts = server.facts()

    assert facts.names == ("orders", facts.calls_itself)
    assert facts.calls_itself.endswith(session.reading.variables["datadir"])
    assert good(server).identity == "orders"


def test_a_server_uuid_needs_no_witness() -> None:
    """Where the server has a lasting identity, that alone counts, and no name overrules it."""
    identity, session, adapter = Identity("orders"), Fixtured(plain()), RedoCapacityAdapter()
    for made in (sample(), sample(1.0, uptime=3.0, lsn_current=5)):
        found = identity.of_reading(session, adapter, replace(made, identity="uuid-1"), {})
        assert found.identity == "uuid-1"
    assert identity.of_facts(adapter, "uuid-1") == "uuid-1"


@pytest.mark.parametrize("name", MARIADBS)
def test_every_mariadb_is_known_as_it_was(name: str) -> None:
    """A state directory of before knows its server: the first reading and the facts give the old form."""
    server, session, _ = opened(name)
    facts = server.facts()

    assert facts.identity == ":".join(
        session.reading.variables[one] for one in ("hostname", "port", "datadir")
    )
    assert good(server).identity == facts.identity


Move = Callable[..., Fixtured]
"""Has another server, of this name and with this log, take the address; returns the session to it."""


@pytest.fixture
def move(server: RealServer, session: Fixtured) -> Iterator[Move]:
    """Return how a failover happens between the reading that was just taken and a write."""
    session.count("log_lsn_last_checkpoint", 8_000_000)
    good(server)

    def lead_elsewhere(identity: str = "", lsn: object = None) -> Fixtured:
        session.connections += 1
        session.connection = object()
        session.reading.variables["server_uuid"] = identity or session.reading.variables["server_uuid"]
        if lsn is not None:
            session.count("log_lsn_current", lsn)
        return session

    return lead_elsewhere


def sets(session: Fixtured) -> list[str]:
    """Return the SETs that were sent."""
    return [one for one in session.asked if one.startswith("SET GLOBAL")]


@pytest.mark.parametrize(
    ("identity", "said"),
    [("", ""), ("another", "another answers"), ("A" * 2_000_000 + "\x1b[2J\n", "nothing is written")],
    ids=["the same", "another", "any words"],
)
def test_no_set_reaches_the_server_that_a_failover_brought(
    server: RealServer, move: Move, identity: str, said: str
) -> None:
    """After a new connection the server is asked who it is, and named in one short line, before any SET."""
    session = move(identity)
    receipt = server.apply(STEPS, Capacity(300, 600))

    assert bool(sets(session)) is not bool(identity)
    assert bool(receipt.error) is bool(identity)
    assert said in receipt.error
    assert receipt.error.isprintable()
    assert len(receipt.error) < 1000


@pytest.mark.parametrize(
    ("lsn", "said"),
    [
        *((lsn, "with another log") for lsn in (1_000, 900 * MEBIBYTE)),
        *((odd, "") for odd in ("", "abc", "1e999", "inf", "1_000", "\u0661", "9" * 400, "9" * 5000, "-1")),
    ],
)
def test_no_set_reaches_another_mariadb_of_the_same_name(
    server: RealServer, move: Move, monkeypatch: pytest.MonkeyPatch, lsn: object, said: str
) -> None:
    """Two servers of one host name, port and directory are told apart by their logs before a write."""
    monkeypatch.setattr(RedoCapacityAdapter, "lasting", False)
    session = move(lsn=lsn)
    receipt = server.apply(STEPS, Capacity(300, 600))

    assert receipt.done == 0
    assert receipt.error
    assert said in receipt.error
    assert sets(session) == []


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
    lines = str(Unreachable("no answer\nSET GLOBAL x = 1", "start the server")).splitlines()

    assert lines == ["no answer", "SET GLOBAL x = 1; start the server"]
