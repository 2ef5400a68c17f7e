"""The simulated server that stands for a real one has that one's settings, or there is none."""

from __future__ import annotations

from typing import Any

import pytest

from lab.plant.compare.conditions import ConditionsError, default_of, flavour_of, parameters_of
from tests.lab.plant.real import TRUTH, asked, conditions
from tuner.records import Capacity


@pytest.mark.parametrize(
    ("server", "flavour", "default"),
    [
        ("MySQL 9.7.4-2", "mysql-9.7", Capacity(10_000, 20_000)),
        ("MySQL 8.0.46", "mysql-9.7", Capacity(200, 2000)),
        ("MySQL 8.0.28", "mysql-8.0.28", Capacity(200, 2000)),
        ("MySQL 5.7.44", "mysql-5.7", Capacity(200, 2000)),
        ("MySQL 5.6.24", "mysql-5.6", Capacity(200, 2000)),
        ("MariaDB 11.8.6-MariaDB-0+deb13u1", "mariadb-11.8", Capacity(200, 2000)),
    ],
)
def test_a_real_server_is_simulated_by_its_own_kind(server: str, flavour: str, default: Capacity) -> None:
    """By maker and version, as the bench writes them; each is reset to what it has by itself."""
    assert flavour_of(server) == flavour
    assert default_of(server) == default


@pytest.mark.parametrize("server", ["MariaDB 10.5.29-MariaDB", "Percona Server 8.4.6", "MySQL 5.5.62", ""])
def test_a_server_that_the_plant_cannot_be_is_said(server: str) -> None:
    """No other one is put in its place."""
    with pytest.raises(ConditionsError, match="no such server"):
        flavour_of(server)


def test_redo_disk_threads_and_settings_are_the_rows() -> None:
    """What the row was measured under is what the plant runs under."""
    row = asked(
        500,
        conditions(
            "MariaDB 11.8.6-MariaDB",
            write_iops=3000,
            redo_capacity=2 * 104_857_600,
            set={"innodb_max_dirty_pages_pct_lwm": "0.001"},
        ),
    )

    found = parameters_of(row, TRUTH)

    assert found.server.redo_capacity == 209_715_200
    assert found.server.max_dirty_pages_pct_lwm == 0.001
    assert found.server.buffer_pool_pages == 131_072
    assert found.disk.timeline[0].write_iops == 3000.0
    assert found.load.timeline[0].threads == 16
    assert found.load.hot_pages == TRUTH.load["hot_pages"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"set": {"innodb_adaptive_hash_index": "ON"}}, "no innodb_adaptive_hash_index"),
        ({"not_limited": ["disk not limited: no control group"]}, "not limited as planned"),
        ({"disk": {"write_iops": None}}, "without a limit"),
        ({"disk": {"write_iops": 800, "alternate_iops": 2400}}, "no equilibrium"),
        ({"load": {"kind": "tpcc", "threads": 16}}, "kind tpcc"),
        ({"load": {"distribution": "zipf", "threads": 16}}, "distribution zipf"),
    ],
)
def test_conditions_that_the_plant_has_not_are_refused(changes: dict[str, Any], words: str) -> None:
    """A row that cannot be simulated is not compared with something else."""
    with pytest.raises(ConditionsError, match=words):
        parameters_of(asked(500, conditions(**changes)))
