"""A comparison whose files were damaged: what is good counts, and what to do is said."""

from __future__ import annotations

import json
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


def test_a_bad_line_among_the_rows_costs_its_own_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    """What is no row is named with file and line, its run is done again, once; nothing is removed."""
    whole = compare(*options)
    rows = tmp_path / "out" / "rows.jsonl"
    first, second, third, last = rows.read_bytes().splitlines(keepends=True)
    lacking = {name: value for name, value in json.loads(third).items() if name != "outcome"}
    damaged = first + b'{"key": \xff\n' + second[:50] + b"\n" + json.dumps(lacking).encode() + b"\n" + last
    rows.write_bytes(damaged)
    again = compare("--resume", str(tmp_path / "out"))
    once_more = compare("--resume", str(tmp_path / "out"))

    for number, why in (
        (2, "not JSON"),
        (3, "not JSON"),
        (4, "no row: Object missing required field `outcome`"),
    ):
        assert f"warning: {rows}, line {number}: {why}" in again.stderr
    for found in (again, once_more):
        assert found.stderr.count("the line is left out, and a run that has no other is done again") == 3
        assert "its run is done again" not in found.stderr
    assert "4 runs of 2 policies on 1 scenario, 0 to do" in once_more.stderr
    assert "4 runs of 2 policies on 1 scenario, 2 to do" in again.stderr
    assert (again.exit_code, again.stdout) == (0, whole.stdout)
    assert rows.read_bytes().startswith(damaged)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('"seeds": 2', '"seeds": 2, "pol', "input data was truncated"),
        ('"seeds": 2', '"seeds": 2, pol', "comparison.json: JSON is malformed: "),
        ('"fixed"', '"magic"', "policies[1]: invalid enum value 'magic'; one of cascade, bayes, "),
    ],
    ids=["truncated", "malformed", "a policy of another version"],
)
def test_a_comparison_that_cannot_be_read_can_be_asked_for_again(
    tmp_path: Path, options: tuple[str, ...], before: str, after: str, why: str
) -> None:
    """What is wrong is said with a way out; on that way the rows that are there count."""
    whole = compare(*options)
    path = tmp_path / "out" / "comparison.json"
    text = path.read_text(encoding="utf-8")
    at = text.index(before)
    rest = text[at + len(before) :] if after == '"magic"' else ""
    path.write_text(text[:at] + after + rest, encoding="utf-8")
    refused = compare("--resume", str(tmp_path / "out"))
    path.unlink()
    again = compare(*options)

    assert refused.exit_code == 2
    assert why in refused.stderr
    assert (
        f"delete that file and give the same options again with --output {tmp_path / 'out'}" in refused.stderr
    )
    assert "2 policies on 1 scenario, 0 to do" in again.stderr
    assert (again.exit_code, again.stdout) == (0, whole.stdout)


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


@pytest.mark.parametrize(
    ("edited", "said"),
    [
        (SHORT.replace("200", "210"), "differs now"),
        ("seconds = ", "differs now"),
        (None, "is gone"),
        (f"# a word more\n{SHORT}", ""),
    ],
    ids=["edited", "broken", "gone", "the same"],
)
def test_a_scenario_file_that_was_edited_does_not_count_and_is_said(
    tmp_path: Path, options: tuple[str, ...], edited: str | None, said: str
) -> None:
    """Who edits the file and goes on is told in one line that the copy from the beginning counts."""
    whole = compare(*options)
    path = tmp_path / "short.toml"
    if edited is None:
        path.unlink()
    else:
        path.write_text(edited, encoding="utf-8")
    again = compare("--resume", str(tmp_path / "out"))
    lines = [line for line in again.stderr.splitlines() if "short.toml" in line]

    assert (again.exit_code, again.stdout) == (0, whole.stdout)
    assert len(lines) == bool(said)
    assert all(
        f"warning: {path}: {said}; what counts is the copy of short from when" in line for line in lines
    )
