"""What each family's checkpoints do, as its readings say it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.factory import MEBIBYTE
from tests.servers.scripted import good
from tuner.servers.adapter import Adapter
from tuner.servers.families.log_files import MySQL56Adapter, MySQL57Adapter, MySQL80Adapter
from tuner.servers.families.mariadb import MariaDBAdapter
from tuner.servers.mysql import MySQLServer

ANSWERS = {
    "innodb_log_file_size": str(64 * MEBIBYTE),
    "innodb_log_files_in_group": "2",
    "innodb_thread_concurrency": "0",
    "innodb_adaptive_flushing_lwm": "10",
    "Innodb_checkpoint_max_age": "53640439",
    "Innodb_checkpoint_age": "1000",
}


@pytest.mark.parametrize(
    ("adapter", "otherwise"),
    [
        (MySQL56Adapter(), {"flush_order_lag": 0, "sync_stalls": True}),
        (MySQL57Adapter(), {"flush_order_lag": 0, "sync_stalls": True}),
        (MySQL80Adapter(), {}),
        (
            MariaDBAdapter(release=(10, 11, 18)),
            {"flush_order_lag": 0, "sync_stalls": True, "sawtooth_seconds": 2.0},
        ),
    ],
)
def test_checkpoints_of_each_family(adapter: Adapter, otherwise: dict[str, Any]) -> None:
    """Before 8.0 and on MariaDB checkpoints have no order lag, and writers wait from the sync point on."""
    said = adapter.redo(ANSWERS)
    names = ("flush_order_lag", "sync_stalls", "sawtooth_seconds")

    assert {name: said[name] for name in names if name in said} == otherwise


def test_mysql_8_0_30_and_later_is_what_a_reading_means_by_default(server: MySQLServer) -> None:
    """Two MiB behind, a checkpoint every seven seconds and a loop, and no wait at the sync point."""
    reading = good(server)

    assert (reading.flush_order_lag, reading.sawtooth_seconds) == (2 * MEBIBYTE, 8.0)
    assert not reading.sync_stalls
