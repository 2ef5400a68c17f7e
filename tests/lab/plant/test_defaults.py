"""What each simulated server starts with by itself, and what it refuses."""

from __future__ import annotations

import pytest

from lab.plant.flavour import FLAVOURS, FlavourName
from lab.plant.parameters import ServerParameters
from lab.scenarios.schema import Scenario
from tests.lab.plant.support import readings

DOCUMENTED: dict[FlavourName, tuple[int, int, float, float, int]] = {
    "mysql-9.7": (10_000, 20_000, 90.0, 10.0, 128),
    "mysql-8.0.28": (200, 2000, 90.0, 10.0, 4),
    "mysql-5.7": (200, 2000, 75.0, 0.0, 120),
    "mysql-5.6": (200, 2000, 75.0, 0.0, 120),
    "percona-8.4": (10_000, 20_000, 90.0, 10.0, 128),
    "percona-5.7": (200, 2000, 75.0, 0.0, 120),
    "mariadb-11.8": (200, 2000, 90.0, 0.0, 128),
    "mariadb-10.5": (200, 2000, 90.0, 0.0, 128),
}
"""C, M, innodb_max_dirty_pages_pct and its low-water mark, and the pages of a doublewrite batch:
innodb_doublewrite_pages (in 8.0 innodb_write_io_threads), the 120 of MySQL 5, MariaDB's two blocks of 64."""


@pytest.mark.parametrize("flavour", list(FLAVOURS))
def test_a_server_starts_with_its_versions_defaults(flavour: FlavourName) -> None:
    """Without settings each server has those that its version documents."""
    found = ServerParameters(flavour=flavour).in_force
    assert DOCUMENTED[flavour] == (
        found.io_capacity,
        found.io_capacity_max,
        found.max_dirty_pages_pct,
        found.max_dirty_pages_pct_lwm,
        found.doublewrite_pages,
    )
    assert (found.idle_flush_pct, found.flush_sync) == (100, True)


@pytest.mark.parametrize(
    ("flavour", "io_capacity", "io_capacity_max"),
    [
        ("mysql-9.7", 200, 400),
        ("mysql-9.7", 4_000_000_000, 4_294_967_295),
        ("percona-8.4", 1000, 2000),
        ("mysql-8.0.28", 200, 2000),
        ("mysql-8.0.28", 1500, 3000),
        ("mysql-5.6", 1001, 2002),
        ("mariadb-11.8", 2000, 4000),
    ],
)
def test_m_follows_c_where_only_c_is_set(
    flavour: FlavourName, io_capacity: int, io_capacity_max: int
) -> None:
    """A server that is given C alone starts with M = 2 C, before 8.4 with at least 2000, and says so."""
    samples = readings(1, flavour=flavour, io_capacity=io_capacity)
    assert (samples[0].io_capacity, samples[0].io_capacity_max) == (io_capacity, io_capacity_max)


LACKING: list[tuple[FlavourName, str, int]] = [
    ("mysql-5.6", "flush_sync", True),
    ("mysql-5.6", "idle_flush_pct", 100),
    ("mysql-5.7", "idle_flush_pct", 50),
    ("percona-5.7", "doublewrite_pages", 32),
    ("mariadb-11.8", "idle_flush_pct", 50),
]


def problems(flavour: FlavourName, **settings: int) -> list[str]:
    """Return what is wrong with a scenario of this server."""
    return Scenario(
        name="mine",
        description="mine",
        seconds=600,
        measured_from=300,
        server=ServerParameters(flavour=flavour, **settings),  # type: ignore[arg-type] # of several types
    ).problems()


@pytest.mark.parametrize(("flavour", "name", "value"), LACKING)
def test_a_setting_that_a_version_has_not_is_refused(flavour: FlavourName, name: str, value: int) -> None:
    """A scenario is told of each setting with which the real server would not start, whatever its value."""
    assert problems(flavour, **{name: value}) == [f"server.{name}: {flavour} has no innodb_{name}"]


@pytest.mark.parametrize("flavour", ["mysql-9.7", "percona-8.4", "mysql-8.0.28"])
def test_a_setting_that_a_version_has_is_taken(flavour: FlavourName) -> None:
    """MySQL from 8.0 on takes all of them."""
    assert problems(flavour, flush_sync=False, idle_flush_pct=20, doublewrite_pages=16) == []
