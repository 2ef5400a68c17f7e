"""A session that answers from a fixture, as the server that it was recorded from would.

What a test changes in it, a server would show, too: variables that were set, another connection, a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import ER

from lab.plant.clock import SimClock
from tuner.records import LOW_WATER_MARK, Sample
from tuner.servers.endpoint import Endpoint
from tuner.servers.families import FAMILIES
from tuner.servers.fixture import STARTED, Answer, Fixture, Reading, load
from tuner.servers.server import RealServer
from tuner.servers.session import Session
from tuner.servers.surroundings import PARTS

FOLDER = Path(__file__).parents[1] / "fixtures" / "servers"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.json"))}
REFUSED = {"aurora-3.07.1": "Aurora 3.07.1 flushes no pages from the instance, so io_capacity has no effect"}
TAKEN = [name for name in FILES if name not in REFUSED]

MARGINS = {"mysql-8.0.15": 3_805_696, "mysql-8.0.29": 5_316_096, "percona-8.0.28": 53_634_048}
"""The margin, bytes of payload, that servers have and export as 0: log_calc_concurrency_margin of 8.0.27."""

Rows = Sequence[tuple[Any, ...]]

HOLDERS = "WHERE id = IS_USED_LOCK"  # What asks who has the writer lock

BOOTED = 1_795_500_000.0
"""When every mysqld of a fixture started, Unix time."""

ACCOUNT = "innobrim@localhost"
_SWITCH = {"ON": "1", "OFF": "0"}
_SETS = re.compile(r"(?:SET GLOBAL |CALL innobrim\.set_global\(')(\w+)(?: = |', )([0-9.]+)\)?")
_MARKS = re.compile(r"CALL innobrim\.set_low_water_mark\((\d)\)")


class Fixtured(Session):
    """A session to a fixture's server.

    Attributes:
        at: number of the reading that it is in.
        asked: every statement.
        instead: rows, or an exception, in place of the answer to statements with these words.
        around: the same in place of the answer to a part of the surroundings, by its name.
        connection: tells this connection from the next one; None without one.
        writer: what a reading shows of the writer lock: "0" where another session has it.
        before_reset: what a counter counted before an innodb_monitor_reset, which ``count_reset`` leaves out.
    """

    def __init__(self, fixture: Fixture, host: str = "127.0.0.1", **instead: Rows | Exception) -> None:
        super().__init__(Endpoint(user="innobrim", host=host))
        self.instead: dict[str, Rows | Exception] = dict(instead)
        self._fixture = fixture
        self.at = 0
        self.asked: list[str] = []
        self.around: dict[str, Rows | Exception] = {}
        self.connection: object | None = object()
        self.writer = "1"
        self.before_reset: dict[str, int] = {}
        self._routes: Mapping[str, Callable[[str], Rows]] = {
            r"SHOW GLOBAL VARIABLES": self._variables,
            r"SHOW GLOBAL STATUS": self._status,
            r"SHOW ENGINE INNODB STATUS": self._engine,
            r"SHOW GRANTS": self._grants,
            r"SELECT CURRENT_USER\(\)$": lambda _: [(ACCOUNT,)],
            r"SELECT @@GLOBAL\.": self._in_force,
            r"KILL|SET SESSION|SET GLOBAL innodb_monitor_enable|CALL innobrim\.enable_counters": lambda _: [],
            r"SET GLOBAL|CALL innobrim\.set_\w+\([^N]": self._set,
            r"SELECT (GET|RELEASE|IS_USED)_LOCK\(": self._lock,
            r"SELECT name, .* FROM information_schema.innodb_metrics": self._metrics,
        }

    @property
    def reading(self) -> Reading:
        """Return the tables as they stand."""
        return self._fixture.readings[self.at]

    @property
    def current(self) -> object | None:
        """Return what tells this connection from the next one."""
        return self.connection

    def third(self) -> list[str]:
        """Return the statements asked so far that look at the surroundings."""
        return [one for one in self.asked if any(part.statement in one for part in PARTS.values())]

    def count(self, name: str, value: object) -> None:
        """Have a counter of InnoDB's be on, and show this."""
        self.reading.metrics[name] = ("enabled", str(value))

    def query(self, statement: str) -> Rows:
        """Answer, or refuse as the server did."""
        self.asked.append(statement)
        for words, said in self.instead.items():
            if words in statement:
                if isinstance(said, Exception):
                    raise said
                return said
        for shape, answer in self._routes.items():
            if re.match(shape, statement):
                return answer(statement)
        return self._looks(statement)

    def _variables(self, statement: str) -> Rows:
        self._heed("variables")
        return _picked(self.reading.variables, statement)

    def _status(self, statement: str) -> Rows:
        self._heed("status")
        return _picked(self.reading.status, statement)

    def _engine(self, _: str) -> Rows:
        self._heed("engine_log")
        return [
            ("InnoDB", "", f"---\nLOG\n---\n{self.reading.engine_log}--------\nROW OPERATIONS\n--------\n")
        ]

    def _grants(self, _: str) -> Rows:
        self._heed("grants")
        return [(f"GRANT {', '.join(self._fixture.privileges) or 'USAGE'} ON *.* TO `innobrim`@`localhost`",)]

    def _in_force(self, statement: str) -> Rows:
        return [tuple(self.reading.variables[name] for name in re.findall(r"@@GLOBAL\.(\w+)", statement))]

    def _set(self, statement: str) -> Rows:
        if pair := _SETS.fullmatch(statement):
            name, value = pair.groups()
        else:
            mark = _MARKS.fullmatch(statement)
            assert mark is not None, statement
            name, value = LOW_WATER_MARK, "0.001" if mark[1] == "1" else "0"
        self.reading.variables[name] = f"{float(value):.6f}" if name == LOW_WATER_MARK else value
        return []

    def _lock(self, statement: str) -> Rows:
        name = statement.partition(" ")[2].partition("(")[0]
        return _rows(self._fixture.locks[name]) or [(None,)]

    def _metrics(self, statement: str) -> Rows:
        """Answer a SELECT from INNODB_METRICS, with the variables that a UNION adds to it."""
        self._heed("metrics")
        own, *more = statement.split(" UNION ALL ")
        wanted = own.partition(" FROM ")[2].partition(" IN (")[2]
        column = self._fixture.state_column
        condition = re.search(rf"\b{column} = ('?)(\w+)\1", own)
        asked = re.match(r"SELECT name, (.*) FROM", own)
        assert asked is not None
        other = ({"status", "enabled"} - {column}) & set(re.findall(r"\b(?:status|enabled)\b(?!')", own))
        if other:
            raise pymysql.OperationalError(ER.BAD_FIELD_ERROR, f"Unknown column {other}")
        rows: list[tuple[Any, ...]] = []
        for name, (state, count) in self.reading.metrics.items():
            on = condition is not None and state == condition[2]
            if wanted and f"'{name}'" not in wanted:
                continue
            shown = _typed(count)
            if name in self.before_reset and f"'{name}'" not in asked[1].partition(", count_reset")[0]:
                shown = int(count) + self.before_reset[name]
            if asked[1].startswith(f"{column} = "):
                rows.append((name, int(on)))
            elif asked[1].startswith(f"{column}, "):
                rows.append((name, state, shown))
            elif condition is None or on:
                rows.append((name, shown))
        return rows + [self._added(one) for one in more]

    def _added(self, select: str) -> tuple[str, str]:
        name = re.match(r"SELECT '(\w+)'", select)
        assert name is not None, select
        if name[1] == "writer":
            _rows(self._fixture.locks["IS_USED_LOCK"])
            return "writer", self.writer
        values: list[str] = []
        for variable in re.findall(r"@@GLOBAL\.(\w+)", select):
            if variable not in self.reading.variables:
                raise pymysql.OperationalError(
                    ER.UNKNOWN_SYSTEM_VARIABLE, f"Unknown system variable {variable}"
                )
            value = self.reading.variables[variable]
            values.append(_SWITCH.get(value, value))
        return name[1], ":".join(values)

    def _looks(self, statement: str) -> Rows:
        """Answer what looks at mysqld's start or at the surroundings; other tables are not there."""
        looks: dict[str, tuple[str, Answer]] = {}
        for family, answers in self._fixture.looks.items():
            adapter = next(one for one in FAMILIES if one.title == family)
            if statement == adapter.started:
                _rows(answers[STARTED])
                return [(BOOTED, ACCOUNT)]
            looks |= {part.statement: (name, answers[name]) for name, part in adapter.parts.items()}
        asked = [look for part, look in looks.items() if part in statement]
        if not asked:
            raise pymysql.ProgrammingError(ER.NO_SUCH_TABLE, f"no such table: {statement}")
        return [row for name, answer in asked for row in self._part(name, answer)]

    def _part(self, name: str, answer: Answer) -> Rows:
        said = self.around.get(name)
        if isinstance(said, Exception):
            raise said
        return _rows(answer) if said is None else said

    def _heed(self, table: str) -> None:
        if table in self._fixture.refused:
            raise pymysql.OperationalError(self._fixture.refused[table], f"{table}: denied")


def fixture(name: str) -> Fixture:
    """Return a fixture by its name."""
    return load(FILES[name])


def opened(
    name: str,
    *,
    host: str = "127.0.0.1",
    variables: Mapping[str, str | None] = {},
    status: Mapping[str, str | None] = {},
    metrics: Mapping[str, int] = {},
    **instead: Rows | Exception,
) -> tuple[RealServer, Fixtured, Fixture]:
    """Return a server whose answers are a fixture's, with these changed, or left out where they are None.

    Args:
        name: of the fixture.
        host: the address by which it is reached.
        variables: by name.
        status: status variables by name.
        metrics: counts of InnoDB's counters by name; whether they are on stays.
        instead: as ``Fixtured``'s.
    """
    found = fixture(name)
    for reading in found.readings:
        for table, changes in ((reading.variables, variables), (reading.status, status)):
            for one, value in changes.items():
                table.pop(one, None)
                table.update({} if value is None else {one: value})
        reading.metrics.update({one: (reading.metrics[one][0], str(count)) for one, count in metrics.items()})
    session = Fixtured(found, host, **instead)
    return RealServer(session.endpoint, SimClock(start=50.0), session=session), session, found


def good(server: RealServer) -> Sample:
    """Return a reading that must be good."""
    reading = server.read()
    assert isinstance(reading, Sample)
    return reading


def _rows(answer: Answer) -> list[tuple[Any, ...]]:
    """Return an answer's rows, with numbers as the driver gives them."""
    if answer.error:
        raise pymysql.OperationalError(answer.error, "refused")
    return [tuple(map(_typed, row)) for row in answer.rows]


def _typed(value: str | None) -> int | str | None:
    """Return a value as the driver gives it: a whole number as one."""
    return int(value) if value is not None and re.fullmatch("[0-9]{1,20}", value) else value


def _picked(values: Mapping[str, str], statement: str) -> Rows:
    """Return those that a statement names, or has a pattern for; letters' case does not matter."""
    patterns = [
        re.escape(one.replace("\\", "")).replace("%", ".*") if "LIKE" in statement else re.escape(one)
        for one in re.findall(r"'([^']*)'", statement)
    ]
    shape = re.compile("|".join(patterns), re.IGNORECASE)
    return [(name, value) for name, value in values.items() if shape.fullmatch(name)]
