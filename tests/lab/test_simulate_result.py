"""What a simulation comes to: its figures, settling, settings and warnings, and the optimiser's trials."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios.load import parse_scenario
from lab.scenarios.trace import Trace
from lab.simulate_loop import Trials
from policies.types import Suggestion
from tests.api.factory import record
from tests.lab.simulating import SHORT, parsed_result, scenario_file, simulated
from tuner.core.trials.engine import Came
from tuner.records import Event, EventCode, InUse, OptimiserPhase, OptimiserProgress, TickRecord

if TYPE_CHECKING:
    from pathlib import Path

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


def test_the_command_prints_what_was_promised() -> None:
    """One JSON object with every promised name; without --oracle the static settings are null."""
    found = parsed_result(
        "--scenario", "steady-1200iops", "--policy", "fixed", "--seconds", "960", "--seed", "7"
    )
    assert set(found) >= PROMISED
    assert (found["policy"], found["scenario"], found["flavour"]) == ("fixed", "steady-1200iops", "mysql-9.7")
    assert (found["seed"], found["seconds"]) == (7, 960)
    assert found["best_static"] is None
    assert found["knob_changes"] >= 1


def test_one_seed_gives_one_result() -> None:
    """The same command prints the same numbers again, real time aside; another seed prints others."""
    arguments = ("--scenario", "steady-1200iops", "--seconds", "1000", "--seed")
    first, second, other = (parsed_result(*arguments, seed) for seed in ("2", "2", "3"))
    for found in (first, second, other):
        found.pop("wall_seconds")
    assert first == second
    assert first["throughput_mean"] != other["throughput_mean"]
    assert first["plant"] == other["plant"]


def settled(ages: list[float]) -> float | None:
    """Return the settling time of an age ratio that is so second by second."""
    server, trace = SimulatedServer(parse_scenario(SHORT, source="test").plant, SimClock()), Trace()
    first = server.read()
    for second, age in enumerate(ages):
        lsn = int(age * first.flush_limit)
        trace.add(replace(first, monotonic=float(second), lsn_oldest=0, lsn_current=lsn), 0.0)
    return trace.settling()


def test_settling_is_when_the_age_comes_home_for_good() -> None:
    """It is the first second from which on every 30-second mean is home; an age that swings has none."""
    found = settled([0.2] * 200 + [0.8] * 400)

    assert found is not None
    assert 227 <= found <= 229  # 1.5 s of the old age are left in 30
    assert settled([0.4 if (second // 45) % 2 else 0.8 for second in range(630)]) is None


def test_a_configuration_of_ones_own_is_tried(tmp_path: Path) -> None:
    """The [loop] of --config counts, in active mode; what differs from the defaults is in the result."""
    path = tmp_path / "innobrim.toml"
    path.write_text(
        '[loop]\nmode = "advisory"\npolicy = "fixed"\nfixed_io_capacity_max = 900\nmin_io_capacity_max = 300',
        encoding="utf-8",
    )
    words = ("--scenario", scenario_file(tmp_path), "--config", str(path))
    found = parsed_result(*words)
    assert (found["policy"], found["io_capacity_max_final"]) == ("fixed", 900)
    assert found["settings"] == {"fixed_io_capacity_max": 900, "min_io_capacity_max": 300}
    assert parsed_result(*words, "--policy", "pid")["policy"] == "pid"
    assert "with fixed_io_capacity_max = 900, min_io_capacity_max = 300\n" in simulated(*words).stdout


def test_a_fit_of_another_server_is_warned_of(tmp_path: Path) -> None:
    """Parameters that were fitted on another server than the simulated one come with a warning."""
    path = scenario_file(tmp_path, f'fit = "mysql-9.7"\n{SHORT}')
    words = ("--scenario", path, "--policy", "fixed")
    told = "fit = mysql-9.7 was fitted on that server; nobody knows how well it suits mariadb-11.8"
    assert told in parsed_result(*words, "--flavour", "mariadb-11.8")["warnings"]
    assert told not in parsed_result(*words)["warnings"]


MOVING = (
    "[bursts]\nper_day = 500\nshortest = 10\nlongest = 20\nfewest = 1\nmost = 4",
    "credits = { burst_iops = 3000, most = 100_000 }",
)


@pytest.mark.parametrize("moving", MOVING)
def test_an_age_does_not_settle_where_bursts_or_credits_move_it(tmp_path: Path, moving: str) -> None:
    """Bursts of clients and a disk with credits are changes too: no settling time is told."""
    path = scenario_file(tmp_path, f"{SHORT}{moving}\n")
    assert parsed_result("--scenario", path, "--policy", "fixed")["settling_seconds"] is None
    assert "- (not told where" in simulated("--scenario", path, "--policy", "fixed").stdout


def test_a_run_without_a_commit_is_warned_of(tmp_path: Path) -> None:
    """Where nobody commits in what is counted, the result says that it says nothing."""
    path = scenario_file(tmp_path, f"{SHORT}[load]\ntimeline = [{{ at = 0, threads = 0 }}]\n")
    (warning,) = parsed_result("--scenario", path, "--policy", "fixed")["warnings"]
    assert warning.startswith("nothing was committed in what is counted")


def test_a_file_of_ones_own_runs(tmp_path: Path) -> None:
    """A TOML file runs under its own name, with a warning where it counts too early."""
    path = scenario_file(tmp_path)
    found = simulated("--scenario", path, "--policy", "fixed", "--json")
    assert found.exit_code == 0
    parsed = json.loads(found.stdout)
    assert parsed["scenario"] == "short"
    assert "measured_from = 240 is earlier than" in parsed["warnings"][0]
    assert "warning: measured_from" in found.stderr


SUGGESTED = Suggestion(0.01, 1.2, 1.1)
BETTER = InUse(SUGGESTED, 0.004, 0.002, 0.006)


def tick(phase: OptimiserPhase, number: int, *said: tuple[str, str]) -> TickRecord:
    """Return a tick's record with what the optimiser was at, and the events of its trials."""
    events = tuple(Event(wall=1.0, code=code, message="", subject=came) for code, came in said)
    return replace(
        record(1),
        optimiser=OptimiserProgress(phase, number=number, in_use=BETTER if number > 1 else None),
        events=events,
    )


def test_the_table_and_the_object_say_what_the_optimiser_did() -> None:
    """A trial that is under way at the end is counted with its question; both forms say the same."""
    words = ("--scenario", "steady-1200iops", "--seed", "3", "--seconds", "1100", "--policy", "bayes")
    found = parsed_result(*words)["optimiser"]

    assert (found["questions"], found["begun"], found["under_way"], found["in_use"]) == (1, 1, 1, None)
    assert (
        "optimiser: 1 question, 1 trial: 0 won, 0 not used, 0 abandoned, 0 unsafe, 1 under way; "
        "at the end the analytic set-point\n"
    ) in simulated(*words).stdout


def test_a_policy_without_an_optimiser_has_no_word_about_one(tmp_path: Path) -> None:
    """Other policies have null in the object and no line in the table."""
    words = ("--scenario", scenario_file(tmp_path), "--policy", "fixed")

    assert parsed_result(*words)["optimiser"] is None
    assert "optimiser" not in simulated(*words).stdout


def test_what_won_is_counted_again_where_it_is_tried_again() -> None:
    """A trial of what is in use begins without an event, and counts as one; what is in use is named."""
    trials = Trials()
    for one in (
        tick(OptimiserPhase.ASKING, 1),
        tick(OptimiserPhase.TRIAL, 1, (EventCode.TRIAL_BEGUN, "")),
        tick(OptimiserPhase.RESTING, 1, (EventCode.TRIAL_ENDED, Came.WON)),
        tick(OptimiserPhase.TRIAL, 2),
        tick(OptimiserPhase.TRIAL, 2),
        tick(OptimiserPhase.RESTING, 2, (EventCode.TRIAL_ENDED, Came.NOT_USED)),
        tick(OptimiserPhase.ASKING, 3),
        tick(OptimiserPhase.BARRED, 3, (EventCode.TRIAL_BEGUN, ""), (EventCode.SUGGESTION_UNSAFE, "")),
    ):
        trials.add(one)
    found = trials.found()

    assert found is not None
    assert (found.questions, found.begun, found.won, found.not_used) == (2, 3, 1, 1)
    assert (found.abandoned, found.unsafe, found.under_way, found.in_use) == (1, 1, 0, BETTER)
