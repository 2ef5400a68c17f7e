"""What the loop comes to on the simulated server with redo logs of four sizes, kept as data.

``python -m tests.lab.redo_sizes`` measures it anew: some minutes. Each runs for as long as its age needs to
settle, so that a larger log takes longer.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lab.plant.clock import SimClock
from lab.plant.parameters import REVISION
from lab.plant.server import SimulatedServer
from lab.scenarios.load import load_scenario
from lab.scenarios.schema import Scenario
from lab.simulate_loop import SimInbox, run_policy
from tuner.core.state import State
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import TickRecord
from tuner.settings import Mode, Settings

FILE = Path(__file__).parent.parent / "fixtures" / "redo" / "sizes.json"
MEBIBYTE = 1_048_576
SECONDS = {100: 2400, 200: 4800, 400: 7200, 800: 14_400}
"""Length of a run by size of the log in MiB; its second half counts."""


class Measured(Struct, frozen=True):
    """What the loop held one log at."""

    redo_capacity: int  # bytes
    commits: float  # 1/s
    pages_per_commit: float


class Data(Struct, frozen=True):
    """All sizes, and of which simulated server."""

    revision: int
    sizes: tuple[Measured, ...]


def scenario(mebibytes: int, name: str = "steady-1200iops", rate: int | None = None) -> Scenario:
    """Return the measured machine, or another scenario, with a redo log of that size.

    Args:
        mebibytes: size of the redo log.
        name: which scenario.
        rate: transactions/s that are offered; None: as many as the threads make.
    """
    found = load_scenario(name)
    if rate is not None:
        steps = tuple(replace(one, rate=rate) for one in found.load.timeline)
        found = replace(found, load=replace(found.load, timeline=steps))
    seconds = SECONDS[mebibytes]
    server = replace(found.server, redo_capacity=mebibytes * MEBIBYTE)
    return replace(found, server=server, seconds=seconds, measured_from=seconds // 2)


def watched(
    mebibytes: int,
    *,
    after: int = 900,
    seconds: int = 120,
    seed: int = 1,
    scenario_name: str = "steady-1200iops",
    rate: int | None = None,
) -> tuple[list[TickRecord], State]:
    """Return what a time of watching a server brings that runs with the settings it ships with.

    Args:
        mebibytes: size of its redo log.
        after: for how long it has run, seconds.
        seconds: for how long it is watched.
        seed: of the simulated server.
        scenario_name: which server it is, and its load.
        rate: transactions/s that are offered; None: as many as the threads make.
    """
    clock = SimClock()
    server = SimulatedServer(scenario(mebibytes, scenario_name, rate).plant, clock, seed=seed)
    for second in range(0, after + 1, 10):
        clock.advance_to(float(second))
        server.read()
    records: list[TickRecord] = []
    state = drive(
        server,
        clock,
        SimInbox(clock),
        start(Settings(mode=Mode.ADVISORY), server.facts()),
        interval=1.0,
        publish=lambda _, record: records.append(record),
        until=float(after + seconds),
    )
    return records, state


def measured(mebibytes: int) -> Measured:
    """Return what the loop holds such a log at."""
    run = run_policy(scenario(mebibytes), Settings(mode=Mode.ACTIVE)).outcome
    return Measured(mebibytes * MEBIBYTE, round(run.throughput_mean, 1), round(run.pages_per_commit, 4))


def kept() -> Data:
    """Return the data as it was measured last."""
    return msgspec.json.decode(FILE.read_bytes(), type=Data)


if __name__ == "__main__":
    found = Data(REVISION, tuple(measured(one) for one in SECONDS))
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
