"""``python -m tools`` writes the reference pages of docs/ anew; with names, these alone.

Each page is made from the tables that the program itself goes by, so that none of them can be out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tools import (
    configuration_page,
    metrics_page,
    safety_page,
    scenario_keys_page,
    servers_page,
    setup_sql_page,
)

DOCS = Path(__file__).parents[1] / "docs"

PAGES: dict[str, Callable[[], str]] = {
    "configuration.md": configuration_page.document,
    "metrics.md": metrics_page.document,
    "safety.md": safety_page.document,
    "scenario-keys.md": scenario_keys_page.document,
    "servers.md": servers_page.here,
    "setup-sql.md": setup_sql_page.document,
}


def text_of(name: str) -> str:
    """Return a page, Markdown, under the line that says what made it."""
    return f"<!-- Generated: python -m tools {name} -->\n{PAGES[name]()}"


def main(names: list[str]) -> None:
    """Write the pages named, or all of them."""
    for name in names or PAGES:
        if name not in PAGES:
            sys.exit(f"{name}: no page of ours; there are {', '.join(PAGES)}")
        (DOCS / name).write_text(text_of(name), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
