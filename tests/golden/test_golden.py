"""What the loop decides, tick by tick, is what the golden files say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import cases, runs

CASES = sorted(cases.FOLDER.glob("*.txt"))


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_a_case_is_decided_as_it_says(path: Path) -> None:
    """Each tick of a case that somebody wrote is decided as its line expects, and it shows what it says."""
    expected, case = path.read_text(encoding="utf-8"), cases.read(path)
    records = cases.run(case)

    assert expected.splitlines() == cases.text_of(case, records).splitlines()
    assert cases.not_shown(case, records) == []


@pytest.mark.parametrize("name", runs.RUNS)
def test_a_run_goes_as_it_went(name: str) -> None:
    """A recorded run is decided as before: the same writes, holds and modes at the same seconds."""
    expected = (runs.FOLDER / f"{name}.txt").read_text(encoding="utf-8")

    assert expected.splitlines() == runs.text_of(name).splitlines()
