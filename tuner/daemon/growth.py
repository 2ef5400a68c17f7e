"""``redo.grow_to``: the redo log grown in steps while the server runs, beside the loop and never in its way.

The loop's thread only looks whether a step may begin. A thread of its own carries it out, over a connection
of its own, and what was found is on disk before the server is told.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.commands.schedule import settings_of
from tuner.core.ownership.transitions import BASELINE_GUARD, TRIAL
from tuner.core.setpoint.budgets import KEYS, WHAT, durations_of
from tuner.core.state import SAME_START_SECONDS, State
from tuner.findings.redo_growth import (
    Growable,
    Growing,
    Resize,
    against,
    copied_by,
    kept_back,
    made_smaller,
    not_to_be_shrunk,
    stands,
    to_keep,
    told,
)
from tuner.journal.resized import BusyError, ResizeError, alone, forget, keep, resize_of
from tuner.records import DecisionKind, EventCode, Facts, Lifecycle, Missed, Sample, TickRecord
from tuner.servers.port import ServerError, Unreachable
from tuner.servers.redosize import NotSetError, OtherSizeError
from tuner.settings import GrowTo, Mode
from tuner.system.amounts import size

QUIET_SECONDS = 10.0
"""Nothing may have been in the way for so long before a step, on the loop's clock."""

AGAIN_SECONDS = 3600.0
"""Between two tries of what was refused; it is told once. Doubled after each SET that fails."""

LONGEST_WAIT = 86_400.0
"""Between two of those at most, seconds."""

SILENT_SECONDS = 60.0
"""The same where nothing answered, nobody knows what became of a step, or a person's resize is under way."""

LONGEST_STEP = 600.0
"""What a server may take for one step, seconds: a MariaDB gives up then and keeps the log that it had."""

LOOK_SECONDS = 0.5


class Resizable(Growable, Protocol):
    """What a step needs of a server, as ``RealServer`` has it."""

    def facts(self) -> Facts: ...
    def read(self) -> Sample | Missed: ...
    def resizing_redo(self, facts: Facts) -> bool: ...
    def resize_redo(self, facts: Facts, size: int, seconds: float, *, called: bool) -> None: ...
    def close(self) -> None: ...


class _Ended(Struct, frozen=True):
    """What a thread came to."""

    text: str = ""  # told, unless it was the last thing that was; empty for nothing
    again: float = 0.0  # seconds until the next step may begin


class Growth:
    """Grows one server's redo log. ``take`` and ``use`` are for the loop's and the reloading thread."""

    def __init__(
        self,
        directory: Path,
        goal: GrowTo | None,
        *,
        connect: Callable[[], Resizable] | None,
        tell: Callable[[str], None],
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Begin with nothing under way.

        Args:
            directory: the state directory.
            goal: the size that is wanted; None for leaving the log alone.
            connect: makes a connection for one step; None where there is none to be had, as in a demo.
            tell: takes a sentence for log, journal and events; from any thread.
            wall: Unix time.
        """
        self._directory, self._goal = directory, goal
        self._connect, self._tell, self._wall = connect, tell, wall
        self._thread: threading.Thread | None = None
        self._ended = _Ended()
        self._step_to: int | None = None
        self._in_force: int | None = None
        self._last: int | None = None  # in force at the last reading, however many were missed since
        self._start: tuple[str, float] | None = None
        self._quiet_since: float | None = None
        self._restored = False
        self._restoring = ""
        self._not_before = float("-inf")
        self._wait = 0.0
        self._began = False
        self._kept: Resize | None = None
        self._next_try: float | None = None
        self._said = self._waits = self._refused = ""

    def use(self, goal: GrowTo | None) -> None:
        """Take the configuration's size from now on; what was refused is tried again."""
        self._goal, self._said, self._not_before, self._wait = goal, "", float("-inf"), 0.0

    def status(self) -> Growing | None:
        """Return how far it is, from any thread; None without a size to grow to."""
        goal, there, step, again = self._goal, self._in_force, self._step_to, None
        if goal is None:
            return None
        if step is not None:
            text = f"the server is at the step to {size(step)}"
        elif there is not None and there >= goal.size:
            text = "it is in force"
        else:
            text, again = self._waits or "the next step begins within seconds", self._next_try
        return Growing(goal.size, there, step, text, self._found(there), again)

    def _found(self, there: int | None) -> int | None:
        """Return the size that was found, bytes; None where the log has it, or mysqld was restarted since."""
        kept, start = self._kept, self._start
        if kept is None or kept.undone or kept.found == there or start is None:
            return None
        return kept.found if abs(kept.started - start[1]) <= SAME_START_SECONDS else None

    def take(self, state: State, record: TickRecord) -> None:
        """Look at a tick, and begin a step where one is due; never waits."""
        goal, connect, sample = self._goal, self._connect, record.tick.reading
        waits = "" if goal is None else not_now(state, record, goal)
        kept = self._kept
        if waits and goal is not None and kept is not None and kept.undone and kept.goal == goal.size:
            waits = kept_back(kept)
        left = self._not_before - record.tick.now
        refused = not waits and left > 0.0
        self._waits = self._refused if refused else waits
        self._next_try = record.tick.wall + left if refused else None
        back = any(event.code == EventCode.RESTORED for event in record.events)
        self._restored |= back and self._restoring not in {BASELINE_GUARD, TRIAL}
        self._restoring = state.restoring
        if connect is None or (self._thread is not None and self._thread.is_alive()):
            return
        self._collect(record.tick.now)
        if not isinstance(sample, Sample) or state.facts_due:
            self._in_force = None
            return
        before, self._last = self._last, sample.redo_capacity
        self._in_force = sample.redo_capacity
        start = (state.facts.identity, state.facts.started)
        if self._restored:
            self._restored = False
            self._begin(connect, state.facts, self._go_back, stays=self._stays(state.facts, sample))
        elif self._start is None or not _same(self._start, start):
            self._start = start
            self._begin(connect, state.facts, self._look)
        elif goal is None:
            return
        elif before is not None and sample.redo_capacity < before:
            self._begin(connect, state.facts, lambda _, facts: self._note_smaller(goal, facts, sample))
        elif before is not None and sample.redo_capacity > before:  # by a person: what is kept may be another
            self._begin(connect, state.facts, self._look)
        elif self._due(goal, state, record, sample, waits):
            self._step_to = min(2 * sample.redo_capacity, goal.size)
            self._begin(connect, state.facts, lambda server, facts: self._step(server, goal, facts), 0.0)

    def _due(self, goal: GrowTo, state: State, record: TickRecord, sample: Sample, waits: str) -> bool:
        """Tell whether a step begins now; say what an active daemon would do."""
        now = record.tick.now
        if sample.redo_capacity >= goal.size or waits:
            self._quiet_since = None
            if waits and state.mode is not Mode.ACTIVE:
                self._say(f"redo.grow_to = {size(goal.size)}: {waits}")
            return False
        if self._quiet_since is None:
            self._quiet_since = now
        return now >= self._not_before and now - self._quiet_since >= QUIET_SECONDS

    def _begin(
        self,
        connect: Callable[[], Resizable],
        meant: Facts,
        job: Callable[[Resizable, Facts], _Ended],
        patience: float | None = None,
        stays: str = "",
    ) -> None:
        """Do something in a thread, and alone.

        Args:
            connect: makes its connection.
            meant: the loop's server.
            job: what is done.
            patience: how long another resize is waited for, seconds; None for as long as a step may take.
            stays: said where it comes to no end.
        """

        def run() -> None:
            server = connect()
            try:
                with alone(self._directory, LONGEST_STEP if patience is None else patience):
                    self._ended = job(server, meant)
            except (ServerError, ResizeError) as error:
                again = SILENT_SECONDS if isinstance(error, Unreachable | BusyError) else AGAIN_SECONDS
                self._ended = _Ended(f"{stays}: {error}" if stays else str(error), again)
            except Exception as error:  # noqa: BLE001 - told, and not tried again every few seconds
                self._ended = _Ended(f"the redo log is not looked after: {error!r}", AGAIN_SECONDS)
            finally:
                server.close()
                with contextlib.suppress(ResizeError):  # told by the step itself
                    self._kept = resize_of(self._directory, meant.names)

        self._thread = threading.Thread(target=run, name="redo-growth", daemon=True)
        self._thread.start()

    def _collect(self, now: float) -> None:
        """Take what the last thread came to."""
        if self._thread is None:
            return
        ended, self._ended = self._ended, _Ended()
        self._thread = self._step_to = self._quiet_since = self._in_force = self._last = None
        again = ended.again
        if self._began:  # each failure of a SET may have cost the server something
            again = self._wait = min(max(again, 2.0 * self._wait), LONGEST_WAIT) if again else 0.0
            self._began = False
        self._not_before = now + again
        self._refused = ended.text or "something came in between"
        if ended.text:
            self._say(ended.text)

    def _say(self, text: str) -> None:
        """Tell what was not told last."""
        if text != self._said:
            self._said = text
            self._tell(text)

    def _look(self, server: Resizable, meant: Facts) -> _Ended:
        """Tell of a step that an earlier daemon began and did not see the end of, and of one undone."""
        facts, sample = _answer(server, meant)
        kept = self._noted(facts, sample)
        if kept is None or not kept.goal:
            return _Ended()
        if kept.undone:
            return _Ended(kept_back(kept) if self._goal and kept.goal == self._goal.size else "")
        standing = stands(kept, facts, sample, under_way=server.resizing_redo(facts))
        if standing == "in_force":
            keep(self._directory, replace(kept, reached=sample.redo_capacity))
        return _Ended("" if sample.redo_capacity == kept.wanted else told(kept, standing, sample))

    def _noted(self, facts: Facts, sample: Sample) -> Resize | None:
        """Return what is on disk; note there that the log was made smaller, as while no daemon looked."""
        kept = resize_of(self._directory, facts.names)
        if kept is not None and kept.goal and not kept.undone and made_smaller(kept, facts, sample):
            kept = replace(kept, undone=True)
            keep(self._directory, kept)
        return kept

    def _note_smaller(self, goal: GrowTo, facts: Facts, sample: Sample) -> _Ended:
        """Have on disk that a person made the log smaller: it is not grown again behind their back."""
        kept = resize_of(self._directory, facts.names)
        if kept is None:
            kept = to_keep(None, facts, sample, sample.redo_capacity, wall=self._wall())
        kept = replace(kept, goal=goal.size, undone=True)
        keep(self._directory, kept)
        return _Ended(kept_back(kept))

    def _step(self, server: Resizable, goal: GrowTo, meant: Facts) -> _Ended:
        """Make the log larger, at most twice as large, and see that it is."""
        facts, sample = _answer(server, meant)
        kept = self._noted(facts, sample)
        limit, wanted = server.redo_limit(), min(2 * sample.redo_capacity, goal.size)
        if limit is not None and limit > sample.redo_capacity:
            wanted = min(wanted, limit)
        resize = to_keep(kept, facts, sample, wanted, wall=self._wall(), goal=goal.size)
        if kept is not None and kept.undone and kept.goal == goal.size:
            return _Ended(f"not grown: {kept_back(kept)}", AGAIN_SECONDS)
        if why := next(against(server, facts, sample, goal, resize), None):
            return _Ended(f"not grown: {'; '.join(filter(None, why))}", AGAIN_SECONDS)
        if self._waits or server.resizing_redo(facts):  # since the loop's thread said that it is due
            return _Ended(again=QUIET_SECONDS)
        keep(self._directory, resize)
        pair = f"{facts.redo_variable} from {size(sample.redo_capacity)} to {size(wanted)}"
        self._say(f"redo.grow_to = {size(goal.size)}: {pair} begins; {size(resize.found)} was found")
        self._began = True
        try:
            took = _set(server, facts, wanted, called=limit is not None)
        except OtherSizeError as error:
            keep(self._directory, replace(resize, wanted=error.there, reached=error.there))
            return _Ended(str(error), AGAIN_SECONDS)
        except NotSetError as error:
            self._put_back(kept, resize)
            return _Ended(f"{pair} was not set: {error}", AGAIN_SECONDS)
        with contextlib.suppress(ResizeError):  # what has to be on disk was there before
            keep(self._directory, replace(resize, reached=wanted))
        lasting = f"; for the next start my.cnf needs {resize.variable} = {wanted}"
        return _Ended(f"{pair} is in force after {took:.1f} s{lasting if wanted == goal.size else ''}")

    def _go_back(self, server: Resizable, meant: Facts) -> _Ended:
        """Set back what was found, after a restore of C and M that was asked for, where that is safe."""
        facts, sample = _answer(server, meant)
        kept = resize_of(self._directory, facts.names)
        if kept is None or not kept.goal or kept.undone:
            return _Ended()
        if stands(kept, facts, sample, under_way=server.resizing_redo(facts)) != "in_force":
            return _Ended()
        by_hand = _by_hand(kept, sample)
        if why := _left_larger(server, kept, sample):
            return _Ended(f"{by_hand}: {why}")
        keep(self._directory, replace(kept, undone=True))
        try:
            took = _set(server, facts, kept.found, called=False)
        except NotSetError as error:
            keep(self._directory, kept)
            return _Ended(f"{by_hand}: {error}")
        return _Ended(f"{size(kept.found)} of redo log, as found, are in force again after {took:.1f} s")

    def _stays(self, facts: Facts, sample: Sample) -> str:
        """Return what is said where a restore does not get to the log; empty where that is not ours."""
        kept = self._kept
        if kept is None or not kept.goal or stands(kept, facts, sample, under_way=False) != "in_force":
            return ""
        return _by_hand(kept, sample)

    def _put_back(self, before: Resize | None, resize: Resize) -> None:
        """Have on disk what was there before a step that the server refused."""
        if before is not None:
            keep(self._directory, before)
        else:
            forget(self._directory, resize)


def _by_hand(kept: Resize, sample: Sample) -> str:
    return f"{size(sample.redo_capacity)} of redo log stay; innobrim redo --undo sets {size(kept.found)} back"


def _left_larger(server: Resizable, kept: Resize, sample: Sample) -> str:
    """Return why a restore leaves the log as large as it is; empty where it sets back what was found."""
    if why := copied_by(sample):
        return f"{why[0]}; another size of the redo log may break its copy"
    if kept.by_person:
        return "innobrim redo --to made a part of it"
    if server.may_write() is False:
        return f"it takes an account that may set {kept.variable}"
    return not_to_be_shrunk(kept, sample)


def not_now(state: State, record: TickRecord, goal: GrowTo) -> str:
    """Return what the next step towards a size has to wait for; empty for nothing, or where it is there."""
    sample = record.tick.reading
    if not isinstance(sample, Sample):
        return "the server does not answer"
    found = sample.redo_capacity
    wanted = min(2 * found, goal.size)
    if wanted <= found:
        return ""
    if state.mode is not Mode.ACTIVE:
        step = f"it would grow from {size(found)} to {size(wanted)} now"
        return f"{step}; the mode is advisory, which writes nothing"
    if record.holds:
        return f"held: {', '.join(hold.code.value for hold in record.holds)}"
    barred_by = {
        "the daemon is not running yet, or stops": record.lifecycle is not Lifecycle.RUNNING,
        "the originals are not on disk yet": state.originals is None or not state.originals.saved,
        "an emergency": record.decision.kind is DecisionKind.EMERGENCY or state.writes.raised_from > 0,
        "a trial": state.proof.running is not None or state.trials.running is not None,
        "a drain": state.drain is not None,
        "a park": state.park_owed is not None or record.decision.kind is DecisionKind.PARK,
        "a restore": bool(state.restoring),
    }
    for why, there in (*barred_by.items(), *((why, True) for why in copied_by(sample))):
        if there:
            return f"waits for its end: {why}"
    return _over_budget(state, record, wanted / found)


def _over_budget(state: State, record: TickRecord, times: float) -> str:
    """Return which budget a log so many times as large would break at the set-point; empty for none.

    A recovery or shutdown takes at most so many times as long at the same share of the log.
    """
    settings, estimate = settings_of(state.settings, record.schedule), record.estimate
    both = {} if estimate is None else durations_of(estimate)
    for name, key in KEYS.items():
        allowed = getattr(settings, key)
        if allowed is None:
            continue
        took = next((one.set_point for known, one in both.items() if known == name), None)
        if took is None:
            return f"how long {WHAT[name]} takes is not known yet, and {key} = {allowed:g}"
        if times * took > allowed:
            long = f"{WHAT[name]} could take {times * took:.0f} s with a log {times:.1f} times as large"
            return f"{long}, and {key} = {allowed:g}"
    return ""


def _set(server: Resizable, facts: Facts, wanted: int, *, called: bool) -> float:
    """Set the size and see it in force; return how long that took, seconds.

    Raises:
        ServerError: it was not set, or nobody knows.
    """
    began = time.monotonic()
    server.resize_redo(facts, wanted, LONGEST_STEP, called=called)
    while True:
        reading = server.read()
        if isinstance(reading, Sample) and reading.redo_capacity == wanted and not reading.resizing:
            return time.monotonic() - began
        if time.monotonic() - began > LONGEST_STEP:
            raise Unreachable(
                f"{size(wanted)} is not in force after {LONGEST_STEP:.0f} s; the server goes on"
            )
        time.sleep(LOOK_SECONDS)


def _answer(server: Resizable, meant: Facts) -> tuple[Facts, Sample]:
    """Return what a connection's server is and how it is.

    Raises:
        Unreachable: it is another one than the loop's, as after a failover, or does not answer.
    """
    facts, reading = server.facts(), server.read()
    if isinstance(reading, Missed):
        raise Unreachable(reading.reason)
    for named in (facts.identity, reading.identity):
        if named not in meant.names:
            raise Unreachable(f"{named} answers, and {meant.identity} is meant: its redo log is left alone")
    return facts, reading


def _same(one: tuple[str, float], other: tuple[str, float]) -> bool:
    return one[0] == other[0] and abs(one[1] - other[1]) <= SAME_START_SECONDS
