"""A checkout with published benches, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from lab.experiment.plan import Asked, Plan
from lab.report.published import BEGIN, END
from tests.lab.report.factory import CONDITIONS, row, write_rows

CLOSED = CONDITIONS | {"not_limited": []}
CONTENDERS = ("default", "2000/4000", "best-static", "cascade")
NAMES = {"2000/4000": "static 2000/4000", "best-static": "best static"}
"""What the factory of rows calls them."""

README = f"# A program\n\n{BEGIN}\n{END}\n\nMore of it.\n"


def blocks(commits: dict[str, Sequence[float]], *, variant: str = "", **figures: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any figure
    """Return rows with these commits/s, block by block, and these figures, the same for all."""
    return [
        measured(name, block, {"commits_mean": value, **figures}, variant)
        for name, values in commits.items()
        for block, value in enumerate(values, 1)
    ]


def measured(name: str, block: int, figures: dict[str, Any], variant: str = "") -> dict[str, Any]:
    """Return one row as the bench names it."""
    found = row(NAMES.get(name, name), block, conditions=CLOSED, variant=variant, revision="0123456789")
    return found | {"contender": name.replace("-", " "), "figures": found["figures"] | figures}


def publish(root: Path, name: str, plans: Sequence[Plan], rows: Sequence[dict[str, Any]]) -> Path:
    """Put a suite where a checkout has it, and a README with a place for the table; return the root."""
    directory = root / "docs/results/bench" / name
    directory.mkdir(parents=True, exist_ok=True)
    asked = Asked(name=name, about="What it is.", seed=7, server="mysql:9.7", plans=tuple(plans))
    (directory / "bench.json").write_bytes(msgspec.json.encode(asked))
    if rows:
        write_rows(directory / "rows.jsonl", rows)
    (root / "README.md").write_text(README, encoding="utf-8")
    return root
