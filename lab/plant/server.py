"""The simulated server as the loop sees it: ``facts, read, apply, close``."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from lab.plant.cleaner import Batch
from lab.plant.engine import Engine
from lab.plant.flavour import Sync
from tuner.records import CAPACITY_MINIMUM, LOW_WATER_MARK, MILLIONTHS, Capacity, Facts, Receipt, Sample

if TYPE_CHECKING:
    from lab.plant.load import LoadChange
    from lab.plant.parameters import PlantParameters
    from tuner.system.clock import Clock

PAGE_SIZE = 16_384
NO_LAW = "soft-limit"
"""The flush law of a MariaDB whose page cleaner sleeps until the flush limit."""

WAKES = "mariadb-wakes"
"""The flush law of an older one, that sleeps so long and heeds the age from then on."""

ENDS_AT_A = frozenset({"mariadb", WAKES})
"""The flush laws that have no turn from the flush limit on; the daemon takes that for the sync point."""

READ_SECONDS = 0.001
"""What one reading is said to take; the simulated clock does not move meanwhile."""

ROOT = uuid.UUID("6a7e8f32-6f1b-5c86-9a54-0d2f5f4f1b1d")


class SimulatedServer:
    """A MySQL, Percona Server or MariaDB behind the port of ``tuner.servers.port``.

    It lives up to the clock's time whenever it is read or written, so it can stand beside a
    simulated clock as well as a real one.

    Attributes:
        engine: what goes on inside, for tests and reports.
    """

    def __init__(self, parameters: PlantParameters, clock: Clock, *, seed: int = 1) -> None:
        """Start a server now, on the clock's time.

        Args:
            parameters: server, disk and load.
            clock: whose seconds the server lives by.
            seed: decides the identity and every random number.
        """
        self.engine = Engine(parameters, seed=seed)
        self._clock = clock
        self._zero = clock.monotonic()
        self._started = clock.wall()
        self._identity = str(uuid.uuid5(ROOT, f"seed {seed}"))
        self._server = parameters.server
        self._kind = self._server.kind

    def facts(self) -> Facts:
        """Return what does not change while the server runs."""
        return Facts(
            identity=self._identity,
            endpoint="simulated",
            version=self._kind.version,
            version_comment=f"simulated {self._kind.name}, no real server",
            family="simulated",
            flush_law=self._law,
            page_size=PAGE_SIZE,
            capacity_minimum=CAPACITY_MINIMUM,
            capacity_maximum=self._kind.capacity_maximum,
            started=self._started,
            flush_order_lag=self._kind.order_lag,
            sawtooth_seconds=self._kind.checkpoint_seconds + 1.0,
            sync_stalls=self._kind.sync is not Sync.ROUNDS,
            redo_dynamic=self._kind.resizes,
        )

    @property
    def _law(self) -> str:
        if self._kind.sync is Sync.FURIOUS and self.engine.cleaner.settings.max_dirty_pages_pct_lwm == 0.0:
            return WAKES if self._kind.heeds_age else NO_LAW
        return self._kind.law.name

    def read(self) -> Sample:
        """Live up to now and return the counters as MySQL 9.7 exports them."""
        wall, now = self._clock.wall(), self._settle()
        engine = self.engine
        redo, cleaner, lru = engine.redo, engine.cleaner, engine.lru
        limits, law = redo.limits, self._law
        totals = cleaner.totals
        lsn, checkpoint, commits = int(redo.lsn), int(redo.checkpoint), int(engine.commits)
        parameters = self._server
        return Sample(
            monotonic=now,
            wall=wall,
            read_seconds=READ_SECONDS,
            identity=self._identity,
            uptime=engine.now,
            io_capacity=cleaner.io_capacity,
            io_capacity_max=cleaner.io_capacity_max,
            redo_capacity=redo.capacity,
            flush_limit=limits.flush_limit,
            sync_point=limits.flush_limit if law in ENDS_AT_A else limits.sync_point,
            stall_point=limits.stall_point,
            lsn_current=lsn,
            lsn_oldest=int(engine.flush_list.oldest(redo.lsn)),
            lsn_checkpoint=checkpoint,
            redo_logical_size=lsn - checkpoint,
            redo_enabled=True,
            resizing=redo.resizing,
            adaptive_flushing=True,
            adaptive_flushing_lwm=parameters.adaptive_flushing_lwm,
            flush_sync=cleaner.settings.flush_sync,
            pages_adaptive=int(totals[Batch.ADAPTIVE]),
            pages_sync=int(totals[Batch.SYNC]),
            pages_background=int(totals[Batch.BACKGROUND]),
            pages_lru=0 if lru is None else int(lru.flushed),
            pages_neighbour=int(engine.flush_list.neighbours),
            pages_dirty=int(engine.flush_list.listed),
            pages_total=parameters.buffer_pool_pages,
            flush_law=law,
            flush_percentage=cleaner.pct_for_lsn,
            flush_requested=cleaner.requested,
            flush_by_age=cleaner.by_age,
            lsn_average_rate=cleaner.averages.lsn_rate,
            free_page_waits=0 if lru is None else lru.waits,
            redo_space_waits=engine.space.waits,
            row_changes=commits,
            commits=commits,
            dirty_limit=cleaner.settings.max_dirty_pages_pct,
            low_water_mark=self._low_water_mark(),
            low_water=int(limits.low_water_base * parameters.adaptive_flushing_lwm / 100.0),
        )

    def apply(self, steps: tuple[tuple[str, int], ...], wanted: Capacity) -> Receipt:
        """Carry out SET GLOBAL statements as MySQL does: what does not fit is clamped, with no error.

        ``innodb_io_capacity_update`` and ``innodb_io_capacity_max_update``: C above M becomes
        M, M below C becomes C, and a value outside the variable's range its bound. In MariaDB C above M
        raises M to 2 C, and M below C lowers C. ``innodb_max_dirty_pages_pct_lwm`` above
        ``innodb_max_dirty_pages_pct`` becomes that. The page cleaner sees a new value in its next loop.

        Args:
            steps: variable name and value, in order.
            wanted: the pair that the steps end at, for the receipt.
        """
        now = self._settle()
        cleaner = self.engine.cleaner
        done = 0
        error = ""
        for variable, value in steps:
            bounded = max(CAPACITY_MINIMUM, min(value, self._kind.capacity_maximum))
            if variable == "innodb_io_capacity":
                if bounded > cleaner.io_capacity_max and self._kind.raises_max:
                    cleaner.io_capacity_max = min(2 * bounded, self._kind.capacity_maximum)
                cleaner.io_capacity = min(bounded, cleaner.io_capacity_max)
            elif variable == "innodb_io_capacity_max" and self._kind.raises_max:
                cleaner.io_capacity_max = bounded
                cleaner.io_capacity = min(cleaner.io_capacity, bounded)
            elif variable == "innodb_io_capacity_max":
                cleaner.io_capacity_max = max(bounded, cleaner.io_capacity)
            elif variable == LOW_WATER_MARK:
                cleaner.set_dirty_lwm(value / MILLIONTHS)
            else:
                error = f"error 1193: unknown system variable {variable!r}"
                break
            done += 1
        asked = dict(steps).get(LOW_WATER_MARK)
        return Receipt(
            monotonic=now,
            requested=wanted,
            in_force=Capacity(cleaner.io_capacity, cleaner.io_capacity_max),
            done=done,
            seconds=READ_SECONDS,
            error=error,
            low_water_asked=asked,
            low_water_mark=None if asked is None else self._low_water_mark(),
        )

    def _low_water_mark(self) -> int | None:
        """Return the low-water mark of dirty pages where it decides whether the age counts."""
        if self._kind.sync is not Sync.FURIOUS or self._kind.heeds_age:
            return None
        return round(self.engine.cleaner.settings.max_dirty_pages_pct_lwm * MILLIONTHS)

    def set_capacity(self, pair: Capacity) -> None:
        """Set C and M now, pages/s, in an order that clamps neither: above the least C any M can be set."""
        steps = (
            ("innodb_io_capacity", CAPACITY_MINIMUM),
            ("innodb_io_capacity_max", pair.io_capacity_max),
            ("innodb_io_capacity", pair.io_capacity),
        )
        self.apply(steps, pair)

    def change_load(self, load: LoadChange) -> None:
        """Go on with another load from now on; its ``at`` counts for nothing."""
        self._settle()
        self.engine.change_load(load)

    def limit_disk(self, write_iops: float) -> None:
        """Go on with another limit of the disk, write operations/s, from now on."""
        self._settle()
        self.engine.disk.limit(write_iops)

    def close(self) -> None:
        """Do nothing: there is no connection to give back."""

    def _settle(self) -> float:
        now = self._clock.monotonic()
        self.engine.advance_to(now - self._zero)
        return now
