"""What is found, and what is said, about a server that answers."""

from __future__ import annotations

import pymysql
import pytest
from msgspec.structs import replace

from tests.servers.fixtured import Fixtured, Rows, opened
from tests.servers.injected import INJECTED
from tuner.records import Bounds, Facts
from tuner.servers.detect import detect
from tuner.servers.port import Unreachable, Unsupported

VARIABLES, COUNTERS, STARTED = "GLOBAL VARIABLES", "status = 'enabled' FROM", "Uptime'"
LIMITS = ("log_max_modified_age_async", "log_max_modified_age_sync", "log_concurrency_margin")
ASKED = pytest.mark.parametrize("asked", [VARIABLES, COUNTERS, STARTED])
"""Each of the statements that detection consists of."""


@pytest.fixture
def session() -> Fixtured:
    """Return a session to a MySQL 8.0.46."""
    return opened("mysql-8.0.46")[1]


def refusal(
    number: int = 1142, words: str = "SELECT command denied to user 'innobrim'@'localhost'"
) -> Exception:
    """Return an error of the server's."""
    return pymysql.OperationalError(number, words)


def found(session: Fixtured) -> Facts:
    """Return what a server is that is taken."""
    return detect(session)[0]


@pytest.mark.parametrize(("called", "bounds"), [(1, Bounds()), (0, None)])
def test_a_procedure_that_may_be_called_is_seen(
    session: Fixtured, called: int, bounds: Bounds | None
) -> None:
    """Whether there is one is asked along with the start of mysqld, and costs no statement of its own."""
    session.instead[STARTED] = [(900.0, "innobrim@10.0.%", called)]
    facts = found(session)

    assert (facts.procedure, facts.started) == (bounds, 900.0)
    assert facts.grant("PROCESS") == "GRANT PROCESS ON *.* TO 'innobrim'@'10.0.%'"


@ASKED
def test_a_missing_grant_is_said_in_one_line(session: Fixtured, asked: str) -> None:
    """Whatever the account may not look at, the message holds the server's words, and is no traceback."""
    session.instead[asked] = refusal()
    with pytest.raises(Unsupported, match=r"innobrim@127\.0\.0\.1:3306.*SELECT command denied") as caught:
        detect(session)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("number", [3024, 1969, 1317])
@ASKED
def test_a_server_too_busy_to_answer_is_no_missing_grant(session: Fixtured, asked: str, number: int) -> None:
    """A statement that the server's time limit cut short is one to wait for, as one that never came back."""
    session.instead[asked] = refusal(number, "Query execution was interrupted")
    with pytest.raises(
        Unreachable, match=r"no answer in time.*interrupted.*see what holds the server up"
    ) as caught:
        detect(session)

    assert "PROCESS" not in str(caught.value)


@pytest.mark.parametrize("asked", [VARIABLES, COUNTERS])
def test_what_has_no_innodb_counters_is_not_told_to_grant(session: Fixtured, asked: str) -> None:
    """No privilege helps where the table is not there: what is supported is said, not a GRANT."""
    session.instead[asked] = refusal(1109, "Unknown table 'INNODB_METRICS' in information_schema")
    with pytest.raises(Unsupported, match=r"Unknown table.*error 1109.*supported.* are MySQL") as caught:
        detect(session)

    assert not {"GRANT", "PROCESS"} & set(str(caught.value).split())


@pytest.mark.parametrize("name", ["mysql-9.7.4", "mariadb-10.6.22", "mysql-5.7.44"])
def test_an_account_without_process_is_told_the_grant(name: str) -> None:
    """On every family, where INNODB_METRICS is refused, the words have the statement that helps."""
    server, _, _ = opened(name, innodb_metrics=refusal(1227, "need the PROCESS privilege"))

    with pytest.raises(Unsupported, match=r"PROCESS privilege.*GRANT PROCESS ON \*\.\* TO 'innobrim'@'local"):
        server.facts()


@pytest.mark.parametrize(
    ("asked", "rows"),
    [(STARTED, []), (STARTED, [("soon", "")]), (VARIABLES, [("version", "9.7.4")])],
    ids=["nothing", "no number", "a variable missing"],
)
def test_an_answer_without_sense_is_said_in_one_line(session: Fixtured, asked: str, rows: Rows) -> None:
    """A proxy that leaves something out, or a server that is none, is named instead of a traceback."""
    session.instead[asked] = rows
    with pytest.raises(Unsupported, match="unexpected answer"):
        detect(session)


@pytest.mark.parametrize(
    ("status", "metrics"),
    [
        ({}, {"log_concurrency_margin": ("enabled", "0")}),
        ({"Innodb_redo_log_resize_status": "Resizing down"}, dict.fromkeys(LIMITS, ("enabled", "1"))),
        ({}, dict.fromkeys(LIMITS, ("disabled", "0"))),
    ],
    ids=["a margin not counted yet", "a resize", "counters off"],
)
def test_limits_are_compared_only_where_they_can_be(
    session: Fixtured, status: dict[str, str], metrics: dict[str, tuple[str, str]]
) -> None:
    """What the server has not worked out, is changing or does not show is not held against it."""
    session.reading.status.update(status)
    session.reading.metrics.update(metrics)

    assert found(session).blockers == ()


def test_a_server_that_says_no_version_is_not_used(session: Fixtured) -> None:
    """Such a server is refused by name, and nothing that it said steers the terminal."""
    session.reading.variables["version"] = INJECTED[0]
    with pytest.raises(Unsupported, match="no version") as caught:
        detect(session)

    assert str(caught.value).isprintable()


@pytest.mark.parametrize(("socket", "managed"), [(None, "Amazon RDS"), ("/run/mysqld/mysqld.sock", "")])
def test_only_an_address_that_is_used_tells_a_managed_server(
    session: Fixtured, socket: str | None, managed: str
) -> None:
    """A provider's host beside a socket, which goes before it, takes active mode from nobody's own server."""
    host = "db1.c1.eu-west-1.rds.amazonaws.com"
    session.endpoint = replace(session.endpoint, host=host, socket=socket)

    assert found(session).managed == managed


def test_a_read_only_server_is_blocked(session: Fixtured) -> None:
    """A server that writes no pages cannot be controlled."""
    session.reading.variables["innodb_read_only"] = "ON"

    assert "innodb_read_only is ON" in found(session).blockers[0]
