"""How a release is said to be known follows from what ran."""

from __future__ import annotations

import pytest

from tests.real.families import RELEASES
from tests.servers.fixtured import TAKEN, fixture
from tools.servers_page import RESULTS, pages_of, results_of_the_loop
from tuner.servers.families import recognise
from tuner.servers.known import SEEN, in_words, known_by
from tuner.servers.release import named, release_of


def test_no_release_is_measured_on_which_the_loop_did_not_run() -> None:
    """Each is one that ``make prove PART=releases`` runs the loop on, or that a page has figures of."""
    results = results_of_the_loop(RESULTS)
    for family, releases in SEEN.items():
        for release, level in releases.items():
            name = f"{family}-{named(release)}"
            ran = any(name == one or name.startswith(f"{one}.") for one in RELEASES)

            assert level != "measured" or ran or pages_of(named(release), results), name


def test_what_was_recorded_or_measured_and_nothing_else_is_said_to_be_seen() -> None:
    """A fixture written from documents makes no release a seen one, and a recording makes it one."""
    recorded = {
        (recognise(found.readings[0].variables).name, release_of(found.version))
        for found in map(fixture, TAKEN)
        if not found.synthetic
    }

    seen = {(family, one): level for family, releases in SEEN.items() for one, level in releases.items()}
    assert recorded <= seen.keys()
    assert {seen[one] for one in seen.keys() - recorded} <= {"measured"}


def test_a_build_of_a_distribution_is_the_release_and_a_providers_is_not() -> None:
    """What Debian adds to a version changes nothing; nobody here ever saw what a provider runs."""
    assert known_by("mysql", "8.0.31-0ubuntu0.22.04.1") == known_by("mysql", "8.0.31") == "measured"
    assert known_by("mysql", "8.0.31-google", "Google Cloud SQL") == "source"
    assert known_by("percona", "8.0.31-23") == known_by("mysql", "8.0.30") == "source"


@pytest.mark.parametrize(
    ("family", "version", "taken"),
    [
        ("mysql", "26.7.0", "MySQL 9.7"),
        ("mysql", "10.2.0", "MySQL 9.7"),
        ("mariadb", "13.1.1-MariaDB", "MariaDB 11.8"),
    ],
)
def test_what_nobody_read_is_not_called_known(family: str, version: str, taken: str) -> None:
    """A release after the newest source that was read is said to be taken for one like that."""
    said = in_words(family, version)

    assert known_by(family, version) == "newer"
    assert "known from source" not in said
    assert f"taken for {taken}" in said


def test_a_law_that_was_not_run_is_told_from_one_that_was() -> None:
    """A release measured under one flush law is not called measured under the one of its defaults."""
    assert in_words("mariadb", "10.5.23-MariaDB", law="mariadb").endswith("measured live")
    assert in_words("mariadb", "10.5.23-MariaDB", law="mariadb-wakes").endswith("under another flush law")
