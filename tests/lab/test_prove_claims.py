"""What compared policies are claimed to show is judged exactly, and a failure is said with its figure."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lab.compare.comparison import NO_CLAIRVOYANT
from lab.prove.claims import CLAIMS, judge, judge_once
from lab.prove.contests import Contest
from tests.lab.contested import contest, line

MONTH = 30 * 86_400
SPREAD = (1.0, 1.02, 0.98)


def verdicts(found: Contest) -> dict[str, tuple[bool | None, str]]:
    """Return what each claim comes to."""
    return {one.claim: (one.met, one.figure) for one in judge("it", found)}


def met(found: Contest, claim: str) -> bool | None:
    """Return whether a claim is met."""
    return verdicts(found)[claim][0]


def test_a_steady_scenario_is_judged_by_the_steady_claims_and_no_others() -> None:
    """Throughput, first percentile, changes, stalls and settling; nothing that asks for movement."""
    found = verdicts(contest(line(), line("static")))

    assert list(found) == [
        "steady-throughput",
        "steady-p1",
        "steady-changes",
        "steady-stalls",
        "settling",
    ]
    assert all(kept for kept, _ in found.values())
    assert found["steady-throughput"] == (True, "1.000 (1.000–1.000)")


@pytest.mark.parametrize(
    ("claim", "figures", "figure"),
    [
        ("steady-throughput", {"throughput_mean": 988.0}, "0.988 (0.988–0.988)"),
        ("steady-p1", {"throughput_p1": 797.0}, "0.996 (0.996–0.996)"),
        ("steady-changes", {"changes_in_hour": (2.0, 3.0, 13.0)}, "6, worst seed 13"),
        ("steady-stalls", {"stall_seconds": (0.0, 0.0, 0.3)}, "0.1, worst seed 0.3 s"),
        ("settling", {"settled": (100.0, 301.0, 200.0)}, "worst seed 301 s of 300 s, within 0.055"),
        ("settling", {"settled": (100.0, None, 200.0)}, "worst seed never of 300 s, within 0.055"),
    ],
)
def test_each_steady_claim_fails_by_its_own_figure(claim: str, figures: dict[str, Any], figure: str) -> None:
    """One seed over a limit fails it, and the mean ratio is what is held against best static."""
    found = verdicts(contest(line(**figures), line("static")))

    assert found[claim] == (False, figure)
    assert [name for name, (kept, _) in found.items() if not kept] == [claim]


def test_a_ratio_counts_as_it_is_printed() -> None:
    """What reads 1.000 is not called lower; what reads 0.999 is."""
    assert met(contest(line(throughput_p1=799.7), line("static")), "steady-p1")
    assert not met(contest(line(throughput_p1=799.2), line("static")), "steady-p1")


def test_a_short_climb_leaves_two_minutes() -> None:
    """Settling may always take 120 s, however small the redo log is."""
    quick = line(settled=(119.0,) * 3, climb_seconds=5.0)
    slow = line(settled=(121.0,) * 3, climb_seconds=5.0)

    assert met(contest(quick, line("static")), "settling")
    found = verdicts(contest(slow, line("static")))["settling"]
    assert found == (False, "worst seed 121 s of 120 s, within 0.055")


def test_settling_leaves_no_more_room_than_an_unmoved_m_needs() -> None:
    """Where the age under best static's M wanders less the band is narrower; without it nothing is said."""
    calm = line("static", age_ratio_wander=0.012)

    assert met(contest(line(), calm), "settling") is False
    assert met(contest(line()), "settling") is None


def test_settling_is_asked_where_the_version_starts_high() -> None:
    """A server that starts with 200/2000 has another way to go."""
    assert "settling" not in verdicts(contest(line(starts="200/2000"), line("static")))


def test_moving_has_to_beat_the_best_static_with_its_bound() -> None:
    """A mean that is higher is not enough where the bounds include 1."""
    static = line("static", moves=True, throughput_mean=tuple(1000.0 * one for one in SPREAD))
    clear = line(moves=True, throughput_mean=tuple(1050.0 * one for one in SPREAD))
    vague = line(moves=True, throughput_mean=(1050.0, 1000.0, 1010.0))

    assert met(contest(clear, static), "moving-static")
    assert not met(contest(vague, static), "moving-static")


def test_the_best_found_is_the_better_of_one_m_and_an_m_for_each_piece() -> None:
    """A search by piece that found less than one M for all does not lower what is asked for."""
    ours, static = line(moves=True, throughput_mean=960.0), line("static", moves=True)
    worse = line("pieces", moves=True, throughput_mean=970.0)
    better = line("pieces", moves=True, throughput_mean=980.0)

    found = verdicts(contest(ours, static, worse))["moving-best"]
    assert found == (False, "0.960 (0.960–0.960), against one M")
    ours = line(moves=True, throughput_mean=970.0)
    assert met(contest(ours, static, worse), "moving-best")
    found = verdicts(contest(ours, line("static", moves=True, throughput_mean=900.0), better))["moving-best"]
    assert found == (True, "0.990 (0.990–0.990), against each piece’s M")


def test_the_best_found_is_open_until_every_piece_was_searched() -> None:
    """Beating one M is no proof where the pieces are known beforehand; where there are none to know it is."""
    ours, static = line(moves=True, throughput_mean=990.0), line("static", moves=True)
    none = replace(ours, notes=(f"{NO_CLAIRVOYANT}: nothing moves at a known moment",))

    found = verdicts(contest(ours, static))["moving-best"]
    assert found == (None, "0.990 (0.990–0.990), against one M; no M for each piece was searched")
    assert verdicts(contest(none, static))["moving-best"] == (True, "0.990 (0.990–0.990), against one M")
    ours = line(moves=True, throughput_mean=960.0)
    assert met(contest(ours, static), "moving-best") is False


def test_an_open_load_is_judged_by_its_pages() -> None:
    """0.9 of the default's pages per commit, and no more than the best static's; throughput is no merit."""
    ours = line(offered=True, moves=True)
    found = verdicts(
        contest(
            ours,
            line("static", offered=True, moves=True, pages_per_commit=0.19),
            line("untouched", offered=True, moves=True, pages_per_commit=0.23),
        )
    )

    assert found["open-default"] == (True, "0.870 (0.870–0.870)")
    assert found["open-static"] == (False, "1.053 (1.053–1.053)")
    assert "moving-static" not in found


def test_a_stall_counts_where_anybody_came_through_without() -> None:
    """Where every contender stalls the excess fits nowhere, and nobody is blamed."""
    ours = line(moves=True, stall_seconds=(0.0, 0.5, 0.0))
    spared = contest(ours, line("static", moves=True), line("pid", moves=True, stall_seconds=2.0))
    hopeless = contest(ours, line("static", moves=True, stall_seconds=1.0))

    assert met(spared, "moving-stalls") is False
    assert verdicts(hopeless)["moving-stalls"] == (
        None,
        "0.167, worst seed 0.5 s; no contender came through without",
    )


def test_thirty_days_are_judged_by_their_sync_flushes() -> None:
    """One second a day, in each seed."""
    ours = line(moves=True, seconds=MONTH, sync_flush_seconds=(0.0, 30.0, 31.0))

    assert verdicts(contest(ours))["sync"] == (False, "0.68 s a day on the mean, worst seed 1.03")


def test_the_optimiser_is_judged_by_its_worst_day() -> None:
    """A day lost while it learns is not made good by the others."""
    ours = line(seconds=MONTH, days=((100.0, 100.0),) * 3)
    kept = line("bayes", seconds=MONTH, days=((99.2, 101.0),) * 3)
    lost = line("bayes", seconds=MONTH, days=((101.0, 101.0), (98.0, 103.0), (101.0, 101.0)))

    assert verdicts(contest(ours, kept))["learning"][0]
    assert verdicts(contest(ours, lost))["learning"] == (
        False,
        "worst day 0.980; whole run 1.000 (1.000–1.000)",
    )


def test_nothing_is_judged_without_something_to_judge_by() -> None:
    """No best static leaves the claim open; without our own policy there is no claim at all."""
    assert verdicts(contest(line()))["steady-throughput"] == (None, "no best static")
    assert judge("it", contest(line("pid"), line("static"))) == []
    assert set(verdicts(contest(line(moves=True, offered=True)))) <= set(CLAIMS)


def test_a_scenario_in_two_suites_counts_once() -> None:
    """Each claim takes the first suite that can judge it, and the optimiser's the one that it was run in."""
    given: dict[str, Any] = {"scenario": "month", "moves": True, "seconds": MONTH, "days": ((100.0,),) * 3}
    ours, static = line(throughput_mean=1050.0, **given), line("static", **given)
    month = {"month": contest(ours, static)}
    later = replace(ours, figures=ours.figures | {"changes_in_hour": (999.0,) * 3})
    learning = {"month": contest(later, line("bayes", **given)), "even": contest(line(), line("static"))}

    found = judge_once([month, learning])

    assert len({(one.claim, one.scenario) for one in found}) == len(found)
    by_claim = {one.claim: one for one in found if one.scenario == "month"}
    assert by_claim["moving-changes"].met
    assert by_claim["moving-static"].met
    assert by_claim["learning"].met
    assert [one for one in judge_once([learning, month]) if one.claim == "moving-static"] == [
        by_claim["moving-static"]
    ]
    assert {one.scenario for one in found} == {"month", "even"}
