"""``python -m tools`` makes the generated parts of docs/ anew; with names of pages, of these alone."""

from __future__ import annotations

import sys
from pathlib import Path

from tools import (
    answers,
    configuration_page,
    hooks_page,
    metrics_page,
    safety_page,
    scenario_keys_page,
    servers_page,
    setup_sql_page,
)
from tools.markdown import Parts, filled

DOCS = Path(__file__).parents[1] / "docs"

PAGES: dict[str, Parts] = {
    "configuration.md": configuration_page.PARTS,
    "hooks.md": hooks_page.PARTS,
    "metrics.md": metrics_page.PARTS,
    "safety.md": safety_page.PARTS,
    "lab/scenario-keys.md": scenario_keys_page.PARTS,
    "servers.md": servers_page.PARTS,
    "hosted.md": servers_page.HOSTED_PARTS,
    "setup-sql.md": setup_sql_page.PARTS,
}

SCHEMAS = {"answers.schema.json": answers.text, "hooks.schema.json": hooks_page.schema}
"""Files that are generated as a whole."""


def current(name: str) -> str:
    """Return a page, or a schema, as it should be."""
    if made := SCHEMAS.get(name):
        return made()
    return filled((DOCS / name).read_text(encoding="utf-8"), PAGES[name])


def main(names: list[str]) -> None:
    """Write the pages named, or all of them."""
    for name in names or (*PAGES, *SCHEMAS):
        if name not in (*PAGES, *SCHEMAS):
            sys.exit(f"{name}: no page with generated parts; there are {', '.join((*PAGES, *SCHEMAS))}")
        (DOCS / name).write_text(current(name), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
