"""The sequential test that stops a rollout: how often it stops for nothing, and whether it stops in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.fleet.stage import ALPHA, FINE, WORSE, Count, Verdict, at_most, evidence, following, judged

COUNTS = st.integers(0, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def stops(share: float, hosts: int) -> float:
    """Return the probability that a look after any one of so many servers stops, worked out exactly."""
    left, stopped = {0: 1.0}, 0.0
    for number in range(1, hosts + 1):
        after: dict[int, float] = {}
        for worse, chance in left.items():
            for more, part in ((1, share), (0, 1.0 - share)):
                after[worse + more] = after.get(worse + more, 0.0) + chance * part
        stopped += sum(chance for worse, chance in after.items() if evidence(number, worse) >= 1.0 / ALPHA)
        left = {worse: chance for worse, chance in after.items() if evidence(number, worse) < 1.0 / ALPHA}
    return stopped


@pytest.mark.parametrize("share", [0.0, FINE / 4, FINE / 2, FINE])
def test_it_stops_for_nothing_in_five_rollouts_of_a_hundred_at_most(share: float) -> None:
    """However often it is looked at, over a thousand servers, while no more than chance does get worse."""
    assert stops(share, 1000) <= ALPHA


def test_it_stops_where_three_percent_get_worse() -> None:
    """Nearly always within the hundred servers of the second stage and the thousand of the last."""
    assert stops(WORSE, 1000) > 0.999
    assert stops(2 * WORSE, 100) > 0.9


@given(COUNTS)
def test_one_more_server_that_got_worse_never_speaks_for_going_on(seen: tuple[int, int]) -> None:
    """The evidence only grows with the servers that are worse, and shrinks with those that are not."""
    hosts, worse = seen

    assert evidence(hosts + 1, worse + 1) >= evidence(hosts, worse) >= evidence(hosts + 1, worse)
    assert 0.0 < at_most(hosts, worse) <= 1.0
    assert at_most(hosts + 1, worse) <= at_most(hosts, worse) + 1e-5


@pytest.mark.parametrize(
    ("count", "verdict"),
    [
        (Count(10, 10, 10, 0), Verdict.PROCEED),
        (Count(10, 10, 9, 0), Verdict.WAIT),
        (Count(10, 10, 10, 1), Verdict.WAIT),
        (Count(10, 10, 10, 2), Verdict.STOP),
        (Count(100, 100, 96, 1), Verdict.PROCEED),
        (Count(100, 100, 3, 3), Verdict.STOP),
        (Count(1000, 1000, 1000, 30), Verdict.STOP),
        (Count(0, 0, 0, 0), Verdict.PROCEED),
    ],
)
def test_a_stage_ends_in_one_of_three_words(count: Count, verdict: Verdict) -> None:
    """It proceeds once nearly all were observed and hardly any got worse, and may stop before."""
    assert judged(count, least_observed=0.95)[0] is verdict


def test_the_stages_come_one_after_the_other() -> None:
    """From nothing to one percent, ten, and all; a percentage in between goes on to the next of these."""
    assert [following(one) for one in (0.0, 1.0, 5.0, 10.0, 100.0)] == [1.0, 10.0, 10.0, 100.0, None]


def test_what_ten_servers_can_say_is_not_overstated() -> None:
    """Ten servers of which none got worse leave room for a quarter of all: the rule of three says so too."""
    assert at_most(10, 0) == pytest.approx(0.2589, abs=1e-3)
    assert at_most(1000, 0) == pytest.approx(3 / 1000, rel=0.01)
