"""The plan says what is measured next, and measures it into a place of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from lab.bench import revision
from lab.bench.plan import Asked, load_suite
from lab.bench.plan import changed as suite_with
from lab.report.rows import ReportError
from lab.servers.made import is_name
from tests.lab.report.factory import row, write_rows
from tools import kept, plan, proof
from tools.kept import Comparison, all_kept
from tools.plan import FIRST, Progress, Step, listed, measure, order
from tuner.cli.answer import Unreachable

POLICY = "712c7904d6"
QUICK = Comparison("quick", "mysql-8.0.31", "")
SMOKE = Comparison("smoke", "mysql-9.7", "")
NEW, OLD = "1111111111", "2222222222"


def since(revision: str) -> int | None:
    """Return how old the revisions of these tests are."""
    return {NEW: 0, OLD: 2}.get(revision)


def keep(
    place: Path,
    *,
    blocks: int,
    revision: str = NEW,
    name: str = "mine",
    of: Comparison = QUICK,
    contenders: tuple[str, ...] = (),
) -> Path:
    """Keep the rows of so many whole blocks of a suite, and return their directory."""
    suite = load_suite(of.suite)
    if contenders:
        suite = suite_with(suite, [f"contenders={','.join(contenders)}"])
    one = suite.plans[0]
    rows = [
        {
            **row("default", block, revision=revision, when="2026-11-28T01:00:00+0000"),
            "plan": msgspec.to_builtins(one),
            "plan_hash": suite.digest,
            "variant": one.variant,
            "contender": who,
        }
        for block in range(1, blocks + 1)
        for who in one.contenders
    ]
    (place / name).mkdir()
    write_rows(place / name / "rows.jsonl", rows)
    asked = Asked(name=suite.name, about="", seed=7, server=of.server, plans=suite.plans)
    (place / name / "bench.json").write_bytes(msgspec.json.encode(asked))
    return place / name


def changed(file: Path, old: str, new: str) -> None:
    """Change a file by hand."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def line(place: Path) -> str:
    """Return what the list says of one comparison."""
    return next(listed(Progress(place, since, POLICY), [Step(QUICK)]))


def words(place: Path, step: Step | None = None) -> list[str]:
    """Return what the bench is asked for."""
    return Progress(place, since, POLICY).words(step or Step(QUICK))


def test_every_comparison_of_the_page_is_in_the_plan() -> None:
    """What is published can be measured again by the plan, once its policy is older than the one in force."""
    lines, _refused = proof.judged_all(kept.BENCH, lambda _: 0)
    there = {one.directory: one for one in all_kept(kept.BENCH)}

    assert lines
    assert {there[one.directory].comparison(one.group.variant) for one in lines} <= {
        one.comparison for one in order()
    }


def test_what_is_planned_can_be_measured() -> None:
    """Each is a variant of its suite with an untouched server beside ours, on a server of `make servers`."""
    assert len(set(order())) == len(order())
    for suite, server, variant in (one.comparison for one in order()):
        (found,) = (each for each in load_suite(suite).plans if each.variant == variant)
        assert {*FIRST} <= set(found.contenders), (suite, variant)
        assert is_name(server), server


def test_what_is_measured_without_best_static_is_measured_whole_later() -> None:
    """The better half of an answer comes first, and does not take the place of the whole."""
    steps = order()

    for at, one in enumerate(steps):
        assert not one.first or Step(one.comparison) in steps[at:]


def test_the_list_says_what_is_not_measured_begun_older_and_done(tmp_path: Path) -> None:
    """Each with how long it takes from there, and the whole at the end."""
    assert line(tmp_path).startswith(" 1  quick, mysql-8.0.31: not measured; about ")
    keep(tmp_path, blocks=2, revision=OLD, name="first")
    assert line(tmp_path).startswith(
        " 1  quick, mysql-8.0.31: older: 2026-11-28, 2 changes of the policy ago;"
    )
    keep(tmp_path, blocks=1, name="second")
    assert line(tmp_path).startswith(" 1  quick, mysql-8.0.31: begun 2026-11-28; about ")
    keep(tmp_path, blocks=2, name="third")
    assert list(listed(Progress(tmp_path, since, POLICY), [Step(QUICK)])) == [
        " 1  quick, mysql-8.0.31: measured 2026-11-28",
        "0 of 1 step still to measure: nothing",
        "in no plan: quick, mysql-8.0.31",
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ((NEW, f"{NEW}-dirty"), "by code without a commit"),
        (('"redo_capacity": 80', '"redo_capacity": 800'), "in another way than today"),
    ],
)
def test_rows_that_cannot_be_held_against_the_others_are_older(
    tmp_path: Path, change: tuple[str, str], why: str
) -> None:
    """Those of no commit, and those of another plan, are all there and measured again all the same."""
    changed(keep(tmp_path, blocks=2) / "rows.jsonl", *change)

    assert f"older: 2026-11-28, {why}; about " in line(tmp_path)


def test_older_rows_stay_where_they_are(tmp_path: Path) -> None:
    """New ones go to a directory of their own, with the policy in its name where the plain one is taken."""
    wanted = ["--suite", "quick", "--server", "mysql-8.0.31", "--output"]

    for name in ("quick-8.0.31", "quick-8.0.31-712c7904", "quick-8.0.31-712c7904-2"):
        assert words(tmp_path) == [*wanted, str(tmp_path / name)]
        keep(tmp_path, blocks=2, revision=OLD, name=name)


WITH_BEST = Comparison("disks", "mysql-9.7", "600 writes/s")
"""The first of a suite that has best static among its contenders."""


def test_without_best_static_it_is_a_bench_of_its_own(tmp_path: Path) -> None:
    """It asks for two contenders, goes on where it stopped, and is not what the whole goes on with."""
    first, whole = Step(WITH_BEST, first=True), Step(WITH_BEST)
    place = tmp_path / "disks-9.7-first"
    progress = Progress(tmp_path, since, POLICY)
    assert progress.words(first)[-4:] == ["--variant", "600 writes/s", "--set", "contenders=default,ours"]
    assert progress.words(first)[5] == str(place)
    assert progress.state(first).left < progress.state(whole).left / 2

    keep(tmp_path, blocks=1, name=place.name, of=WITH_BEST, contenders=FIRST)
    progress = Progress(tmp_path, since, POLICY)

    assert progress.words(first) == ["--resume", str(place), "--variant", "600 writes/s"]
    assert progress.words(whole)[5] == str(tmp_path / "disks-9.7")
    assert str(progress.state(first)).startswith("begun 2026-11-28")
    assert str(progress.state(whole)).startswith("not measured")


def test_what_is_measured_whole_is_not_measured_without_best_static_again(tmp_path: Path) -> None:
    """A stop in the middle of the order costs nothing that is there."""
    keep(tmp_path, blocks=3, of=WITH_BEST)
    progress = Progress(tmp_path, since, POLICY)

    assert [progress.state(Step(WITH_BEST, first=first)).left for first in (True, False)] == [0.0, 0.0]


@pytest.mark.parametrize("blocks", [0, 1])
def test_what_was_begun_under_this_policy_goes_on(tmp_path: Path, blocks: int) -> None:
    """Also a bench that was ended before its first row, and in its middle."""
    where = keep(tmp_path, blocks=blocks)
    with (where / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"schema": 1, "cut": "of')

    assert words(tmp_path) == ["--resume", str(where)]


def test_of_two_that_were_begun_the_one_with_less_to_do_goes_on(tmp_path: Path) -> None:
    """What the list foretells is what is done."""
    for name, blocks in (("a", 0), ("b", 1), ("c", 0)):
        keep(tmp_path, blocks=blocks, name=name)

    assert words(tmp_path) == ["--resume", str(tmp_path / "b")]


def test_what_was_begun_with_another_plan_does_not_go_on(tmp_path: Path) -> None:
    """A suite that was changed since is measured from its beginning: its rows cannot be compared."""
    where = keep(tmp_path, blocks=1)
    changed(where / "bench.json", '"blocks":2', '"blocks":4')

    assert "--output" in words(tmp_path)


@pytest.mark.parametrize("blocks", [1, 2])
def test_rows_of_tables_that_were_just_filled_do_not_go_on(tmp_path: Path, blocks: int) -> None:
    """All of them are measured again, in a directory of their own, also where none is missing."""
    where = keep(tmp_path, blocks=blocks, name="quick-8.0.31")
    rows = [msgspec.json.decode(one) for one in (where / "rows.jsonl").read_bytes().splitlines()]
    for one in rows:
        one["conditions"]["load"]["kind"] = "write_only"
    write_rows(where / "rows.jsonl", rows)

    assert "older: 2026-11-28, in another way than today; about " in line(tmp_path)
    assert words(tmp_path)[-1] == str(tmp_path / "quick-8.0.31-712c7904")


def test_what_is_done_is_repeated_in_a_directory_of_its_own(tmp_path: Path) -> None:
    """Whoever doubts a figure measures it again beside it."""
    keep(tmp_path, blocks=2, name="quick-8.0.31")

    assert words(tmp_path)[-1] == str(tmp_path / "quick-8.0.31-712c7904")


@pytest.mark.parametrize("server", ["innobrim/mysql:8.0.31", ".cache/mysql-8.0.31/bin/mysqld"])
def test_a_server_is_known_by_each_of_its_names(tmp_path: Path, server: str) -> None:
    """Rows of an image or a path are of the server that `make servers` calls by its name."""
    keep(tmp_path, blocks=2, of=Comparison("quick", server, ""))

    assert line(tmp_path).endswith("measured 2026-11-28")


@pytest.mark.parametrize(
    "text", ["[]", "null", "{}", '{"name": "quick"', '{"name": "x", "server": "y", "plans": 7}']
)
def test_a_damaged_directory_is_named(tmp_path: Path, text: str) -> None:
    """Nothing is measured, or left out, because of a file that says nothing."""
    where = keep(tmp_path, blocks=2)
    (where / "bench.json").write_text(text, encoding="utf-8")

    with pytest.raises(ReportError, match=r"mine/bench\.json: no"):
        line(tmp_path)


class Bench:
    """A bench that keeps what it was asked for, and finishes what it is told to."""

    def __init__(self, place: Path, ends: Sequence[int | Exception]) -> None:
        """Take how each run ends in turn; after 0 all rows are there."""
        self.asked: list[list[str]] = []
        self._place = place
        self._ends = list(ends)

    def main(self, words: list[str], **_further: object) -> int:
        """Run."""
        self.asked.append(words)
        end = self._ends.pop(0)
        if isinstance(end, Exception):
            raise end
        if not end:
            keep(self._place, blocks=2, name=f"run-{len(self.asked)}")
        return end


def carried_out(
    monkeypatch: pytest.MonkeyPatch,
    place: Path,
    ends: Sequence[int | Exception],
    seconds: float = 60.0,
    *,
    again: bool = False,
) -> tuple[int, list[list[str]], int]:
    """Measure two comparisons; return the end, what was asked for, and how often the page was made."""
    bench, pages = Bench(place, ends), list[str]()
    monkeypatch.setattr(plan, "bench", bench)
    monkeypatch.setattr(kept, "BENCH", place)
    monkeypatch.setattr(proof, "write", lambda _since, policy: pages.append(policy))
    end = measure([Step(QUICK), Step(SMOKE)], since, POLICY, seconds, again=again)
    return end, bench.asked, len(pages)


def test_it_measures_from_the_top_and_makes_the_page_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop after any of them leaves the page with all that is measured."""
    end, asked, pages = carried_out(monkeypatch, tmp_path, [0, 0])

    assert (end, pages) == (0, 2)
    assert [words[1] for words in asked] == ["quick", "smoke"]
    assert all(0 < int(words[-1].removesuffix("s")) <= 60 for words in asked)


@pytest.mark.parametrize(("again", "wanted"), [(False, ["smoke"]), (True, ["quick", "smoke"])])
def test_what_is_done_is_measured_again_only_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, again: bool, wanted: list[str]
) -> None:
    """The next one is, otherwise."""
    keep(tmp_path, blocks=2)

    _end, asked, _pages = carried_out(monkeypatch, tmp_path, [0, 0], again=again)

    assert [words[1] for words in asked] == wanted


@pytest.mark.parametrize(
    ("ends", "seconds", "wanted"), [([4], 60.0, (4, 1)), ([130], 60.0, (130, 1)), ([], 0.0, (4, 0))]
)
def test_where_a_bench_ends_early_nothing_further_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: list[int], seconds: float, wanted: tuple[int, int]
) -> None:
    """The time that was up and an interruption are told on; without time left nothing begins."""
    end, asked, pages = carried_out(monkeypatch, tmp_path, ends, seconds)

    assert (end, len(asked)) == wanted
    assert pages == len(asked)


def test_a_server_that_cannot_be_had_does_not_keep_from_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said, the others are measured, and the end tells that not all of it is done."""
    end, asked, pages = carried_out(monkeypatch, tmp_path, [Unreachable("mysql-8.0.31 is not here"), 0])

    assert (end, len(asked), pages) == (3, 2, 2)
    assert "mysql-8.0.31 is not here" in capsys.readouterr().err


def told(*words: str) -> tuple[int, list[str]]:
    """Return what the command ends with, and says."""
    if not kept.is_whole():
        pytest.skip("this clone has no whole history, by which rows have their age")
    found = CliRunner().invoke(plan.main, words, catch_exceptions=False)
    return found.exit_code, found.output.splitlines()


def test_the_command_names_the_policy_and_every_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a time it measures nothing."""
    monkeypatch.setattr(plan, "measure", None)

    code, lines = told()

    assert code == 0
    assert lines[0].startswith("policy in force: ")
    assert [one[:4] for one in lines[1 : 1 + len(order())]] == [
        f"{at:>2}  " for at in range(1, 1 + len(order()))
    ]


@pytest.mark.parametrize("now", ["", f"{NEW}-dirty"])
def test_code_without_a_commit_measures_nothing(monkeypatch: pytest.MonkeyPatch, now: str) -> None:
    """Its rows would have no age, so that they would be measured again and again."""
    monkeypatch.setattr(plan, "measure", None)
    monkeypatch.setattr(revision, "revision", lambda: now)

    code, lines = told("--time", "1m")

    assert code == 1
    assert "changed since the last commit" in lines[-1]


def test_numbers_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the list, in the order given, also where they are done; none is taken that is not on it."""
    asked: list[object] = []
    monkeypatch.setattr(revision, "revision", lambda: NEW)
    monkeypatch.setattr(plan, "measure", lambda chosen, *_, again: asked.append((chosen, again)) or 0)

    assert told("3", "1", "--time", "1m")[0] == 0
    assert asked == [([order()[2], order()[0]], True)]
    assert told("1")[0] == told("0", "--time", "1m")[0] == 2


def test_make_takes_the_command_of_the_page() -> None:
    """`make prove PART=plan TIME=… ARGS=…` measures for so long."""
    words = ["make", "-n", "-C", str(kept.ROOT), "prove", "PART=plan", "TIME=7m", "ARGS=4"]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60.0, check=True)  # noqa: S603 - words of this test

    assert "-m tools.plan --time 7m 4" in told.stdout
