"""Records a fixture from a server; nothing is set on it, and a daemon beside it is not disturbed.

Everything is asked for whatever family the server is of, so that it works where none is recognised.
"""

from __future__ import annotations

import re

import pymysql
from pymysql.constants import CR

from tuner.clock import Clock
from tuner.servers.answers import quoted
from tuner.servers.causes import error_number
from tuner.servers.connect import Session, text
from tuner.servers.enginestatus import SECONDS
from tuner.servers.families.every import ADAPTERS
from tuner.servers.families.recognise import ASKED
from tuner.servers.fixture import Answer, Fixture, Reading
from tuner.servers.port import Unreachable
from tuner.servers.scrub import Scrubber, privileges
from tuner.version import program_version

VARIABLES = tuple(sorted({*ASKED, *(name for adapter in ADAPTERS.values() for name in adapter.variables)}))
STATUS = ("Innodb\\_%", "Handler\\_%", "Com\\_%", "Uptime", "Slave%")

LOCK = "innobrim.fixture"
"""A named lock that nobody else uses; it is given back at once."""

STATE_COLUMNS = ("status", "enabled")
"""What families call the column of INNODB_METRICS that says whether a counter is on."""

STARTED = "started"


class FixtureRecorder:
    """One fixture, from one session."""

    def __init__(self, session: Session, clock: Clock) -> None:
        """Ask nothing yet.

        Args:
            session: who asks; its owner closes it.
            clock: whose time it is.
        """
        self._session = session
        self._clock = clock
        self._scrub = Scrubber()
        self._refused: dict[str, int] = {}
        self._locks: dict[str, Answer] = {}
        self._looks: dict[str, dict[str, Answer]] = {}
        self._privileges: tuple[str, ...] = ()
        self._column = ""
        self._readings: list[Reading] = []
        self._began = self._engine_at = float("-inf")

    @property
    def count(self) -> int:
        """Return how many readings there are."""
        return len(self._readings)

    def look(self) -> None:
        """Ask for what stays the same.

        Raises:
            Unreachable: nothing answers in time.
        """
        grants = self._table("grants", "SHOW GRANTS")
        self._privileges = privileges(_at(row, 0) for row in grants)
        self._locks = {
            "GET_LOCK": self._recognised(f"SELECT GET_LOCK('{LOCK}', 0)", "named locks"),
            "IS_USED_LOCK": self._outcome(f"SELECT IS_USED_LOCK('{LOCK}')"),
            "RELEASE_LOCK": self._recognised(f"SELECT RELEASE_LOCK('{LOCK}')", "named locks"),
        }
        answers: dict[str, Answer] = {}
        self._looks = {family: self._look_as(family, answers) for family in ADAPTERS}
        for column in STATE_COLUMNS:
            answer = self._answer(_metrics(column))
            if answer.error == 0:
                self._column = column
                self._refused.pop("metrics", None)
                return
            self._refused["metrics"] = answer.error

    def read(self) -> None:
        """Take one reading.

        Raises:
            Unreachable: nothing answers in time; what was read before stays.
        """
        now = self._clock.monotonic()
        metrics = self._table("metrics", _metrics(self._column)) if self._column else ()
        variables = self._pairs(
            "variables", f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({quoted(VARIABLES)})"
        )
        likes = " OR ".join(f"Variable_name LIKE '{pattern}'" for pattern in STATUS)
        status = self._pairs("status", f"SHOW GLOBAL STATUS WHERE {likes}")
        engine = self._readings[-1].engine_log if self._readings else ""
        if now - self._engine_at >= SECONDS:
            rows = self._table("engine_log", "SHOW ENGINE INNODB STATUS")
            engine = self._scrub.engine_log(_at(rows[0], 2) if rows else "")
            self._engine_at = now
        if not self._readings:
            self._began = now
        self._readings.append(
            Reading(
                second=round(now - self._began, 3),
                variables=self._scrub.variables(variables, VARIABLES),
                status=self._scrub.status(status),
                metrics=self._scrub.metrics(metrics),
                engine_log=engine,
            )
        )

    def fixture(self) -> Fixture:
        """Return what was recorded."""
        return Fixture(
            synthetic=False,
            built_from=(),
            note="",
            program=program_version(),
            scrubbed=self._scrub.found,
            state_column=self._column,
            refused=dict(sorted(self._refused.items())),
            privileges=self._privileges,
            locks=self._locks,
            looks=self._looks,
            readings=tuple(self._readings),
        )

    def _look_as(self, family: str, answers: dict[str, Answer]) -> dict[str, Answer]:
        """Return what a family's statements come to; what several families ask is asked once."""
        adapter = ADAPTERS[family]
        for part in adapter.parts.values():
            if part.statement not in answers:
                answers[part.statement] = self._patiently(part.statement)
        parts = {name: answers[part.statement] for name, part in adapter.parts.items()}
        return {STARTED: self._outcome(adapter.started), **parts}

    def _patiently(self, statement: str) -> Answer:
        """Return what a statement comes to; one that gives no answer in time spoils nothing else."""
        try:
            return self._recognised(statement, "the surroundings")
        except Unreachable:
            return Answer(error=CR.CR_SERVER_LOST)

    def _recognised(self, statement: str, where: str) -> Answer:
        """Return what a statement comes to, of its answer what is recognised."""
        answer = self._answer(statement)
        names = frozenset(re.findall(r"SELECT '(\w+)'", statement))
        return Answer(error=answer.error, rows=self._scrub.rows(answer.rows, where, names))

    def _outcome(self, statement: str) -> Answer:
        """Return whether a statement is answered, without the answer."""
        return Answer(error=self._answer(statement).error)

    def _answer(self, statement: str) -> Answer:
        try:
            rows = self._session.query(statement)
        except pymysql.MySQLError as error:
            return Answer(error=error_number(error))
        return Answer(rows=tuple(tuple(None if one is None else text(one) for one in row) for row in rows))

    def _table(self, name: str, statement: str) -> tuple[tuple[str | None, ...], ...]:
        answer = self._answer(statement)
        if answer.error:
            self._refused[name] = answer.error
        else:
            self._refused.pop(name, None)
        return answer.rows

    def _pairs(self, name: str, statement: str) -> dict[str, str]:
        return {_at(row, 0): _at(row, 1) for row in self._table(name, statement)}


def _at(row: tuple[str | None, ...], place: int) -> str:
    """Return a column; empty where it is null, or not there."""
    return (row[place] or "") if place < len(row) else ""


def _metrics(column: str) -> str:
    return f"SELECT name, {column}, count FROM information_schema.innodb_metrics"
