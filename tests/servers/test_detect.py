"""What is found, and what is said, about a server that answers."""

from __future__ import annotations

import pymysql
import pytest

from tests.servers.fixtured import FILES, Fixtured, Rows, opened
from tuner.records import Bounds, Facts
from tuner.servers.detect import detect
from tuner.servers.fixture import load
from tuner.servers.port import Unreachable, Unsupported

VARIABLES, COUNTERS, STARTED = "GLOBAL VARIABLES", "status = 'enabled' FROM", "Uptime'"
LIMITS = ("log_max_modified_age_async", "log_max_modified_age_sync", "log_concurrency_margin")
DENIED = pymysql.OperationalError(1142, "SELECT command denied to user 'innobrim'@'localhost'")


def session(**instead: Rows | Exception) -> Fixtured:
    """Return a session to a MySQL 8.0.46."""
    return Fixtured(load(FILES["mysql-8.0.46"]), **instead)


def found(where: Fixtured) -> Facts:
    """Return what a server is that is taken."""
    facts, _ = detect(where)
    return facts


@pytest.mark.parametrize(("called", "bounds"), [(1, Bounds()), (0, None)])
def test_a_procedure_that_may_be_called_is_seen(called: int, bounds: Bounds | None) -> None:
    """Whether there is one is asked along with the start of mysqld, and costs no statement of its own."""
    facts = found(session(**{STARTED: [(900.0, "innobrim@10.0.%", called)]}))

    assert (facts.procedure, facts.started) == (bounds, 900.0)
    assert facts.grant("PROCESS") == "GRANT PROCESS ON *.* TO 'innobrim'@'10.0.%'"


@pytest.mark.parametrize("asked", [VARIABLES, COUNTERS, STARTED])
def test_a_missing_grant_is_said_in_one_line(asked: str) -> None:
    """Whatever the account may not look at, the message holds the server's words, and is no traceback."""
    with pytest.raises(Unsupported, match="SELECT command denied") as caught:
        detect(session(**{asked: DENIED}))

    assert "\n" not in str(caught.value)
    assert "innobrim@127.0.0.1:3306" in str(caught.value)


@pytest.mark.parametrize("number", [3024, 1969, 1317])
@pytest.mark.parametrize("asked", [VARIABLES, COUNTERS, STARTED])
def test_a_server_too_busy_to_answer_is_no_missing_grant(asked: str, number: int) -> None:
    """A statement that the server's time limit cut short is one to wait for, as one that never came back."""
    error = pymysql.OperationalError(number, "Query execution was interrupted")
    with pytest.raises(Unreachable, match=r"no answer in time.*see what holds the server up") as caught:
        detect(session(**{asked: error}))

    assert "was interrupted" in str(caught.value)
    assert "PROCESS" not in str(caught.value)


@pytest.mark.parametrize("asked", [VARIABLES, COUNTERS])
def test_what_has_no_innodb_counters_is_not_told_to_grant(asked: str) -> None:
    """No privilege helps where the table is not there: what is supported is said, not a GRANT."""
    unknown = pymysql.OperationalError(1109, "Unknown table 'INNODB_METRICS' in information_schema")
    with pytest.raises(Unsupported, match=r"Unknown table.*error 1109.*supported are MySQL") as caught:
        detect(session(**{asked: unknown}))

    assert not {"GRANT", "PROCESS"} & set(str(caught.value).split())


@pytest.mark.parametrize(
    "wrong",
    [{STARTED: []}, {STARTED: [("soon", "")]}, {VARIABLES: [("version", "9.7.4")]}],
    ids=["nothing", "no number", "a variable missing"],
)
def test_an_answer_without_sense_is_said_in_one_line(wrong: dict[str, Rows]) -> None:
    """A proxy that leaves something out, or a server that is none, is named instead of a traceback."""
    with pytest.raises(Unsupported, match="unexpected answer"):
        detect(session(**wrong))


@pytest.mark.parametrize("name", LIMITS)
def test_limits_that_are_not_ours_block_control(name: str) -> None:
    """A build that exports other limits than our arithmetic is not controlled, with both numbers said."""
    there = session()
    state, ours = there.reading.metrics[name]
    there.reading.metrics[name] = (state, str(int(ours) + 512))
    (blocker,) = found(there).blockers

    assert f"{name} is {int(ours) + 512} on the server and {ours} by our arithmetic" in blocker
    assert "not understood" in blocker


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
    status: dict[str, str], metrics: dict[str, tuple[str, str]]
) -> None:
    """What the server has not worked out, is changing or does not show is not held against it."""
    there = session()
    there.reading.status.update(status)
    there.reading.metrics.update(metrics)

    assert found(there).blockers == ()


def test_a_read_only_server_is_blocked() -> None:
    """A server that writes no pages cannot be controlled."""
    there = session()
    there.reading.variables["innodb_read_only"] = "ON"
    (blocker,) = found(there).blockers

    assert "innodb_read_only is ON" in blocker


@pytest.mark.parametrize("name", ["mysql-9.7.4", "mariadb-10.6.22", "mysql-5.7.44"])
def test_an_account_without_process_is_told_the_grant(name: str) -> None:
    """On every family, where INNODB_METRICS is refused, the words have the statement that helps."""
    server, there, _ = opened(name)
    there.instead["innodb_metrics"] = pymysql.OperationalError(1227, "need the PROCESS privilege")

    with pytest.raises(Unsupported, match=r"PROCESS privilege.*GRANT PROCESS ON \*\.\* TO 'innobrim'@'local"):
        server.facts()
