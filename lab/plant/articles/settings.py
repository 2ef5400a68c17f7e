"""The settings that the articles tried, and the servers of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from lab.plant.articles.runs import static
from lab.plant.parameters import LoadChange, LoadParameters, PlantParameters, ServerParameters
from lab.scenarios import Scenario, load_scenario

if TYPE_CHECKING:
    from lab.plant.articles.runs import Counted
    from lab.plant.parameters import DiskParameters

SCENARIOS = ("seed-sata-20g", "seed-sata-40g", "wave", "seed-fusionio-56")
"""The named scenarios that stand for published servers."""

SLOW_BATCHES = 5600.0
"""Pages/s that the article saw at most with 4 doublewrite pages."""


class WaveRow(NamedTuple):
    """A setting: C and M in pages/s, doublewrite pages, most pages/s or None, and what the article says."""

    io_capacity: int
    io_capacity_max: int
    doublewrite_pages: int
    most_pages: float | None
    article: str


WAVES = (
    WaveRow(2000, 4000, 4, None, "waves, over 16.61"),
    WaveRow(2000, 4000, 4, SLOW_BATCHES, "waves, over 16.61"),
    WaveRow(7000, 7000, 4, None, "waves, over 16.61"),
    WaveRow(7000, 7000, 4, SLOW_BATCHES, "waves, over 16.61"),
    WaveRow(7000, 7000, 128, None, "no waves, under 16.61"),
    WaveRow(2000, 4000, 128, None, "not in it"),
)


def wave_scenario(row: WaveRow) -> Scenario:
    """Return the scenario of a row: the article's server with its doublewrite as it was or mended."""
    scenario = static(
        load_scenario("seed-sata-20g" if row.doublewrite_pages > 4 else "wave"),  # noqa: PLR2004 - the default
        row.io_capacity,
        row.io_capacity_max,
    )
    if row.most_pages is None:
        return scenario
    return replace(scenario, disk=replace(scenario.disk, pages_per_second=row.most_pages))


def single_insert(doublewrite_pages: int, *, pages: float) -> PlantParameters:
    """Return a server on which one thread inserts rows that change so many pages each."""
    return PlantParameters(
        server=ServerParameters(flavour="mysql-8.0.28", doublewrite_pages=doublewrite_pages),
        load=LoadParameters(
            timeline=(LoadChange(0.0, 1),), pages_per_commit=pages, redo_bytes_per_commit=546.0 * pages
        ),
    )


def operations_per_commit(plant: PlantParameters, run: Counted) -> float:
    """Return the write operations of one commit, its share of page writes included; one thread."""
    disk: DiskParameters = plant.disk
    pages = run.pages / run.commits * disk.page_operations(plant.server.in_force.doublewrite_pages)
    return plant.load.group_operations + pages


def ladder(redo: int, io_capacity: int, io_capacity_max: int) -> Scenario:
    """Return the server of the article about MySQL 5.6 with another redo log, bytes, and C and M, pages/s."""
    scenario = static(load_scenario("seed-fusionio-56"), io_capacity, io_capacity_max)
    return replace(scenario, server=replace(scenario.server, redo_capacity=redo))
