"""docs/setup-sql.md: what ``innobrim setup-sql`` prints, to be read before anything is installed."""

from __future__ import annotations

from tuner.records import Bounds
from tuner.servers.setupsql import Request, script, setup
from tuner.settings import Settings

SHOWN = {
    "MySQL and Percona Server from 8.0 on": "9.7.4",
    "MySQL and Percona Server 5.7": "5.7.44",
    "MySQL 5.6": "5.6.51",
    "MariaDB": "11.8.6-MariaDB",
}
"""What a heading says, and the version that stands for it."""

INTRODUCTION = """\
# What setup-sql prints

With the default limits and `…` for passwords; tables of the Performance Schema that a release does not have
are left out for it. With `--replica` a `SET SESSION sql_log_bin = 0;` comes before all that makes something.
An account for another machine has `REQUIRE SSL`, also where it is there; with `--no-require-ssl` it has
`REQUIRE NONE`.
What it is good for is in the [security model](security-model.md).
"""


def document() -> str:
    """Return the page, Markdown."""
    limits = Settings()
    bounds = Bounds(limits.min_io_capacity_max, limits.max_io_capacity_max, limits.max_io_capacity_max)
    parts = [INTRODUCTION]
    for title, version in SHOWN.items():
        asked = Request(version, ("innobrim@localhost",), "…", "…", bounds)
        parts.append(f"## {title}\n```sql{script(setup(asked))}```\n")
    return "\n".join(parts)
