"""Whether what is foretold of active mode comes true: in every named scenario, from two minutes of it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.scenarios import Scenario, load_scenario
from lab.simulate_loop import SimInbox
from tests.bench import Bench, FakeServer
from tuner.core.state import State
from tuner.core.step import start
from tuner.findings.combining import Figure
from tuner.findings.gain import judged, verdict
from tuner.findings.load import load_of
from tuner.findings.sizing import sizing
from tuner.loop import drive
from tuner.records import Capacity, Command, Sample, TickRecord
from tuner.settings import Mode, Settings

NO_HARM = Path(__file__).parents[2] / "docs/results/no-harm.md"
"""What active mode brought in each scenario: means over five seeds."""

WATCHED_SECONDS = 120.0
LONGEST_ALONE = 9000
"""How long a server is left alone at most before it is watched, seconds."""

WITHIN = 10.0
"""Percentage points."""

CLEAR = 10.0
"""Percent that is a gain whoever looks."""


def brought() -> Iterator[tuple[str, float, float]]:
    """Yield each scenario with the percent that active mode gained in commits/s and saved of page writes."""
    for line in NO_HARM.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 9 and cells[1].isdigit():
            yield cells[0], 100.0 * (float(cells[3]) - 1.0), 100.0 * (1.0 - float(cells[4]))


def watched(scenario: Scenario) -> tuple[list[TickRecord], State]:
    """Return what two minutes beside a server show that was left alone for long."""
    clock = SimClock()
    server = SimulatedServer(scenario.plant, clock, seed=scenario.seed)
    server.read()
    for second in range(100, min(scenario.measured_from, LONGEST_ALONE) + 1, 100):
        clock.advance_to(float(second))
        server.read()
    records: list[TickRecord] = []
    states: list[State] = []

    def publish(state: State, record: TickRecord) -> None:
        states[:] = [state]
        records.append(record)

    drive(
        server,
        clock,
        SimInbox(clock, Command(name="originals_saved", who="test")),
        start(Settings(mode=Mode.ADVISORY), server.facts()),
        interval=1.0,
        publish=publish,
        until=clock.monotonic() + WATCHED_SECONDS,
    )
    return records, states[0]


def inside(figure: Figure, percent: float) -> bool:
    """Tell whether a range has a figure in it, as the figures are rounded."""
    return 100.0 * figure.low - 0.1 <= percent <= 100.0 * figure.high + 0.1


def device_time(gained: float) -> float:
    """Return the percent of the device's time for a commit that so many percent more commits/s save."""
    return 100.0 - 100.0 / (1.0 + gained / 100.0)


@pytest.mark.parametrize(("name", "commits", "saved"), list(brought()))
def test_what_is_foretold_comes_true(name: str, commits: float, saved: float) -> None:
    """The answer is right, the range has what came, and the figure is within 10 points of a load that stays.

    A load or a disk that is another one later is no fault of the two minutes: there the range of the page
    writes alone has to hold. More commits are compared by the device's time that each of them saves.
    """
    scenario = load_scenario(name)
    records, state = watched(scenario)
    found, table = judged(records, state), sizing(records, state, None)
    pages, gained = found.page_writes_saved, found.commits_gained
    stays = not scenario.moves and found.sure != "low"

    if max(commits, saved) >= CLEAR:
        assert found.answer == "gain"
    if max(commits, saved) <= 0.0:
        assert found.answer in {"nothing", "no-load"}
    assert pages is None or (table is not None and table.sizes[1].page_writes_saved == pages)
    assert pages is None or inside(pages, saved)
    assert not stays or pages is None or abs(100.0 * pages.likeliest - saved) <= WITHIN
    if gained is not None and not scenario.moves:
        assert inside(gained, commits)
        assert (
            found.sure == "low" or abs(device_time(100.0 * gained.likeliest) - device_time(commits)) <= WITHIN
        )


@pytest.mark.parametrize(
    ("flavour", "limit"),
    [
        ("mariadb-11.8", "innodb_io_capacity_max = 200"),
        ("mysql-5.7", "innodb_io_capacity = 100"),
        ("percona-5.7", "innodb_io_capacity = 100"),
    ],
)
def test_a_setting_that_is_too_low_is_a_gain_on_other_servers_too(
    flavour: str, limit: str, tmp_path: Path
) -> None:
    """Where writers wait as nothing flushes faster than is set it gains, and the reason names what is set."""
    text = resources.files("lab.scenarios").joinpath("flush-sync-off.toml").read_text(encoding="utf-8")
    path = tmp_path / "other.toml"
    path.write_text(text.replace("[server]", f'[server]\nflavour = "{flavour}"'), encoding="utf-8")
    records, state = watched(load_scenario(str(path)))
    found = judged(records, state)

    assert (found.answer, found.sure) == ("gain", "low")
    assert limit in found.because


@pytest.mark.parametrize(("lived", "answer"), [(60, "rising"), (180, "rising"), (900, "gain")])
def test_an_age_that_still_rises_promises_no_figure(lived: int, answer: str) -> None:
    """While the redo log of a server just started fills, no gain is told; one is once the age is at rest."""
    path = Path(__file__).parents[1] / "cli/rising.toml"
    found = judged(*watched(replace(load_scenario(str(path)), measured_from=lived)))

    assert found.answer == answer
    assert (found.page_writes_saved is None) == (answer == "rising")


@pytest.mark.parametrize("counted", [0.6, 1.0, 1.6])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_an_age_that_comes_down_saves_no_page_and_the_reason_says_as_many(
    counted: float, share: float
) -> None:
    """Whatever the pages counted: no figure says fewer page writes beside the words for more of them."""
    bench = Bench(Settings(), FakeServer(Capacity(400, 800)))
    bench.turns(120)
    load, last = load_of(bench.records), bench.record.tick.reading
    assert load is not None
    assert isinstance(last, Sample)
    load = replace(load, dirty_rate=counted * load.dirty_rate)
    found = verdict(load, bench.state, last, set_point=share * load.age_ratio)
    saved = found.page_writes_saved

    assert saved is not None
    assert saved.low <= saved.likeliest <= saved.high <= 0.0
    assert f"about {-saved.likeliest:.0%} more pages" in found.because or saved.likeliest > -0.005


def test_the_table_that_it_is_held_against_has_every_scenario() -> None:
    """A page of results with another head would leave nothing to compare."""
    assert len(list(brought())) > 30
