"""A journal as a scenario: the same load goes through the simulated server again."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.bench.recorded import UNLIMITED, Recorded, RecordedError, flavour_of, recorded
from lab.plant.clock import SimClock
from lab.plant.parameters import LoadChange, LoadParameters
from lab.plant.server import SimulatedServer
from lab.scenarios import Scenario, load_scenario
from lab.scenarios.static import run_pair
from lab.simulate_loop import run_policy
from tests.factory import FACTS
from tuner.core.estimate.window import all_flushed
from tuner.journal.tables import Run
from tuner.records import Capacity, Sample, TickRecord
from tuner.settings import Mode, Settings

SETTINGS = Settings(mode=Mode.ACTIVE, policy="fixed", fixed_io_capacity_max=600)
LOAD = LoadParameters(timeline=(LoadChange(0.0, 16), LoadChange(500.0, 8)))
CHANGING = Scenario(name="s", description="", seconds=1000, measured_from=300, load=LOAD)


def live(scenario: Scenario) -> list[TickRecord]:
    """Return the records of a daemon on a scenario."""
    records: list[TickRecord] = []
    run_policy(scenario, SETTINGS, publish=records.append)
    return records


def made_of(records: list[TickRecord], scenario: Scenario) -> Recorded:
    """Return the scenario of a journal with these records."""
    facts = SimulatedServer(scenario.plant, SimClock()).facts()
    run = Run(1, 0.0, 0, "0.1.0", "f", Settings(), facts, b"")
    return recorded([run, *records], name="journal.db")


def rates(records: list[TickRecord], start: int, end: int) -> tuple[float, float]:
    """Return redo bytes/s and flushed pages/s between two ticks."""
    first, last = records[start].tick.reading, records[end].tick.reading
    assert isinstance(first, Sample)
    assert isinstance(last, Sample)
    seconds = last.monotonic - first.monotonic
    return (last.lsn_current - first.lsn_current) / seconds, (
        all_flushed(last) - all_flushed(first)
    ) / seconds


def test_a_recorded_load_writes_the_same_redo_and_pages_again() -> None:
    """Under the policy that was recorded redo and pages a second come out as they were, over a step too."""
    before = live(CHANGING)
    scenario = made_of(before, CHANGING).scenario
    again = live(scenario)

    assert (scenario.seconds, scenario.server.flavour) == (1000, "mysql-9.7")
    assert scenario.offered
    for start, end in ((300, 490), (700, 990)):
        (redo, pages), (redo_again, pages_again) = rates(before, start, end), rates(again, start, end)
        assert redo_again == pytest.approx(redo, rel=0.01)
        assert pages_again == pytest.approx(pages, rel=0.1)


def test_what_another_age_costs_is_foretold_from_a_journal_at_the_brim() -> None:
    """Recorded while the age is held high, the load writes as many pages at low ages as it really would."""
    scenario = load_scenario("open-70")
    records: list[TickRecord] = []
    run_policy(scenario, Settings(mode=Mode.ACTIVE), publish=records.append)
    again = made_of(records, scenario).scenario

    assert records[-1].estimate is not None
    assert records[-1].estimate.age_ratio > 0.8
    for pair in (Capacity(10_000, 20_000), Capacity(500, 1000), Capacity(200, 400)):
        truth, foretold = run_pair(scenario, pair), run_pair(again, pair)
        assert foretold.pages_per_commit == pytest.approx(truth.pages_per_commit, rel=0.05)
        assert foretold.age_ratio_mean == pytest.approx(truth.age_ratio_mean, rel=0.1)


def test_a_device_at_its_limit_is_simulated_with_it() -> None:
    """A limit that the journal has seen is the disk's; without one it has none, and that is said."""
    calm = live(CHANGING)
    slow = [
        replace(
            one, estimate=None if one.estimate is None else replace(one.estimate, sustained_capacity=400.0)
        )
        for one in calm
    ]
    free, limited = made_of(calm, CHANGING), made_of(slow, CHANGING)
    disk = limited.scenario.disk
    costs = disk.page_operations(limited.scenario.server.in_force.doublewrite_pages)

    assert UNLIMITED in free.notes
    assert UNLIMITED not in limited.notes
    assert disk.timeline[-1].write_iops == pytest.approx(400.0 * costs)


def test_what_is_too_little_is_refused() -> None:
    """A short journal, one without counters and one without a load are no comparison, and it says why."""
    records = live(replace(CHANGING, seconds=600))
    reading = records[50].tick.reading
    assert isinstance(reading, Sample)
    blind = replace(records[50], tick=replace(records[50].tick, reading=replace(reading, degraded=True)))
    still = [
        replace(one, tick=replace(one.tick, reading=replace(reading, monotonic=one.tick.now)))
        for one in records
    ]

    with pytest.raises(RecordedError, match=r"journal.db: has 100 s of readings; 300 are needed"):
        made_of(records[:101], CHANGING)
    with pytest.raises(RecordedError, match="counters were off"):
        made_of([*records[:50], blind], CHANGING)
    with pytest.raises(RecordedError, match="next to nothing was written"):
        made_of(still, CHANGING)


def test_gaps_and_restarts_are_left_out() -> None:
    """Time without readings, and what a restart makes of the counters, are no load."""
    records = live(replace(CHANGING, seconds=800))
    with_gap = records[:300] + records[500:]

    assert made_of(with_gap, CHANGING).scenario.seconds == 800 - 200 - 1


@pytest.mark.parametrize(
    ("version", "law", "flavour"),
    [
        ("9.7.4", "legacy", "mysql-9.7"),
        ("8.0.28", "legacy-whole", "mysql-8.0.28"),
        ("8.0.36-28", "high_checkpoint", "percona-8.4"),
        ("5.7.44-log", "legacy-whole", "mysql-5.7"),
        ("5.7.44-48", "high_checkpoint-57", "percona-5.7"),
        ("5.6.51", "legacy-56", "mysql-5.6"),
        ("11.8.6-MariaDB", "mariadb", "mariadb-11.8"),
    ],
)
def test_the_nearest_kind_of_server_is_simulated(version: str, law: str, flavour: str) -> None:
    """Each family and age of server has the simulated one that flushes as it does."""
    assert flavour_of(replace(FACTS, version=version, flush_law=law)) == flavour
