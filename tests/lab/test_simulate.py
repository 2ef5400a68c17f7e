"""``innobrim simulate``: scenarios, definitions, the oracle and the command."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios import ScenarioError, load_scenario, scenario_names
from lab.scenarios.caps import Caps
from lab.scenarios.load import parse_scenario
from lab.scenarios.schema import SETTLING_RESIDENCES
from lab.scenarios.search import search
from lab.scenarios.static import pair, run_static
from lab.scenarios.trace import Trace
from lab.simulate import resized, simulate
from lab.simulate_loop import SimInbox, run_policy
from tuner.cli.simulate import simulate as command
from tuner.records import Capacity, Command, DecisionKind
from tuner.settings import Mode, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from tuner.records import TickRecord

PROMISED = {
    "policy",
    "scenario",
    "flavour",
    "seed",
    "seconds",
    "throughput_mean",
    "throughput_p1",
    "age_ratio_mean",
    "age_ratio_max",
    "sync_flush_seconds",
    "stall_seconds",
    "pages_per_commit",
    "settling_seconds",
    "knob_changes",
    "wall_seconds",
    "plant",
    "best_static",
    "best_static_without_cap",
    "best_static_unconstrained",
}

SHORT = """
name = "short"
description = "for tests"
seconds = 420
measured_from = 240
[disk]
timeline = [{ at = 0, write_iops = 1200 }]
"""


def _command(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def _json(*arguments: str) -> dict[str, Any]:
    found = _command(*arguments, "--json")
    assert found.exit_code == 0, found.output
    parsed: dict[str, Any] = json.loads(found.stdout)
    return parsed


def test_the_first_scenarios_are_there() -> None:
    """The package brings at least steady-1200iops, step-up and iops-drop, and their files are sound."""
    assert {"steady-1200iops", "step-up", "iops-drop"} <= set(scenario_names())
    for name in scenario_names():
        assert load_scenario(name).name == name


@pytest.mark.parametrize("name", scenario_names())
def test_counting_starts_late_enough_and_before_the_first_change(name: str) -> None:
    """Steady scenarios count after five residence times S/R, moving ones before they move or whole rounds."""
    scenario = load_scenario(name)
    if scenario.repeats:
        rounds = [one for one in (scenario.load.repeat, scenario.disk.repeat) if one is not None]
        assert all((scenario.seconds - scenario.measured_from) % one == 0.0 for one in rounds)
    elif scenario.changes or scenario.disk.credits:
        assert scenario.measured_from < min(scenario.changes, default=scenario.seconds)
    else:
        outcome = run_static(scenario, 2, 20_000)
        least = SETTLING_RESIDENCES * scenario.server.redo_capacity / outcome.redo_rate_before
        assert scenario.measured_from >= least


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("", ""),
        ("sceonds = 100", "x.toml: sceonds: unknown key; did you mean seconds?"),
        (
            "[server]\nio_capacity_mx = 300",
            "x.toml: server.io_capacity_mx: unknown key; did you mean io_capacity_max?",
        ),
        (
            "[load]\ntimeline = [{ at = 0, thread = 4 }]",
            "x.toml: load.timeline[0].thread: unknown key; did you mean threads?",
        ),
        ("[load]\nnoise = 7", "x.toml: load.noise = 7: must be a number from 0 up to 0.5"),
        (
            "[load]\ntimeline = []",
            "x.toml: load.timeline: must be a list of tables, such as [{ at = …, threads",
        ),
        (
            "[load]\ntimeline = [{ at = 0, threads = 4 }, { at = 100, threads = 8 }]",
            "measured_from = 240: must lie before the first change, at 100",
        ),
        (
            "[load]\ntimeline = [{ at = 5, threads = 4 }]",
            "load.timeline: the first entry is at 5; it must be at 0",
        ),
        (
            "[load]\ntimeline = [{ at = 0, threads = 4 }, { at = 900, threads = 8 }]",
            "load.timeline: 900 is not before the end",
        ),
        (
            "[server]\nio_capacity = 500\nio_capacity_max = 400",
            "server.io_capacity = 500: is above server.io_capacity_max = 400",
        ),
        (
            "[server]\nflavour = 'mysql-9.6'",
            'x.toml: server.flavour = "mysql-9.6": must be one of mysql-9.7, ',
        ),
        (
            "[server]\nflavour = 'mysql-5.7'\nresizes = [{ at = 100, redo_capacity = 209_715_200 }]",
            "server.resizes: mysql-5.7 has one size of its redo log until it is restarted",
        ),
        (
            "[load]\nrepeat = 50\ntimeline = [{ at = 0, threads = 4 }, { at = 100, threads = 8 }]",
            "load.timeline: 100 is not before the repetition, repeat = 50",
        ),
        ("seconds = 7", "not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_reason(change: str, message: str) -> None:
    """A wrong scenario file is refused with the key and what would be right."""
    top, _, table = SHORT.partition("[disk]")
    text = f"{top}{change}\n[disk]{table}" if not change.startswith("[") else f"{SHORT}\n{change}\n"
    if not message:
        assert parse_scenario(text, source="x.toml").name == "short"
        return
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, source="x.toml")
    assert message in str(caught.value)


def test_all_unknown_keys_are_named_at_once() -> None:
    """Two misspelt keys make one error with two lines."""
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f"sed = 3\n{SHORT}\n[load]\nhot_page = 5\n", source="x.toml")
    assert str(caught.value).count("did you mean") == 2


def test_the_command_prints_what_was_promised() -> None:
    """One JSON object with every promised name; without --oracle the static settings are null."""
    found = _json("--scenario", "steady-1200iops", "--policy", "fixed", "--seconds", "960", "--seed", "7")
    assert set(found) >= PROMISED
    assert (found["policy"], found["scenario"], found["flavour"]) == ("fixed", "steady-1200iops", "mysql-9.7")
    assert (found["seed"], found["seconds"]) == (7, 960)
    assert found["best_static"] is None
    assert found["knob_changes"] >= 1


def test_one_seed_gives_one_result() -> None:
    """The same command prints the same numbers again, real time aside; another seed prints others."""
    arguments = ("--scenario", "steady-1200iops", "--seconds", "1000", "--seed")
    first, second, other = (_json(*arguments, seed) for seed in ("2", "2", "3"))
    for found in (first, second, other):
        found.pop("wall_seconds")
    assert first == second
    assert first["throughput_mean"] != other["throughput_mean"]
    assert first["plant"] == other["plant"]


def test_the_table_is_for_people() -> None:
    """Without --json the same numbers come as lines with units, and where nothing settles that is said."""
    found = _command("--scenario", "step-up", "--policy", "fixed", "--seconds", "1600")
    assert found.exit_code == 0
    assert "commits/s" in found.stdout
    assert "- (not told where load, disk or redo change)" in found.stdout
    assert "best static" not in found.stdout


def test_the_table_says_what_the_loop_was_up_to(tmp_path: Path) -> None:
    """Set-point, its source and the last decision in words are printed, and are in the JSON object."""
    path = tmp_path / "mine.toml"
    path.write_text(f"{SHORT}[load]\ntimeline = [{{ at = 0, threads = 16, rate = 200 }}]\n", encoding="utf-8")
    table, parsed = _command("--scenario", str(path)).stdout, _json("--scenario", str(path))
    assert "M is at 200, the lowest that is allowed: min_io_capacity_max = 200" in parsed["last_decision"]
    assert f"at the end: {parsed['last_decision']}" in table
    assert re.search(
        rf"set-point at the end +{parsed['set_point']:g} \({parsed['set_point_source']}\)", table
    )


@pytest.mark.parametrize(("settling", "said"), [(100.0, "100 s\n"), (300.0, "that late"), (None, "never\n")])
def test_an_age_that_swings_to_the_end_is_not_called_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settling: float | None, said: str
) -> None:
    """A settling time in the last third of a run is printed with what it means."""
    path = tmp_path / "mine.toml"
    path.write_text(SHORT, encoding="utf-8")
    monkeypatch.setattr(Trace, "settling", lambda _: settling)
    (line,) = (
        one
        for one in _command("--scenario", str(path), "--policy", "fixed").stdout.splitlines(keepends=True)
        if "settled" in one
    )
    assert said in line


def test_the_setting_that_a_server_starts_with_is_tried_as_well(tmp_path: Path) -> None:
    """--oracle says what the scenario's own C and M give where nobody moves them, whatever their ratio."""
    path = tmp_path / "mine.toml"
    path.write_text(f"{SHORT}[server]\nio_capacity = 700\nio_capacity_max = 700\n", encoding="utf-8")
    searched = _json("--scenario", str(path), "--policy", "fixed", "--oracle")
    table = _command("--scenario", str(path), "--policy", "fixed", "--oracle").stdout
    alone = run_policy(load_scenario(str(path)), Settings(mode=Mode.ADVISORY)).outcome
    assert (searched["untouched"]["io_capacity"], searched["untouched"]["io_capacity_max"]) == (700, 700)
    assert searched["untouched"]["throughput_mean"] == pytest.approx(alone.throughput_mean, rel=0.02)
    assert searched["untouched"]["checkpoint_age_max"] == pytest.approx(alone.checkpoint_age_max, abs=0.02)
    assert re.search(rf"C/M = 700/700 +{searched['untouched']['throughput_mean']:g} commits/s", table)
    assert _json("--scenario", str(path), "--policy", "fixed")["untouched"] is None


def test_the_default_that_a_search_tried_is_the_setting_left_alone() -> None:
    """Where the server starts with one of the values that the search tries, its run is the answer."""
    scenario = parse_scenario(SHORT, source="test")
    found = search(scenario, ratio=2, caps=Caps(0.78)).untouched
    assert (found.io_capacity, found.io_capacity_max) == (10_000, 20_000)
    assert found.throughput_mean == round(run_static(scenario, 2, 20_000).throughput_mean, 1)


def test_a_configuration_of_ones_own_is_tried(tmp_path: Path) -> None:
    """The [loop] of --config counts, in active mode; what differs from the defaults is in the result."""
    scenario, path = tmp_path / "mine.toml", tmp_path / "innobrim.toml"
    scenario.write_text(SHORT, encoding="utf-8")
    path.write_text(
        '[loop]\nmode = "advisory"\npolicy = "fixed"\nfixed_io_capacity_max = 900\nmin_io_capacity_max = 300',
        encoding="utf-8",
    )
    words = ("--scenario", str(scenario), "--config", str(path))
    found = _json(*words)
    assert (found["policy"], found["io_capacity_max_final"]) == ("fixed", 900)
    assert found["settings"] == {"fixed_io_capacity_max": 900, "min_io_capacity_max": 300}
    assert _json(*words, "--policy", "pid")["policy"] == "pid"
    assert "with fixed_io_capacity_max = 900, min_io_capacity_max = 300\n" in _command(*words).stdout


def test_a_wrong_configuration_is_refused_before_the_run(tmp_path: Path) -> None:
    """A configuration that the daemon would refuse is refused here, in the same words."""
    path = tmp_path / "innobrim.toml"
    path.write_text("[loop]\nfixed_io_capacity = 900\n", encoding="utf-8")
    found = _command("--scenario", "step-up", "--config", str(path))
    assert found.exit_code == 2
    assert "fixed_io_capacity_max" in found.stderr
    assert _command("--scenario", "step-up", "--config", str(tmp_path / "no.toml")).exit_code == 2


def test_a_fit_of_another_server_is_warned_of(tmp_path: Path) -> None:
    """Parameters that were fitted on another server than the simulated one come with a warning."""
    path = tmp_path / "mine.toml"
    path.write_text(f'fit = "mysql-9.7"\n{SHORT}', encoding="utf-8")
    words = ("--scenario", str(path), "--policy", "fixed")
    told = "fit = mysql-9.7 was fitted on that server; nobody knows how well it suits mariadb-11.8"
    assert told in _json(*words, "--flavour", "mariadb-11.8")["warnings"]
    assert told not in _json(*words)["warnings"]


@pytest.mark.parametrize(("file", "asked"), [("mine.toml", "mine.toml"), ("mine", "./mine")])
def test_a_file_asked_for_as_a_name_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, asked: str
) -> None:
    """A word that is no scenario, but a file in this directory, is told how to ask for it."""
    (tmp_path / file).write_text(SHORT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = _command("--scenario", "mine")
    assert found.exit_code == 2
    assert f"mine: no such scenario; there is a file: --scenario {asked}" in found.stderr
    assert _command("--scenario", asked, "--policy", "fixed").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--scenario", "steady-1200iop"),
            "no such scenario; did you mean steady-1200iops? There are",
        ),
        (("--scenario", "nope"), "nope: no such scenario; there are"),
        (("--scenario", "missing/file.toml"), "No such file or directory"),
        (("--scenario", "step-up", "--policy", "magic"), "'feedforward'"),
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
    found = _command(*arguments)
    assert found.exit_code == 2
    assert message in found.output


def test_a_file_of_ones_own_runs(tmp_path: Path) -> None:
    """A TOML file runs under its own name, with a warning where it counts too early."""
    path = tmp_path / "mine.toml"
    path.write_text(SHORT, encoding="utf-8")
    found = _command("--scenario", str(path), "--policy", "fixed", "--json")
    assert found.exit_code == 0
    parsed = json.loads(found.stdout)
    assert parsed["scenario"] == "short"
    assert "measured_from = 240 is earlier than" in parsed["warnings"][0]
    assert "warning: measured_from" in found.stderr


def test_a_run_that_would_never_end_is_refused(tmp_path: Path) -> None:
    """A log that its load fills thousands of times a second is a usage error with the values, at once."""
    path = tmp_path / "mine.toml"
    load = "timeline = [{ at = 0, threads = 10_000 }]\ncommit_seconds = 1e-6\nredo_bytes_per_commit = 1e7"
    path.write_text(f"{SHORT.replace('1200', '1e7')}[load]\n{load}\n", encoding="utf-8")
    found = _command("--scenario", str(path))
    assert found.exit_code == 2
    assert re.search(r"short: \d+\.\d s after the start more than 5,000 things", found.stderr)
    assert "the run would hardly end" in found.stderr
    assert "redo_capacity = 104,857,600 is too small for threads = 10,000" in found.stderr


def test_the_policy_writes_from_the_defaults() -> None:
    """The loop begins at 10000/20000, knows its originals durable at once, and writes in active mode."""
    records: list[TickRecord] = []
    scenario = parse_scenario(SHORT, source="test")
    run = run_policy(scenario, Settings(mode=Mode.ACTIVE, policy="fixed"), publish=records.append)
    assert records[0].tick.reading.io_capacity_max == 20_000  # type: ignore[union-attr] # never missed
    assert records[1].tick.commands[0].name == "originals_saved"
    assert all(answer.accepted for record in records for answer in record.acknowledgements)
    assert len(records) == scenario.seconds + 1
    assert run.knob_changes >= 1
    assert run.final == Capacity(1000, 2000)
    assert records[-1].decision.kind is DecisionKind.KEEP


def test_advisory_writes_nothing() -> None:
    """In advisory mode the simulated server keeps the pair it started with."""
    scenario = parse_scenario(SHORT, source="test")
    run = run_policy(scenario, Settings(mode=Mode.ADVISORY, policy="feedforward"))
    assert run.knob_changes == 0
    assert run.final == Capacity(10_000, 20_000)


def test_best_static_keeps_the_rules_and_beats_its_neighbours() -> None:
    """The best static setting keeps every rule, and no other that does gives more."""
    scenario = load_scenario("steady-1200iops")
    found = search(scenario, ratio=2, caps=Caps(0.78))
    assert found.best is not None
    assert found.without_cap is not None
    assert found.unconstrained is not None
    outcome = run_static(scenario, 2, found.best.io_capacity_max)
    assert outcome.sync_flush_seconds == 0
    assert outcome.checkpoint_age_max <= 0.78
    assert outcome.throughput_p1 >= 0.5 * outcome.throughput_median
    assert outcome.throughput_mean == pytest.approx(found.best.throughput_mean, abs=0.1)
    for other in (480, 600, 1200):
        assert run_static(scenario, 2, other).throughput_mean <= outcome.throughput_mean
    assert (
        found.best.throughput_mean <= found.without_cap.throughput_mean <= found.unconstrained.throughput_mean
    )
    assert (
        found.unconstrained.io_capacity_max < found.without_cap.io_capacity_max < found.best.io_capacity_max
    )


def test_no_static_setting_may_keep_the_rules() -> None:
    """Where every static setting breaks a rule, best static is null and the unconstrained one is there."""
    scenario = parse_scenario(SHORT, source="test")
    found = simulate(scenario, "fixed", oracle=True)
    impossible = search(scenario, ratio=2, caps=Caps(0.01))
    assert impossible.best is None
    assert impossible.unconstrained == found.best_static_unconstrained


def test_the_best_static_setting_keeps_the_contenders_budgets() -> None:
    """A recovery or shutdown budget that the best one breaks makes another, slower one the best."""
    scenario = parse_scenario(SHORT, source="test")
    free = search(scenario, ratio=2, caps=Caps(0.78)).best
    assert free is not None
    broken = run_static(scenario, 2, free.io_capacity_max)
    for caps in (
        Caps(0.78, recovery_seconds=0.9 * broken.recovery_seconds_max),
        Caps(0.78, pages_dirty=0.9 * broken.pages_dirty_max),
    ):
        found = search(scenario, ratio=2, caps=caps)
        assert found.best is not None
        assert caps.keep(run_static(scenario, 2, found.best.io_capacity_max))
        assert found.best.throughput_mean < free.throughput_mean


def test_a_search_that_found_none_is_told_from_no_search(tmp_path: Path) -> None:
    """Where a search finds no static setting that keeps the rules, the answer is an object and not null."""
    path = tmp_path / "dip.toml"
    dip = "[{ at = 0, write_iops = 2400 }, { at = 300, write_iops = 100 }, { at = 320, write_iops = 2400 }]"
    path.write_text(SHORT.replace("[{ at = 0, write_iops = 1200 }]", dip), encoding="utf-8")
    asked = ("--scenario", str(path), "--policy", "fixed")

    searched, table = _json(*asked, "--oracle"), _command(*asked, "--oracle").stdout

    assert _json(*asked)["best_static"] is None
    assert searched["best_static"] == {
        "io_capacity_max": None,
        "throughput_mean": None,
        "pages_per_commit": None,
    }
    assert searched["best_static_unconstrained"]["io_capacity_max"] >= 100
    assert "none keeps the rules" in table
    assert "without age cap and budgets" in table


def test_static_pairs_are_legal() -> None:
    """A static M goes with C = M / k, never below the server's minimum of 100."""
    assert pair(450, 2) == Capacity(225, 450)
    assert pair(150, 2) == Capacity(100, 150)


def test_a_longer_run_is_the_same_run_longer() -> None:
    """--seconds lengthens a scenario and leaves server, disk and load as they are."""
    scenario = load_scenario("iops-drop")
    longer = resized(scenario, seed=None, seconds=86_400)
    assert longer == replace(scenario, seconds=86_400)
    assert longer.plant.fingerprint() == scenario.plant.fingerprint()


def test_settling_is_when_the_age_comes_home_for_good() -> None:
    """The settling time is the first second from which on every 30-second mean is home."""
    clock = SimClock()
    server = SimulatedServer(parse_scenario(SHORT, source="test").plant, clock)
    sample = server.read()
    trace = Trace()
    limit = sample.flush_limit
    for second in range(600):
        age = limit * (0.2 if second < 200 else 0.8)
        trace.add(
            replace(sample, monotonic=float(second), lsn_oldest=0, lsn_current=int(age), commits=second * 10),
            0.0,
        )
    settled = trace.settling()
    assert settled is not None
    assert 227 <= settled <= 229  # 1.5 s of the old age are left in 30
    assert trace.outcome(300.0).throughput_mean == pytest.approx(10.0)


def test_a_run_that_never_settles_says_so() -> None:
    """An age that swings to the end has no settling time."""
    clock = SimClock()
    server = SimulatedServer(parse_scenario(SHORT, source="test").plant, clock)
    sample = server.read()
    trace = Trace()
    for second in range(630):
        age = sample.flush_limit * (0.4 if (second // 45) % 2 else 0.8)
        trace.add(replace(sample, monotonic=float(second), lsn_oldest=0, lsn_current=int(age)), 0.0)
    assert trace.settling() is None


def test_the_inbox_ends_its_wait_at_the_deadline() -> None:
    """On simulated time the wait ends at once: the clock is at the deadline, and commands come once."""
    clock = SimClock()
    inbox = SimInbox(clock, Command(name="pause", who="test"))
    assert [one.name for one in inbox.take(until=5.0)] == ["pause"]
    assert clock.monotonic() == 5.0
    assert inbox.take(until=6.0) == ()


def test_a_simulated_day_is_quick() -> None:
    """The loop with the default policy takes at most 30 s of one core for a simulated day."""
    day = resized(load_scenario("steady-1200iops"), seed=None, seconds=3000)
    taken: list[float] = []
    while not taken or (min(taken) >= 30.0 and len(taken) < 3):  # other work takes caches and clock away
        began = time.process_time()
        run_policy(day, Settings(mode=Mode.ACTIVE))
        taken.append((time.process_time() - began) / 3000 * 86_400)

    assert min(taken) < 30.0


def test_the_scenarios_can_be_listed() -> None:
    """--list prints each named scenario with its description, a line each, and asks for nothing else."""
    found = _command("--list")
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(scenario_names())
    assert all(line.endswith(load_scenario(line.split()[0]).description) for line in lines)
