"""``innobrim policies --compare``: what it prints, what it keeps, and what it refuses."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lab.plant.clock import SimClock
from lab.plant.parameters import PlantParameters
from lab.plant.server import SimulatedServer
from lab.simulate_loop import SimInbox
from tuner.cli.main import cli
from tuner.recorder import Recorder
from tuner.settings import Settings

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
    assert (parsed["finished"], parsed["reference"]) == (True, "cascade")
    (group,) = parsed["scenarios"]
    ours, other, untouched = group["contenders"]
    assert ours["values"]["throughput_mean"]["ratio"] is None
    ratio = other["values"]["throughput_mean"]["ratio"]
    assert ratio["low"] <= ratio["mean"] <= ratio["high"]
    assert ratio["blocks"] == 2
    assert untouched["name"] == "untouched"


def test_time_that_is_up_ends_with_the_command_that_goes_on(tmp_path: Path, scenario: str) -> None:
    """Exit 4 with the command in the last line; that one has time enough, ends it, and repeats no run."""
    directory = str(tmp_path / "out")
    words = ("--scenario", scenario, "--policy", "fixed", "--seeds", "2", "--output", directory)
    cut = compare("--compare", *words, "--time", "0.01s")
    said, _, again = cut.stdout.splitlines()[-1].partition("go on with: innobrim policies ")
    whole = compare(*again.removesuffix(" --jobs 1").split())
    once_more = compare("--resume", directory)

    assert cut.exit_code == 4
    assert again == f"--compare --resume {directory} --time 120s --jobs 1"
    assert "before the first run: --time 0.01s is too short for one: another run may take" in said
    assert "the table" not in cut.stdout
    assert (whole.exit_code, once_more.exit_code) == (0, 0)
    assert "4 runs of 1 policy on 1 scenario, 4 to do" in whole.stderr
    assert "0 to do" in once_more.stderr
    assert once_more.stdout == whole.stdout


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


def test_rows_of_other_policies_do_not_count(tmp_path: Path, scenario: str) -> None:
    """After a change of the code that decides the rows are run again, and that is said."""
    directory = tmp_path / "out"
    words = ("--scenario", scenario, "--policy", "fixed", "--seeds", "1", "--output", str(directory))
    compare("--compare", *words)
    rows = directory / "rows.jsonl"
    text = rows.read_text(encoding="utf-8")
    row = json.loads(text.splitlines()[0])
    old = json.dumps({**row, "policies": "old", "key": "old"})
    rows.write_text("\n".join([old, *text.splitlines()[1:]]) + "\n", encoding="utf-8")
    found = compare("--resume", str(directory))

    assert "of other policies than now, and not counted: 1 row" in found.stderr
    assert "1 to do" in found.stderr
    assert found.exit_code == 0


def test_a_recorded_load_is_one_more_scenario(tmp_path: Path) -> None:
    """With --trace the policies run on the journal's load, once each, and what that cannot tell is said."""
    clock = SimClock()
    server = SimulatedServer(PlantParameters(), clock)
    journal = tmp_path / "trace.db"
    recorder = Recorder(journal, server, clock)
    recorder.run(
        Settings(), server.facts(), SimInbox(clock), seconds=400.0, interval=1.0, told=lambda *_: None
    )
    words = ("--policy", "cascade", "--policy", "fixed", "--output", str(tmp_path / "out"))
    found = compare("--compare", "--trace", str(journal), *words)

    assert found.exit_code == 0, found.output
    assert re.search(r"^trace.db: 399 s, counted from \d+ s, 1 seed$", found.stdout, re.MULTILINE)
    assert "not how much more the load would have done" in found.stdout
    assert "95 %" not in found.stdout
    assert "3 runs of 2 policies on 1 scenario" in found.stderr


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
        (("--compare", "--trace", "/nowhere/journal.db"), "/nowhere/journal.db"),
        (("--compare", "--seeds", "0"), "'0': write a whole number from 1 to 1000"),
        (
            ("--compare", "--seeds", "=2"),
            "'=2': write a whole number from 1 to 1000, or one for a scenario: daily",
        ),
        (("--compare", "--trace", "a.db", "--trace", "b.db"), "--trace a.db, --trace b.db: only one journal"),
        (
            ("--compare", "--scenario", "burst", "--seeds", "brust=2"),
            "--seeds brust=…: no such scenario in this comparison; the only one is burst",
        ),
        (
            ("--compare", "--scenario", "burst", "--scenario", "batch", "--seeds", "brust=2"),
            "no such scenario in this comparison; there are burst, batch",
        ),
        (("--compare", "--run", "3"), "--run 3: goes with --trace JOURNAL"),
        (("--compare", "--time", "soon"), "'soon' is no duration"),
        (("--resume", "/nowhere"), "/nowhere: no comparison's directory: it has no comparison.json"),
        (("--resume", "/nowhere", "--seeds", "4"), "--seeds cannot be changed with --resume"),
    ],
)
def test_a_wrong_command_is_a_usage_error(words: tuple[str, ...], message: str) -> None:
    """Whatever is wrong, exit 2 with the option, the value, and what would be right; nothing is written."""
    found = compare(*words)

    assert found.exit_code == 2
    assert message in found.stderr


def test_a_directory_that_is_in_use_is_left_alone(tmp_path: Path, scenario: str) -> None:
    """A second comparison does not begin where one is already."""
    words = ("--scenario", scenario, "--policy", "fixed", "--seeds", "1", "--output", str(tmp_path / "out"))
    compare("--compare", *words)
    found = compare("--compare", *words)

    assert found.exit_code == 2
    assert "holds rows already; go on with --resume" in found.stderr


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
