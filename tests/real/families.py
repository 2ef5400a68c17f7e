"""The servers of other families, one at a time, each with its load for all tests that ask for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from lab.servers.base import LabServer
from lab.servers.choose import server_named
from lab.servers.reader import Reader, age_ratio
from lab.servers.spec import (
    MARIADB,
    MEBIBYTE,
    MYSQL,
    MYSQL_56,
    MYSQL_57,
    MYSQL_80,
    Kind,
    LabServerError,
    ServerSpec,
)
from lab.workloads.load import Load
from lab.workloads.sysbench import prepare
from tests.real.fixtures import missing
from tests.real.support import DEFAULT, Work, until
from tuner.records import Capacity


@dataclass(frozen=True, slots=True)
class Family:
    """A server that stands for its family.

    Attributes:
        name: by which ``make servers`` makes it.
        kind: how it is started, filled and ended.
        law: its flush law as it is started for the tests.
        extra: what it is started with for the tests.
    """

    name: str
    kind: Kind
    law: str
    extra: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """What its version begins with."""
        return self.name.partition("-")[2]


WITH_AUTHORITY = ("--innodb-max-dirty-pages-pct-lwm=0.001", "--performance-schema=ON")
"""What gives M authority over the age there, and what lets it keep the books that the referee compares."""


def _by_name(*families: Family) -> dict[str, Family]:
    return {one.name: one for one in families}


FAMILIES = _by_name(
    Family("mariadb-11.8", MARIADB, "mariadb", WITH_AUTHORITY),
    Family("mariadb-10.11", MARIADB, "mariadb", WITH_AUTHORITY),
    Family("mysql-5.6.24", MYSQL_56, "legacy-56"),
)
"""One of each kind, on which every fault is tried."""

RELEASES = FAMILIES | _by_name(
    Family("mariadb-10.5", MARIADB, "mariadb", WITH_AUTHORITY),
    Family("mariadb-11.4.5", MARIADB, "mariadb", WITH_AUTHORITY),
    Family("mysql-5.7.22", MYSQL_57, "legacy-whole"),
    Family("mysql-8.0.12", MYSQL_80, "legacy-whole"),
    Family("mysql-8.0.15", MYSQL_80, "legacy-whole"),
    Family("mysql-8.0.31", MYSQL, "legacy"),
)
"""Further releases, on each of which the loop has to come to its set-point."""

OF_EACH_LAW = {"mariadb-11.8", "mysql-5.6.24", "mysql-8.0.15"}
"""Those of them that make test has time for."""

EACH = [pytest.param(name, marks=() if name in OF_EACH_LAW else pytest.mark.prove) for name in RELEASES]
"""All of them as parameters of a test; make prove PART=releases has the time for the others."""

SHIPPED = Capacity(200, 2000)
"""What all of them start with by themselves."""

FAMILY_LOAD = Load(tables=4, rows=100_000)
"""Enough pages that at a well filled redo log some hundred a second have to be flushed."""

FLUSHED = 0.05
"""Age ratio below which the data load no longer matters."""

FLOWING, SETTLED = 1000, 0.7
"""Pages flushed by age, and an age ratio, by which a server does as its law says."""

SPEC = ServerSpec(
    redo_capacity=64 * MEBIBYTE,
    buffer_pool=512 * MEBIBYTE,
    io_capacity=SHIPPED.io_capacity,
    io_capacity_max=SHIPPED.io_capacity_max,
)


def named(name: str, spec: ServerSpec) -> LabServer:
    """Return the server of this name; skip, or fail in CI, where it was not made."""
    try:
        return server_named(name, spec, pull=False)
    except LabServerError as error:
        missing(str(error))


@pytest.fixture(scope="session", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    """Return the family whose turn it is."""
    return RELEASES[request.param]


@contextlib.contextmanager
def filled(family: Family, spec: ServerSpec = SPEC) -> Iterator[LabServer]:
    """Yield a family's server with the load's tables.

    What the data load dirtied is flushed: its redo has few pages, so that its demand is another one.
    """
    with named(family.name, replace(spec, extra=family.extra)) as found:
        version = str(found.query("SELECT VERSION()")[0][0])
        assert version.startswith(family.version), version
        refusal = found.limit_write_iops(None)
        if refusal is not None:
            missing(f"a disk that can be limited: {refusal}")
        found.set_capacity(DEFAULT.io_capacity, DEFAULT.io_capacity_max)
        prepare(found, FAMILY_LOAD)
        until(lambda: age_ratio(found) < FLUSHED, 60.0, "the data load's pages to be flushed")
        found.set_capacity(SHIPPED.io_capacity, SHIPPED.io_capacity_max)
        yield found


@pytest.fixture(scope="session")
def member(family: Family) -> Iterator[LabServer]:
    """Yield the family's server with small redo and the load's tables; only one of them is there at once."""
    with filled(family) as found:
        yield found


@pytest.fixture(scope="session")
def member_work(member: LabServer) -> Iterator[Work]:
    """Yield the switch of the load on the family's server, which is at work and flushed for by age.

    For some half a minute MySQL 5.6 has no mean redo rate and flushes nothing by age.
    """
    found = Work(member, FAMILY_LOAD)
    with contextlib.closing(Reader(member)) as reader:
        before = reader.read().pages_adaptive
        found.at(found.usual)

        def flows() -> bool:
            now = reader.read()
            return now.pages_adaptive - before >= FLOWING and now.modified_age < SETTLED * now.flush_limit

        until(flows, 120.0, "pages to be flushed by age")
    yield found
    found.at(None)
