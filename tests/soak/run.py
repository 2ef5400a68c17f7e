"""One soak: which part is next, a minute of it, and what the rows come to; its journal is judged."""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.bench.plan import DiskPlan, Plan
from lab.bench.rig import Rig
from lab.bench.store import Ledger, read_rows
from lab.servers.container import ContainerServer
from lab.servers.spec import LabServerError, ServerSpec
from lab.statistics import slope
from tests.faults.harness import altered
from tests.faults.verdict import judge_run
from tests.real.proxy import Proxy
from tests.soak.child import SoakDaemon
from tests.soak.faults import BASELINE, WRITE_IOPS, Faults, Planned, pieces, plan
from tuner.core.ownership import foreign
from tuner.journal.reader import runs, trace
from tuner.journal.tables import JournalError
from tuner.records import TickRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = "soak.jsonl"
MINUTES = 90
WARM_UP_MINUTES = 10
FEWEST_MINUTES = 6
MINUTE = 60.0
COOL_DOWN = 15.0
"""Seconds after which a baseline is adopted again, so that it fits into a minute."""

BACK_LIMIT = 120.0
BUDGET = 58 * 60.0
START_LIMIT = 240.0
JOURNAL_SECONDS = 6.0
POLL_SECONDS = 0.25
LOAD_ARGUMENTS = ("--mysql-ignore-errors=1213,1020,1205,1290",)
"""A refused write is counted and tried again: super_read_only must not end the load."""

LIFT_CAPACITY = 300
LIFT_RATIO = 0.2
LIFT_SECONDS = 60.0
NEAR_PAIR = (250, 500)
"""Near what the load needs, so that a daemon soon sees the flush law at work."""

Row = dict[str, Any]


def run(rows: Path, image: str, *, minutes: int = MINUTES, seed: int | None = None) -> None:
    """Carry the next part of the soak out; what goes wrong in it is in its rows and no failure of the run.

    Args:
        rows: file of the finished rows; the first one's seed and length win over the arguments.
        image: container image of the server.
        minutes: length of the whole soak.
        seed: of the faults' order; drawn when None.

    Raises:
        LabServerError: server or load could not be had, or the disk could not be limited.
    """
    ledger = Ledger(rows)
    if ledger.rows:
        seed, minutes = int(ledger.rows[0]["seed"]), int(ledger.rows[0]["minutes"])
    elif seed is None:
        seed = random.SystemRandom().randrange(10_000)
    done = {row["minute"] for row in ledger.rows if "minute" in row}
    left = [one for one in plan(seed, minutes) if one.minute not in done]
    if not left:
        say(f"soak: finished before; without {rows} it is measured anew")
        return
    number, piece = next((at, one) for at, one in enumerate(pieces(minutes), 1) if left[0].minute in one)
    todo = [one for one in left if one.minute in piece]
    say(f"soak, seed {seed}: part {number}, minutes {todo[0].minute} to {todo[-1].minute}")
    common = {"part": "soak", "seed": seed, "minutes": minutes, "piece": number}
    if _piece(ledger, image, todo, common) < left[-1].minute:
        say("the soak is not finished; the same command goes on with it")


def _piece(ledger: Ledger, image: str, todo: list[Planned], common: Row) -> int:
    """Let some minutes of one part run, and return the last of them; 0 for none."""
    began = time.monotonic()
    foreign.COOLDOWN_SECONDS = COOL_DOWN  # as in the daemon, whose ticks are replayed here
    disk = Plan(disk=DiskPlan(write_iops=WRITE_IOPS))
    with contextlib.ExitStack() as stack:
        rig = stack.enter_context(Rig(ContainerServer(image, ServerSpec()), disk, say, LOAD_ARGUMENTS))
        if rig.not_limited:
            raise LabServerError("\n".join(rig.not_limited))
        rig.start_load()
        lift(rig)
        line = stack.enter_context(Proxy(rig.server.port))
        daemon = stack.enter_context(
            SoakDaemon(
                rig.server,
                port=line.port,
                baseline="/".join(map(str, BASELINE)),
                program=altered("cool-down", COOL_DOWN),
            )
        )
        watch = Watch(rig, daemon, Faults(rig, daemon, line))
        seconds, waits = watch.await_writing(START_LIMIT)
        if seconds is None:
            raise LabServerError(f"the daemon does not write; it waits for {waits}:\n{daemon.log()}")
        last = 0
        for planned in todo:
            if time.monotonic() - began > BUDGET:
                say("the hour is up")
                break
            row = {**common, **watch.minute(planned), "conditions": rig.conditions()}
            ledger.add(row)
            say(_line(row))
            last = planned.minute
        if last:
            time.sleep(JOURNAL_SECONDS)  # what the journal still has in memory is on disk by then
            code = daemon.terminate()
            stopped = round(daemon.stop_seconds or 0.0, 2)
            end = {"end": last, "exit": code, "stop_seconds": stopped, "breaches": watch.breaches()}
            ledger.add({**common, **end, **judged(daemon.state)})
        return last


def lift(rig: Rig) -> None:
    """Bring the age off the low-water mark that a bulk load leaves it under, then set C and M near its need.

    Below that mark the server says nothing of its flush law, and the daemon would wait for minutes.
    """
    rig.server.set_capacity(LIFT_CAPACITY // 2, LIFT_CAPACITY)
    end = time.monotonic() + LIFT_SECONDS
    while time.monotonic() < end:
        rig.watch(1.0)
        recent = rig.sampler.readings(since=time.monotonic() - 3.0)
        if recent and recent[-1].sample.age_ratio >= LIFT_RATIO:
            break
    rig.server.set_capacity(*NEAR_PAIR)


def say(text: str) -> None:
    """Print one progress line with the time of day."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Watch:
    """Carries one fault after another out and sees what becomes of the daemon."""

    def __init__(self, rig: Rig, daemon: SoakDaemon, faults: Faults) -> None:
        self._rig, self._daemon, self._faults = rig, daemon, faults
        self._ended_before = False
        self._seen: list[Row] = []

    def minute(self, planned: Planned) -> Row:
        """Return the row of one minute."""
        began = time.monotonic()
        fault = self.fault(planned, BACK_LIMIT)
        time.sleep(max(0.0, began + MINUTE - time.monotonic()))  # the rest of the minute is the soak
        print_ = self._daemon.footprint()
        return {
            "minute": planned.minute,
            **fault,
            **self.rest(began),
            "breaches": self.breaches(),
            "pid": print_.pid if print_ else None,
            "resident": print_.resident if print_ else None,
            "files": print_.files if print_ else None,
            "threads": print_.threads if print_ else None,
            "sessions": self._faults.sessions(),
            "at": round(time.time(), 1),
        }

    def fault(self, planned: Planned, limit: float) -> Row:
        """Carry a fault out, and wait at most ``limit`` seconds until the loop may write again.

        Whoever waits longer is resumed by a person, and waited for once more.
        """
        began = time.monotonic()
        self._ended_before = not self._daemon.running()
        self._faults.carry_out(planned.kind, planned.seconds)
        lasted = time.monotonic() - began
        back, waits = self.await_writing(limit)
        person = False
        if back is None:
            person = self._daemon.command("resume", "--reason", "soak").returncode == 0
            self.await_writing(BACK_LIMIT / 4)
        return {
            "fault": planned.kind,
            "fault_seconds": round(lasted, 1),
            "note": self._faults.note,
            "back_seconds": None if back is None else round(back, 1),
            "waits_for": waits,
            "person": person,
        }

    def rest(self, began: float) -> Row:
        """Put load and daemon back to work where they ended by themselves, and say so.

        Args:
            began: when what the row is about began, monotonic seconds.
        """
        load_ended = "" if self._rig.load.running() else self._rig.load.output()
        if load_ended:
            self._rig.start_load()
        died = self._daemon.log() if self._ended_before or not self._daemon.running() else ""
        if died:
            self._daemon.start()
        readings = self._rig.sampler.readings(began, time.monotonic())
        sync = readings[-1].sample.pages_sync - readings[0].sample.pages_sync if readings else None
        return {"died": died, "load_ended": load_ended, "sync_pages": sync}

    def await_writing(self, limit: float) -> tuple[float | None, str]:
        """Wait until the loop may write again.

        Returns:
            Seconds waited, None when it was not in time; and what it said last that it waits for.
        """
        began = time.monotonic()
        waits = "an answer"
        fresh: set[int] = set()
        with self._daemon.client() as client:
            while time.monotonic() - began < limit:
                status = self._daemon.ask(client)
                found = None if status is None else waits_for(status)
                if status is not None and found == "":
                    fresh.add(int(status["tick"]))
                    if len(fresh) > 1:  # a tick of before the fault's end may be the last one known
                        return time.monotonic() - began, waits
                elif found is not None:
                    fresh.clear()
                    waits = found
                elif not self._daemon.running():
                    return None, "the daemon to be started: it ended"
                time.sleep(POLL_SECONDS)  # the API announces no hold's end
        return None, waits

    def breaches(self) -> list[Row]:
        """Return which invariants the journal shows as broken, and were not reported before."""
        found: list[Row] = []
        with contextlib.suppress(JournalError):  # no journal yet
            for one in runs(self._daemon.state)[-2:]:
                try:
                    judge_run(self._daemon.state, one.number)
                except JournalError:  # a run that left no tick yet
                    continue
                except AssertionError as error:
                    found.append({"run": one.number, "what": str(error)})
        new = [one for one in found if one not in self._seen]
        self._seen += new
        return new


def judged(state: Path) -> Row:
    """Return how much there was to judge: ticks on disk, and writes among them."""
    ticks = writes = 0
    for one in runs(state):
        with contextlib.suppress(JournalError):  # a run that left no tick
            for item in trace(state, one.number):
                if isinstance(item, TickRecord):
                    ticks += 1
                    writes += bool(item.decision.steps)
    return {"ticks": ticks, "writes": writes}


def waits_for(status: Row) -> str:
    """Return what keeps the loop from writing, empty when nothing does."""
    if status["mode"] != "active":
        return f"mode {status['mode']}"
    if status["missed"]:
        return str(status["missed"])
    return ", ".join(f"{hold['code']}: {hold['clears']}" for hold in status["holds"])


def _line(row: Row) -> str:
    back = "not back" if row["back_seconds"] is None else f"back after {row['back_seconds']:.1f} s"
    resident = (row["resident"] or 0) / 2**20
    return (
        f"minute {row['minute']}: {row['fault']} ({row['fault_seconds']:.0f} s) {row['note']}; {back},"
        f" {len(row['breaches'])} breaches, {resident:.1f} MiB, {row['files']} files,"
        f" {row['threads']} threads, {row['sessions']} sessions, sync {row['sync_pages']}"
    )


def report(path: Path) -> Iterator[str]:
    """Yield in lines what a soak's finished rows come to, each promise with whether it was kept."""
    rows = read_rows(path)
    minutes = [row for row in rows if "minute" in row]
    if not minutes:
        yield "no minute of a soak yet: python -m tests.soak"
        return
    wanted = int(minutes[0]["minutes"])
    breaches = [breach for row in rows for breach in row["breaches"]]
    died = sum(bool(row["died"]) for row in minutes)
    lost = [row for row in minutes if row["back_seconds"] is None]
    yield f"a random fault every minute, seed {minutes[0]['seed']}"
    for kind in sorted({str(row["fault"]) for row in minutes}):
        yield _of_fault(kind, [row for row in minutes if row["fault"] == kind])
    yield promise(f"minutes: {len(minutes)} of {wanted}", kept=len(minutes) >= wanted)
    yield promise(f"breaches of an invariant: {len(breaches)}; none wanted", kept=not breaches)
    yield from (f"  run {one['run']}, {one['what']}" for one in breaches)
    yield promise(f"the daemon ended by itself {died} times; never wanted", kept=not died)
    yield promise(f"faults with no way back within 2 minutes: {len(lost)}; none wanted", kept=not lost)
    yield from (f"  minute {row['minute']}, {row['fault']}: waited for {row['waits_for']}" for row in lost)
    yield from _memory(minutes)
    highest = {
        key: max((float(row[key]) for row in minutes if row[key] is not None), default=0.0)
        for key in ("resident", "files", "threads", "sessions")
    }
    yield (
        f"highest at a minute's end: {highest['resident'] / 2**20:.1f} MiB resident,"
        f" {highest['files']:.0f} files, {highest['threads']:.0f} threads,"
        f" {highest['sessions']:.0f} server sessions"
    )
    for row in rows:
        if "end" in row:
            judged = f"{row.get('ticks', '?')} ticks and {row.get('writes', '?')} writes judged"
            ended = f"ended with exit {row['exit']}, {row['stop_seconds']} s after SIGTERM"
            yield f"part {row['piece']}: {judged}; {ended}"


def promise(text: str, *, kept: bool) -> str:
    return f"{'met' if kept else 'NOT MET'}: {text}"


def _of_fault(kind: str, rows: list[Row]) -> str:
    back = [float(row["back_seconds"]) for row in rows if row["back_seconds"] is not None]
    way = f"writing again after {statistics.median(back):.1f} s, {max(back):.1f} at most" if back else "-"
    people = sum(bool(row["person"]) for row in rows)
    sync = sum(int(row["sync_pages"] or 0) for row in rows)
    return f"{kind}: {len(rows)} times; {way}; a person needed {people} times; {sync} sync-flushed pages"


def lives(minutes: list[Row]) -> list[list[Row]]:
    """Return the minutes of each process that lived long enough to show a leak, without its first ten."""
    found: dict[tuple[int, int], list[Row]] = {}
    for row in minutes:
        if row["pid"] is not None:
            found.setdefault((int(row["piece"]), int(row["pid"])), []).append(row)
    return [
        rows[WARM_UP_MINUTES:] for rows in found.values() if len(rows) >= WARM_UP_MINUTES + FEWEST_MINUTES
    ]


def _memory(minutes: list[Row]) -> Iterator[str]:
    found = lives(minutes)
    if not found:
        yield "resident memory: no process lived long enough for a slope"
    for rows in found:
        bounds = slope([row["at"] / 3600.0 for row in rows], [row["resident"] / 2**20 for row in rows])
        yield (
            f"resident memory, minutes {rows[0]['minute']} to {rows[-1]['minute']} of one process:"
            f" {bounds.mean:+.2f} MiB/h (95 % bounds {bounds.low:+.2f} to {bounds.high:+.2f})"
        )
