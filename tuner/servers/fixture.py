"""A server's raw answers as a file, and how they are recorded: for tests of servers that cannot be run.

Nothing is set on the server, and a daemon beside it is not disturbed. Everything is asked for whatever family
it is of, so that it works where none is recognised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import pymysql
from msgspec import Struct
from pymysql.constants import CR

from tuner.servers.adapter import SHOWN, Adapter, quoted
from tuner.servers.enginestatus import SECONDS
from tuner.servers.failures import error_number
from tuner.servers.families import FAMILIES, asked
from tuner.servers.port import Unreachable
from tuner.servers.release import version_of
from tuner.servers.scrub import Scrubber, privileges
from tuner.servers.session import Session
from tuner.servers.values import text
from tuner.system.clock import Clock
from tuner.system.version import program_version

SCHEMA = 1
"""The file's own version."""

VERSIONS = frozenset({"version", "aurora_version"})
"""Variables that are versions, which pages are made of."""

TABLES = ("variables", "status", "metrics")

Metric = tuple[str, str]
"""What a counter's column says of whether it is on, and its count."""

STATUS = ("Innodb\\_%", "Handler\\_%", "Com\\_%", "Uptime", "Slave%")

LOCK = "innobrim.fixture"
"""A named lock that nobody else uses; it is given back at once."""

STATE_COLUMNS = ("status", "enabled")
"""What families call the column of INNODB_METRICS that says whether a counter is on."""

STARTED = "started"


class Answer(Struct, frozen=True, omit_defaults=True):
    """What one statement came to.

    Attributes:
        error: the server's error number; 0 where it answered.
        rows: of the answer, every value as text or null.
    """

    error: int = 0
    rows: tuple[tuple[str | None, ...], ...] = ()


class Reading(Struct, frozen=True, omit_defaults=True):
    """The tables at one time; in a file each but the first has only what changed.

    Attributes:
        second: since the first reading.
        variables: as SHOW GLOBAL VARIABLES has them.
        status: as SHOW GLOBAL STATUS has them.
        metrics: all of INFORMATION_SCHEMA.INNODB_METRICS.
        engine_log: the LOG section of SHOW ENGINE INNODB STATUS, which is asked for every five seconds.
    """

    second: float
    variables: dict[str, str] = {}
    status: dict[str, str] = {}
    metrics: dict[str, Metric] = {}
    engine_log: str = ""

    def after(self, last: Reading) -> Reading:
        """Return the whole reading, from one that has only what changed."""
        tables = {name: getattr(last, name) | getattr(self, name) for name in TABLES}
        return Reading(second=self.second, engine_log=self.engine_log or last.engine_log, **tables)

    def since(self, last: Reading) -> Reading:
        """Return what of the whole reading changed."""
        engine = "" if self.engine_log == last.engine_log else self.engine_log
        tables = {
            table: {one: said for one, said in now.items() if getattr(last, table).get(one) != said}
            for table, now in ((name, getattr(self, name)) for name in TABLES)
        }
        return Reading(second=self.second, engine_log=engine, **tables)


class Fixture(Struct, frozen=True):
    """One server.

    Attributes:
        synthetic: written from documents, not recorded.
        built_from: these documents.
        note: what is particular to this one, for people.
        program: the version that recorded it.
        scrubbed: what was taken out.
        state_column: the column of INNODB_METRICS that says whether a counter is on; empty where it may not
            be read.
        refused: tables and statements that the account may not use, with the server's error number.
        privileges: those that the account has on all databases.
        locks: what GET_LOCK and IS_USED_LOCK came to.
        looks: what the statement for mysqld's start, and that for each part of the surroundings, came to, by
            the servers that they are meant for.
        readings: about one a second.
    """

    synthetic: bool
    built_from: tuple[str, ...]
    note: str
    program: str
    scrubbed: tuple[str, ...]
    state_column: str
    refused: dict[str, int]
    privileges: tuple[str, ...]
    locks: dict[str, Answer]
    looks: dict[str, dict[str, Answer]]
    readings: tuple[Reading, ...]
    schema: int = SCHEMA

    @property
    def version(self) -> str:
        """Return what the server says of its version."""
        return self.readings[0].variables.get("version", "")


def encode(fixture: Fixture) -> bytes:
    """Return the file's content, JSON that people can look through."""
    readings = fixture.readings
    changes = [now.since(last) for last, now in pairwise(readings)]
    short = msgspec.structs.replace(fixture, readings=(*readings[:1], *changes))
    return msgspec.json.format(msgspec.json.encode(short), indent=1) + b"\n"


def decode(content: bytes) -> Fixture:
    """Return the fixture that a file holds, each reading whole.

    Raises:
        ValueError: it is none, of another schema, or its server says as its version what is none.
    """
    found = msgspec.json.decode(content, type=Fixture)
    if found.schema != SCHEMA:
        raise ValueError(f"a fixture of schema {found.schema}; this version reads {SCHEMA}")
    for reading in found.readings:
        for name in VERSIONS & reading.variables.keys():
            version_of(reading.variables[name])
    return msgspec.structs.replace(found, readings=_whole(found.readings))


def load(path: Path) -> Fixture:
    """Return the fixture in a file; errors as ``decode``'s."""
    return decode(path.read_bytes())


def _whole(changes: Sequence[Reading]) -> tuple[Reading, ...]:
    found = list(changes[:1])
    for change in changes[1:]:
        found.append(change.after(found[-1]))
    return tuple(found)


def variables() -> tuple[str, ...]:
    """Return the names of all variables that any family asks for."""
    return tuple(sorted({*asked(), *(name for one in FAMILIES for name in one.variables)}))


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
        self._looks = {one.title: self._look_as(one, answers) for one in FAMILIES}
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
        values = self._pairs(
            "variables", f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({quoted(variables())})"
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
                variables=self._scrub.variables(values, variables()),
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

    def _look_as(self, adapter: type[Adapter], answers: dict[str, Answer]) -> dict[str, Answer]:
        """Return what a family's statements come to; what several families ask is asked once."""
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
    return f"SELECT name, {column}, {SHOWN} FROM information_schema.innodb_metrics"
