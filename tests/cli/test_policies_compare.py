"""``innobrim policies --compare``: what it prints, what it keeps, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tuner.cli.main import cli

SHORT = """
name = "short"
description = "for tests"
seconds = 200
measured_from = 100
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """Return the path of a scenario that takes a moment."""
    path = tmp_path / "short.toml"
    path.write_text(SHORT, encoding="utf-8")
    return str(path)


def compare(*words: str) -> Result:
    """Return what the command did, in one process."""
    return CliRunner().invoke(cli, ["policies", *words, "--jobs", "1"], prog_name="innobrim")


def test_the_table_has_every_policy_with_its_ratio(tmp_path: Path, scenario: str) -> None:
    """The default is the reference in front, the others follow with their bounds; a CSV has all digits."""
    directory = tmp_path / "out"
    found = compare(
        *("--compare", "--scenario", scenario, "--policy", "fixed", "--policy", "cascade"),
        *("--seeds", "2", "--output", str(directory)),
    )

    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert lines[0] == "short: 200 s, counted from 100 s, 2 seeds"
    assert [line.split()[0] for line in lines[2:8]] == ["cascade", "worst", "fixed", "worst", "/", "95"]
    assert (directory / "comparison.csv").read_text(encoding="utf-8").startswith("scenario,contender,")
    assert len((directory / "rows.jsonl").read_text(encoding="utf-8").splitlines()) == 6


def test_no_configuration_counts(tmp_path: Path, scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs have the default [loop] whatever the environment says; --help says so, and what tries another."""
    words = ("--compare", "--scenario", scenario, "--policy", "fixed", "--seeds", "1", "--output")
    before = compare(*words, str(tmp_path / "before"))
    monkeypatch.setenv("INNOBRIM_LOOP_FIXED_IO_CAPACITY_MAX", "300")
    after = compare(*words, str(tmp_path / "after"))
    said = " ".join(compare("--help").stdout.split())

    assert after.stdout.splitlines()[:3] == before.stdout.splitlines()[:3]
    assert "every run has the default [loop], and innobrim simulate --config tries yours" in said


def test_a_settling_time_has_its_band_under_the_table(tmp_path: Path, scenario: str) -> None:
    """Where an age can settle, the table says within what of what it stays."""
    words = ("--policy", "fixed", "--seeds", "1", "--output", str(tmp_path / "out"))
    found = compare("--compare", "--scenario", scenario, "--scenario", "iops-drop", *words)
    short, drop = found.stdout.split("iops-drop: ")

    assert (
        "  settled s: seconds after which the 30-second mean of the age ratio stays within 0.03 of its mean "
        "over the last third of the run\n"
    ) in short
    assert "settled s:" not in drop


def test_json_has_the_bounds(tmp_path: Path, scenario: str) -> None:
    """--json prints one object: scenarios, contenders, and each metric with mean, worst and paired ratio."""
    words = ("--scenario", scenario, "--policy", "cascade", "--policy", "fixed", "--seeds", "2")
    found = compare("--compare", *words, "--output", str(tmp_path / "out"), "--json")

    parsed = json.loads(found.stdout)
    assert parsed["reference"] == "cascade"
    (group,) = parsed["scenarios"]
    ours, other, untouched = group["contenders"]
    assert ours["values"]["throughput_mean"]["ratio"] is None
    ratio = other["values"]["throughput_mean"]["ratio"]
    assert ratio["low"] <= ratio["mean"] <= ratio["high"]
    assert ratio["blocks"] == 2
    assert untouched["name"] == "untouched"


def test_a_run_that_is_kept_is_not_repeated(tmp_path: Path, scenario: str) -> None:
    """The same command again runs nothing and prints the same; without --output nothing is left behind."""
    words = ("--compare", "--scenario", scenario, "--policy", "fixed", "--seeds", "2")
    first, again = (compare(*words, "--output", str(tmp_path / "out")) for _ in range(2))

    assert "4 runs of 1 policy on 1 scenario, 4 to do" in first.stderr
    assert "0 to do" in again.stderr
    assert again.stdout == first.stdout
    assert compare(*words).stdout.splitlines() == first.stdout.splitlines()[:-1]


@pytest.mark.parametrize(
    ("number", "all_of_them"), [(signal.SIGTERM, False), (signal.SIGHUP, True), (signal.SIGTERM, True)]
)
def test_a_comparison_that_is_ended_keeps_its_rows(
    tmp_path: Path, scenario: str, number: signal.Signals, *, all_of_them: bool
) -> None:
    """A signal to it, or to each of its processes, ends all of them, says what is kept, and nothing else."""
    long = tmp_path / "long.toml"
    long.write_text(SHORT.replace("short", "long").replace("200", "400_000"), encoding="utf-8")
    words = ["--compare", "--scenario", scenario, "--scenario", str(long), "--policy", "fixed"]
    words += ["--seeds", "2", "--jobs", "2", "--output", str(tmp_path / "out")]
    # Not as under nohup, where SIGHUP is ignored by right, and whose children inherit that.
    default = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    rows = tmp_path / "out" / "rows.jsonl"
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", f"{default}; from tuner.cli.main import main; main()", "policies", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        while not (rows.exists() and rows.read_bytes().endswith(b"\n")):
            os.sched_yield()
        (os.killpg if all_of_them else os.kill)(process.pid, number)
        _, said = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert re.fullmatch(
        r".* to do\ninterrupted; \d rows? (?:is|are) kept: the same command goes on\n", said
    ), said


def test_static_settings_are_named_with_their_m(tmp_path: Path, scenario: str) -> None:
    """With --oracle the best static M is there, and the setting that the server starts with."""
    words = ("--scenario", scenario, "--policy", "fixed", "--seeds", "1")
    found = compare("--compare", *words, "--oracle", "--output", str(tmp_path / "out"))

    assert found.exit_code == 0, found.output
    assert re.search(r"^M = \d+, best ", found.stdout, re.MULTILINE)
    assert "as it starts" in found.stdout


def test_a_scenario_may_have_seeds_of_its_own(tmp_path: Path, scenario: str) -> None:
    """A long scenario is given fewer runs than the others in the same comparison."""
    longer = tmp_path / "longer.toml"
    longer.write_text(SHORT.replace("short", "longer").replace("200", "210"), encoding="utf-8")
    found = compare(
        *("--compare", "--scenario", scenario, "--scenario", str(longer), "--policy", "fixed"),
        *("--seeds", "2", "--seeds", "longer=1", "--output", str(tmp_path / "out")),
    )

    assert "short: 200 s, counted from 100 s, 2 seeds" in found.stdout
    assert "longer: 210 s, counted from 100 s, 1 seed" in found.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--seeds", "5"), "--seeds: goes with --compare"),
        (("--compare", "--scenario", "step-upp"), "step-upp: no such scenario; did you mean step-up?"),
        (("--compare", "--policy", "magic"), "'magic' is not one of 'cascade'"),
        (
            ("--compare", "--scenario", "step-up", "--scenario", "step-up"),
            "--scenario step-up: is there twice",
        ),
        (("--compare", "--seeds", "0"), "'0': write a whole number from 1 to 1000"),
        (
            ("--compare", "--seeds", "=2"),
            "'=2': write a whole number from 1 to 1000, or one for a scenario: daily",
        ),
        (
            ("--compare", "--scenario", "burst", "--seeds", "brust=2"),
            "--seeds brust=…: no such scenario in this comparison; the only one is burst",
        ),
        (
            ("--compare", "--scenario", "burst", "--scenario", "batch", "--seeds", "brust=2"),
            "no such scenario in this comparison; there are burst, batch",
        ),
    ],
)
def test_a_wrong_command_is_a_usage_error(words: tuple[str, ...], message: str) -> None:
    """Whatever is wrong, exit 2 with the option, the value, and what would be right; nothing is written."""
    found = compare(*words)

    assert found.exit_code == 2
    assert message in found.stderr


def test_a_damaged_row_is_named(tmp_path: Path, scenario: str) -> None:
    """Nothing runs on what is not understood, and nothing is removed."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("{}\nrubbish\n", encoding="utf-8")
    found = compare("--compare", "--scenario", scenario, "--output", str(tmp_path))

    assert found.exit_code == 2
    assert f"{rows}, line 2: not JSON" in found.stderr
    assert rows.read_text(encoding="utf-8") == "{}\nrubbish\n"


def test_a_policy_without_its_extra_is_refused(monkeypatch: pytest.MonkeyPatch, scenario: str) -> None:
    """Without scikit-optimize bayes is refused by comparison and simulation, with what to type."""
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "skopt" else real(name))
    simulate = ("simulate", "--scenario", scenario, "--policy", "bayes")
    found = [
        compare("--compare", "--scenario", scenario, "--policy", "bayes"),
        CliRunner().invoke(cli, simulate),
    ]

    assert [one.exit_code for one in found] == [2, 2]
    assert all("pip install 'innobrim[bayes]'" in one.output for one in found)
