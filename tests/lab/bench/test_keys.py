"""The table of a suite's keys in the documents has every key, with the default that it has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from lab.bench.plan import Plan, load_suite

BENCH = Path(__file__).parents[3] / "docs" / "bench.md"
ROW = re.compile(r"^\| (`[a-z_.`, ]+`) \|\s*([^|]*?)\s*\|", re.MULTILINE)


def keys(given: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every key of a plan with its default."""
    for name, value in given.items():
        if isinstance(value, dict) and name != "set":
            yield from keys(value, f"{before}{name}.")
        else:
            yield before + name, value


def test_every_key_of_a_suite_is_in_the_documents_with_its_default() -> None:
    """Who writes a suite of his own needs no source."""
    text = BENCH.read_text(encoding="utf-8").partition("## A plan of your own")[2]
    said: dict[str, str] = {}
    for names, default in ROW.findall(text):
        parts = re.findall(r"`([^`]*)`", names)
        defaults = default.replace("`", "").split(", ") if len(parts) > 1 else [default.strip("` ")]
        said |= dict(
            zip(parts, defaults if len(defaults) == len(parts) else defaults * len(parts), strict=True)
        )
    expected = dict(keys(msgspec.to_builtins(Plan())))
    expected.pop("variant")
    assert said.keys() - {"about"} == expected.keys()
    for name, value in expected.items():
        if value is not None and value not in ("", {}):
            written = f"{value:g}" if isinstance(value, float) else json.dumps(value).strip('"')
            assert said[name] == written, name


def test_the_example_can_be_run(tmp_path: Path) -> None:
    """As it stands there."""
    example = BENCH.read_text(encoding="utf-8").rpartition("```\nabout")[2].partition("```")[0]
    (tmp_path / "own.toml").write_text(f"about{example}", encoding="utf-8")
    assert len(load_suite(str(tmp_path / "own.toml")).plans) == 2
