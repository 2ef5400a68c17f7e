"""``innobrim policies``: the list, and what a comparison prints, keeps and refuses."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lab.plant.clock import SimClock
from lab.plant.parameters import PlantParameters
from lab.plant.server import SimulatedServer
from lab.simulate_loop import SimInbox
from policies.catalogue import CATALOGUE
from tuner.cli.main import cli
from tuner.recorder import Recorder
from tuner.settings import Settings

SHORT = 'name = "short"\ndescription = "for tests"\nseconds = 200\nmeasured_from = 100\n'
LONG = SHORT.replace("short", "long").replace("200", "400_000")


def policies(*words: str) -> Result:
    """Return what the command did."""
    return CliRunner().invoke(cli, ["policies", *words], prog_name="innobrim")


def resume(directory: Path, *words: str) -> Result:
    """Return what going on with a comparison did, in one process."""
    return policies("--compare", "--resume", str(directory), "--jobs", "1", *words)


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
    machine = json.loads(resume(compare.directory, "--json").stdout)

    assert found.exit_code == 0, found.output
    assert lines[0] == "short: 200 s, counted from 100 s, 2 seeds"
    assert [line.split()[0] for line in lines[2:8]] == ["cascade", "worst", "fixed", "worst", "/", "95"]
    assert "stays within 0.03 of its mean" in found.stdout
    assert (
        (compare.directory / "comparison.csv").read_text(encoding="utf-8").startswith("scenario,contender,")
    )
    assert len((compare.directory / "rows.jsonl").read_text(encoding="utf-8").splitlines()) == 6
    assert (machine["finished"], machine["reference"]) == (True, "cascade")
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


def test_time_that_is_up_ends_with_the_command_that_goes_on(compare: Comparison) -> None:
    """Exit 4 with the command in the last line; that one has time enough, ends it, and repeats no run."""
    cut, begun = compare("--time", "0.01s", seeds=2), compare(seeds=2)
    said, _, again = cut.stdout.splitlines()[-1].partition("go on with: innobrim policies ")
    whole, once_more, held = policies(*again.split()), resume(compare.directory), compare(seeds=2)

    assert cut.exit_code == 4
    assert again == f"--compare --resume {compare.directory} --time 120s --jobs 1"
    assert "before the first run: --time 0.01s is too short for one: another run may take" in said
    assert "the table" not in cut.stdout
    assert (begun.exit_code, whole.exit_code, once_more.exit_code, held.exit_code) == (2, 0, 0, 2)
    assert "a comparison was begun there; go on with --resume" in begun.stderr
    assert "holds rows already; go on with --resume" in held.stderr
    assert "4 runs of 1 policy on 1 scenario, 4 to do" in whole.stderr
    assert "0 to do" in once_more.stderr
    assert once_more.stdout == whole.stdout


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


def test_rows_of_other_policies_do_not_count(compare: Comparison) -> None:
    """After a change of the code that decides the rows are run again, and that is said."""
    compare()
    rows = compare.directory / "rows.jsonl"
    first, *others = rows.read_text(encoding="utf-8").splitlines()
    old = json.dumps({**json.loads(first), "policies": "old", "key": "old"})
    rows.write_text("\n".join([old, *others]) + "\n", encoding="utf-8")
    found = resume(compare.directory)

    assert found.exit_code == 0
    assert "of other policies than now, and not counted: 1 row" in found.stderr
    assert "1 to do" in found.stderr


def test_a_recorded_load_is_one_more_scenario(tmp_path: Path) -> None:
    """With --trace the policies run on the journal's load, once each, and what that cannot tell is said."""
    clock = SimClock()
    server = SimulatedServer(PlantParameters(), clock)
    journal = tmp_path / "trace.db"
    Recorder(journal, server, clock).run(
        Settings(), server.facts(), SimInbox(clock), seconds=400.0, interval=1.0, told=lambda *_: None
    )
    words = ("--policy", "cascade", "--policy", "fixed", "--output", str(tmp_path / "out"), "--jobs", "1")
    found = policies("--compare", "--trace", str(journal), *words)

    assert found.exit_code == 0, found.output
    assert re.search(r"^trace.db: 399 s, counted from \d+ s, 1 seed$", found.stdout, re.MULTILINE)
    assert "not how much more the load would have done" in found.stdout
    assert "95 %" not in found.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--seeds 5", "--seeds: goes with --compare"),
        ("--compare --scenario step-upp", "step-upp: no such scenario; did you mean step-up?"),
        ("--compare --policy magic", "'magic' is not one of 'cascade'"),
        ("--compare --scenario step-up --scenario step-up", "--scenario step-up: is there twice"),
        ("--compare --trace /nowhere/journal.db", "/nowhere/journal.db"),
        ("--compare --seeds 0", "'0': write a whole number from 1 to 1000"),
        ("--compare --seeds =2", "'=2': write a whole number from 1 to 1000, or one for a scenario: daily"),
        ("--compare --trace a.db --trace b.db", "--trace a.db, --trace b.db: only one journal"),
        ("--compare --scenario burst --seeds brust=2", "in this comparison; the only one is burst"),
        (
            "--compare --scenario burst --scenario batch --seeds brust=2",
            "--seeds brust=…: no such scenario in this comparison; there are burst, batch",
        ),
        ("--compare --run 3", "--run 3: goes with --trace JOURNAL"),
        ("--compare --time soon", "'soon' is no duration"),
        ("--resume /nowhere", "/nowhere: no comparison's directory: it has no comparison.json"),
        ("--resume /nowhere --seeds 4", "--seeds cannot be changed with --resume"),
    ],
)
def test_a_wrong_command_is_a_usage_error(words: str, message: str) -> None:
    """Whatever is wrong, exit 2 with the option, the value, and what would be right; nothing is written."""
    found = policies(*words.split())

    assert found.exit_code == 2
    assert message in found.stderr


@pytest.mark.parametrize(
    ("name", "damaged", "why"),
    [
        ("rows.jsonl", "{}\nrubbish\n", "line 2: not JSON"),
        ("comparison.json", '{"policies": ["magic"]}', "policies[0]: invalid enum value 'magic'; one of"),
        ("comparison.json", '{"policies": [', "input data was truncated"),
    ],
)
def test_a_damaged_file_is_named_with_what_is_wrong(
    compare: Comparison, name: str, damaged: str, why: str
) -> None:
    """Nothing runs on what is not understood, and nothing is removed."""
    compare()
    path = compare.directory / name
    path.write_text(damaged, encoding="utf-8")
    found = resume(compare.directory)

    assert found.exit_code == 2
    assert f"{path}" in found.stderr
    assert why in found.stderr
    assert path.read_text(encoding="utf-8") == damaged


def test_rows_of_something_else_are_not_added_to(compare: Comparison) -> None:
    """A directory with a bench's rows is refused, and they are as they were."""
    rows = compare.directory / "rows.jsonl"
    rows.parent.mkdir()
    rows.write_text('{"schema": 1, "stage": "block"}\n', encoding="utf-8")
    found = compare()

    assert found.exit_code == 2
    assert "holds rows already" in found.stderr
    assert rows.read_text(encoding="utf-8") == '{"schema": 1, "stage": "block"}\n'


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("all_of_them", [False, True], ids=["itself", "all its processes"])
def test_a_comparison_that_is_ended_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals, *, all_of_them: bool
) -> None:
    """SIGTERM and a lost terminal keep the rows, print the command that goes on, and exit by the signal.

    Where every process of it gets the signal there is no traceback either, and no word of leaked semaphores.
    """
    words = ["policies", "--compare"]
    for name, text in (("long", LONG),) if all_of_them else (("short", SHORT), ("long", LONG)):
        path = tmp_path / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        words += ["--scenario", str(path)]
    words += ["--policy", "fixed", "--seeds", "2", "--jobs", "2", "--output", str(tmp_path / "out")]
    rows = tmp_path / "out" / "rows.jsonl"
    # Not as under nohup, where SIGHUP is ignored by right, and whose children inherit that.
    default = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    with subprocess.Popen(  # noqa: S603 - our own interpreter with our own line
        [sys.executable, "-c", f"{default}; from tuner.cli.main import main; main()", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        said = ""
        while "rows go to" not in said:
            said = process.stderr.readline()
            assert said, "ended before it began"
        while not all_of_them and not (rows.exists() and rows.read_bytes().endswith(b"\n")):
            os.sched_yield()
        (os.killpg if all_of_them else os.kill)(process.pid, number)
        _, said = process.communicate(timeout=60)
    again = re.fullmatch(r"interrupted; \d rows? (?:is|are) kept; go on with: innobrim policies (.*)\n", said)

    assert process.returncode == 128 + number
    assert again is not None, said
    if not all_of_them:
        kept = len(rows.read_text(encoding="utf-8").splitlines())
        found = policies(*shlex.split(again[1]), "--time", "0.01s")
        assert f"{8 - kept} to do" in found.stderr
        assert found.exit_code == 4
