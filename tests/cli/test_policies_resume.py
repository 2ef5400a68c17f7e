"""A comparison whose files were damaged: what is good counts, and what to do is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tuner.cli.main import cli

SHORT = 'name = "short"\ndescription = "for tests"\nseconds = 200\nmeasured_from = 100\n'


@pytest.fixture
def options(tmp_path: Path) -> tuple[str, ...]:
    """Return the options of a comparison of four short runs, for a directory of its own."""
    path = tmp_path / "short.toml"
    path.write_text(SHORT, encoding="utf-8")
    words = ("--scenario", str(path), "--policy", "cascade", "--policy", "fixed", "--seeds", "2")
    return (*words, "--output", str(tmp_path / "out"))


def compare(*words: str) -> Result:
    """Return what the command did, in one process."""
    return CliRunner().invoke(cli, ["policies", "--compare", *words, "--jobs", "1"], prog_name="innobrim")


@pytest.mark.parametrize(
    ("name", "damaged", "why"),
    [
        ("rows.jsonl", "{}\nrubbish\n", "line 2: not JSON"),
        (
            "comparison.json",
            '{"policies": ["magic"]}',
            "policies[0]: invalid enum value 'magic'; one of cascade",
        ),
        ("comparison.json", '{"policies": [', "input data was truncated"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(
    tmp_path: Path, options: tuple[str, ...], name: str, damaged: str, why: str
) -> None:
    """Nothing runs on what is not understood, and nothing is removed."""
    compare(*options)
    path = tmp_path / "out" / name
    path.write_text(damaged, encoding="utf-8")
    found = compare("--resume", str(tmp_path / "out"))

    assert found.exit_code == 2
    assert str(path) in found.stderr
    assert why in found.stderr
    assert path.read_text(encoding="utf-8") == damaged


def test_a_comparison_without_a_row_is_said_to_be_begun(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Where no run has ended yet nobody is told of rows; with one, as before, they are what is in the way."""
    compare(*options, "--time", "0.01s")
    begun = compare(*options)
    compare("--resume", str(tmp_path / "out"))
    held = compare(*options)

    assert (begun.exit_code, held.exit_code) == (2, 2)
    assert f"{tmp_path / 'out'}: a comparison was begun there; go on with --resume" in begun.stderr
    assert f"{tmp_path / 'out'}: holds rows already; go on with --resume" in held.stderr


def test_rows_of_something_else_are_not_added_to(tmp_path: Path, options: tuple[str, ...]) -> None:
    """A directory with a bench's rows is refused, and they are as they were."""
    rows = tmp_path / "out" / "rows.jsonl"
    rows.parent.mkdir()
    rows.write_text('{"schema": 1, "stage": "block"}\n', encoding="utf-8")
    found = compare(*options)

    assert found.exit_code == 2
    assert "holds rows already" in found.stderr
    assert rows.read_text(encoding="utf-8") == '{"schema": 1, "stage": "block"}\n'
