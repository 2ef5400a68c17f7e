"""The house that CONTRIBUTING.md draws: rooms that are there, and modules of one concept each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("policies", "tuner", "api", "lab", "tools")
MOST_LINES = 500


@pytest.mark.parametrize("room", PRODUCT)
def test_a_module_is_short_enough_to_be_one_concept(room: str) -> None:
    """No module is longer than a person reads at once."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sorted((ROOT / room).rglob("*.py"))
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }

    assert long == {}


def test_the_drawing_names_rooms_that_are_there() -> None:
    """Whoever follows the drawing of one tick finds each room of it in the core."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    drawn = text.partition("goes through the core in this order")[2].partition("```")[0]
    named = re.findall(r"^ +((?:[a-z_]+/?(?:, )?)+(?:/[a-z]+)?)  ", drawn, re.MULTILINE)
    rooms = [name.rstrip("/") for line in named for name in re.split(", ", line)]

    assert len(rooms) >= 10
    for room in rooms:
        places = (ROOT / "tuner/core" / room, ROOT / room)
        assert any(place.is_dir() or place.with_suffix(".py").is_file() for place in places), room


def test_no_module_of_tests_is_another_ones_library() -> None:
    """What several tests share is in a module that is none."""
    imported = re.compile(
        r"^\s*from (tests\.[\w.]*test_\w+) import|^\s*from tests\.\w+ import .*\btest_", re.MULTILINE
    )
    found = {
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if imported.search(path.read_text(encoding="utf-8"))
    }

    assert found == set()
