"""The extra that bayes needs: said in a line where it is missing or broken, and what is left out for it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.lab.simulating import scenario_file
from tuner.cli.main import cli

BROKEN = (
    "needs scikit-optimize, which is installed and cannot be imported: ImportError: numpy.core.multiarray "
    "failed to import; pip install 'innobrim[bayes]', with --force-reinstall where that changes nothing"
)


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have scikit-optimize installed for another numpy, which says so in words of its own as well."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "skopt.py").write_text(
        "import sys\n"
        "print('A module that was compiled using NumPy 1.x', file=sys.stderr)\n"
        "try:\n    raise ImportError('numpy.core.multiarray failed to import')\n"
        "except ImportError as error:\n"
        "    raise ImportError('\\n\\nIMPORTANT: PLEASE READ THIS FOR ADVICE\\n') from error\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(library))
    monkeypatch.delitem(sys.modules, "skopt", raising=False)


@pytest.fixture
def missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have scikit-optimize not installed."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "skopt" else real(name))


def innobrim(*words: str) -> Result:
    """Return what a command came to."""
    return CliRunner().invoke(cli, words, prog_name="innobrim")


def compared(tmp_path: Path) -> Result:
    """Return what a comparison of all policies came to, of which --time lets none begin."""
    words = ("--scenario", scenario_file(tmp_path), "--time", "0.01s", "--jobs", "1")
    return innobrim("policies", "--compare", *words, "--output", str(tmp_path / "out"))


@pytest.mark.usefixtures("broken")
def test_an_extra_that_cannot_be_imported_is_one_line(tmp_path: Path) -> None:
    """Comparison, simulation and check end with exit 2, the reason, and what to type, and no traceback."""
    config = tmp_path / "innobrim.toml"
    config.write_text('[loop]\npolicy = "bayes"\n', encoding="utf-8")
    scenario = scenario_file(tmp_path)
    found = {
        "--policy bayes": innobrim("policies", "--compare", "--scenario", scenario, "--policy", "bayes"),
        f"{config}: loop.policy = bayes": innobrim(
            "simulate", "--scenario", scenario, "--config", str(config)
        ),
        "loop.policy = bayes": innobrim("check", "--config", str(config)),
    }

    for asked, one in found.items():
        assert one.exit_code == 2
        assert one.stderr.splitlines()[-1].removeprefix("Error: ").removeprefix("innobrim: ") == (
            f"{asked} {BROKEN}"
        )
        assert "NumPy 1.x" not in one.output


@pytest.mark.usefixtures("broken")
def test_a_comparison_of_all_goes_on_without_a_broken_extra(tmp_path: Path) -> None:
    """Who names no policy is told that bayes is left out, why, and what mends it."""
    found = compared(tmp_path)

    assert found.exit_code == 4
    assert f"bayes is left out: it {BROKEN}" in found.stderr.splitlines()


@pytest.mark.usefixtures("missing")
def test_what_a_comparison_of_all_leaves_out_is_said(tmp_path: Path) -> None:
    """Without the extra bayes is left out, with what brings it in."""
    found = compared(tmp_path)

    assert (
        "bayes is left out: it needs scikit-optimize, which is not installed: pip install 'innobrim[bayes]'"
    ) in found.stderr.splitlines()
    assert "runs of 3 policies" in found.stderr


def test_the_list_says_whether_the_extra_is_there(request: pytest.FixtureRequest) -> None:
    """The list of policies has the command as every shell takes it, and whether it is still needed."""
    there = innobrim("policies").stdout
    request.getfixturevalue("missing")
    absent = innobrim("policies").stdout

    assert there.count("  needs: pip install 'innobrim[bayes]' (installed)\n") == 1
    assert absent.count("  needs: pip install 'innobrim[bayes]' (not installed)\n") == 1


@pytest.mark.usefixtures("broken")
def test_the_list_says_that_an_extra_cannot_be_imported() -> None:
    """Who lists the policies beside a broken extra reads so, in the words that simulation and check have."""
    found = innobrim("policies")

    assert found.exit_code == 0
    assert found.stdout.count(f"  needs: {BROKEN.removeprefix('needs ')}\n") == 1
    assert "(installed)" not in found.stdout
    assert "NumPy 1.x" not in found.output
