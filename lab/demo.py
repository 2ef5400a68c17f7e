"""The demo: one daemon beside one server under load, advisory first, active after, and what changed."""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lab.bench.plan import version_default
from lab.plant.parameters import PlantParameters
from lab.plant.server import SimulatedServer
from lab.servers.base import LabServer
from lab.servers.reader import FORGET_SECONDS, forgetting, warm
from lab.servers.spec import MARIADB
from lab.servers.version import product, version_said
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun, prepare
from tuner.core.estimate.window import all_flushed
from tuner.findings.remedies import told
from tuner.records import DecisionKind, EventCode, HoldCode, Reason, Sample, TickRecord
from tuner.settings import Settings
from tuner.system.amounts import share
from tuner.system.clock import Clock

WRITE_IOPS = 1200
FIRST_SECONDS = 2
SIMULATED_SPEED = 10.0
"""Simulated seconds in one real second."""

LWM = "innodb_max_dirty_pages_pct_lwm"
HEADER_EVERY = 20
HEADER = (
    "time, UTC  mode            age  set-point  io_capacity / _max"
    "  redo MB/s  demand  flushed   rows/s  sync  what and why"
)


LEAD_SECONDS = 1.5
"""Simulated seconds that a clock goes on fast after a tick of the loop; the next one is due after one."""


class ScaledClock:
    """A clock that runs faster than the machine's, and waits for the loop.

    A machine that is busy for a moment would otherwise skip seconds of the server, as an outage does.
    From ``LEAD_SECONDS`` after a tick on it goes no faster than the machine's, therefore.
    """

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._began = time.monotonic()
        self._wall = time.time()
        self._anchor = (self._began, self._began, math.inf)
        """The machine's time, the clock's own then, and for how many seconds of its own it goes fast."""

    def monotonic(self) -> float:
        """Return the clock's own seconds."""
        return self._at(time.monotonic())

    def wall(self) -> float:
        """Return Unix time at the clock's own pace."""
        return self._wall + self.monotonic() - self._began

    def ticked(self) -> None:
        """Go fast until the loop's next tick is overdue."""
        real = time.monotonic()
        self._anchor = (real, self._at(real), LEAD_SECONDS)

    def _at(self, machine: float) -> float:
        real, own, lead = self._anchor
        passed = max(0.0, machine - real)
        fast = min(passed, lead / self._speed)
        return own + fast * self._speed + passed - fast


@dataclass
class Phase:
    """The readings of one phase of the demo.

    Attributes:
        records: of its ticks.
        over: what somebody did that ended it; empty while nobody has.
    """

    records: list[TickRecord] = field(default_factory=list)
    over: str = ""

    def take(self, record: TickRecord) -> None:
        """Note a tick, until somebody steers the loop: what comes then is theirs, and not InnoBrim's."""
        paused = any(hold.code is HoldCode.PAUSED for hold in record.holds)
        asked = {
            "a drain": record.drain is not None,
            "an override": record.override_ends is not None,
            "a restore": record.restore is not None,
            "a pause": paused,
            "a trial": any(event.code == EventCode.BASELINE_TRIAL_BEGUN for event in record.events),
        }
        what = next((name for name, true in asked.items() if true), "")
        if what and not self.over:
            self.over = f"{what} at {clock_of(record)}"
        if not self.over:
            self.records.append(record)

    def last(self, seconds: float) -> list[TickRecord]:
        """Return the records of the last so many seconds that have an estimate."""
        if not self.records:
            return []
        end = self.records[-1].tick.now
        return [one for one in self.records if one.estimate is not None and one.tick.now > end - seconds]


AGE = "age, % of the flush limit"

DIGITS = {
    "row changes/s": 0,
    "slowest ten seconds": 0,
    "pages flushed/s": 0,
    "pages per row change": 3,
    AGE: 0,
}
"""Figures of which the summary has a ratio, and their digits after the point."""

COUNTED = "seconds counted"
SYNC_PAGES = "sync-flushed pages"

RESTS = 0.1
"""A change of the age ratio within the first half minute that is still called rest."""


def figures(records: list[TickRecord]) -> dict[str, float] | None:
    """Return a window's figures by title, from the server's own counters; None without two readings."""
    samples = [one.tick.reading for one in records if isinstance(one.tick.reading, Sample)]
    estimates = [one.estimate for one in records if one.estimate is not None]
    if len(samples) <= 1 or not estimates:
        return None
    first, last = samples[0], samples[-1]
    seconds = last.monotonic - first.monotonic
    rows = last.row_changes - first.row_changes
    pages = all_flushed(last) - all_flushed(first)
    return {
        COUNTED: seconds,
        "row changes/s": rows / seconds,
        "slowest ten seconds": min(one.row_rate for one in estimates),
        "pages flushed/s": pages / seconds,
        "pages per row change": pages / rows if rows else 0.0,
        AGE: 100.0 * statistics.fmean(one.age_ratio for one in estimates),
        SYNC_PAGES: last.pages_sync - first.pages_sync,
    }


def clock_of(record: TickRecord) -> str:
    """Return when a tick was, as status, watch and log have it."""
    return time.strftime("%H:%M:%S", time.gmtime(record.tick.wall))


def why_down(record: TickRecord) -> str:
    """Return why the loop lowers M, in one sentence, where this tick is one that does; or ""."""
    reading, target = record.tick.reading, record.decision.target
    if not isinstance(reading, Sample) or target is None or not record.decision.steps:
        return ""
    if target.io_capacity_max >= reading.io_capacity_max:
        return ""
    rule = Settings()
    return (
        f"why innodb_io_capacity_max goes down: with {reading.io_capacity_max} the server flushes pages long "
        "before the redo log needs it, and a page that is flushed later takes more row changes "
        "with it. So it is "
        f"lowered until the age is at the set-point, by a factor of {rule.step_factor:g} at most and "
        f"{rule.dwell_seconds:g} s apart, so that no step is a shock"
    )


def summary(
    before: dict[str, float], after: dict[str, float], *, default: str, steered: list[TickRecord]
) -> list[str]:
    """Return the before/after table as lines.

    Args:
        before: figures of the server as it was.
        after: figures of the loop.
        default: the C and M before.
        steered: every tick of the loop.
    """
    lines = [f"{'':26}{default:>16}{'InnoBrim':>12}{'ratio':>9}"]
    lines.append(f"{COUNTED:26}{before[COUNTED]:>16.0f}{after[COUNTED]:>12.0f}")
    for name, digits in DIGITS.items():
        old, new = before[name], after[name]
        ratio = f"{new / old:.2f}" if old else "-"
        lines.append(f"{name:26}{old:>16.{digits}f}{new:>12.{digits}f}{ratio:>9}")
    lines.append(f"{SYNC_PAGES:26}{before[SYNC_PAGES]:>16}{after[SYNC_PAGES]:>12}")
    urgent = sum(one.decision.kind is DecisionKind.EMERGENCY for one in steered)
    for name, count in (("changes", changes(steered)), ("of these emergencies", urgent)):
        lines.append(f"{name:26}{0:>16}{count:>12}")
    return lines


def caution(records: list[TickRecord], default: str) -> str:
    """Return what to know of a window in which the age moved, as other pages go there than at rest; or "".

    Args:
        records: the window's.
        default: the C and M that were in force, or who set them.
    """
    ratios = [one.estimate.age_ratio for one in records if one.estimate is not None]
    if not ratios or abs(ratios[-1] - ratios[0]) <= RESTS:
        return ""
    way, pages = ("rose", "fewer") if ratios[-1] > ratios[0] else ("fell", "more")
    return (
        f"under {default} the age still {way}, from {share(ratios[0])} to {share(ratios[-1])} of "
        "the flush limit:"
        f" the server flushed {pages} pages than it would once the age rests, so the ratios are not final"
    )


class Table:
    """The live table: a line now and then, and every event as it happens."""

    def __init__(self, say: Callable[[str], None], clock: Clock, *, every: float) -> None:
        """Start an empty table.

        Args:
            say: prints one line.
            clock: the loop's.
            every: seconds on that clock between two lines.
        """
        self._say = say
        self._began = clock.monotonic()
        self._every = every
        self._due = 0.0
        self._lines = 0
        self._explained = False

    def show(self, record: TickRecord) -> None:
        """Print what one tick brought, when it is time or when something happened."""
        at, when = record.tick.now - self._began, clock_of(record)
        for event in record.events:
            self._say(f"{when}   ** {event.code}: {told(event)}")
        if (why := why_down(record)) and not self._explained:
            self._explained = True
            self._say(f"{when}   ** {why}")
        if at < self._due:
            return
        self._due = at + self._every
        if self._lines % HEADER_EVERY == 0:
            self._say(HEADER)
        self._lines += 1
        self._say(f"{when}   {line(record)}")


def line(record: TickRecord) -> str:
    """Return one tick as a line of the table."""
    reading, found, decision = record.tick.reading, record.estimate, record.decision
    if not isinstance(reading, Sample):
        return f"{record.mode:9} no reading: {reading.reason}"
    held = ", ".join(hold.code.value.replace("_", " ") for hold in record.holds)
    why = f"{decision.kind.in_words}: {decision.detail}"
    if held and decision.reason != Reason.HELD:
        why = f"held: {held}; {decision.detail}"
    if found is None:
        return f"{record.mode:9} {why}"
    set_point = share(decision.set_point) if decision.set_point is not None else "-"
    return (
        f"{record.mode:9} {share(found.age_ratio):>8}  {set_point:>9}  {reading.capacity!s:>18}"
        f"  {found.redo_rate / 1e6:9.2f}  {found.demand:6.0f}  {found.flush_rate:7.0f}  {found.row_rate:7.0f}"
        f"  {found.sync_rate:4.0f}  {why}"
    )


def changes(records: list[TickRecord]) -> int:
    """Return how many ticks wrote."""
    return sum(1 for one in records if one.decision.kind is not DecisionKind.KEEP)


@contextlib.contextmanager
def real_server(server: LabServer, say: Callable[[str], None]) -> Iterator[LabServer]:
    """Start a server, fill it, limit its disk, load it with its default C and M; all is gone on exit.

    Args:
        server: not started yet.
        say: told what is done.

    Raises:
        LabServerError: it could not be had after all.
    """
    load = Load()
    if server.kind is MARIADB:
        server.spec = server.spec.with_parameters({LWM: "0.001"})
    with server:
        said, comment = server.query("SELECT VERSION(), @@version_comment")[0]
        version = version_said(said)
        say(f"{product(version, comment)} {version} is up; filling {load.tables} tables of {load.rows} rows")
        prepare(server, load)
        if server.kind is MARIADB:
            say(
                f"it runs with {LWM} = 0.001: with the default of 0 few releases have an age that "
                "innodb_io_capacity_max moves"
            )
        refusal = server.limit_write_iops(WRITE_IOPS)
        if refusal is None:
            say(f"its disk is limited to {WRITE_IOPS} writes per second, as a cloud volume is")
        else:
            say(f"its disk is NOT limited, so expect little to gain: {refusal}")
        with SysbenchRun(server, load) as running:
            running.wait_seconds(FIRST_SECONDS, 30.0)
            say(f"{load.script} runs with {load.threads} threads; the server forgets how it was filled")
            with forgetting(server):
                running.wait_seconds(FIRST_SECONDS + round(FORGET_SECONDS), 60.0)
            warm(server, version_default(version))
            yield server


def simulated_server(clock: Clock, seed: int) -> SimulatedServer:
    """Return a simulated server under the same load and disk limit."""
    return SimulatedServer(PlantParameters(), clock, seed=seed)
