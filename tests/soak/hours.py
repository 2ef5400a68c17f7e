"""The hours of a day: a real server whose load follows the hour, and a row for ten minutes of it.

One command carries out the next hours that are missing, on one server and with one daemon. The next command
has a fresh server, filled anew, and a new daemon on the state directory of the one before, so its journal
goes on. So a process of the daemon gets as old as a command takes: 24 hours where nobody interrupts it.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import pymysql

from lab.bench.daemon import PROGRAM
from lab.bench.plan import DiskPlan, LoadPlan, Plan
from lab.bench.revision import revision
from lab.bench.rig import Rig
from lab.bench.store import Ledger
from lab.servers.choose import server_named
from lab.servers.made import CACHE
from lab.servers.spec import SCHEMA, LabServerError, ServerSpec
from lab.workloads.load import Load
from lab.workloads.sysbench import SysbenchRun
from tests.faults.verdict import judge_run
from tests.real.proxy import Proxy
from tests.soak.child import Onlooker, SoakDaemon
from tests.soak.faults import BASELINE, QUERY_SECONDS, WRITE_IOPS, Faults, Planned, drawn
from tests.soak.run import JOURNAL_SECONDS, LOAD_ARGUMENTS, MINUTE, START_LIMIT, Row, Watch, lift, say
from tuner.journal.reader import runs, trace
from tuner.journal.tables import JournalError, Snapshot
from tuner.records import TickRecord

if TYPE_CHECKING:
    from lab.servers.base import LabServer

FILE = "day.jsonl"
HOURS, SLOTS = 24, 6
"""Hours of a day, and rows of an hour."""

SLOT = 600.0
RESTARTS_UNTIL = 1 + HOURS * SLOTS // 2
"""The first row after which the daemon is not ended any more: the last twelve hours are one life's."""

TOP = 1800
"""Transactions/s of 100 % of the curve."""

CURVE = (30, 22, 17, 15, 15, 18, 28, 45, 65, 82, 92, 97, 90, 88, 93, 95, 90, 82, 80, 85, 78, 65, 50, 38)
"""What is offered in each hour, from midnight on, % of ``TOP``: an office's day with an evening at home."""

BATCH_HOUR, BACKUP_HOUR, WORK_ROWS = 2, 3, 3
"""The hours of the nightly batch and of the backup; each takes the first rows of its hour."""

BURST_SHARE, BURST_THREADS = 1 / 3, 8
BURST_SECONDS = (30, 180)
BATCH_STEP, BATCH_PAUSE = 2000, 0.2
BACKUP_STEP, BACKUP_SECONDS = 10_000, 480.0
BACK_LIMIT = 420.0
"""Seconds in which the loop may write again; a declared baseline is taken over after 300."""


class Slot(NamedTuple):
    """Ten minutes of a day.

    Attributes:
        number: from 1 on.
        fault: what is done at its beginning.
        burst: seconds from the beginning, and how long, of a burst; None for none.
    """

    number: int
    fault: Planned
    burst: tuple[int, int] | None

    @property
    def hour(self) -> int:
        """Return the hour of the day, 0 to 23."""
        return (self.number - 1) // SLOTS

    @property
    def work(self) -> str:
        """Return what goes on beside the load: ``batch``, ``backup`` or nothing."""
        within = (self.number - 1) % SLOTS < WORK_ROWS
        return {BATCH_HOUR: "batch", BACKUP_HOUR: "backup"}.get(self.hour, "") if within else ""

    @property
    def rate(self) -> int:
        """Return what is offered, transactions/s."""
        return TOP * CURVE[self.hour] // 100


def plan(seed: int) -> list[Slot]:
    """Return a day's rows; order and length of faults and bursts come from the seed alone."""
    dice = random.Random(seed)  # noqa: S311 - an order that must be repeatable is no secret
    faults = list(drawn(dice, range(1, HOURS * SLOTS + 1), RESTARTS_UNTIL))
    return [Slot(one.minute, one, _burst(dice)) for one in faults]


def _burst(dice: random.Random) -> tuple[int, int] | None:
    if dice.random() >= BURST_SHARE:
        return None
    seconds = dice.randint(*BURST_SECONDS)
    return dice.randrange(int(SLOT) - seconds), seconds


def run(rows: Path, name: str, *, hours: int, seed: int | None = None, first: int | None = None) -> None:
    """Carry out the next hours of the day that have no rows; what goes wrong in them is in their rows.

    Args:
        rows: file of the finished rows of all servers; the seed of this server's first one wins.
        name: of the server, as ``make servers`` has it.
        hours: how many.
        seed: of faults and bursts; drawn when None.
        first: only so many hours from this one on, with a journal of their own, so that parts of a day can
            be lived through side by side.

    Raises:
        LabServerError: server or load could not be had, or the disk could not be limited.
    """
    ledger = Ledger(rows)
    mine = [row for row in ledger.rows if row["server"] == name]
    if mine:
        seed = int(mine[0]["seed"])
    elif seed is None:
        seed = random.SystemRandom().randrange(10_000)
    done = {row["row"] for row in mine if "row" in row}
    part = range(HOURS) if first is None else range(first, first + hours)
    left = [slot for slot in plan(seed) if slot.number not in done and slot.hour in part]
    if not left:
        say(f"day on {name}: finished before; without its rows in {rows} it is measured anew")
        return
    chosen = sorted({slot.hour for slot in left})[:hours]
    say(f"day on {name}, seed {seed}: hours {chosen[0]} to {chosen[-1]}")
    day = _Day(ledger, server_named(name, ServerSpec()), {"server": name, "seed": seed, "first": first})
    day.live([slot for slot in left if slot.hour in chosen])
    if chosen[-1] != left[-1].hour:
        say("the day is not finished; the same command goes on with it")


class _Day:
    """The hours of one command."""

    def __init__(self, ledger: Ledger, server: LabServer, common: Row) -> None:
        self._ledger, self._server, self._common = ledger, server, common
        part = "" if common["first"] is None else f"-{common['first']}"
        self._state = CACHE / "day" / f"{common['server']}-{common['seed']}{part}"
        self._began, self._revision = round(time.time(), 1), revision()

    def live(self, todo: list[Slot]) -> None:
        """Live through some rows, in order; judge what an earlier command left unjudged first."""
        if not self._mine():
            shutil.rmtree(self._state, ignore_errors=True)  # a day that is measured anew has no past
        self._judge({})
        disk = Plan(disk=DiskPlan(write_iops=WRITE_IOPS), load=LoadPlan(rate=todo[0].rate))
        with contextlib.ExitStack() as stack:
            rig = stack.enter_context(Rig(self._server, disk, say, LOAD_ARGUMENTS))
            if rig.not_limited:
                raise LabServerError("\n".join(rig.not_limited))
            lift(rig)
            line = stack.enter_context(Proxy(self._server.port))
            daemon = stack.enter_context(
                SoakDaemon(
                    self._server,
                    port=line.port,
                    program=(PROGRAM,),
                    state=self._state,
                    baseline="/".join(map(str, BASELINE)),
                )
            )
            onlooker = stack.enter_context(Onlooker(self._server))
            faults = Faults(rig, daemon, line)
            watch = Watch(rig, daemon, faults)
            seconds, waits = watch.await_writing(START_LIMIT)
            if seconds is None:
                raise LabServerError(f"the daemon does not write; it waits for {waits}:\n{daemon.log()}")
            minutes = stack.enter_context(Minutes(daemon, onlooker, faults))
            measured = {"conditions": rig.conditions()}
            for before, slot in zip([None, *todo], todo, strict=False):
                if before is not None and slot.hour != before.hour:
                    self._judge(measured)
                    rig.offer(slot.rate)
                    rig.start_load()
                self._row(slot, rig, watch, daemon, minutes)
            time.sleep(JOURNAL_SECONDS)  # what the journal still has in memory is on disk by then
            code = daemon.terminate()
            stopped = round(daemon.stop_seconds or 0.0, 2)
            self._judge({**measured, "exit": code, "stop_seconds": stopped})

    def _row(self, slot: Slot, rig: Rig, watch: Watch, daemon: SoakDaemon, minutes: Minutes) -> None:
        began, since = time.monotonic(), time.time()
        load = rig.plan.load.load(0)
        with Beside(self._server, load, slot) as beside:
            fault = watch.fault(slot.fault, BACK_LIMIT)
            time.sleep(max(0.0, began + SLOT - time.monotonic()))  # the time itself is what is measured
        readings = rig.sampler.span(began)
        changed = readings[-1].sample.row_changes - readings[0].sample.row_changes
        with daemon.client() as client:
            status = daemon.ask(client) or {}
        row = {
            **self._common,
            "command": self._began,
            "revision": self._revision,
            "hour": slot.hour,
            "row": slot.number,
            "at": round(since, 1),
            "offered": slot.rate,
            "changed": round(changed / (readings[-1].monotonic - readings[0].monotonic), 1),
            "beside": beside.done,
            **fault,
            **watch.rest(began),
            "ledger": status.get("ledger"),
            "minutes": minutes.since(since),
        }
        self._ledger.add(row)
        say(
            f"hour {slot.hour}, row {slot.number} of {HOURS * SLOTS}: {row['fault']}, back after"
            f" {row['back_seconds']} s; {row['offered']} offered/s, {row['changed']} row changes/s"
        )

    def _mine(self) -> list[Row]:
        """Return the rows of this part of this server's day."""
        mine = (self._common["server"], self._common["first"])
        return [row for row in self._ledger.rows if (row["server"], row.get("first")) == mine]

    def _judge(self, more: Row) -> None:
        """Add the row about what the journal has and no row of this day has judged yet."""
        mine = self._mine()
        last = next((row["judged"] for row in reversed(mine) if "judged" in row), None)
        known = {(one["run"], one["what"]) for row in mine for one in row.get("breaches", ())}
        found = judged(self._state, last or {"run": 0, "tick": 0, "wall": 0.0})
        found["breaches"] = [one for one in found["breaches"] if (one["run"], one["what"]) not in known]
        hour = next((row["hour"] for row in reversed(mine) if "row" in row), self._common["first"] or 0)
        if found["ticks"] or found["breaches"]:
            self._ledger.add({**self._common, "hour": hour, **found, **more})


def judged(state: Path, last: Row) -> Row:
    """Replay what a journal has from a snapshot on, with the referee beside it.

    Args:
        state: the state directory.
        last: run and tick of that snapshot, and the wall clock of the last tick that was judged before.

    Returns:
        Breaches of an invariant, how many further ticks were judged and how many of them wrote, and
        ``last`` for the next time.
    """
    found: Row = {"breaches": [], "ticks": 0, "writes": 0, "judged": dict(last)}
    with contextlib.suppress(JournalError):  # no journal yet
        for one in runs(state):
            if one.number < last["run"]:
                continue
            since = int(last["tick"]) if one.number == last["run"] else 0
            with contextlib.suppress(JournalError):  # a run that left no tick
                try:
                    judge_run(state, one.number, since=since)
                except AssertionError as error:
                    found["breaches"].append({"run": one.number, "what": str(error)})
                tick = 0
                for item in trace(state, one.number):
                    if isinstance(item, Snapshot):
                        tick = item.tick
                    elif isinstance(item, TickRecord) and item.tick.wall > last["wall"]:
                        found["ticks"] += 1
                        found["writes"] += bool(item.decision.steps)
                        found["judged"] = {"run": one.number, "tick": tick, "wall": item.tick.wall}
    return found


class Beside:
    """What goes on beside the load in one row: a burst, the nightly batch or the backup.

    Attributes:
        done: what was done, one sentence each.
    """

    def __init__(self, server: LabServer, load: Load, slot: Slot) -> None:
        self.done: list[str] = []
        self._server, self._load, self._slot = server, load, slot
        self._over = threading.Event()
        work: dict[str, Callable[[], None]] = {"batch": self._batch, "backup": self._backup}
        jobs = [work[slot.work]] if slot.work else []
        jobs += [self._burst] if slot.burst else []
        self._threads = [threading.Thread(target=self._carry_out, args=(job,)) for job in jobs]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(2.0 * QUERY_SECONDS)

    def _carry_out(self, job: Callable[[], None]) -> None:
        try:
            job()
        except (pymysql.MySQLError, OSError, LabServerError) as error:
            self.done.append(f"{job.__name__.strip('_')} ended: {type(error).__name__}: {error}")

    def _burst(self) -> None:
        """Have so many more connections ask as fast as they are served."""
        if self._slot.burst is None or self._over.wait(self._slot.burst[0]):
            return
        load = LoadPlan(threads=BURST_THREADS, tables=self._load.tables, rows=self._load.rows).load()
        with SysbenchRun(self._server, load, *LOAD_ARGUMENTS):
            self._over.wait(self._slot.burst[1])
        self.done.append(f"burst of {self._slot.burst[1]} s")

    def _batch(self) -> None:
        """Change an indexed column of every row, in steps, as a nightly job does."""
        with contextlib.closing(self._server.connect(timeout=QUERY_SECONDS)) as connection:
            steps = 0
            for table, first in self._steps(BATCH_STEP):
                with connection.cursor() as cursor, contextlib.suppress(pymysql.err.OperationalError):
                    cursor.execute(
                        f"UPDATE {SCHEMA}.sbtest{table} SET k = k + 1"
                        f" WHERE id BETWEEN {first} AND {first + BATCH_STEP - 1}"
                    )
                    steps += 1
                if self._over.wait(BATCH_PAUSE):
                    break
        self.done.append(f"batch: {steps * BATCH_STEP} rows changed")

    def _backup(self) -> None:
        """Read every row of every table in one snapshot, with ``LOCK INSTANCE FOR BACKUP`` held."""
        steps = list(self._steps(BACKUP_STEP))
        read = 0
        with (
            contextlib.closing(self._server.connect(timeout=QUERY_SECONDS)) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute("LOCK INSTANCE FOR BACKUP")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            for table, first in steps:
                cursor.execute(
                    f"SELECT SUM(CRC32(c)), SUM(CRC32(pad)) FROM {SCHEMA}.sbtest{table}"
                    f" WHERE id BETWEEN {first} AND {first + BACKUP_STEP - 1}"
                )
                read += BACKUP_STEP
                if self._over.wait(BACKUP_SECONDS / len(steps)):
                    break
            cursor.execute("COMMIT")
            cursor.execute("UNLOCK INSTANCE")
        self.done.append(f"backup: {read} rows read under LOCK INSTANCE FOR BACKUP")

    def _steps(self, size: int) -> Iterator[tuple[int, int]]:
        for table in range(1, self._load.tables + 1):
            for first in range(1, self._load.rows + 1, size):
                yield table, first


class Minutes:
    """Once a minute, what both daemons hold: memory with an API and without, files, threads, sessions."""

    def __init__(self, daemon: SoakDaemon, onlooker: Onlooker, faults: Faults) -> None:
        self._daemon, self._onlooker, self._faults = daemon, onlooker, faults
        self._found: list[Row] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="minutes", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(QUERY_SECONDS)

    def since(self, wall: float) -> list[Row]:
        """Return the minutes after a Unix time."""
        return [one for one in self._found if one["at"] > wall]

    def _look(self) -> None:
        while not self._over.wait(MINUTE):
            found: dict[str, Any] = {"at": round(time.time())}
            for name, one in (("api", self._daemon.footprint()), ("bare", self._onlooker.footprint())):
                if one is not None:
                    found[name] = [one.pid, one.resident, one.files, one.threads]
            with contextlib.suppress(pymysql.MySQLError, OSError):
                found["sessions"] = self._faults.sessions()
            self._found.append(found)
