"""The bench's page is made from rows and notes alone, and says how ours compares with everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.report.rows import ReportError
from tests.lab.report.factory import CONDITIONS, searched
from tests.tools.keeping import keep, known, measured
from tools import contenders_page, predictions, proof
from tools.contenders_page import HEAD, page, read_notes
from tools.kept import BENCH, all_kept

Notes = dict[str, dict[str, tuple[str, ...]]]


def lines_of(place: Path, start: str, notes: Notes | None = None) -> list[str]:
    """Return the lines of the page of a place that begin so."""
    return [line for line in page(all_kept(place), notes or {}).splitlines() if line.startswith(start)]


def cell(line: str, head: str) -> str:
    """Return what a line of a table has under a head."""
    return line.strip("| ").split(" | ")[HEAD.index(head)]


def test_every_contender_has_a_line_with_its_ratios(tmp_path: Path) -> None:
    """Whoever looks for one setting finds it beside the others, and in words how ours compares with it."""
    place = keep(tmp_path, measured(0.5))
    lines = [
        one for name in ("default", "best static 210/420", "ours") for one in lines_of(place, f"| {name}")
    ]
    untouched, best, ours = lines
    rates = [float(cell(line, "commits/s").split(" (")[0].replace("\u202f", "")) for line in lines]

    assert cell(untouched, "ratio to default") == cell(best, "ratio to best static") == "–"
    for line, rate in zip(lines[1:], rates[1:], strict=True):
        assert float(cell(line, "ratio to default").split(" (")[0]) == pytest.approx(
            rate / rates[0], rel=0.01
        )
    assert float(cell(ours, "ratio to best static").split(" (")[0]) == pytest.approx(
        rates[2] / rates[1], rel=0.01
    )
    assert any("LOSES" in line for line in lines_of(place, "- ours against best static"))
    assert lines_of(place, "- ours against default gains")


def test_the_command_is_one_that_a_shell_takes(tmp_path: Path) -> None:
    """A variant's name has blanks and apostrophes."""
    place = keep(tmp_path, measured(variant="an article's ladder"))

    asked = (
        "`innobrim bench --suite quick --server mysql-8.0.31 --variant 'an article'\"'\"'s ladder' --seed "
    )
    assert lines_of(place, asked)


def test_contenders_that_were_asked_for_are_in_the_command(tmp_path: Path) -> None:
    """What was measured without best static is measured so again."""
    place = keep(tmp_path, measured(plan={"blocks": 3, "contenders": ["default", "ours"]}))
    asked = place / "mine" / "bench.json"
    about = '"about": "Quick. Changed: contenders=default,ours."'
    asked.write_text(asked.read_text("utf-8").replace("{", f"{{{about}, ", 1), encoding="utf-8")

    (command,) = lines_of(place, "`innobrim bench")
    assert " --set contenders=default,ours " in command


def test_an_age_beyond_the_alarm_cap_is_told(tmp_path: Path) -> None:
    """A setting that gains by going where ours may not go is known for that."""
    rows = measured()
    for one in rows:
        one["figures"]["checkpoint_ratio_max"] = 0.81 if one["contender"] == "best static" else 0.7

    found = lines_of(keep(tmp_path, rows), "- best static: the checkpoint age")

    words = f"reached 0.810 of the redo capacity, above {contenders_page.CAP}"
    assert found == [f"- best static: the checkpoint age {words}"]


def test_what_was_measured_again_is_told_from_what_was_before(tmp_path: Path) -> None:
    """Old rows stay, and nobody takes them for the new ones."""
    keep(tmp_path, measured(when="2026-11-21T00:00:00+0000"), "before")
    keep(tmp_path, measured(when="2026-11-22T00:00:00+0000"), "after")

    assert lines_of(tmp_path, "###") == ["### mysql-8.0.31", "### mysql-8.0.31, measured again later: after"]


def test_rows_under_two_conditions_stand_apart_and_are_no_second_measurement(tmp_path: Path) -> None:
    """A row on a disk in memory is not averaged with rows of a disk; what is to be known is said once."""
    memory = CONDITIONS | {"disk": {"write_iops": 1200, "in_memory": True}}
    rows = [*measured(variant="v"), *measured(variant="v", conditions=memory)]
    place = keep(tmp_path, rows)

    assert lines_of(place, "###") == ["### mysql-8.0.31, v"] * 2
    assert (
        len([line for line in lines_of(place, "MySQL 9.7.4") if "1200 writes/s, a file in memory;" in line])
        == 1
    )
    assert len(lines_of(place, "- mind", {"mine": {"v": ("mind.",)}})) == 1


@pytest.mark.parametrize("variant", ["", "v"])
def test_a_note_is_shown_once_with_its_rows(tmp_path: Path, variant: str) -> None:
    """What only who measured knows stands beside the figures, also where a suite has no variants."""
    place = keep(tmp_path, measured(variant=variant))

    assert lines_of(place, "- other work", {"mine": {variant: ("other work ran.",)}}) == ["- other work ran."]


@pytest.mark.parametrize(("directory", "variant"), [("gone", ""), ("gone", "other"), ("mine", "gone")])
def test_a_note_without_rows_is_refused(tmp_path: Path, directory: str, variant: str) -> None:
    """A name that was misspelt does not lose what had to be known."""
    place = keep(tmp_path, measured())
    with pytest.raises(ReportError, match=f"a note on {directory}, '{variant}', of which there are no rows"):
        lines_of(place, "", {directory: {variant: ("lost.",)}})


@pytest.mark.parametrize("text", ["[mine", "mine = 3", "[mine]\nother = 'no list'", None])
def test_notes_that_are_none_are_refused_by_name(tmp_path: Path, text: str | None) -> None:
    """The file is named."""
    if text is not None:
        (tmp_path / "notes.toml").write_text(text, encoding="utf-8")

    with pytest.raises(ReportError, match=r"notes\.toml: no notes by directory and variant"):
        read_notes(tmp_path / "notes.toml")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"revision": "1234567890-dirty"}, "InnoBrim 12345678-dirty;"),
        ({"revision": ""}, "InnoBrim no commit;"),
        ({"conditions": {}}, "conditions not recorded; buffer pool –;"),
        ({"plan": {"blocks": 3, "article": "7693 tx/s"}}, "> What an article measured"),
    ],
)
def test_what_rows_lack_or_have_besides_is_told(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    """A page with the other rows comes of it, and nothing is made up."""
    assert words in page(all_kept(keep(tmp_path, measured(**changes))), {})


def test_a_contender_that_misses_a_block_is_not_settled_in_it(tmp_path: Path) -> None:
    """Nobody settled in a row that is not there."""
    place = keep(tmp_path, [one for one in measured() if one["contender"] != "ours" or one["block"] == 2])

    (ours,) = lines_of(place, "| ours")
    assert cell(ours, "settled") == "1 of 1"


def test_a_search_under_other_conditions_is_still_told(tmp_path: Path) -> None:
    """The best static setting never stands there without what it was chosen from."""
    elsewhere = searched(300) | {"conditions": CONDITIONS | {"processors": 4}}
    place = keep(tmp_path, [elsewhere, *measured()])

    assert lines_of(place, "- the best static setting was searched for among M = ")


def test_all_pages_are_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Page, README and the bench's page never disagree; what cannot be shown leaves the others whole."""
    place = keep(tmp_path, measured())
    pages = [tmp_path / name for name in ("page.md", "README.md", "bench.md")]
    for one in pages:
        one.write_text("<!-- generated: measured -->\n\nas it was\n\n<!-- end -->\n", encoding="utf-8")
    (tmp_path / "notes.toml").write_text("[gone]\nv = ['lost.']\n", encoding="utf-8")
    monkeypatch.setattr(proof, "ROOT", tmp_path)
    monkeypatch.setattr(proof, "BENCH", place)
    monkeypatch.setattr(proof, "PAGE", pages[0])
    monkeypatch.setattr(proof, "README", pages[1])
    monkeypatch.setattr(contenders_page, "PAGE", pages[2])
    monkeypatch.setattr(contenders_page, "NOTES", tmp_path / "notes.toml")
    monkeypatch.setattr(predictions, "PAGE", tmp_path / "predictions.md")

    with pytest.raises(ReportError, match="a note on gone, 'v'"):
        proof.write(known, "1234567890")
    assert ["as it was" in one.read_text(encoding="utf-8") for one in pages] == [False, False, True]

    (tmp_path / "notes.toml").write_text("", encoding="utf-8")
    proof.write(known, "1234567890")
    assert "### mysql-8.0.31" in pages[2].read_text(encoding="utf-8")
    assert "predicted" in (tmp_path / "predictions.md").read_text(encoding="utf-8")


def test_the_page_is_what_rows_and_notes_make() -> None:
    """No figure of a table was written by hand."""
    made = page(all_kept(BENCH), read_notes())

    assert made == contenders_page.PAGE.read_text(encoding="utf-8"), "python -m tools.proof makes it anew"
