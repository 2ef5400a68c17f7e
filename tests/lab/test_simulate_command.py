"""``innobrim simulate`` as people meet it: its table, its list and what it refuses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from lab.scenarios import load_scenario, scenario_names
from lab.scenarios.trace import Trace
from tests.lab.simulating import SHORT, parsed_result, scenario_file, simulated

if TYPE_CHECKING:
    from pathlib import Path


def test_the_table_is_for_people() -> None:
    """Without --json the same numbers come as lines with units, and where nothing settles that is said."""
    found = simulated("--scenario", "step-up", "--policy", "fixed", "--seconds", "1600")
    assert found.exit_code == 0
    assert "commits/s" in found.stdout
    assert "- (not told where load, disk or redo change)" in found.stdout
    assert "best static" not in found.stdout


def test_the_table_says_what_the_loop_was_up_to(tmp_path: Path) -> None:
    """Set-point, its source and the last decision in words are printed, and are in the JSON object."""
    path = scenario_file(tmp_path, f"{SHORT}[load]\ntimeline = [{{ at = 0, threads = 16, rate = 200 }}]\n")
    table, parsed = simulated("--scenario", path).stdout, parsed_result("--scenario", path)
    assert parsed["last_decision"]
    assert f"at the end: {parsed['last_decision']}" in table
    assert re.search(
        rf"set-point at the end +{parsed['set_point']:g} \({parsed['set_point_source']}\)", table
    )


@pytest.mark.parametrize(
    ("flavour", "said"), [("mariadb-11.8", " (pace decides in its place)"), ("mysql-9.7", "")]
)
def test_the_title_says_which_law_decides(tmp_path: Path, flavour: str, said: str) -> None:
    """Where another law than the one asked for decides, the first line names it."""
    found = simulated("--scenario", scenario_file(tmp_path), "--policy", "pid", "--flavour", flavour)

    assert found.stdout.startswith(f"short, policy pid{said}, {flavour}, seed 1: ")


@pytest.mark.parametrize(("seed", "code"), [(10**18, 0), (10**18 + 1, 2), (-1, 2)])
def test_a_seed_is_taken_by_the_option_and_in_a_file_alike(tmp_path: Path, seed: int, code: int) -> None:
    """What --seed takes, seed in a file takes, and what one refuses the other does, with the same limit."""
    as_option = simulated("--scenario", scenario_file(tmp_path), "--policy", "fixed", f"--seed={seed}")
    as_key = simulated("--scenario", scenario_file(tmp_path, f"seed = {seed}{SHORT}"), "--policy", "fixed")

    assert (as_option.exit_code, as_key.exit_code) == (code, code)
    assert all("1,000,000,000,000,000,000" in one.output for one in (as_option, as_key) if code)


@pytest.mark.parametrize(("settling", "said"), [(100.0, "100 s\n"), (300.0, "that late"), (None, "never\n")])
def test_an_age_that_swings_to_the_end_is_not_called_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settling: float | None, said: str
) -> None:
    """A settling time in the last third of a run is printed with what it means."""
    path = scenario_file(tmp_path)
    monkeypatch.setattr(Trace, "settling", lambda *_, **__: settling)
    (line,) = (
        one
        for one in simulated("--scenario", path, "--policy", "fixed").stdout.splitlines(keepends=True)
        if "settled" in one
    )
    assert said in line


def test_the_scenarios_can_be_listed() -> None:
    """--list prints each named scenario with its description, a line each, or with --json as an array."""
    lines = simulated("--list").stdout.splitlines()
    found = json.loads(simulated("--list", "--json").stdout)
    wanted = {name: load_scenario(name).description for name in scenario_names()}

    assert dict(line.split(maxsplit=1) for line in lines) == wanted
    assert found == [{"name": name, "description": said} for name, said in wanted.items()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--scenario", "steady-1200iop"),
            "no such scenario; did you mean steady-1200iops? There are",
        ),
        (("--scenario", "nope"), "nope: no such scenario; there are"),
        (("--scenario", ""), "(an empty word): no such scenario; there are"),
        (("--scenario", "steady"), "steady: no such scenario; did you mean steady-1200iops? There are"),
        (("--scenario", "Percona-High"), "no such scenario; did you mean percona-high-checkpoint? There are"),
        (("--scenario", "wave.toml"), "No such file or directory; without .toml it is the scenario that"),
        (("--scenario", "missing/file.toml"), "No such file or directory"),
        (("--scenario", "step-up", "--policy", "magic"), "'cascade'"),
        (("--scenario", "step-up", "--flavour", "mysql-5.1"), "mysql-9.7"),
        (("--scenario", "redo-resize", "--flavour", "mysql-5.7"), "--flavour mysql-5.7: server.resizes"),
        (
            ("--scenario", "step-up", "--seconds", "1000"),
            "step-up needs at least 1501, as its last change is at 1500 s",
        ),
        (
            ("--scenario", "steady-1200iops", "--seconds", "600"),
            "needs at least 960, as it counts from 900 s on, 60 s or more",
        ),
        (("--policy", "fixed"), "which scenario? --scenario NAME or --scenario FILE.toml; --list"),
    ],
)
def test_a_wrong_command_is_a_usage_error(arguments: tuple[str, ...], message: str) -> None:
    """A wrong name or length exits with 2 and says what there is."""
    found = simulated(*arguments)
    assert found.exit_code == 2
    assert message in found.output


@pytest.mark.parametrize(("file", "asked"), [("mine.toml", "mine.toml"), ("mine", "./mine")])
def test_a_file_asked_for_as_a_name_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, asked: str
) -> None:
    """A word that is no scenario, but a file in this directory, is told how to ask for it."""
    (tmp_path / file).write_text(SHORT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = simulated("--scenario", "mine")
    assert found.exit_code == 2
    assert f"mine: no such scenario; there is a file: --scenario {asked}" in found.stderr
    assert simulated("--scenario", asked, "--policy", "fixed").exit_code == 0


def test_a_file_is_utf_8_with_or_without_a_mark(tmp_path: Path) -> None:
    """A mark before the first key, as some editors write, is passed over; another encoding is refused."""
    path = tmp_path / "mine.toml"
    path.write_text(SHORT, encoding="utf-8-sig")
    assert simulated("--scenario", str(path), "--policy", "fixed").exit_code == 0
    path.write_text(SHORT, encoding="utf-16")
    found = simulated("--scenario", str(path))
    assert found.exit_code == 2
    assert f"{path}: not UTF-8 at byte 0; save it with that encoding" in found.stderr


def test_a_wrong_configuration_is_refused_before_the_run(tmp_path: Path) -> None:
    """A configuration that the daemon would refuse is refused here, in the same words."""
    path = tmp_path / "innobrim.toml"
    path.write_text("[loop]\nfixed_io_capacity = 900\n", encoding="utf-8")
    found = simulated("--scenario", "step-up", "--config", str(path))
    assert found.exit_code == 2
    assert "fixed_io_capacity_max" in found.stderr
    assert simulated("--scenario", "step-up", "--config", str(tmp_path / "no.toml")).exit_code == 2


def test_a_run_that_would_never_end_is_refused(tmp_path: Path) -> None:
    """A log that its load fills thousands of times a second is a usage error with the values, at once."""
    load = "timeline = [{ at = 0, threads = 10_000 }]\ncommit_seconds = 1e-6\nredo_bytes_per_commit = 1e7"
    found = simulated(
        "--scenario", scenario_file(tmp_path, f"{SHORT.replace('1200', '1e7')}[load]\n{load}\n")
    )
    assert found.exit_code == 2
    assert re.search(r"short: \d+\.\d s after the start more than 5,000 things", found.stderr)
    assert "the run would hardly end" in found.stderr
    assert "redo_capacity = 104,857,600 is too small for threads = 10,000" in found.stderr


def test_a_schedule_is_said_not_to_be_simulated(tmp_path: Path) -> None:
    """Who simulates a configuration with windows learns that they count for nothing, and where they show."""
    path = tmp_path / "innobrim.toml"
    window = 'name = "n"\ncron = "0 2 * * *"\nminutes = 60\ntimezone = "UTC"\nset_point = 0.5\n'
    path.write_text(f"[[schedule]]\n{window}", encoding="utf-8")
    found = simulated("--scenario", scenario_file(tmp_path), "--config", str(path), "--json")

    assert found.stderr.splitlines()[0] == (
        f"note: its [[schedule]] is not simulated; innobrim schedule --config {path} shows it"
    )
    assert json.loads(found.stdout)["scenario"] == "short"
