"""The simulated MariaDB from before MDEV-26827, whose age decides while its page cleaner is awake."""

from __future__ import annotations

from msgspec.structs import replace

from lab.plant.parameters import ServerParameters
from lab.scenarios.load import load_scenario
from lab.simulate_loop import run_policy
from tests.lab.plant.support import plant, watched
from tuner.settings import Mode, Settings


def test_an_older_mariadb_sleeps_until_the_flush_limit_and_flushes_all_that_is_dirty() -> None:
    """From the limit the age falls to next to nothing where M allows it, and no page goes before the next."""
    _, samples = watched(plant(flavour="mariadb-10.5", io_capacity=2000, io_capacity_max=4000), 400)
    ratios = [sample.age_ratio for sample in samples]
    peak = next(second for second, ratio in enumerate(ratios) if ratio > 1.0)
    low = peak + min(range(30), key=lambda second: ratios[peak + second])
    assert samples[peak - 1].pages_background == 0
    assert ratios[low] < 0.1
    again = next(second for second in range(low, len(ratios)) if ratios[second] > 0.9)
    assert samples[again].pages_background == samples[low + 2].pages_background
    assert samples[again].pages_adaptive == samples[low + 2].pages_adaptive


def test_the_loop_steers_an_older_mariadb() -> None:
    """Left alone its throughput falls to a twentieth each time it wakes; with the loop only at first."""
    scenario = replace(load_scenario("mariadb-lwm0"), server=ServerParameters(flavour="mariadb-10.5"))
    found = run_policy(scenario, Settings(mode=Mode.ACTIVE)).outcome
    alone = run_policy(scenario, Settings()).outcome
    assert alone.throughput_p1 < 0.1 * alone.throughput_median
    assert found.throughput_p1 > 0.8 * found.throughput_median
    assert found.stall_seconds == 0.0
