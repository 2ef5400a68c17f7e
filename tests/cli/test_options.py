"""Options that several commands share: what is refused is told with what would be right."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tuner.cli.main import cli


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("schedule", "--days", "1.5"), "'--days': '1.5' must be a whole number from 1 to 366"),
        (("schedule", "--days", "367"), "'--days': '367' must be a whole number from 1 to 366"),
        (("simulate", "--seed", "x"), "'--seed': 'x' must be a whole number from 0"),
        (("simulate", "--seconds", "1e3"), "'--seconds': '1e3' must be a whole number from 60 to 2,678,400"),
        (("advise", "--seconds", "0"), "'--seconds': '0' must be a whole number from 15 to 86,400"),
        (("demo", "--port", "70000"), "'--port': '70000' must be a whole number from 1 to 65,535"),
        (("bench", "--seed", "-1"), "'--seed': '-1' must be a whole number from 0"),
        (
            ("policies", "--compare", "--jobs", "many"),
            "'--jobs': 'many' must be a whole number from 1 to 256",
        ),
        (("policies", "--compare", "--run", "1.5"), "'--run': '1.5' must be a whole number from 1"),
    ],
)
def test_a_number_that_is_refused_comes_with_what_is_right(words: tuple[str, ...], message: str) -> None:
    """Whatever is wrong about a number, too much, too little or none, one sentence says what it may be."""
    found = CliRunner().invoke(cli, words)

    assert found.exit_code == 2
    assert f"Invalid value for {message}" in found.stderr
