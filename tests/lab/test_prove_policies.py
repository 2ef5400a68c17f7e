"""The report of all policies: carried out in parts, published small, and its page says where we lose."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from lab.bench.ledger import Ledger
from lab.compare.comparison import Comparison
from lab.compare.revision import policies_revision
from lab.compare.runner import Runner
from lab.compare.task import defaults_revision
from lab.prove import contests_page, policies
from lab.prove.__main__ import main
from lab.prove.contests import contests, parse
from lab.prove.published import DIRECTORY
from lab.scenarios import Scenario, scenario_names
from tests.lab.contested import line

ROOT = Path(__file__).parents[2]
TINY = Scenario(name="tiny", description="for tests", seconds=200, measured_from=100)
SUITE = policies.Suite("hour", "for tests", 0, 3600, ("cascade",), 2, clairvoyant=False)


def page(*lines: str) -> str:
    """Return the whole page of what was published for the suite of an hour."""
    there = parse(map(json.loads, lines))
    suites = {name: there if name == "hour" else [] for name in policies.SUITES}
    return "\n\n".join(contests_page.document(suites))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory of results, beside which the rows lie, with one tiny suite."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(policies.Suite, "scenarios", lambda _: (TINY,))
    monkeypatch.setattr(policies, "SUITES", {"hour": SUITE})
    monkeypatch.setattr(contests_page, "SUITES", {"hour": SUITE})
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    return tmp_path / "results"


def test_a_part_that_ends_early_is_gone_on_with(here: Path) -> None:
    """No time at all leaves nothing; the next part finishes, and one more runs nothing again."""
    assert not policies.run(here, ("hour",), seconds=0.0)
    assert not (here / "policies").exists()
    assert policies.run(here, ("hour",))
    rows = (here.parent / policies.ROWS / "rows.jsonl").read_text(encoding="utf-8")
    published = (here / "policies" / "hour.jsonl").read_text(encoding="utf-8")
    assert policies.run(here, ("hour",))

    assert (here.parent / policies.ROWS / "rows.jsonl").read_text(encoding="utf-8") == rows
    assert (here / "policies" / "hour.jsonl").read_text(encoding="utf-8") == published
    found = contests(parse(map(json.loads, published.splitlines())))["tiny"]
    assert set(found.lines) >= {"cascade", "untouched"}
    assert found.any.seeds == (1, 2)
    assert len(rows.splitlines()) > len(found.lines) * 2
    assert contests_page.write(here).read_text(encoding="utf-8").count("### tiny") == 1


def test_only_whole_contenders_are_published(here: Path) -> None:
    """A contender whose seeds are not all there would be compared with luck."""
    asked = SUITE.asked()
    with Runner(Ledger(here / "rows.jsonl", resume=True), jobs=1) as runner:
        comparison = Comparison(asked, runner)
        runner.done(comparison.policy_tasks()[:1])

        assert policies.lines_of(asked, comparison, runner, {}) == []


def test_what_is_published_is_not_run_again(here: Path) -> None:
    """A fresh checkout has the lines and none of the runs: it goes on from there, and loses nothing."""
    rows = here.parent / policies.ROWS / "rows.jsonl"
    published = here / DIRECTORY / "hour.jsonl"
    assert policies.run(here, ("hour",))
    before = published.read_text(encoding="utf-8")
    rows.unlink()
    assert policies.run(here, ("hour",), seconds=0.0)

    assert published.read_text(encoding="utf-8") == before
    assert not rows.exists() or not rows.read_text(encoding="utf-8")


def test_other_policies_are_run_again_and_static_settings_are_not(here: Path) -> None:
    """A line of a policy stands as long as the code that decides does; one of C and M that stay stands on."""
    rows = here.parent / policies.ROWS / "rows.jsonl"
    published = here / DIRECTORY / "hour.jsonl"
    assert policies.run(here, ("hour",))
    before = published.read_text(encoding="utf-8")
    rows.unlink()
    published.write_text(before.replace(policies_revision(), "4567"), encoding="utf-8")
    assert policies.run(here, ("hour",))

    assert published.read_text(encoding="utf-8") == before
    assert {json.loads(row)["contender"] for row in rows.read_text(encoding="utf-8").splitlines()} == {
        "cascade"
    }


def test_a_part_whose_time_is_up_takes_nothing_from_what_is_published(here: Path) -> None:
    """Until the runs with the code of now are whole, a policy's line of earlier code stays, and says so."""
    published = here / DIRECTORY / "hour.jsonl"
    assert policies.run(here, ("hour",))
    earlier = published.read_text(encoding="utf-8").replace(policies_revision(), "4567")
    (here.parent / policies.ROWS / "rows.jsonl").unlink()
    published.write_text(earlier, encoding="utf-8")

    assert not policies.run(here, ("hour",), seconds=0.0)
    assert published.read_text(encoding="utf-8") == earlier
    assert "4567" in contests_page.write(here).read_text(encoding="utf-8")


def test_an_m_for_each_piece_that_was_not_searched_is_still_to_do(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines of a report that stopped before the search by piece leave the suite unfinished."""
    monkeypatch.setattr(policies, "SUITES", {"hour": SUITE._replace(clairvoyant=True)})
    published = here / DIRECTORY / "hour.jsonl"
    assert policies.run(here, ("hour",))
    whole = [json.loads(one) for one in published.read_text(encoding="utf-8").splitlines()]
    cut = [one | {"notes": []} for one in whole if one["contender"] != "pieces"]
    (here.parent / policies.ROWS / "rows.jsonl").unlink()
    published.write_text("".join(json.dumps(one) + "\n" for one in cut), encoding="utf-8")

    assert not policies.run(here, ("hour",), seconds=0.0)
    assert policies.run(here, ("hour",))
    again = [json.loads(one) for one in published.read_text(encoding="utf-8").splitlines()]
    assert again == whole


def test_a_change_of_the_default_settings_is_run_again(here: Path) -> None:
    """A budget or cap of another default is one that the published runs and searches were not held to."""
    rows = here.parent / policies.ROWS / "rows.jsonl"
    published = here / DIRECTORY / "hour.jsonl"
    assert policies.run(here, ("hour",))
    before = published.read_text(encoding="utf-8")
    rows.unlink()
    earlier = before.replace(defaults_revision(), "4567")
    assert earlier != before
    published.write_text(earlier, encoding="utf-8")

    assert not policies.run(here, ("hour",), seconds=0.0)
    assert published.read_text(encoding="utf-8") == earlier
    assert policies.run(here, ("hour",))
    assert published.read_text(encoding="utf-8") == before
    assert {json.loads(row)["contender"] for row in rows.read_text(encoding="utf-8").splitlines()} >= {
        "cascade",
        "untouched",
    }


def test_lines_of_other_default_settings_are_not_passed_over() -> None:
    """A page on which contenders had different budgets says so at the top."""
    later = replace(line(scenario="other"), defaults="89ab")
    lines = [json.dumps(msgspec.to_builtins(one)) for one in (line(), later)]

    assert "**Not all with the same default settings.**" in page(*lines)
    assert "**Not all" not in page(lines[0])


def test_a_trial_says_so(here: Path) -> None:
    """Its lines are marked, lie apart from the report, and the page begins with it."""
    assert SUITE.asked(trial=True).seeds <= 3
    policies.run(here, ("hour",), trial=True)

    assert "**A trial with fewer seeds" in contests_page.write(here).read_text(encoding="utf-8")


def test_the_page_says_plainly_where_we_lose() -> None:
    """The summary names the claim, the scenario and the figure; the table has every verdict."""
    lines = [line(throughput_mean=900.0), line("static"), line("untouched", throughput_mean=500.0)]
    found = page(*(json.dumps(msgspec.to_builtins(one)) for one in lines))

    assert (
        "- **not met**: steady: commits/s ≥ 0.99 × best static's: 0 of 1 scenarios; "
        "not in even 0.900 (0.900–0.900)" in found
    )
    assert "- met: steady: no stall second: 1 of 1 scenarios" in found
    assert "- not judged yet: open load: pages per commit ≤ best single static's" in found
    assert "| best static, M = 450 | 1000 |" in found
    assert "best static, M = 450 / cascade: commits/s × 1.111 (1.111–1.111)" in found


def test_a_settling_time_has_its_band_beside_it() -> None:
    """The page says what the column is within, under each table with one, and that the claim differs."""
    still, moving = (page(json.dumps(msgspec.to_builtins(line(moves=moves)))) for moves in (False, True))
    band = "Settled s is within 0.03; the claim about settling has a wider band."

    assert "stays within 0.03 of its mean over the last third" in " ".join(still.split())
    assert (still.count(band), moving.count(band)) == (1, 0)


def test_a_scenario_in_two_suites_is_one_of_the_scenarios() -> None:
    """The page counts it once and has one row of each claim on it, whichever suites it was carried out in."""
    there = [line(scenario="month"), line("static", scenario="month")]
    suites = {name: there if name in {"month", "learning"} else [] for name in policies.SUITES}
    found = "\n\n".join(contests_page.document(suites))

    assert "- met: steady: no stall second: 1 of 1 scenarios" in found
    assert found.count("| steady: no stall second | month | met |") == 1


def test_a_suite_that_lacks_its_static_settings_says_so() -> None:
    """Policies that were run before anything to hold them against are no finished suite."""
    whole = [line(), line("untouched", throughput_mean=500.0), line(scenario="other")]
    lines = [json.dumps(msgspec.to_builtins(one)) for one in whole]

    assert "Not finished, static settings are missing: `other`." in page(*lines)
    assert "Not finished" not in page(*lines[:2])


def test_rows_of_other_policies_are_not_passed_over() -> None:
    """A suite that was carried out before a policy was changed says so at the top."""
    later = replace(line(scenario="other"), policies="89ab")
    lines = [json.dumps(msgspec.to_builtins(one)) for one in (line(), later)]

    assert "**Not all with the same policies: `4567`, `89ab`.**" in page(*lines)
    assert "**Not all" not in page(lines[0])


def test_a_scenario_says_whose_rows_are_of_other_policies() -> None:
    """Beside one another, contenders run with different code are told apart."""
    earlier = replace(line("pid"), policies="0123")
    lines = [json.dumps(msgspec.to_builtins(one)) for one in (line(), earlier)]

    assert "policies `0123` (pid), `4567` (cascade)." in page(*lines)
    assert "policies `4567`." in page(lines[0])


def test_a_suite_belongs_to_its_part() -> None:
    """A suite of one part asked of another is a usage error that names the right one."""
    found = CliRunner().invoke(main, ["--part", "bench", "--suite", "month"])

    assert found.exit_code == 2
    assert "--suite month: only of --part policies" in found.output


def test_every_scenario_is_in_a_suite_and_has_its_seeds() -> None:
    """Nothing is left out quietly: up to an hour 20 seeds, two days 5, thirty days 3."""
    seeds = {one.name: suite.seeds for suite in policies.SUITES.values() for one in suite.scenarios()}

    assert set(seeds) == {*scenario_names(), "steady-1200iops-30d"}
    assert (seeds["steady-1200iops"], seeds["daily"], seeds["month"]) == (20, 5, 3)


def test_the_published_page_is_what_its_lines_say(tmp_path: Path) -> None:
    """Nothing on it was written by hand; otherwise: python -m lab.prove --report."""
    results = ROOT / "docs" / "results"
    (tmp_path / DIRECTORY).mkdir()
    for lines in (results / DIRECTORY).glob("*.jsonl"):
        shutil.copy(lines, tmp_path / DIRECTORY)

    written = contests_page.write(tmp_path).read_text(encoding="utf-8")
    assert written == (results / contests_page.PAGE).read_text(encoding="utf-8")
