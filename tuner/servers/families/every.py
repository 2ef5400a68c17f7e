"""Every adapter there is, by the servers that it is for."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.servers.adapter import Adapter
from tuner.servers.families.log_files import MySQL56Adapter, MySQL57Adapter, MySQL80Adapter
from tuner.servers.families.mariadb import MariaDBAdapter
from tuner.servers.families.redo_capacity import RedoCapacityAdapter

ADAPTERS: Mapping[str, type[Adapter]] = {
    "MySQL 5.6": MySQL56Adapter,
    "MySQL 5.7": MySQL57Adapter,
    "MySQL 8.0 before 8.0.30": MySQL80Adapter,
    "MySQL from 8.0.30 on": RedoCapacityAdapter,
    "MariaDB": MariaDBAdapter,
}
"""Percona Server is read as the MySQL that it is made of."""


def of(adapter: Adapter) -> str:
    """Return the name of an adapter's servers."""
    return next(name for name, made in ADAPTERS.items() if type(adapter) is made)
