"""What rows come to: means, the worst, paired ratios, and what is said under the table."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lab.bench.table import METRICS, group
from lab.plant.flavour import FlavourName
from lab.scenarios import Scenario, load_scenario


def row(contender: str, seed: int, commits: float, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - any field
    """Return a row with that throughput."""
    outcome = {metric.name: 0.0 for metric in METRICS} | {"throughput_mean": commits, "pages_per_commit": 0.2}
    return {
        "scenario": "s",
        "contender": contender,
        "io_capacity_max": None,
        "seed": seed,
        "seconds": 1800,
        "measured_from": 300,
        "moves": False,
        "plant": "p",
        "settling_seconds": 100.0,
        "changes": 5,
        "changes_in_hour": 3,
        "outcome": outcome,
        **changes,
    }


STEADY = load_scenario("steady-1200iops")


REFERENCE = [row("cascade", seed, 1000.0 * seed) for seed in (1, 2, 3)]


def test_ratios_are_paired_by_seed() -> None:
    """What gives a tenth less with every seed is at 0.9 with no doubt, however the seeds differ."""
    other = [row("pid", seed, 900.0 * seed) for seed in (3, 1, 2)]
    found = group(STEADY, {"cascade": REFERENCE, "pid": other})
    ours, theirs = (one.values["throughput_mean"] for one in found.contenders)

    assert (ours.mean, ours.worst, ours.ratio) == (2000.0, 1000.0, None)
    assert (theirs.mean, theirs.worst) == (1800.0, 900.0)
    assert theirs.ratio is not None
    assert (theirs.ratio.mean, theirs.ratio.low, theirs.ratio.high) == pytest.approx((0.9, 0.9, 0.9))


def test_the_worst_is_the_highest_where_more_is_worse() -> None:
    """Of pages, ages, seconds and changes the worst seed is the one with most of them."""
    rows = [row("cascade", 1, 1000.0, changes=4), row("cascade", 2, 1000.0, changes=8)]
    found = group(STEADY, {"cascade": rows})

    changes = found.contenders[0].values["changes_per_hour"]
    assert (changes.mean, changes.worst) == (12.0, 16.0)


def test_an_age_that_never_settles_has_no_mean() -> None:
    """One seed that never settles is no settling time at all, and is counted."""
    rows = [row("cascade", 1, 1000.0), row("cascade", 2, 1000.0, settling_seconds=None)]
    found = group(STEADY, {"cascade": rows})

    settling = found.contenders[0].values["settling_seconds"]
    assert (settling.mean, settling.worst, settling.without) == (None, None, 1)


def test_there_is_no_ratio_of_nothing() -> None:
    """Where a value is zero, as seconds of sync flush should be, there is no ratio."""
    found = group(STEADY, {"cascade": REFERENCE, "pid": [row("pid", 1, 500.0)]})

    assert found.contenders[1].values["sync_flush_seconds"].ratio is None
    assert found.contenders[1].values["throughput_mean"].ratio is not None


def on(flavour: FlavourName) -> Scenario:
    """Return a scenario on such a server, as it comes."""
    return replace(STEADY, server=replace(STEADY.server, flavour=flavour))


NO_AUTHORITY, SLEEPS = on("mariadb-11.8"), on("mariadb-10.5")


@pytest.mark.parametrize(
    ("scenario", "names", "changed", "word", "said"),
    [
        (STEADY, "cascade", {"seconds": 600, "changes": 15}, "changes/h: ", "of the whole run, 600 s"),
        (
            STEADY,
            "cascade",
            {"seconds": 7200, "changes": 130, "changes_in_hour": 60},
            "changes/h: ",
            "which were 60 at most",
        ),
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
            "pace decides in place of cascade and pid, with the same rows: no M moves the age below",
        ),
        (
            SLEEPS,
            "cascade pid fixed",
            {},
            "decides in place of",
            "cascade decides in place of pid, with the same rows: the page cleaner falls asleep",
        ),
        (STEADY, "cascade pid fixed", {}, "decides in place of", ""),
        (STEADY, "cascade fixed", {}, "no bounds", "they need two seeds or more"),
        (STEADY, "cascade", {}, "no bounds", ""),
    ],
)
def test_nobody_reads_more_out_of_a_table_than_is_in_it(
    scenario: Scenario, names: str, changed: dict[str, Any], word: str, said: str
) -> None:
    """What a rate, a ratio or a policy's rows do not show is told where it is so, and nowhere else."""
    rows = {name: [row(name, 1, 1e3, **changed)] for name in names.split()}
    found = [one for one in group(scenario, rows).notes if word in one]

    assert len(found) == bool(said)
    assert all(said in one for one in found)


def test_two_seeds_are_enough_for_bounds() -> None:
    """With two of them no line says that bounds are missing."""
    rows = {name: [row(name, seed, 1e3) for seed in (1, 2)] for name in ("cascade", "fixed")}

    assert not any("no bounds" in one for one in group(STEADY, rows).notes)
