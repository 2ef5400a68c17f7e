"""The page of what was measured is made from rows alone, and shows none that cannot be judged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lab.bench.revision import git
from lab.report.rows import ReportError
from tests.lab.report.factory import CONDITIONS
from tests.tools.keeping import keep, known, measured
from tools import kept, proof
from tools.comparisons import Line, Refused, judged_all, verdict
from tools.proof import page


def only(place: Path) -> Line:
    """Return the only line of what is kept."""
    (line,), refused = judged_all(place, known)
    assert not refused
    return line


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([one for one in measured() if one["contender"] != "default"], "no untouched server"),
        ([one for one in measured() if one["contender"] != "ours"], "no row of ours"),
        (measured(blocks=1), "no bounds: 1 paired blocks with default"),
        (
            [one for one in measured() if one["contender"] != "best static" or one["block"] == 1],
            "best static",
        ),
        (measured(revision=""), "without a revision"),
    ],
)
def test_what_cannot_be_judged_is_refused_by_name(
    tmp_path: Path, rows: list[dict[str, Any]], why: str
) -> None:
    """Without an untouched server, two paired blocks or a revision it is no line; the page says why."""
    lines, refused = judged_all(keep(tmp_path, rows), known)

    assert lines == []
    assert [one.name for one in refused] == ["mine"]
    assert why in refused[0].why
    assert f"- mine: {refused[0].why}" in page(lines, refused, "1234567890")


def test_a_variant_without_rows_is_named(tmp_path: Path) -> None:
    """What was asked for and not measured is not left out in silence, and said once."""
    keep(tmp_path, measured(), to_do=("4 GiB",))
    _lines, refused = judged_all(keep(tmp_path, [], "parts", to_do=("4 GiB",)), known)

    assert refused == [Refused("mine, 4 GiB", "not measured yet")]


def test_a_revision_that_is_no_commit_is_refused(tmp_path: Path) -> None:
    """What nobody can check out cannot be repeated."""
    _lines, refused = judged_all(keep(tmp_path, measured(revision="1234567890-dirty")), lambda _: None)

    assert refused == [Refused("mine", "rows of 1234567890-dirty, which is no commit")]


@pytest.mark.parametrize(
    ("ours", "words"),
    [(1.0, "gains"), (0.97, r"gains, \*\*LOSES\*\*: 0.966 × best static"), (0.4, "× untouched")],
)
def test_a_line_says_where_ours_loses(tmp_path: Path, ours: float, words: str) -> None:
    """Below 0.98 of best static and below 0.99 of untouched, also where it gains over the other."""
    assert re.search(words, verdict(only(keep(tmp_path, measured(ours)))))


def test_a_line_of_an_open_load_says_who_writes_fewest_pages(tmp_path: Path) -> None:
    """Everybody serves what is offered there, so that pages alone tell them apart."""
    rows = measured(conditions=CONDITIONS | {"load": CONDITIONS["load"] | {"rate": 500}})
    pages = {"default": 0.6, "best static": 0.1, "ours": 0.2}
    for at, row in enumerate(rows):
        row["figures"]["pages_per_commit"] = pages[row["contender"]] * (1.0 + 0.01 * at)
        row["figures"]["commits_mean"] = 500.0 + at % 2

    said = verdict(only(keep(tmp_path, rows)))

    assert said.startswith("fewer pages for the same work, more of them than best static")


def test_a_rate_that_only_ours_serves_is_told(tmp_path: Path) -> None:
    """Fewer pages are not for the same work there, and the bounds of commits/s do not show it."""
    rows = measured(conditions=CONDITIONS | {"load": CONDITIONS["load"] | {"rate": 500}})
    commits = {"default": (500.0, 500.0, 440.0), "best static": (500.0,) * 3, "ours": (500.0,) * 3}
    for row in rows:
        row["figures"]["commits_mean"] = commits[row["contender"]][row["block"] - 1]

    assert verdict(only(keep(tmp_path, rows))).startswith("serves what the untouched server does not")


def test_a_little_less_than_untouched_is_told(tmp_path: Path) -> None:
    """It is no loss by the rule, and no equal either where the bounds exclude that."""
    rows = measured()
    for row in rows:
        share = 0.993 if row["contender"] == "ours" else 1.0
        row["figures"]["commits_mean"] = 1000.0 * share * (1.0 + 0.0001 * row["block"])

    assert verdict(only(keep(tmp_path, rows))).startswith("a little less than untouched")


@pytest.mark.parametrize(
    ("share", "figure", "ours", "words"),
    [
        (1.0, "latency_p99", 2.0, "gains, p99 longer than untouched's"),
        (1.0, "latency_p99", 1.02, "gains"),
        (1.0, "commits_p1", 0.5, "gains, 1st percentile lower than untouched's"),
        (1.0, "commits_p1", 0.0, "gains, 1st percentile lower than untouched's"),
        (1.0, "commits_p1", 2.0, "gains"),
        (0.4, "commits_p1", 2.0, "1st percentile higher than untouched's"),
    ],
)
def test_a_line_says_how_the_slowest_did(
    tmp_path: Path, share: float, figure: str, ours: float, words: str
) -> None:
    """No gain hides a longer wait or slower seconds; faster ones are told where nothing else is gained."""
    rows = measured(share)
    for at, row in enumerate(rows):
        row["figures"] |= {"latency_p99": 0.1, "commits_p1": 500.0 + at % 2}
        row["figures"][figure] *= (ours if row["contender"] == "ours" else 1.0) * (1.0 + 0.001 * at)

    said = verdict(only(keep(tmp_path, rows)))

    assert said == words if share == 1.0 else said.endswith(words)


def test_a_second_without_half_of_the_untouched_servers_commits_is_starved(tmp_path: Path) -> None:
    """Whoever is as slow as that in one second of each block is starved for three."""
    line = only(keep(tmp_path, measured()))

    assert [proof.starved(line, name) for name in ("default", "ours")] == [3, 3]


def test_of_what_was_measured_twice_the_newest_is_shown(tmp_path: Path) -> None:
    """The other one is named beside it, so that nobody can choose."""
    keep(tmp_path, measured(when="2026-11-25T00:00:00+0000"), "first")
    keep(tmp_path, measured(0.5, when="2026-11-26T00:00:00+0000"), "again")

    (line,), refused = judged_all(tmp_path, known)

    assert line.directory.name == "again"
    assert refused == [Refused("first", "measured again later: again")]


def test_what_was_measured_again_replaces_it_where_server_or_rate_changed_a_little(tmp_path: Path) -> None:
    """A newer minor version, or another share of another knee, is the same comparison."""
    keep(tmp_path, measured(when="2026-11-25T00:00:00+0000"), "first")
    newer = measured(when="2026-11-26T00:00:00+0000")
    for one in newer:
        one["conditions"] = {**one["conditions"], "server": "MySQL 8.0.99"}
    keep(tmp_path, newer, "again")

    lines, refused = judged_all(tmp_path, known)

    assert [line.directory.name for line in lines] == ["again"]
    assert refused == [Refused("first", "measured again later: again")]


def test_a_variant_that_was_measured_elsewhere_is_not_named(tmp_path: Path) -> None:
    """Each part of a suite may have a directory of its own."""
    keep(tmp_path, measured(), "first")
    keep(tmp_path, [], "begun")

    lines, refused = judged_all(tmp_path, known)

    assert (len(lines), refused) == (1, [])


def test_the_table_of_the_readme_says_what_is_old_and_what_is_not_known(tmp_path: Path) -> None:
    """Without a best static setting there is none to lose to, and old rows are marked."""
    rows = [one for one in measured() if one["contender"] != "best static"]
    lines, _refused = judged_all(keep(tmp_path, rows), lambda _: 1)

    made = proof.readme("# InnoBrim\n<!-- generated: measured -->\n<!-- end -->\n", lines)

    assert re.search(r"\| usual \| .* † \| [^|]+ \| – \| [^|]+ \| [^|]+ \| – \|", made)
    with pytest.raises(ReportError, match="no part"):
        proof.readme("# InnoBrim\n", lines)


def test_rows_that_are_older_than_the_policy_are_marked(tmp_path: Path) -> None:
    """The page marks them, has them in a table of their own, and no others there."""
    keep(tmp_path, measured())
    lines, refused = judged_all(tmp_path, lambda _: 3)

    made = page(lines, refused, "1234567890")
    assert made.index("## Older rows") < made.index("12345678 †")
    assert "Of the policy in force: 0 comparisons" in made
    assert "12345678 †" not in page(*judged_all(tmp_path, known), "1234567890")


def test_the_first_lines_are_of_the_policy_in_force_but_no_loss_is_left_out(tmp_path: Path) -> None:
    """A reader wants to know what today's program does on a disk, and the least that it ever gained."""
    memory = CONDITIONS | {"disk": {"in_memory": True}}
    found = {
        "old-best": (measured(ours=4.0), 2),
        "in-memory": (measured(ours=1.4, conditions=memory), 0),
        "new": (measured(ours=1.5), 0),
        "new-best": (measured(ours=2.0), 0),
        "old-worst": (measured(ours=0.5), 2),
    }
    lines = [
        only(keep(tmp_path / name, rows))._replace(directory=Path(name), since=since)
        for name, (rows, since) in found.items()
    ]

    picked = {name: line.directory.name for name, line in proof.asked_first(lines)}

    assert picked == {"usual": "new", "gains most": "new-best", "gains least": "old-worst"}


@pytest.mark.parametrize(("kind", "mark"), [("write_only", True), ("update_non_index", False)])
def test_rows_of_tables_that_were_just_filled_are_marked(tmp_path: Path, kind: str, *, mark: bool) -> None:
    """Where the load splits an index that was built at once, they are of another table than today's."""
    conditions = CONDITIONS | {"load": CONDITIONS["load"] | {"kind": kind}}
    old = only(keep(tmp_path, measured(conditions=conditions)))
    new = only(keep(tmp_path / "mine", measured(conditions=conditions | {"fill_factor": 70})))

    assert (bool(old.since), bool(new.since)) == (mark, False)


def test_a_row_is_old_by_what_changed_in_the_policy_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A change of a page, or of code that decides the same, makes no row older; another decision does."""
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    user = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    git(tmp_path, "init", "-q")

    def commit(path: str, text: str) -> str:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        git(tmp_path, "add", path)
        git(tmp_path, *user, "commit", "-q", "-m", path)
        return git(tmp_path, "rev-parse", "HEAD")

    run = "tests/golden/runs/scenario-wave.txt"
    commit(run, "set 1")
    before = commit(run, "set 2")
    page_only = commit("docs/page.md", "1")
    words = commit("tuner/core/step.py", "1")
    new = commit("tests/golden/runs/scenario-new.txt", "set 1")
    assert kept.changes_since(kept.in_force())(before) == 0
    after = commit(run, "set 3")

    since = kept.changes_since(kept.in_force())
    assert [since(one) for one in (before, page_only, words, new, after)] == [1, 1, 1, 1, 0]
    assert since("0123456789") is None
    assert since("") is None


def test_the_page_is_what_the_rows_make() -> None:
    """With the marks of age of the policy that it names; so is the table of the README."""
    text = proof.PAGE.read_text(encoding="utf-8")
    found = proof.MADE_FOR.search(text)
    assert found
    since = kept.changes_since(found[1])
    if not kept.is_whole():
        pytest.skip("this clone has no whole history, by which rows have their age")

    lines, refused = judged_all(kept.BENCH, since)
    short = proof.README.read_text(encoding="utf-8")

    assert page(lines, refused, found[1]) == text, "python -m tools.proof makes it anew"
    assert proof.readme(short, lines) == short, "python -m tools.proof makes its table anew"
