"""At which ages a server flushes by age, flushes in earnest and makes writers wait, by its redo size."""

from tuner.servers.limits.loggroup import LogGroupLimits, log_group_limits, log_group_limits_5
from tuner.servers.limits.mariadb import MariaDBLimits, mariadb_limits
from tuner.servers.limits.points import Points
from tuner.servers.limits.redo import (
    FLUSH_ORDER_LAG,
    RedoLimits,
    logical_capacity,
    logical_limits,
    redo_limits,
)

__all__ = [
    "FLUSH_ORDER_LAG",
    "LogGroupLimits",
    "MariaDBLimits",
    "Points",
    "RedoLimits",
    "log_group_limits",
    "log_group_limits_5",
    "logical_capacity",
    "logical_limits",
    "mariadb_limits",
    "redo_limits",
]
