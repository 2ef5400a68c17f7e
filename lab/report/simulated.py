"""A simulated run as a page: the trace of its ticks, and what came out beside it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from lab.plant.clock import SimClock
from lab.plant.server import SimulatedServer
from lab.report.figures import plain
from lab.report.files import replace_text
from lab.report.rows import ReportError
from lab.report.trace import Trace
from lab.report.trace_page import trace_page
from lab.scenarios.schema import Scenario
from lab.scenarios.search import BestStatic
from lab.simulate import Result
from tuner.journal.tables import Run
from tuner.records import DecisionKind, TickRecord
from tuner.settings import Settings
from tuner.system.version import program_version

MOST_TICKS = 100_000
"""Of a longer run every second or third tick, and so on, is taken; rates are those between the ones taken."""

SUFFIX = ".html"


def check(path: Path) -> None:
    """Return if a page can be written there; an existing file is left as it is.

    Raises:
        ReportError: another suffix, no such directory, or one that takes no file.
    """
    if path.suffix.lower() != SUFFIX:
        raise ReportError(f"{path}: a plot is a page; name a file that ends in {SUFFIX}")
    if path.is_dir():
        raise ReportError(f"{path}: is a directory; name a file in it, such as {path / f'run{SUFFIX}'}")
    if not path.parent.is_dir():
        raise ReportError(f"{path}: there is no directory {path.parent}; make it, or name another")
    probe = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        probe.open("x").close()
        probe.unlink()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ReportError(
            f"{path}: no such file can be made in {path.parent.absolute()} ({why}); name one in a directory "
            "that you may write to"
        ) from error


class SimulatedPage:
    """Takes the ticks of a simulated run, and writes them as a page."""

    def __init__(self, scenario: Scenario, settings: Settings) -> None:
        """Take what is run; nothing is written yet."""
        facts = SimulatedServer(scenario.plant, SimClock()).facts()
        self._trace = Trace(Run(1, 0.0, 0, program_version(), "", settings, facts, b""))
        self._scenario = scenario
        self._every = -(-scenario.seconds // MOST_TICKS)

    def add(self, record: TickRecord) -> None:
        """Take in a tick; of a long run only some, and all that decided something."""
        decided = record.decision.kind is not DecisionKind.KEEP or record.events
        if decided or record.tick.number % self._every == 0:
            self._trace.add(record)

    def write(self, path: Path, result: Result) -> None:
        """Put the page in the file's place.

        Raises:
            ReportError: it cannot be written.
        """
        title = f"{result.scenario}: policy {result.policy} on {result.flavour}, seed {result.seed}"
        made = time.strftime("%Y-%m-%d", time.gmtime())
        replace_text(path, trace_page(self._trace, title=title, made=made, notes=self._notes(result)))

    def _notes(self, result: Result) -> list[str]:
        """Return what was counted, and what the best static setting gave."""
        counted = (
            f"counted from {result.measured_from} s on: {plain(result.throughput_mean)} commits/s; "
            f"age ratio {plain(result.age_ratio_mean)}, at most {plain(result.age_ratio_max)}; "
            f"sync flushing in {result.sync_flush_seconds} s, stalled for {plain(result.stall_seconds)} s"
        )
        what = f"a simulated server, {result.seconds} s: {self._scenario.description}; plant {result.plant}"
        notes = [what, counted]
        if self._every > 1:
            notes.append(f"one reading in {self._every} s is drawn, and each that decided something")
        best = result.best_static
        if isinstance(best, BestStatic):
            commits = plain(best.throughput_mean)
            notes.append(f"best static setting: M = {best.io_capacity_max}, {commits} commits/s")
        elif best is not None:
            notes.append("best static setting: none keeps the rules")
        return notes
