"""docs/scenarios.md and docs/scenario-keys.md: what they say of the keys, and their examples."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from msgspec import Struct

from lab.plant.flavour import FLAVOURS
from lab.scenarios.load import parse_scenario
from tools import scenario_keys_page

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("table", [table for _, table in scenario_keys_page.TABLES])
def test_no_key_is_without_its_meaning(table: type[Struct]) -> None:
    """Every key that a file may have is explained."""
    assert set(scenario_keys_page.meanings(table)) == set(table.__struct_fields__)


def test_a_version_is_not_cut_at_its_point() -> None:
    """What counts without a key is told to its end, be there a number with a point in it."""
    assert (
        "| true in MariaDB and in MySQL before 8.0 | `innodb_flush_neighbors`, 0 or 1 |"
        in scenario_keys_page.document()
    )


def test_the_examples_are_taken() -> None:
    """A reader can copy the examples of the page."""
    whole, part = EXAMPLES
    assert parse_scenario(whole, source="page").name == "db1"
    assert tomllib.loads(part)["load"]["repeat"] == 3600
    top, _, _ = whole.partition("[load]")
    assert parse_scenario(top + part, source="page").repeats


def test_every_flavour_is_told_whose_it_is() -> None:
    """The table of servers leads to each flavour that there is."""
    assert all(f"| `{name}` |" in PAGE for name in FLAVOURS)
