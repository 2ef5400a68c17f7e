"""Runs of a comparison, and what their rows come to: means, the worst, paired ratios, notes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lab.bench import comparison as module
from lab.bench.comparison import UNEVEN, Asked, Comparison, Found, Task
from lab.bench.table import Run, Value, group
from lab.plant.flavour import FlavourName
from lab.scenarios import Scenario, load_scenario
from lab.scenarios.progress import Progress
from lab.scenarios.trace import Outcome

SHORT = Scenario(name="short", description="for tests", seconds=200, measured_from=100)
ASKED = Asked(("cascade", "fixed"), (SHORT,), 2, oracle=True)
STEADY = load_scenario("steady-1200iops")


def outcomes(found: Found) -> dict[str, list[object]]:
    """Return what each contender came to with each seed."""
    return {name: [(run.seed, run.outcome) for run in runs] for name, runs in found.runs.items()}


def test_two_processes_do_what_one_does() -> None:
    """However many processes there are, the rows are the same, by seed, and it is told how far they are."""
    told: list[Progress] = []
    ((_, one),) = Comparison(ASKED, jobs=1, progress=told.append).run()
    ((_, two),) = Comparison(replace(ASKED, oracle=False), jobs=2).run()

    assert one.runs["static"][0].io_capacity_max
    assert outcomes(two) == outcomes(one) | {"static": []}
    assert [run.seed for run in two.runs["fixed"]] == [1, 2]
    assert all(0.0 < each.share <= 1.0 for each in told)


def test_no_run_is_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search tried is not run again to be judged."""
    done: list[Task] = []
    run_task = module.run_task
    monkeypatch.setattr(module, "run_task", lambda task: (done.append(task), run_task(task))[1])
    Comparison(replace(ASKED, policies=("fixed",), seeds=1), jobs=1).run()

    assert len(done) == len(set(done)) > len(ASKED.policies)


def test_a_load_that_pauses_still_has_a_best_static() -> None:
    """No M makes the first percentile of a pause half the median; the best without that rule says so."""
    entry = SHORT.load.timeline[0]
    pauses = tuple(
        replace(entry, at=at, threads=threads) for at, threads in ((0.0, 16), (260.0, 0), (320.0, 16))
    )
    moving = replace(SHORT, seconds=400, measured_from=200, load=replace(SHORT.load, timeline=pauses))
    ((_, found),) = Comparison(Asked(("fixed",), (moving,), 1, oracle=True), jobs=1).run()
    (run,) = found.runs["static"]

    assert found.note == UNEVEN
    assert run.outcome.sync_flush_seconds == 0
    assert run.outcome.throughput_p1 == 0.0


BLANK = Outcome(**dict.fromkeys(Outcome.__struct_fields__, 0.0))


def run(contender: str, seed: int, commits: float = 1000.0, *, seconds: int = 1800, **changes: Any) -> Run:  # noqa: ANN401 - any field
    """Return a run with that throughput."""
    scenario = replace(STEADY, seed=seed, seconds=seconds)
    outcome = replace(BLANK, throughput_mean=commits, pages_per_commit=0.2)
    made = Run(scenario, contender, outcome, settling_seconds=100.0, changes=5, changes_in_hour=3)
    return replace(made, **changes)


def value(metric: str, *runs: Run, of: str = "cascade") -> Value:
    """Return a metric of one contender; the first row's is the reference."""
    names = dict.fromkeys(one.contender for one in runs)
    found = group(STEADY, {name: [one for one in runs if one.contender == name] for name in names})
    return next(one.values[metric] for one in found.contenders if one.name == of)


REFERENCE = [run("cascade", seed, 1000.0 * seed) for seed in (1, 2, 3)]


def test_ratios_are_paired_by_seed() -> None:
    """What gives a tenth less with every seed is at 0.9 with no doubt, however the seeds differ."""
    rows = [*REFERENCE, *(run("pid", seed, 900.0 * seed) for seed in (3, 1, 2))]
    ours, theirs = (value("throughput_mean", *rows, of=name) for name in ("cascade", "pid"))

    assert (ours.mean, ours.worst, ours.ratio) == (2000.0, 1000.0, None)
    assert (theirs.mean, theirs.worst) == (1800.0, 900.0)
    assert theirs.ratio is not None
    assert (theirs.ratio.mean, theirs.ratio.low, theirs.ratio.high) == pytest.approx((0.9, 0.9, 0.9))


def test_what_has_no_mean_or_ratio_has_none() -> None:
    """An age that never settles with one seed has no settling time; nothing, as zero stalls, has no ratio."""
    settling = value("settling_seconds", run("cascade", 1), run("cascade", 2, settling_seconds=None))
    changes = value("changes_per_hour", run("cascade", 1, changes=4), run("cascade", 2, changes=8))

    assert (settling.mean, settling.worst, settling.without) == (None, None, 1)
    assert (changes.mean, changes.worst) == (12.0, 16.0), "the worst is the highest where more is worse"
    assert value("sync_flush_seconds", *REFERENCE, run("pid", 1), of="pid").ratio is None


def on(flavour: FlavourName) -> Scenario:
    """Return a scenario on such a server, as it comes."""
    return replace(STEADY, server=replace(STEADY.server, flavour=flavour))


NO_AUTHORITY, SLEEPS = on("mariadb-11.8"), on("mariadb-10.5")
BUSY = {"seconds": 7200, "changes": 130, "changes_in_hour": 60}


@pytest.mark.parametrize(
    ("scenario", "names", "changed", "word", "said"),
    [
        (STEADY, "cascade", {"seconds": 600, "changes": 15}, "changes/h: ", "of the whole run, 600 s"),
        (STEADY, "cascade", BUSY, "changes/h: ", "which were 60 at most"),
        (STEADY, "cascade", {"seconds": 7200}, "changes/h: ", ""),
        (STEADY, "cascade bayes", {"seconds": 7200}, "a trial takes hours", "bayes: "),
        (STEADY, "cascade bayes", {"seconds": 86_400}, "a trial takes hours", ""),
        (STEADY, "cascade pid", {"seconds": 2400}, "a trial takes hours", ""),
        (NO_AUTHORITY, "bayes", {"seconds": 2400}, "a trial takes hours", ""),
        (STEADY, "cascade fixed", {}, "fixed: M = ", "2000, as fixed_io_capacity_max is by default"),
        (STEADY, "cascade pid", {}, "fixed: M = ", ""),
        (
            NO_AUTHORITY,
            "cascade pid fixed",
            {},
            "decides in place of",
            "pace decides in place of cascade",
        ),
        (
            NO_AUTHORITY,
            "cascade pid fixed",
            {},
            "decides in place of",
            "same rows: no innodb_io_capacity_max moves the age below",
        ),
        (SLEEPS, "cascade pid fixed", {}, "decides in place of", "same rows: the page cleaner sleeps"),
        (STEADY, "cascade pid fixed", {}, "decides in place of", ""),
        (STEADY, "cascade fixed", {}, "no bounds", "they need two seeds or more"),
        (STEADY, "cascade", {}, "no bounds", ""),
    ],
)
def test_nobody_reads_more_out_of_a_table_than_is_in_it(
    scenario: Scenario, names: str, changed: dict[str, Any], word: str, said: str
) -> None:
    """What a rate, a ratio or a policy's rows do not show is told where it is so, and nowhere else."""
    rows = {name: [run(name, 1, **changed)] for name in names.split()}
    found = [one for one in group(scenario, rows).notes if word in one]

    assert len(found) == bool(said)
    assert all(said in one for one in found)


def test_two_seeds_are_enough_for_bounds() -> None:
    """With two of them no line says that bounds are missing."""
    rows = {name: [run(name, seed) for seed in (1, 2)] for name in ("cascade", "fixed")}

    assert not any("no bounds" in one for one in group(STEADY, rows).notes)
