"""``innobrim policies``: the list, and what a comparison prints, keeps and refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from policies.catalogue import CATALOGUE
from tuner.cli.main import cli
from tuner.settings import Settings

SHORT = 'name = "short"\ndescription = "for tests"\nseconds = 200\nmeasured_from = 100\n'
LONG = SHORT.replace("short", "long").replace("200", "400_000")


def policies(*words: str) -> Result:
    """Return what the command did."""
    return CliRunner().invoke(cli, ["policies", *words], prog_name="innobrim")


class Comparison:
    """A comparison of short runs in a directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.directory = folder / "out"
        self.scenario = folder / "short.toml"
        self.scenario.write_text(SHORT, encoding="utf-8")

    def __call__(self, *words: str, policy: tuple[str, ...] = ("fixed",), seeds: int | None = 1) -> Result:
        """Return what the command did, in one process."""
        named = [word for one in policy for word in ("--policy", one)]
        many = [] if seeds is None else ["--seeds", str(seeds)]
        where = ["--output", str(self.directory), "--jobs", "1"]
        return policies("--compare", "--scenario", str(self.scenario), *named, *many, *where, *words)


@pytest.fixture
def compare(tmp_path: Path) -> Comparison:
    """Return a way to compare the policy ``fixed`` on a scenario that takes a moment, with one seed."""
    return Comparison(tmp_path)


def test_every_law_is_listed_with_its_constants() -> None:
    """The list has each law's name, line, use and constants and the default; for machines it is an object."""
    found, machine = policies(), json.loads(policies("--json").stdout)

    assert found.exit_code == 0
    assert f"{Settings().policy} (the default)" in found.stdout
    for one in CATALOGUE:
        assert all(text in found.stdout for text in (one.does, one.use, *(c.name for c in one.constants)))
    assert (machine["default"], machine["in_force"]) == (Settings().policy, "")
    assert [one["name"] for one in machine["policies"]] == [one.name for one in CATALOGUE]
    assert {"does", "use", "extra", "by_itself", "constants"} <= set(machine["policies"][0])


def test_the_table_has_every_policy_with_its_ratio(compare: Comparison) -> None:
    """The default is the reference in front, the others follow with their bounds; a CSV has all digits."""
    found = compare(policy=("fixed", "cascade"), seeds=2)
    lines = found.stdout.splitlines()
    machine = json.loads(compare("--json", policy=("fixed", "cascade"), seeds=2).stdout)

    assert found.exit_code == 0, found.output
    assert lines[0] == "short: 200 s, counted from 100 s, 2 seeds"
    assert [line.split()[0] for line in lines[2:8]] == ["cascade", "worst", "fixed", "worst", "/", "95"]
    assert "stays within 0.03 of its mean" in found.stdout
    assert (
        (compare.directory / "comparison.csv").read_text(encoding="utf-8").startswith("scenario,contender,")
    )
    assert len((compare.directory / "rows.jsonl").read_text(encoding="utf-8").splitlines()) == 6
    assert machine["reference"] == "cascade"
    ours, other, untouched = machine["scenarios"][0]["contenders"]
    assert ours["values"]["throughput_mean"]["ratio"] is None
    ratio = other["values"]["throughput_mean"]["ratio"]
    assert ratio["low"] <= ratio["mean"] <= ratio["high"]
    assert (ratio["blocks"], untouched["name"]) == (2, "untouched")


def test_no_configuration_counts(compare: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs have the default [loop] whatever the environment says."""
    before = compare()
    monkeypatch.setenv("INNOBRIM_LOOP_FIXED_IO_CAPACITY_MAX", "300")
    compare.directory = compare.directory.with_name("after")

    assert compare().stdout.splitlines()[:3] == before.stdout.splitlines()[:3]


def test_a_run_that_is_kept_is_not_repeated(compare: Comparison) -> None:
    """The same command again runs nothing and prints the same; without --output nothing is left behind."""
    first, again = compare(seeds=2), compare(seeds=2)
    words = ("--scenario", str(compare.scenario), "--policy", "fixed", "--seeds", "2")

    assert "4 runs of 1 policy on 1 scenario, 4 to do" in first.stderr
    assert "0 to do" in again.stderr
    assert again.stdout == first.stdout
    assert policies("--compare", *words).stdout.splitlines() == first.stdout.splitlines()[:-1]


def test_static_settings_are_named_with_their_m(compare: Comparison) -> None:
    """With --oracle the best static M is there, and the setting that the server starts with."""
    found = compare("--oracle")

    assert found.exit_code == 0, found.output
    assert re.search(r"^M = \d+, best ", found.stdout, re.MULTILINE)
    assert "as it starts" in found.stdout


def test_a_scenario_may_have_seeds_of_its_own(compare: Comparison, tmp_path: Path) -> None:
    """A long scenario is given fewer runs than the others in the same comparison."""
    longer = tmp_path / "longer.toml"
    longer.write_text(SHORT.replace("short", "longer").replace("200", "210"), encoding="utf-8")
    found = compare("--scenario", str(longer), "--seeds", "longer=1", seeds=2)

    assert "short: 200 s, counted from 100 s, 2 seeds" in found.stdout
    assert "longer: 210 s, counted from 100 s, 1 seed" in found.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--seeds 5", "--seeds: goes with --compare"),
        ("--compare --scenario step-upp", "step-upp: no such scenario; did you mean step-up?"),
        ("--compare --policy magic", "'magic' is not one of 'cascade'"),
        ("--compare --scenario step-up --scenario step-up", "--scenario step-up: is there twice"),
        ("--compare --seeds 0", "'0': write a whole number from 1 to 1000"),
        ("--compare --seeds =2", "'=2': write a whole number from 1 to 1000, or one for a scenario: daily"),
        ("--compare --scenario burst --seeds brust=2", "in this comparison; the only one is burst"),
        (
            "--compare --scenario burst --scenario batch --seeds brust=2",
            "--seeds brust=…: no such scenario in this comparison; there are burst, batch",
        ),
    ],
)
def test_a_wrong_command_is_a_usage_error(words: str, message: str) -> None:
    """Whatever is wrong, exit 2 with the option, the value, and what would be right; nothing is written."""
    found = policies(*words.split())

    assert found.exit_code == 2
    assert message in found.stderr


def test_a_damaged_row_is_named(compare: Comparison) -> None:
    """Nothing runs on what is not understood, and nothing is removed."""
    rows = compare.directory / "rows.jsonl"
    rows.parent.mkdir()
    rows.write_text("{}\nrubbish\n", encoding="utf-8")
    found = compare()

    assert found.exit_code == 2
    assert f"{rows}, line 2: not JSON" in found.stderr
    assert rows.read_text(encoding="utf-8") == "{}\nrubbish\n"


@pytest.mark.parametrize(
    ("number", "all_of_them"), [(signal.SIGTERM, False), (signal.SIGHUP, True), (signal.SIGTERM, True)]
)
def test_a_comparison_that_is_ended_keeps_its_rows(
    compare: Comparison, tmp_path: Path, number: signal.Signals, *, all_of_them: bool
) -> None:
    """A signal to it, or to each of its processes, ends all of them, says what is kept, and nothing else."""
    long = tmp_path / "long.toml"
    long.write_text(LONG, encoding="utf-8")
    words = ["--scenario", str(compare.scenario), "--scenario", str(long), "--policy", "fixed"]
    words += ["--seeds", "2", "--jobs", "2", "--output", str(compare.directory)]
    # Not as under nohup, where SIGHUP is ignored by right, and whose children inherit that.
    default = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    code = f"{default}; from tuner.cli.main import main; main()"
    rows = compare.directory / "rows.jsonl"
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", code, "policies", "--compare", *words],
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
