"""The comparison in a terminal has a line for each contender, and none where there is nothing to compare."""

from __future__ import annotations

from lab.report.rows import rows_of
from lab.report.summary import groups
from lab.report.table import table
from tests.lab.report.factory import CONDITIONS, row, suite


def test_a_variant_that_is_still_searched_for_hides_no_other() -> None:
    """A bench that was stopped while it searched shows what it has, and nothing of the search."""
    searched = row("folk rule", stage="search", variant="slow disk") | {"contender": "M = 400"}
    lines = table(groups(rows_of([searched, *suite()])))
    assert any(line.startswith("default") for line in lines)
    assert not any("M = 400" in line or "slow disk" in line for line in lines)


def test_what_could_not_be_limited_is_said_in_the_terminal_too() -> None:
    """Who never opens the page knows what the figures are worth."""
    refused = "disk not limited: it needs root"
    rows = [row(name, conditions=CONDITIONS | {"not_limited": [refused]}) for name in ("default", "cascade")]

    assert f"not limited: {refused}" in table(groups(rows_of(rows)))
