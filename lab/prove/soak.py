"""A soak: the real daemon under load with a random fault every minute, each judged from the journal."""

from __future__ import annotations

import contextlib
import random
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from lab.experiment.daemon import Daemon
from lab.experiment.store import Ledger, read_rows
from lab.prove.conditions import NEAR_PAIR, Bench, lift, said, say
from lab.prove.faults import BASELINE, Faults, Planned, pieces, plan
from lab.prove.judge import Breach, judge
from lab.prove.relay import Relay
from lab.report.markdown import put, table, verdict
from lab.servers.base import LabServerError
from lab.statistics import slope
from tuner.journal.reader import runs, trace
from tuner.journal.tables import JournalError
from tuner.records import TickRecord

if TYPE_CHECKING:
    from pathlib import Path


FILE, PAGE = "soak.jsonl", "soak.md"
MINUTES = 90
WARM_UP_MINUTES = 10
FEWEST_MINUTES = 6
MINUTE = 60.0
BRISK = """\
import tuner.core.ownership.foreign
from tuner.cli.main import main
tuner.core.ownership.foreign.COOLDOWN_SECONDS = 15.0
main()
"""
"""The daemon, with a cool-down of the baseline that fits into a minute."""

BACK_LIMIT = 120.0
BUDGET = 58 * 60.0
START_LIMIT = 240.0
JOURNAL_SECONDS = 6.0
POLL_SECONDS = 0.25
LOAD_ARGUMENTS = ("--mysql-ignore-errors=1213,1020,1205,1290",)
"""A refused write is counted and tried again: super_read_only must not end the load."""

Row = dict[str, Any]


def run(results: Path, image: str, *, minutes: int = MINUTES, seed: int | None = None) -> int:
    """Carry the next part of the soak out; what goes wrong in it is on the page and no failure of the run.

    Args:
        results: directory of the rows; the first one's seed and length win over the arguments.
        image: container image of the server.
        minutes: length of the whole soak.
        seed: of the faults' order; drawn when None.

    Raises:
        LabServerError: server or load could not be had.
    """
    ledger = Ledger(results / FILE)
    if ledger.rows:
        seed, minutes = int(ledger.rows[0]["seed"]), int(ledger.rows[0]["minutes"])
    elif seed is None:
        seed = random.SystemRandom().randrange(10_000)
    planned = plan(seed, minutes)
    if all(ledger.find(minute=one.minute) for one in planned):
        say(f"soak: finished before; without {results / FILE} it is measured anew")
        return 0
    for number, piece in enumerate(pieces(minutes), 1):
        todo = [one for one in planned if one.minute in piece and ledger.find(minute=one.minute) is None]
        if todo:
            say(f"soak, seed {seed}: part {number}, minutes {todo[0].minute} to {todo[-1].minute}")
            _piece(ledger, image, todo, {"part": "soak", "seed": seed, "minutes": minutes, "piece": number})
            break
    if any(ledger.find(minute=one.minute) is None for one in planned):
        say("the soak is not finished; the same command goes on with it")
    return 0


def _piece(ledger: Ledger, image: str, todo: list[Planned], common: Row) -> None:
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        bench = stack.enter_context(Bench(image, load_arguments=LOAD_ARGUMENTS))
        lift(bench, NEAR_PAIR)
        relay = stack.enter_context(Relay(bench.server.port))
        daemon = stack.enter_context(
            Daemon(
                bench.server,
                port=relay.port,
                api=True,
                baseline="/".join(map(str, BASELINE)),
                program=(sys.executable, "-P", "-c", BRISK),
            )
        )
        watch = _Watch(bench, daemon, Faults(bench, daemon, relay))
        seconds, waits = watch.await_writing(START_LIMIT)
        if seconds is None:
            raise LabServerError(f"the daemon does not write; it waits for {waits}:\n{daemon.log()}")
        last: Row | None = None
        for planned in todo:
            if time.monotonic() - began > BUDGET:
                say("the hour is up")
                break
            last = {**common, **watch.minute(planned), "conditions": bench.conditions()}
            ledger.add(last)
            say(_line(last))
        if last is not None:
            time.sleep(JOURNAL_SECONDS)  # what the journal still has in memory is on disk by then
            code = daemon.terminate()
            ledger.add(
                {
                    **common,
                    "end": last["minute"],
                    "exit": code,
                    "stop_seconds": round(daemon.stop_seconds or 0.0, 2),
                    "breaches": watch.breaches(),
                    **judged(daemon.state),
                }
            )


class _Watch:
    """Carries one fault after another out and sees what becomes of the daemon."""

    def __init__(self, bench: Bench, daemon: Daemon, faults: Faults) -> None:
        self._bench, self._daemon, self._faults = bench, daemon, faults
        self._seen: set[Breach] = set()

    def minute(self, planned: Planned) -> Row:
        """Return the row of one minute."""
        began = time.monotonic()
        ended_before = not self._daemon.running()
        self._faults.carry_out(planned.kind, planned.seconds)
        fault_ended = time.monotonic()
        back, waits = self.await_writing(BACK_LIMIT)
        person = False
        if back is None:
            person = self._daemon.command("resume", "--reason", "soak").returncode == 0
            self.await_writing(BACK_LIMIT / 4)
        time.sleep(max(0.0, began + MINUTE - time.monotonic()))  # the rest of the minute is the soak
        load_ended = "" if self._bench.load.running() else self._bench.load.output()
        if load_ended:
            self._bench.start_load()
        died = ended_before or not self._daemon.running()
        if died:
            log = self._daemon.log()
            self._daemon.start()
        readings = self._bench.sampler.readings(began, time.monotonic())
        print_ = self._daemon.footprint()
        return {
            "minute": planned.minute,
            "fault": planned.kind,
            "fault_seconds": round(fault_ended - began, 1),
            "note": self._faults.note,
            "back_seconds": None if back is None else round(back, 1),
            "waits_for": waits,
            "person": person,
            "died": log if died else "",
            "load_ended": load_ended,
            "breaches": self.breaches(),
            "sync_pages": readings[-1].sync - readings[0].sync if readings else None,
            "pid": print_.pid if print_ else None,
            "resident": print_.resident if print_ else None,
            "files": print_.files if print_ else None,
            "threads": print_.threads if print_ else None,
            "sessions": self._faults.sessions(),
            "at": round(time.time(), 1),
        }

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
                found = None if status is None else _waits_for(status)
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
        """Return what the journal shows that was not reported before, as plain values."""
        found: list[Breach] = []
        with contextlib.suppress(JournalError):
            for one in runs(self._daemon.state)[-2:]:
                found += judge_run(self._daemon.state, one.number)
        new = [one for one in found if one not in self._seen]
        self._seen.update(new)
        return [one._asdict() for one in new]


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


def judge_run(state: Path, number: int) -> list[Breach]:
    """Return every breach in one run on disk; none where it has no ticks yet."""
    try:
        return judge(trace(state, number))
    except JournalError as error:
        if "no tick" in str(error):
            return []
        raise


def _waits_for(status: Row) -> str:
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


def write(results: Path) -> Path:
    """Write the page from the rows and return its path."""
    rows = read_rows(results / FILE)
    minutes = [row for row in rows if "minute" in row]
    return put(results / PAGE, ["# Soak: a random fault every minute", *_page(rows, minutes)])


def _page(rows: list[Row], minutes: list[Row]) -> list[str]:
    if not minutes:
        return ["Not run yet: `make prove PART=soak`."]
    head = ["fault", "times", "median s until writing again", "worst", "not within 2 min", "person needed"]
    head += ["sync pages", "breaches"]
    body = [_fault_row(kind, minutes) for kind in sorted({str(row["fault"]) for row in minutes})]
    wanted = int(minutes[0]["minutes"])
    breaches = [breach for row in rows for breach in row["breaches"]]
    died = [row for row in minutes if row["died"]]
    lost = [row for row in minutes if row["back_seconds"] is None]
    ends = [row for row in rows if "end" in row]
    lines = [
        verdict(f"minutes: {len(minutes)} of {wanted}", met=len(minutes) >= wanted),
        verdict(f"breaches of an invariant: {len(breaches)}; none wanted", met=not breaches),
        *(f"  - invariant {one['invariant']}, tick {one['tick']}: {one['what']}" for one in breaches[:20]),
        verdict(f"the daemon ended by itself {len(died)} times; never wanted", met=not died),
        verdict(f"faults with no way back within 2 minutes: {len(lost)}; none wanted", met=not lost),
        *(f"  - minute {row['minute']}, {row['fault']}: waited for {row['waits_for']}" for row in lost[:20]),
        *_memory(minutes),
        *_highest(minutes),
        *(
            f"- part {row['piece']}: {row.get('ticks', '?')} ticks and {row.get('writes', '?')} writes"
            f" judged; ended with exit {row['exit']}, {row['stop_seconds']} s after SIGTERM"
            for row in ends
        ),
    ]
    how = (
        f"`python -m lab.prove --part soak --minutes {wanted} --seed {minutes[0]['seed']}`; the real daemon,"
        " active, with its API, behind a relay that can drop packets. Writing again: active, no hold, in two"
        " ticks after the fault's end. Each minute the journal is judged by rules written down a second time"
        " (`lab/prove/judge.py`)."
    )
    conditions = said(minutes[0]["conditions"], sharing="server, load and daemon")
    return [conditions, how, table(head, body), "\n".join(lines)]


def _fault_row(kind: str, minutes: list[Row]) -> list[object]:
    rows = [row for row in minutes if row["fault"] == kind]
    back = [float(row["back_seconds"]) for row in rows if row["back_seconds"] is not None]
    return [
        kind,
        len(rows),
        f"{statistics.median(back):.1f}" if back else "-",
        f"{max(back):.1f}" if back else "-",
        len(rows) - len(back),
        sum(1 for row in rows if row["person"]),
        sum(int(row["sync_pages"] or 0) for row in rows),
        sum(len(row["breaches"]) for row in rows),
    ]


def lives(minutes: list[Row]) -> list[list[Row]]:
    """Return the minutes of each process that lived long enough to show a leak, without its first ten."""
    found: dict[tuple[int, int], list[Row]] = {}
    for row in minutes:
        if row["pid"] is not None:
            found.setdefault((int(row["piece"]), int(row["pid"])), []).append(row)
    return [
        rows[WARM_UP_MINUTES:] for rows in found.values() if len(rows) >= WARM_UP_MINUTES + FEWEST_MINUTES
    ]


def _memory(minutes: list[Row]) -> list[str]:
    found = lives(minutes)
    if not found:
        return ["- resident memory: no process lived long enough for a slope"]
    lines = []
    for rows in found:
        bounds = slope([row["at"] / 3600.0 for row in rows], [row["resident"] / 2**20 for row in rows])
        lines.append(
            f"- resident memory, minutes {rows[0]['minute']} to {rows[-1]['minute']} of one process:"
            f" {bounds.mean:+.2f} MiB/h (95 % bounds {bounds.low:+.2f} to {bounds.high:+.2f})"
        )
    return lines


def _highest(minutes: list[Row]) -> list[str]:
    def highest(key: str) -> float:
        return max((float(row[key]) for row in minutes if row[key] is not None), default=0.0)

    text = (
        f"- highest at a minute's end: {highest('resident') / 2**20:.1f} MiB resident,"
        f" {highest('files'):.0f} files, {highest('threads'):.0f} threads,"
        f" {highest('sessions'):.0f} server sessions"
    )
    return [text]
