"""The bench's page is made from rows and notes alone, and says where ours loses."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.report.rows import ReportError
from tests.lab.report.factory import row
from tests.tools.test_proof import keep, measured
from tools import bench_page
from tools.bench_page import page, read_notes
from tools.kept import BENCH, all_kept


def lines_of(place: Path, start: str, **notes: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the lines of the page of a place that begin so."""
    return [line for line in page(all_kept(place), notes).splitlines() if line.startswith(start)]


def test_every_contender_has_a_line_with_its_ratios(tmp_path: Path) -> None:
    """Whoever looks for one setting finds it beside the others, with the command that measures it again."""
    place = keep(tmp_path, measured(0.5))

    (untouched,) = lines_of(place, "| default")
    (best,) = lines_of(place, "| best static 210/420")
    (ours,) = lines_of(place, "| ours")
    assert untouched.split(" | ")[2:4] == ["–", best_ratio(best, untouched)]
    assert ours.split(" | ")[2].startswith("1.0")
    assert lines_of(place, "`make prove SUITE=quick SERVER=mysql-8.0.31 ROWS=docs/results/bench/mine SEED=")
    assert any("LOSES" in line for line in lines_of(place, "- ours against best static"))


def best_ratio(best: str, untouched: str) -> str:
    """Return the ratio to best static that the untouched server's line has to have, with its bounds."""
    theirs, its = (
        float(line.split(" | ")[1].split(" (")[0].replace("\u202f", "")) for line in (best, untouched)
    )
    found = untouched.split(" | ")[3]
    assert float(found.split(" (")[0]) == pytest.approx(its / theirs, rel=0.01)
    return found


def test_an_age_beyond_the_alarm_cap_is_told(tmp_path: Path) -> None:
    """A setting that gains by going where ours may not go is known for that."""
    rows = measured()
    for one in rows:
        one["figures"]["checkpoint_ratio_max"] = 0.81 if one["contender"] == "best static" else 0.7

    found = lines_of(keep(tmp_path, rows), "- best static: the checkpoint age")

    assert found == [
        f"- best static: the checkpoint age reached 0.810 of the redo capacity, above {bench_page.CAP}"
    ]


def test_what_was_measured_twice_is_told_apart(tmp_path: Path) -> None:
    """Old rows stay, and nobody takes them for the new ones."""
    keep(tmp_path, measured())
    keep(tmp_path, measured(), "again")

    names = ["### mysql-8.0.31, rows of again", "### mysql-8.0.31, rows of mine"]
    assert lines_of(tmp_path, "###") == names


def test_a_note_is_shown_with_its_rows(tmp_path: Path) -> None:
    """What only who measured knows stands beside the figures."""
    place = keep(tmp_path, [*measured(), row("default", variant="other")])

    notes = {"other": ("other work ran beside it.",), "": ("one machine.",)}
    assert lines_of(place, "- other work", mine=notes) == ["- other work ran beside it."]
    assert lines_of(place, "To know of all rows of mine", mine=notes)


@pytest.mark.parametrize(("directory", "variant"), [("gone", ""), ("gone", "other"), ("mine", "gone")])
def test_a_note_without_rows_is_refused(tmp_path: Path, directory: str, variant: str) -> None:
    """A name that was misspelt does not lose what had to be known."""
    with pytest.raises(ReportError, match=f"a note on {directory}, '{variant}', which has no rows"):
        lines_of(keep(tmp_path, measured()), "", **{directory: {variant: ("lost.",)}})


@pytest.mark.parametrize("text", ["[mine", "mine = 3", "[mine]\nother = 'no list'", None])
def test_notes_that_are_none_are_refused_by_name(tmp_path: Path, text: str | None) -> None:
    """The file is named, and nothing is written."""
    if text is not None:
        (tmp_path / "notes.toml").write_text(text, encoding="utf-8")

    with pytest.raises(ReportError, match=r"notes\.toml: no notes by directory and variant"):
        read_notes(tmp_path / "notes.toml")


def test_the_page_is_what_rows_and_notes_make() -> None:
    """Nobody wrote a figure into it by hand."""
    made = page(all_kept(BENCH), read_notes())

    assert made == bench_page.PAGE.read_text(encoding="utf-8"), "python -m tools.proof makes it anew"
