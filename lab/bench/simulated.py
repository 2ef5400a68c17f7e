"""A rig whose server is the simulated one: a suite's rows as it is predicted to measure them."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Self, cast

from msgspec.structs import replace

from lab.bench.daemon import holding
from lab.bench.figures import Reading
from lab.bench.plan import Plan
from lab.bench.rig import MEBIBYTE, Rig, Sampler
from lab.bench.store import PlanError
from lab.plant.clock import SimClock
from lab.plant.disk import DiskChange
from lab.plant.load import LoadChange
from lab.plant.parameters import PlantParameters
from lab.plant.server import PAGE_SIZE, SimulatedServer
from lab.scenarios.static import starting_pair
from lab.servers.spec import LabServerError, ServerSpec
from lab.workloads.reports import Reports, Second
from tuner.core.step import start
from tuner.loop import drive
from tuner.records import LOW_WATER_MARK, Capacity, Command
from tuner.settings import Mode, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from lab.bench.daemon import DaemonProcess
    from lab.scenarios.schema import Scenario
    from lab.servers.base import LabServer
    from lab.servers.disk import DiskLimit
    from lab.workloads.sysbench import SysbenchRun
    from tuner.core.state import State
    from tuner.records import TickRecord
    from tuner.settings import PolicyName

ROWS = 1_600_000
"""Rows of all tables that the ``hot_pages`` of fitted parameters are the pages of."""

INTERVAL = 1.0
FORGET_SECONDS = 300.0
"""Seconds of load at the default before the first row: its mean rates are the load's from then on."""

UNKNOWN = frozenset({"innodb_doublewrite_files", "innodb_adaptive_hash_index"})
"""Variables of mysqld in a plan that the simulated server has nothing of."""

BINARY_LOG = frozenset({"log_bin", "sync_binlog", "max_binlog_size", "binlog_expire_logs_seconds"})
"""Variables of a binary log, whose writes are part of what a commit costs in the parameters."""

DOUBLEWRITE_PAGES = "innodb_doublewrite_pages"
FLUSH_NEIGHBORS = "innodb_flush_neighbors"
KNOWN = frozenset({DOUBLEWRITE_PAGES, FLUSH_NEIGHBORS, LOW_WATER_MARK})
"""Variables of mysqld in a plan that the simulated server has."""

NO_LATENCY = "0;1;"
"""A second of the load without a latency, as sysbench would report it."""


def parameters(like: Scenario, plan: Plan) -> PlantParameters:
    """Return the simulated server of a plan.

    Args:
        like: what kind of server and load it is, with what its commits, the binary log's writes among
            them, and its pages cost the disk; its ``hot_pages`` are those of ``ROWS`` rows.
        plan: sizes, disk limit, threads and rows.

    Raises:
        PlanError: the plan has what the simulated server has not.
    """
    for key, value, known in (
        ("load.kind", plan.load.kind, ("update_non_index", "write_only")),
        ("load.distribution", plan.load.distribution, ("uniform",)),
        ("crash", plan.crash, (False,)),
    ):
        if value not in known:
            raise PlanError(f"{key}: {value}: cannot be predicted; only {known[0]} can")
    if plan.disk.write_iops is None:
        raise PlanError("disk.write_iops: without a limit the disk is not known")
    if other := set(plan.server.set) - UNKNOWN - BINARY_LOG - KNOWN:
        raise PlanError(f"server.set.{min(other)}: the simulated server has nothing of it")
    server = replace(
        like.server,
        redo_capacity=plan.server.redo_capacity * MEBIBYTE,
        buffer_pool_pages=plan.server.buffer_pool * MEBIBYTE // PAGE_SIZE,
    )
    if DOUBLEWRITE_PAGES in plan.server.set:
        server = replace(server, doublewrite_pages=int(plan.server.set[DOUBLEWRITE_PAGES]))
    if FLUSH_NEIGHBORS in plan.server.set:
        server = replace(server, flush_neighbors=bool(int(plan.server.set[FLUSH_NEIGHBORS])))
    if LOW_WATER_MARK in plan.server.set:
        server = replace(server, max_dirty_pages_pct_lwm=float(plan.server.set[LOW_WATER_MARK]))
    change = LoadChange(0.0, plan.load.threads, rate=plan.load.rate or None)
    pages = like.load.hot_pages * plan.load.tables * plan.load.rows / ROWS
    return PlantParameters(
        server=server,
        disk=replace(like.disk, timeline=(DiskChange(0.0, float(plan.disk.write_iops)),)),
        load=replace(like.load, timeline=(change,), hot_pages=pages),
    )


class _Stand:
    """All of a throw-away server that a row asks: its sizes, and another C and M."""

    def __init__(self, simulated: SimulatedServer, plan: Plan) -> None:
        self._simulated = simulated
        self.spec = ServerSpec(
            redo_capacity=plan.server.redo_capacity * MEBIBYTE, buffer_pool=plan.server.buffer_pool * MEBIBYTE
        )

    def set_capacity(self, io_capacity: int, io_capacity_max: int) -> None:
        self._simulated.set_capacity(Capacity(io_capacity, io_capacity_max))

    def limit_disk(self, limit: DiskLimit) -> tuple[str, ...]:
        if limit.write_iops is not None:  # a plan without a limit is refused
            self._simulated.limit_disk(limit.write_iops)
        return ()

    def disk_in_memory(self) -> bool:
        return False  # its disk has the waits of one


class _Load(Reports):
    """The simulated server's load, which goes on by itself."""

    def start(self) -> None:
        """It is at work."""

    def stop(self) -> None:
        """It goes on."""

    def wait_seconds(self, _count: int, _limit: float) -> None:
        """No second is late."""

    def running(self) -> bool:
        return True

    def note(self, at: float, commits: float, queue: int) -> None:
        self._seconds.append(Second(at, commits, None, 0.0, queue=queue, buckets=NO_LATENCY))


class SimulatedRig(Rig):
    """A rig on a simulated server, where time goes as fast as the machine: no limit has to be lifted."""

    patience = 8.0

    def __init__(self, like: Scenario, plan: Plan, say: Callable[[str], None]) -> None:
        """Prepare; ``like`` is what ``parameters`` takes, with the seed of every random number.

        Raises:
            PlanError: as ``parameters``.
        """
        self._clock = SimClock()
        self._simulated = SimulatedServer(parameters(like, plan), self._clock, seed=like.seed)
        super().__init__(cast("LabServer", _Stand(self._simulated, plan)), plan, say)
        self._work = _Load()
        self._commits = 0
        self._beside: _Beside | None = None
        self.default = starting_pair(like)
        self.product, self.version = "MySQL", self._simulated.facts().version
        self.sampler = Sampler(self.server)
        self.load = cast("SysbenchRun", self._work)

    def __enter__(self) -> Self:
        self.watch(FORGET_SECONDS)
        return self

    @contextlib.contextmanager
    def lifted(self) -> Iterator[None]:
        """Leave the limit: an age has time enough to come near its place."""
        yield

    def forget(self) -> None:
        """Let the server's own mean rates become those of now, in their own time."""
        self.watch(FORGET_SECONDS)

    def now(self) -> float:
        """Return simulated seconds."""
        return self._clock.monotonic()

    def pause(self, seconds: float) -> None:
        """Let simulated seconds pass, with a tick of the daemon that is beside the server at their end."""
        self._clock.advance_to(self.now() + seconds)
        if self._beside is not None:
            self._beside.turn()
        sample = self._simulated.read()
        self.sampler.add(Reading(self.now(), sample, 0.0))
        queue = int(self._simulated.engine.load.backlog)
        self._work.note(self.now(), (sample.commits - self._commits) / seconds, queue)
        self._commits = sample.commits

    def start_load(self) -> None:
        """Put a new run of the load in the place of the one at work; its queue is gone."""
        for rate in (None, self._rate or None):  # a closed load leaves no queue
            self._simulated.change_load(LoadChange(0.0, self.plan.load.threads, rate=rate))

    def daemon(self, policy: PolicyName) -> DaemonProcess:
        """Return the daemon's loop for this server; it parks at its end."""
        self._beside = _Beside(self._simulated, self._clock, policy, self._left)
        return cast("DaemonProcess", self._beside)

    def _left(self) -> None:
        self._beside = None


class _Beside:
    """The daemon's loop in a thread of its own, which has its turn when the rig says so."""

    def __init__(
        self, server: SimulatedServer, clock: SimClock, policy: PolicyName, left: Callable[[], None]
    ) -> None:
        self._server, self._clock, self._left = server, clock, left
        self._settings = Settings(mode=Mode.ACTIVE, policy=policy)
        self._commands: tuple[Command, ...] = (Command(name="originals_saved", who="bench"),)
        self._turn, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="simulated daemon", daemon=True)
        self._last: TickRecord | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self._done.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left()
        self._commands = (*self._commands, Command(name="stop", who="bench"))
        self._turn.release()
        self._thread.join()

    def turn(self) -> None:
        """Let the loop do what is due now, and return when it waits again."""
        if self._thread.is_alive():
            self._turn.release()
            self._done.acquire()

    def take(self, *, until: float) -> tuple[Command, ...]:
        """Wait for the deadline, or for a command, as the loop's inbox."""
        while self._clock.monotonic() < until and not self._commands:
            self._done.release()
            self._turn.acquire()
        found, self._commands = self._commands, ()
        return found

    def holding(self) -> bool:
        """Return whether the loop says that M is right as it stands."""
        return holding(self._last)

    def check(self) -> None:
        """Return when the loop turns.

        Raises:
            LabServerError: it ended.
        """
        if not self._thread.is_alive():
            raise LabServerError(f"the simulated daemon ended: {self._error!r}")

    def footprint(self) -> None:
        """Return nothing: it is no process."""

    def _note(self, _state: State, record: TickRecord) -> None:
        self._last = record

    def _run(self) -> None:
        try:
            drive(
                self._server,
                self._clock,
                self,
                start(self._settings, self._server.facts()),
                interval=INTERVAL,
                publish=self._note,
            )
        except BaseException as error:  # noqa: BLE001 - told by check, in the rig's thread
            self._error = error
        finally:
            self._done.release()
