"""What README.md and the page of the benches say is what the published rows say."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lab.experiment.plan import Plan, load_suite
from lab.report import published
from lab.report.__main__ import main
from lab.report.published import COMMAND, stale
from lab.report.suites import SUITES, read
from tests.lab.report.publishing import CONTENDERS, README, blocks, publish

ROOT = Path(__file__).parents[3]
PLAN = Plan(contenders=CONTENDERS)
COMMITS = {
    "default": [1000.0, 1010.0, 990.0],
    "2000/4000": [1100.0, 1120.0, 1080.0],
    "best-static": [2000.0, 2010.0, 1990.0],
    "cascade": [1990.0, 2020.0, 1985.0],
}


def table(root: Path) -> list[str]:
    """Return the generated lines of README.md."""
    return published.lines(read(root / "docs/results/bench")).splitlines()


def results(root: Path, *words: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["--root", str(root), *words], prog_name="lab.report")


def test_what_is_published_here_is_what_the_rows_say() -> None:
    """Whoever adds rows, or changes how they are worked out, generates both files again."""
    assert list(stale(ROOT)) == [], f"run: {COMMAND}"


def test_every_line_of_the_table_is_about_a_variant_that_there_is() -> None:
    """A suite or a variant that was renamed does not just vanish from README.md."""
    there = {(name, plan.variant) for name in SUITES for plan in load_suite(name).plans}

    assert {(line.suite, line.variant) for line in published.LINES} <= there
    assert len(published.LINES) <= 12


def test_a_line_has_default_best_static_and_ours_with_what_follows(tmp_path: Path) -> None:
    """Where nothing is gained stands as plainly beside the gain, and the suite is linked."""
    found = table(publish(tmp_path, "contenders", [PLAN], blocks(COMMITS)))

    assert found[2] == (
        "| [contenders](docs/results/bench/README.md#contenders) | disk limited to 1200 writes/s | commits/s"
        " | 1\u202f000 | 2\u202f000 (best: 210/420) | 1\u202f998 | 2.00 (1.98 to 2.02), gains"
        " | 0.999 (0.986 to 1.01), no difference shown |"
    )
    assert found[-1].startswith("No block measured yet: disks: 600 writes/s;")


def test_only_a_setting_that_was_searched_for_is_called_the_best(tmp_path: Path) -> None:
    """One that was chosen beforehand stands there as what it is."""
    chosen = {name: values for name, values in COMMITS.items() if name != "best-static"}
    plan = Plan(contenders=("default", "2000/4000", "cascade"), blocks=3)

    found = table(publish(tmp_path, "contenders", [plan], blocks(chosen)))[2]

    assert "1\u202f100 (2000/4000)" in found


def test_a_loss_is_a_loss_in_the_readme(tmp_path: Path) -> None:
    """Nobody has to open another page to see it."""
    worse = COMMITS | {"cascade": [900.0, 910.0, 890.0]}

    assert "**loses**" in table(publish(tmp_path, "contenders", [PLAN], blocks(worse)))[2]


def test_a_variant_that_is_under_way_says_so(tmp_path: Path) -> None:
    """One block has a ratio without bounds, and no word for it."""
    one = {name: values[:1] for name, values in COMMITS.items()}

    found = table(publish(tmp_path, "contenders", [PLAN], blocks(one)))[2]

    assert "(1 of 3 blocks, no bounds yet)" in found
    assert "1.99 (one block, no bounds) |" in found
    assert "gains" not in found


def test_check_names_what_is_stale_and_writes_nothing(tmp_path: Path) -> None:
    """CI says which file and what to run; after that it is content."""
    root = publish(tmp_path, "contenders", [PLAN], blocks(COMMITS))

    first = results(root, "--check")
    assert first.exit_code == 1
    assert f"run: {COMMAND}" in first.stderr
    assert (root / "README.md").read_text(encoding="utf-8") == README

    assert results(root).exit_code == 0
    assert results(root, "--check").exit_code == 0
    assert (root / "README.md").read_text(encoding="utf-8").endswith("\n\nMore of it.\n")

    publish(root, "disks", [PLAN], [])
    assert "README.md is stale" in results(root, "--check").stderr


@pytest.mark.parametrize("text", ["# Nothing\n", f"{published.END}\n{published.BEGIN}\n", README + README])
def test_a_readme_without_its_two_marks_is_left_alone(tmp_path: Path, text: str) -> None:
    """The message has both marks."""
    root = publish(tmp_path, "contenders", [PLAN], blocks(COMMITS))
    (root / "README.md").write_text(text, encoding="utf-8")

    found = results(root)

    assert found.exit_code == 1
    assert published.BEGIN in found.output
    assert (root / "README.md").read_text(encoding="utf-8") == text
