"""Rows of three contenders as a bench keeps them, for the pages that are made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.lab.report.factory import row, write_rows


def measured(ours: float = 1.0, blocks: int = 3, **changes: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - any field
    """Return the rows of three contenders; ``ours`` is the share of its commits that ours has."""
    rows: list[dict[str, Any]] = []
    for block in range(1, blocks + 1):
        for name in ("default", "best static", "cascade"):
            one = row(name, block, **{"revision": "1234567890", **changes})
            if name == "cascade":
                one["contender"] = "ours"
                one["figures"]["commits_mean"] *= ours
            one["figures"]["seconds"] = 60
            rows.append(one)
    return rows


def keep(place: Path, rows: list[dict[str, Any]], name: str = "mine", *, to_do: tuple[str, ...] = ()) -> Path:
    """Keep rows as a bench does, and return where."""
    (place / name).mkdir(parents=True)
    write_rows(place / name / "rows.jsonl", rows)
    plans = [{"variant": ""}, *({"variant": one} for one in to_do)]
    asked = {"name": "quick", "server": "mysql-8.0.31", "seed": 7, "plans": plans}
    (place / name / "bench.json").write_text(json.dumps(asked), encoding="utf-8")
    return place


def known(revision: str) -> int | None:
    """Return that every revision is as new as the policy, where there is one."""
    return 0 if revision else None
