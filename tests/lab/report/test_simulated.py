"""``innobrim simulate --plot``: the page, and where it is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from lab.report import simulated
from lab.scenarios.search import BestStatic
from lab.simulate import NoStatic
from lab.simulate import simulate as really
from tests.lab.report.reading import Page
from tuner.cli import simulate as module

SHORT = """
name = "<b>short"
description = "for tests"
seconds = 420
measured_from = 240
"""


def run(directory: Path, *words: str) -> Result:
    """Run a short scenario."""
    scenario = directory / "short.toml"
    scenario.write_text(SHORT, encoding="utf-8")
    return CliRunner().invoke(module.simulate, ["--scenario", str(scenario), "--policy", "fixed", *words])


@pytest.mark.parametrize(
    ("best", "words"),
    [(BestStatic(440, 3000.0, 0.15), "M = 440, 3\u202f000 commits/s"), (NoStatic(), "none keeps the rules")],
)
def test_a_run_becomes_a_page_with_what_was_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, best: BestStatic | NoStatic, words: str
) -> None:
    """Scenario, policy, server and seed, the figures, the best static setting, and every tick."""

    def judged(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - handed on as they are
        return replace(really(*arguments, **named | {"oracle": False}), best_static=best)

    monkeypatch.setattr(module, "run_simulation", judged)
    path = tmp_path / "run.html"
    path.write_text("old", encoding="utf-8")
    found = run(tmp_path, "--plot", str(path), "--oracle")
    assert found.exit_code == 0, found.output
    text = path.read_text(encoding="utf-8")

    assert "&lt;b&gt;short: policy fixed on mysql-9.7, seed 1" in text
    assert f"best static setting: {words}" in text
    assert "counted from 240 s on: " in text
    assert len(Page(text).data["trace"]["at"]) == 421
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.html", "short.toml"]


def test_a_long_run_takes_no_more_memory_than_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reading in so many seconds is taken, which the page says."""
    monkeypatch.setattr(simulated, "MOST_TICKS", 100)
    path = tmp_path / "run.html"
    assert run(tmp_path, "--plot", str(path)).exit_code == 0
    text = path.read_text(encoding="utf-8")

    assert "one reading in 5 s is drawn" in text
    assert 80 < len(Page(text).data["trace"]["at"]) < 120


@pytest.mark.parametrize(
    ("file", "right"),
    [
        ("run.svg", "name a file that ends in .html"),
        ("missing/run.html", "there is no directory"),
        ("folder.html", "is a directory; name a file in it"),
        ("/proc/run.html", "name one in a directory that you may write to"),
    ],
)
def test_a_file_that_cannot_be_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, right: str
) -> None:
    """Exit 2 at once, with the file and what would be right."""
    monkeypatch.setattr(module, "run_simulation", lambda *_, **__: pytest.fail("the run began"))
    (tmp_path / "folder.html").mkdir()
    found = run(tmp_path, "--plot", str(tmp_path / file))
    assert found.exit_code == 2
    assert right in " ".join(found.output.split())


def test_figures_are_printed_though_the_page_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the directory goes away during the run, the figures are printed, and exit 1 names the file."""
    (tmp_path / "there").mkdir()

    def lost(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - handed on as they are
        shutil.rmtree(tmp_path / "there")
        return really(*arguments, **named)

    monkeypatch.setattr(module, "run_simulation", lost)
    found = run(tmp_path, "--plot", str(tmp_path / "there" / "run.html"))
    assert found.exit_code == 1
    assert "commits/s" in found.stdout
    assert f"--plot {tmp_path / 'there' / 'run.html'}: cannot be written" in found.stderr
