"""A server's raw answers as a file: what the adapters look at, for tests of servers that cannot be run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from tuner.servers.release import version_of

SCHEMA = 1
"""The file's own version."""

VERSIONS = frozenset({"version", "aurora_version"})
"""Variables that are versions, which pages are made of."""

Metric = tuple[str, str]
"""What a counter's column says of whether it is on, and its count."""


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
        return Reading(
            self.second,
            {**last.variables, **self.variables},
            {**last.status, **self.status},
            {**last.metrics, **self.metrics},
            self.engine_log or last.engine_log,
        )

    def since(self, last: Reading) -> Reading:
        """Return what of the whole reading changed."""
        return Reading(
            self.second,
            {name: value for name, value in self.variables.items() if last.variables.get(name) != value},
            {name: value for name, value in self.status.items() if last.status.get(name) != value},
            {name: value for name, value in self.metrics.items() if last.metrics.get(name) != value},
            "" if self.engine_log == last.engine_log else self.engine_log,
        )


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
