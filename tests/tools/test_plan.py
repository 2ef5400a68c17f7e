"""The plan says what is measured next, and measures it into a place of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from lab.bench.plan import Asked, load_suite
from lab.servers.made import is_name
from tests.lab.report.factory import row, write_rows
from tools import plan, proof
from tools.plan import Comparison, Plan, listed, measure, order

POLICY = "712c7904d6"
QUICK = Comparison("quick", "mysql-8.0.31", "")
NEW, OLD = "1111111111", "2222222222"


def since(revision: str) -> int | None:
    """Return how old the revisions of these tests are."""
    return {NEW: 0, OLD: 2}.get(revision)


def kept(place: Path, *, blocks: int, revision: str = NEW, name: str = "mine", **changes: Any) -> Path:  # noqa: ANN401 - any field
    """Keep the rows of so many whole blocks of the suite, and return their directory."""
    suite = load_suite("quick")
    rows = [
        {
            **row(
                "default", block, revision=revision, plan_hash=suite.digest, when="2026-11-28T01:00:00+0000"
            ),
            "variant": "",
            "contender": who,
            **changes,
        }
        for block in range(1, blocks + 1)
        for who in suite.plans[0].contenders
    ]
    (place / name).mkdir()
    write_rows(place / name / "rows.jsonl", rows)
    asked = Asked(name="quick", about="", seed=7, server="mysql-8.0.31", plans=suite.plans)
    (place / name / "bench.json").write_bytes(msgspec.json.encode(asked))
    return place / name


def line(place: Path, comparison: Comparison = QUICK) -> str:
    """Return what the list says of one comparison."""
    return next(listed(Plan(place, since, POLICY), [comparison]))


def test_every_comparison_of_the_page_is_in_the_plan() -> None:
    """What is published can be measured again by the plan, once its policy is older than the one in force."""
    planned = order()
    lines, _refused = proof.judged_all(proof.BENCH, lambda _: 0)
    there = [
        (json.loads((one.directory / "bench.json").read_text(encoding="utf-8")), one.group.variant)
        for one in lines
    ]

    assert there
    for asked, variant in there:
        release = asked["server"].removeprefix(".cache/").removesuffix("/mysqld").split("/")[-1]
        assert Comparison(asked["name"], release.replace(":", "-"), variant) in planned


def test_what_is_planned_can_be_measured() -> None:
    """Each is a variant of its suite with an untouched server beside ours, on a server of `make servers`."""
    assert len(set(order())) == len(order())
    for one in order():
        (found,) = (each for each in load_suite(one.suite).plans if each.variant == one.variant)
        assert {"default", "ours"} <= set(found.contenders), one
        assert is_name(one.server), one


def test_the_list_says_what_is_not_measured_begun_older_and_done(tmp_path: Path) -> None:
    """Each with how long it takes from there, and the whole at the end."""
    assert line(tmp_path).startswith(" 1  quick, mysql-8.0.31: not measured; about ")
    kept(tmp_path, blocks=2, revision=OLD, name="first")
    assert line(tmp_path).startswith(
        " 1  quick, mysql-8.0.31: older: 2026-11-28, 2 changes of the policy ago"
    )
    kept(tmp_path, blocks=1, name="second")
    assert line(tmp_path).startswith(" 1  quick, mysql-8.0.31: begun 2026-11-28; about ")
    kept(tmp_path, blocks=2, name="third")
    assert list(listed(Plan(tmp_path, since, POLICY), [QUICK])) == [
        " 1  quick, mysql-8.0.31: measured 2026-11-28",
        "0 of 1 comparisons to measure: nothing",
    ]


def test_rows_of_no_commit_are_older(tmp_path: Path) -> None:
    """Nobody can tell which policy made them, so they are measured again."""
    kept(tmp_path, blocks=2, revision="3333333333-dirty")

    assert "older: 2026-11-28, no commit" in line(tmp_path)


def test_older_rows_stay_where_they_are(tmp_path: Path) -> None:
    """New ones go to a directory of their own, with the policy in its name where the plain one is taken."""
    wanted = ["--suite", "quick", "--server", "mysql-8.0.31", "--output"]

    for name in ("quick-8.0.31", "quick-8.0.31-712c7904", "quick-8.0.31-712c7904-2"):
        assert Plan(tmp_path, since, POLICY).words(QUICK) == [*wanted, str(tmp_path / name)]
        kept(tmp_path, blocks=2, revision=OLD, name=name)


@pytest.mark.parametrize("blocks", [0, 1])
def test_what_was_begun_under_this_policy_goes_on(tmp_path: Path, blocks: int) -> None:
    """Also a bench that was ended before its first row."""
    where = kept(tmp_path, blocks=blocks)

    assert Plan(tmp_path, since, POLICY).words(QUICK) == ["--resume", str(where)]


def test_what_was_begun_with_another_plan_does_not_go_on(tmp_path: Path) -> None:
    """A suite that was changed since is measured from its beginning: its rows cannot be compared."""
    where = kept(tmp_path, blocks=1)
    text = (where / "bench.json").read_text(encoding="utf-8")
    (where / "bench.json").write_text(text.replace('"blocks":2', '"blocks":4'), encoding="utf-8")

    assert "--output" in Plan(tmp_path, since, POLICY).words(QUICK)


class Bench:
    """A bench that keeps what it was asked for, and finishes what it is told to."""

    def __init__(self, place: Path, ends: Sequence[int]) -> None:
        """Take the exit code of each run in turn; after 0 all rows are there."""
        self.asked: list[list[str]] = []
        self._place = place
        self._ends = list(ends)

    def main(self, words: list[str], **_further: object) -> int:
        """Run."""
        self.asked.append(words)
        end = self._ends.pop(0)
        if not end:
            kept(self._place, blocks=2, name=f"run-{len(self.asked)}")
        return end


def carried_out(
    monkeypatch: pytest.MonkeyPatch, place: Path, ends: Sequence[int], seconds: float = 60.0
) -> tuple[int, Bench, int]:
    """Measure two comparisons; return the end, the bench, and how often the page was made."""
    bench, pages = Bench(place, ends), list[str]()
    monkeypatch.setattr(plan, "bench", bench)
    monkeypatch.setattr(proof, "BENCH", place)
    monkeypatch.setattr(proof, "write", lambda _since, policy: pages.append(policy))
    return measure([QUICK, Comparison("smoke", "mysql-9.7", "")], since, POLICY, seconds), bench, len(pages)


def test_it_measures_from_the_top_and_makes_the_page_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop after any of them leaves the page with all that is measured."""
    end, bench, pages = carried_out(monkeypatch, tmp_path, [0, 0])

    assert (end, pages) == (0, 2)
    assert [words[1] for words in bench.asked] == ["quick", "smoke"]
    assert all(0 < int(words[-1].removesuffix("s")) <= 60 for words in bench.asked)


def test_what_is_done_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one is."""
    kept(tmp_path, blocks=2)

    _end, bench, _pages = carried_out(monkeypatch, tmp_path, [0])

    assert [words[1] for words in bench.asked] == ["smoke"]


@pytest.mark.parametrize(
    ("ends", "seconds", "wanted"), [([4], 60.0, (4, 1)), ([130], 60.0, (130, 1)), ([], 0.0, (4, 0))]
)
def test_where_a_bench_ends_early_nothing_further_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: list[int], seconds: float, wanted: tuple[int, int]
) -> None:
    """The time that was up and an interruption are told on; without time left nothing begins."""
    end, bench, _pages = carried_out(monkeypatch, tmp_path, ends, seconds)

    assert (end, len(bench.asked)) == wanted


def test_the_command_names_the_policy_and_every_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a time it measures nothing."""
    monkeypatch.setattr(plan, "measure", None)
    if not proof.is_whole():
        pytest.skip("this clone has no whole history, by which rows have their age")

    told = CliRunner().invoke(plan.main, [], catch_exceptions=False).output.splitlines()

    assert told[0].startswith("policy in force: ")
    assert len(told) == 2 + len(order())


def test_make_takes_the_command_of_the_page() -> None:
    """`make prove PART=plan TIME=…` measures for so long."""
    words = ["make", "-n", "-C", str(proof.ROOT), "prove", "PART=plan", "TIME=7m"]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60.0, check=True)  # noqa: S603 - words of this test

    assert "-m tools.plan --time 7m" in told.stdout
