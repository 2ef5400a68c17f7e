"""The scripts of docs/setup-sql.md: what ``innobrim setup-sql`` prints, to be read before it is run."""

from __future__ import annotations

from tools.markdown import Parts
from tuner.records import Bounds
from tuner.servers.setupsql import Request, script, setup
from tuner.settings import Settings

VERSIONS = {
    "MySQL and Percona Server from 8.0 on": "9.7.4",
    "MySQL and Percona Server 5.7": "5.7.44",
    "MySQL 5.6": "5.6.51",
    "MariaDB": "11.8.6-MariaDB",
}
"""What a heading says, and the version that stands for it."""


def scripts() -> str:
    """Return a section with the script for each kind of server, with the default limits."""
    limits = Settings()
    bounds = Bounds(limits.min_io_capacity_max, limits.max_io_capacity_max, limits.max_io_capacity_max)
    parts = []
    for title, version in VERSIONS.items():
        asked = Request(version, ("innobrim@localhost",), "…", "…", bounds)
        parts.append(f"## {title}\n```sql{script(setup(asked))}```")
    return "\n\n".join(parts)


PARTS: Parts = {"scripts": scripts}
