"""What every row of a long measurement says of the conditions it was taken under."""

from __future__ import annotations

CONDITIONS = {
    "server": "MySQL 9.7.4",
    "write_iops": 1200,
    "redo_capacity": 104_857_600,
    "buffer_pool": 2**31,
    "load": "oltp_update_non_index",
    "threads": 16,
    "tables": 4,
    "rows": 400_000,
    "rand_type": "uniform",
    "processors": 2,
}
