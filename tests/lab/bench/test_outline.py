"""Who asks what a bench would run is told everything that decides over its figures."""

from __future__ import annotations

import pytest

from lab.bench.plan import load_suite, parse_suite
from lab.bench.progress import Progress, outline


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[disk]\nwrite_iops = 9000\nalternate_iops = 800", "9000 and 800 writes/s in turns of 300 s"),
        ("[disk]\nwrite_mib = 40", "40 MiB/s"),
        ("[server]\nset = { innodb_doublewrite_pages = 4 }", "innodb_doublewrite_pages = 4"),
        ("[load]\nrate = 700", "700 transactions/s offered"),
        ("[load]\nknee_share = 0.7", "70 % of what the default sustains offered"),
        ("[load]\ndistribution = 'zipf'", "update_non_index (zipf)"),
        ("[load]\ncourse = 'burst'", "burst over 240 s"),
        ("[load]\nkind = 'many_indexes'", "many_indexes, 1 thread;"),
        ("blocks = 1", "; 1 block;"),
        ("crash = true", "each row ended by a crash or a shutdown"),
        ("[timing]\ncounted = 77", "77 s counted"),
    ],
)
def test_everything_that_decides_over_the_figures_is_said(text: str, words: str) -> None:
    """What a suite changes in a plan stands in the line of that plan."""
    suite = parse_suite(text, name="mine")
    assert words in "\n".join(outline(suite, suite.plans))


def test_a_server_of_the_users_own_is_said_to_be_taken_as_it_is() -> None:
    """No limit and no size is claimed that the bench would not set there."""
    suite = load_suite("quick")
    said = "\n".join(outline(suite, suite.plans, own=True)[1:])
    assert "server and disk as they are" in said
    assert "1200" not in said
    assert "MiB" not in said


def test_filling_large_tables_is_reckoned_with() -> None:
    """Four tables of a billion rows are no matter of minutes."""
    suite = parse_suite("[load]\nrows = 1_000_000_000", name="large")
    assert Progress(suite.plans, []).seconds() > 12 * 3600
