"""docs/scenarios.md: what it says of the keys, and its examples."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import Struct

from lab.plant.flavour import FLAVOURS
from lab.scenarios import reference
from lab.scenarios.load import parse_scenario

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_has_every_key_as_the_schema_has_it() -> None:
    """What a key takes, what counts without it and what it means is on the page as the program has it."""
    assert reference.renewed(PAGE) == PAGE


@pytest.mark.parametrize("table", [table for _, table in reference.TABLES])
def test_no_key_is_without_its_meaning(table: type[Struct]) -> None:
    """Every key that a file may have is explained."""
    assert set(reference.meanings(table)) == set(table.__struct_fields__)


def test_a_version_is_not_cut_at_its_point() -> None:
    """What counts without a key is told to its end, be there a number with a point in it."""
    assert "| true in MariaDB and in MySQL before 8.0 | `innodb_flush_neighbors`, 0 or 1 |" in PAGE


def test_the_command_renews_the_page(tmp_path: Path) -> None:
    """A page with stale keys is made anew between its marks, and nowhere else."""
    (tmp_path / "docs").mkdir()
    path = tmp_path / "docs" / "scenarios.md"
    path.write_text(f"before\n{reference.BEGIN}\nstale\n{reference.END}\nafter\n", encoding="utf-8")

    assert CliRunner().invoke(reference.main, ["--root", str(tmp_path)]).exit_code == 0

    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert "| `redo_capacity` |" in text


def test_a_page_without_marks_is_refused() -> None:
    """What is generated never goes to a place that nobody marked."""
    with pytest.raises(ValueError, match="needs the lines"):
        reference.renewed("before\nafter\n")


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
