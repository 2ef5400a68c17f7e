"""What else can be seen of servers that lack the tables of MySQL 8.0: replication and latency alone.

MySQL 5.6 and MariaDB say in a status variable that an applier runs; its lag would take SHOW SLAVE STATUS, and
a privilege more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tuner.servers.parts import PARTS, Part, Row, counted
from tuner.servers.procedure import THERE


def _replica(rows: Mapping[str, Row]) -> dict[str, Any]:
    return {"replica": counted(rows["replica"][0]) > 0, "replica_lag": None}


STARTED = (
    f"SELECT UNIX_TIMESTAMP() - variable_value, CURRENT_USER(), {THERE} FROM information_schema.global_status"
    " WHERE variable_name = 'UPTIME'"
)
"""When mysqld started, as ``Adapter.started``, of those whose status variables are not in another schema."""

_FIELDS = ("replica", "replica_lag")
_SLAVES = (
    "SELECT 'replica', SUM(variable_value {on}), NULL FROM information_schema.global_status"
    " WHERE variable_name = '{name}'"
)

PARTS_57: Mapping[str, Part] = {
    "replica": Part(
        "SELECT 'replica', COUNT(*), NULL FROM performance_schema.replication_applier_status"
        " WHERE SERVICE_STATE = 'ON' AND CHANNEL_NAME NOT LIKE 'group_replication%'",
        _replica,
        _FIELDS,
    ),
    "latency": PARTS["latency"],
}
PARTS_56: Mapping[str, Part] = {
    "replica": Part(_SLAVES.format(on="= 'ON'", name="SLAVE_RUNNING"), _replica, _FIELDS),
    "latency": PARTS["latency"],
}
PARTS_MARIADB: Mapping[str, Part] = {
    "replica": Part(_SLAVES.format(on="> 0", name="SLAVES_RUNNING"), _replica, _FIELDS),
    "latency": PARTS["latency"],
}
