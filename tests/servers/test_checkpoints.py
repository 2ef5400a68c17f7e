"""What each family's checkpoints do, as its facts say it."""

from __future__ import annotations

from typing import Any

import pytest

from tuner.servers.adapter import Adapter
from tuner.servers.families.log_files import MySQL56Adapter, MySQL57Adapter, MySQL80Adapter
from tuner.servers.families.mariadb import MariaDBAdapter


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
    assert adapter.checkpoints == otherwise
