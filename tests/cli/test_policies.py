"""``innobrim policies``: the list, and what a comparison prints and refuses."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from click.testing import Result

from policies.catalogue import CATALOGUE
from tests.cli.support import ended, innobrim
from tuner.settings import Settings

SHORT = 'name = "short"\ndescription = "for tests"\nseconds = 200\nmeasured_from = 100\n'


policies = partial(innobrim, "policies")


class Comparison:
    """A comparison of short runs."""

    def __init__(self, folder: Path) -> None:
        self.scenario = folder / "short.toml"
        self.scenario.write_text(SHORT, encoding="utf-8")

    def __call__(self, *words: str, policy: tuple[str, ...] = ("fixed",), seeds: int = 1) -> Result:
        """Return what the command did, in one process."""
        named = [word for one in policy for word in ("--policy", one)]
        many = ["--seeds", str(seeds), "--jobs", "1"]
        return policies("--compare", "--scenario", str(self.scenario), *named, *many, *words)


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
    """The default is the reference in front, the others follow with their bounds."""
    found = compare(policy=("fixed", "cascade"), seeds=2)
    lines = found.stdout.splitlines()
    machine = json.loads(compare("--json", policy=("fixed", "cascade"), seeds=2).stdout)

    assert found.exit_code == 0, found.output
    assert lines[0] == "short: 200 s, counted from 100 s, 2 seeds"
    assert [line.split()[0] for line in lines[2:8]] == ["cascade", "worst", "fixed", "worst", "/", "95"]
    assert "stays within 0.03 of its mean" in found.stdout
    assert found.stderr == "6 runs of 2 policies on 1 scenario\n"
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

    assert compare().stdout.splitlines()[:3] == before.stdout.splitlines()[:3]


def test_static_settings_are_named_with_their_m(compare: Comparison) -> None:
    """With --oracle the best static M is there, and the setting that the server starts with."""
    found = compare("--oracle")

    ended(found, 0, "as it starts")
    assert re.search(r"^M = \d+, best ", found.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--seeds 5", "--seeds: goes with --compare"),
        ("--compare --scenario step-upp", "step-upp: no such scenario; did you mean step-up?"),
        ("--compare --policy magic", "'magic' is not one of 'cascade'"),
        ("--compare --scenario step-up --scenario step-up", "--scenario step-up: is there twice"),
        ("--compare --seeds 0", "'0' must be a whole number from 1 to 1,000"),
    ],
)
def test_a_wrong_command_is_a_usage_error(words: str, message: str) -> None:
    """Whatever is wrong, exit 2 with the option, the value, and what would be right; nothing is written."""
    found = policies(*words.split())

    ended(found, 2, message)


def test_a_comparison_that_is_ended_leaves_no_process(tmp_path: Path) -> None:
    """SIGTERM to it alone ends all of its processes, and one line says that nothing is kept."""
    long = tmp_path / "long.toml"
    long.write_text(SHORT.replace("200", "400_000"), encoding="utf-8")
    words = ["--scenario", str(long), "--policy", "fixed", "--seeds", "2", "--jobs", "2"]
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", "from tuner.cli.main import main; main()", "policies", "--compare", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(children.read_text().split()) < 3:  # two, and what looks after their resources
            time.sleep(0.05)  # nothing announces that they are there
        process.terminate()
        _, said = process.communicate(timeout=60)

    assert process.returncode == 128 + signal.SIGTERM
    assert said == "4 runs of 1 policy on 1 scenario\ninterrupted; nothing is kept\n"
