"""What is said about a server that answers and cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql
import pytest

from tests.servers.scripted import COUNTERS
from tuner.records import Bounds
from tuner.servers.detect import detect
from tuner.servers.endpoint import Endpoint
from tuner.servers.port import Unreachable, Unsupported
from tuner.servers.session import Session

VARIABLES = {
    "server_uuid": "11111111-2222-3333-4444-555555555555",
    "version": "9.7.4",
    "version_comment": "MySQL Community Server - GPL",
    "innodb_page_size": "16384",
    "innodb_read_only": "OFF",
    "innodb_redo_log_capacity": "104857600",
    "innodb_thread_concurrency": "0",
}
DENIED = pymysql.OperationalError(1142, "SELECT command denied to user 'innobrim'@'localhost'")


class Answers(Session):
    """A session whose answers are given; an exception among them is raised."""

    def __init__(self, **answers: Any) -> None:  # noqa: ANN401 - rows, or an exception
        super().__init__(Endpoint(user="innobrim"))
        self._answers = {
            "VARIABLES": list(VARIABLES.items()),
            "status = 'enabled' FROM": [(name, 1) for name in COUNTERS],
            "Innodb_redo_log_": [],
            "Uptime": [(900.0, "innobrim@localhost")],
            "SELECT CURRENT_USER()": [("innobrim@localhost",)],
            **answers,
        }

    def query(self, statement: str) -> Sequence[tuple[Any, ...]]:
        """Return the rows of the first answer whose name the statement holds."""
        found = next(rows for name, rows in self._answers.items() if name in statement)
        if isinstance(found, Exception):
            raise found
        return list(found)


def test_a_server_is_recognised() -> None:
    """A MySQL 9.7 whose counters are on is one that can be controlled."""
    facts, _adapter = detect(Answers())

    assert (facts.version, facts.started, facts.disabled_counters, facts.blockers) == ("9.7.4", 900.0, (), ())


@pytest.mark.parametrize(("called", "found"), [(1, Bounds()), (0, None)])
def test_a_procedure_that_may_be_called_is_seen(called: int, found: Bounds | None) -> None:
    """Whether there is one is asked along with the start of mysqld, and costs no statement of its own."""
    facts, _adapter = detect(Answers(Uptime=[(900.0, "innobrim@localhost", called)]))

    assert facts.procedure == found
    assert facts.started == 900.0


@pytest.mark.parametrize("asked", ["VARIABLES", "status = 'enabled' FROM", "Uptime"])
def test_a_missing_grant_is_said_in_one_line(asked: str) -> None:
    """Whatever the account may not look at, the message holds the server's words, and is no traceback."""
    with pytest.raises(Unsupported, match="SELECT command denied") as caught:
        detect(Answers(**{asked: DENIED}))

    assert "\n" not in str(caught.value)
    assert "innobrim@127.0.0.1:3306" in str(caught.value)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (3024, "Query execution was interrupted, maximum statement execution time exceeded"),
        (1969, "Query execution was interrupted (max_statement_time exceeded)"),
        (1317, "Query execution was interrupted"),
    ],
)
@pytest.mark.parametrize("asked", ["VARIABLES", "status = 'enabled' FROM", "Uptime"])
def test_a_server_too_busy_to_answer_is_no_missing_grant(asked: str, number: int, said: str) -> None:
    """A statement that the server's time limit cut short is one to wait for, as one that never came back."""
    with pytest.raises(Unreachable, match=r"no answer in time.*see what holds the server up") as caught:
        detect(Answers(**{asked: pymysql.OperationalError(number, said)}))

    assert said in str(caught.value)
    assert "PROCESS" not in str(caught.value)


@pytest.mark.parametrize("asked", ["VARIABLES", "status = 'enabled' FROM"])
def test_what_has_no_innodb_counters_is_not_told_to_grant(asked: str) -> None:
    """No privilege helps where the table is not there: what is supported is said, not a GRANT."""
    unknown = pymysql.OperationalError(1109, "Unknown table 'INNODB_METRICS' in information_schema")
    with pytest.raises(Unsupported, match=r"Unknown table.*error 1109.*supported are MySQL") as caught:
        detect(Answers(**{asked: unknown}))

    assert "GRANT" not in str(caught.value)
    assert "PROCESS" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"Uptime": []},
        {"Uptime": [("soon", "")]},
        {"VARIABLES": [(name, value) for name, value in VARIABLES.items() if name != "innodb_page_size"]},
    ],
    ids=["nothing", "no number", "a variable missing"],
)
def test_an_answer_without_sense_is_said_in_one_line(wrong: dict[str, Any]) -> None:
    """A proxy that leaves something out, or a server that is none, is named instead of a traceback."""
    with pytest.raises(Unsupported, match="unexpected answer"):
        detect(Answers(**wrong))
