"""``innobrim simulate --plot``: the file, and where it is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from lab.scenarios.search import BestStatic
from lab.simulate import simulate as really
from lab.simulate_result import NoStatic
from tuner.cli import simulate as module

SHORT = """
name = "{name}"
description = "for tests"
seconds = 420
measured_from = 240
[disk]
timeline = [{{ at = 0, write_iops = 2400 }}, {{ at = 300, write_iops = 1200 }}]
"""
SVG = "{http://www.w3.org/2000/svg}"


def _run(directory: Path, *words: str, name: str = "short") -> Result:
    scenario = directory / "short.toml"
    scenario.write_text(SHORT.format(name=name), encoding="utf-8")
    return CliRunner().invoke(module.simulate, ["--scenario", str(scenario), "--policy", "fixed", *words])


def _drawn(directory: Path, *words: str, name: str = "short") -> ET.Element:
    path = directory / "run.svg"
    found = _run(directory, "--plot", str(path), *words, name=name)
    assert found.exit_code == 0, found.output
    return ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 - our own file


def _words(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def _found(monkeypatch: pytest.MonkeyPatch, best: BestStatic | NoStatic) -> None:
    """Stand in for the search, which takes a while."""

    def simulated(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - handed on as they are
        named["oracle"] = False
        result = really(*arguments, **named)
        return replace(result, best_static=best)

    monkeypatch.setattr(module, "run_simulation", simulated)


def test_the_plot_says_what_was_run_and_names_every_line(tmp_path: Path) -> None:
    """Scenario, policy, server, seed, plant and window are written, and each line has its name."""
    root = _drawn(tmp_path)
    said = " | ".join(_words(root))
    for part in (
        "short: policy fixed on mysql-9.7, seed 1",
        "simulated 7 min, counted from 4 min; plant ",
        "policy, mean of 10 s",
        "modified age",
        "checkpoint age",
        "flush limit A, 72.3 MiB",
        "sync point, 75.8 MiB",
        "stall point, 83.4 MiB",
        "set-point, 0.",
        "M, 2\u202f000 at the end",
        "C, 2\u202f000 at the end",
        "adaptive",
        "none: LRU, background, sync",
        "counted from 4 min",
        "dotted: load, disk or redo change",
    ):
        assert part in said
    assert "best static" not in said
    assert {"0", "1 min", "7 min"} <= set(_words(root))


def test_the_plot_needs_nothing_else(tmp_path: Path) -> None:
    """No script, no reference and no font from elsewhere; light and dark, and a text for those who listen."""
    root = _drawn(tmp_path)
    text = (tmp_path / "run.svg").read_text(encoding="utf-8")
    assert not [one for one in ("<script", "href", "url(", "@import", "@font-face", "onload") if one in text]
    assert text.count("http") == 1  # the name of the format itself
    assert "prefers-color-scheme: dark" in text
    title, described = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert described is not None
    assert root.get("aria-labelledby") == f"{title.get('id')} {described.get('id')}"
    assert "Mean throughput" in (described.text or "")
    assert root.get("role") == "img"


def test_the_best_static_setting_is_a_labelled_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --oracle its throughput crosses the counted window; where none keeps the rules, that is said."""
    _found(monkeypatch, BestStatic(440, 3000.0, 0.15))
    root = _drawn(tmp_path, "--oracle")
    lines = [one for one in root.iter(f"{SVG}path") if one.get("class") == "static"]
    assert "best static, M = 440" in _words(root)
    assert "best static setting 3\u202f000" in " ".join(_words(root))
    assert len(lines) == 2  # across the panel, and beside its name
    _found(monkeypatch, NoStatic())
    assert "none keeps the rules" in " ".join(_words(_drawn(tmp_path, "--oracle")))


def test_any_name_of_a_scenario_is_drawn(tmp_path: Path) -> None:
    """Signs that mean something in XML, and those that it cannot have, do no harm in a name."""
    root = _drawn(tmp_path, name="<b>&\\\"' \\u0001 ]]> ä")
    assert _words(root)[0].startswith("<b>&\"' \ufffd ]]> ä: policy fixed")


def test_a_long_name_stays_on_the_drawing(tmp_path: Path) -> None:
    """A name that is longer than the drawing is wide is cut, and whole for those who hear it read."""
    root = _drawn(tmp_path, name="long " * 60)
    assert len(_words(root)[0]) <= 100
    assert _words(root)[0].endswith("…")
    assert "long " * 60 in (root.findtext(f"{SVG}title") or "")


def test_a_plot_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    """An existing file is replaced, with nothing left beside it, and the same run draws the same again."""
    (tmp_path / "run.svg").write_text("old", encoding="utf-8")
    _drawn(tmp_path)
    first = (tmp_path / "run.svg").read_bytes()
    _drawn(tmp_path)
    assert (tmp_path / "run.svg").read_bytes() == first
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.svg", "short.toml"]


@pytest.mark.parametrize(
    ("file", "right"),
    [
        ("run.png", "name a file that ends in .svg"),
        ("run", "name a file that ends in .svg"),
        ("missing/run.svg", "there is no directory"),
        ("folder.svg", "is a directory; name a file in it"),
        ("/proc/run.svg", "name one in a directory that you may write to"),
        (f"{'x' * 300}.svg", "file name too long"),
    ],
)
def test_a_file_that_cannot_be_is_refused_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, right: str
) -> None:
    """Exit 2 at once, with the file and what would be right."""
    monkeypatch.setattr(module, "run_simulation", lambda *_, **__: pytest.fail("the run began"))
    (tmp_path / "folder.svg").mkdir()
    found = _run(tmp_path, "--plot", str(tmp_path / file))
    assert found.exit_code == 2
    said = " ".join(found.output.split())
    assert f"--plot {tmp_path / file}" in said
    assert right in said


def test_figures_are_printed_though_the_plot_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the directory goes away during the run, the figures are printed, and exit 1 names the file."""
    (tmp_path / "there").mkdir()

    def simulated(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - handed on as they are
        shutil.rmtree(tmp_path / "there")
        return really(*arguments, **named)

    monkeypatch.setattr(module, "run_simulation", simulated)
    found = _run(tmp_path, "--plot", str(tmp_path / "there" / "run.svg"))
    assert found.exit_code == 1
    assert "commits/s" in found.stdout
    assert f"--plot {tmp_path / 'there' / 'run.svg'}: cannot be written" in found.stderr
