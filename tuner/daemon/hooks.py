"""Tells others by hooks what happened: each has a thread and a queue of its own, and the loop waits for none.

Events are kept in memory alone. While the daemon lives each is tried until it is delivered, refused for good,
an hour old, or one of too many; a receiver may so get one twice, with the same ``webhook-id``. A daemon that
is killed loses what it had not delivered, and the next one tells the holds that it finds.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tuner.config.hooks import shown
from tuner.config.schema import HookTable
from tuner.core.holds import by_owner
from tuner.core.state import State
from tuner.findings.remedies import remark, told
from tuner.records import Facts, HoldCode, Lifecycle, Remedy, Sample, TickRecord
from tuner.records.hook import HookData, HookEvent, HookHealth, HookServer, HookType
from tuner.settings import Mode
from tuner.system.logs import get_logger
from tuner.system.version import program_version

MOST_WAITING = 100
OLDEST = 3600.0
"""An event that is so old is given up, seconds."""

LONGEST_PAUSE = 300.0

MOST_REFUSALS = 7
"""An event that its receiver refused so often is given up: with the pauses in between, in about a minute."""

MOST_TEXT = 2_000

_CODES = {"baseline_back": HookType.BASELINE_BACK, "baseline_left": HookType.BASELINE_LEFT}

log = get_logger("innobrim")


class Told(NamedTuple):
    """An event on its way.

    Attributes:
        ident: of its own, the same for each hook and at each attempt.
        at: when it was told, by ``time.monotonic``.
        event: what the receiver gets.
    """

    ident: str
    at: float
    event: HookEvent

    @classmethod
    def now(cls, event: HookEvent) -> Told:
        """Return a new one."""
        return cls(f"evt_{uuid.uuid4().hex}", time.monotonic(), event)

    @property
    def body(self) -> bytes:
        """Return what is sent, and signed."""
        return msgspec.json.encode(self.event)


def event_of(
    kind: HookType, code: str, text: str, *, wall: float, mode: Mode, facts: Facts | None = None
) -> HookEvent:
    """Return an event, with nothing that a tick knows."""
    stamp = datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    server = None if facts is None else HookServer(facts.identity, facts.endpoint, facts.version)
    data = HookData(
        code=code,
        text=text[:MOST_TEXT],
        host=socket.gethostname(),
        innobrim=program_version(),
        server=server,
        mode=mode,
        holds=(),
        in_force=None,
        set_to=None,
    )
    return HookEvent(kind, stamp, data)


class Happenings:
    """Finds in each tick what hooks are told of.

    That the flush law is not verified yet is not told: each active daemon begins so.
    """

    def __init__(self) -> None:
        self._mode: Mode | None = None
        self._held: frozenset[HoldCode] = frozenset()
        self._emergency = False

    def of(self, state: State, record: TickRecord) -> Iterator[HookEvent]:
        """Yield the events of a tick that was just decided."""
        reading, decision = record.tick.reading, record.decision
        for kind, code, text in self._found(state, record):
            made = event_of(kind, code, text, wall=record.tick.wall, mode=record.mode, facts=state.facts)
            data = replace(
                made.data,
                holds=tuple(hold.code for hold in record.holds),
                in_force=reading.capacity if isinstance(reading, Sample) else None,
                set_to=decision.target if decision.steps else None,
            )
            yield replace(made, data=data)

    def _found(self, state: State, record: TickRecord) -> Iterator[tuple[HookType, str, str]]:
        if self._mode not in {None, record.mode}:
            why = f": {record.advisory}" if record.advisory and record.mode is Mode.ADVISORY else ""
            yield HookType.MODE_CHANGED, "mode", f"mode {self._mode} → {record.mode}{why}"
        held = {one.code: one for one in record.holds if Remedy.MATCHING_UNDER_LOAD not in one.remedies}
        for code, hold in held.items():
            if code not in self._held:
                text = remark(f"held: {hold.reason}", by_owner(hold.remedies, state.facts))
                yield HookType.HOLD_BEGUN, f"hold_{code}", text
        for code in self._held - held.keys():
            yield HookType.HOLD_CLEARED, f"clear_{code}", f"no longer held: {code}"
        for event in record.events:
            if kind := _CODES.get(event.code):
                yield kind, event.code, told(event)
        emergency = state.writes.raised_from > 0
        if emergency and not self._emergency:
            yield HookType.EMERGENCY_BEGUN, "emergency", record.decision.detail
        elif self._emergency and not emergency:
            over = "parked, as the daemon stops" if record.lifecycle is Lifecycle.STOPPING else "over"
            text = f"the emergency is {over}: {record.decision.detail}"
            yield HookType.EMERGENCY_ENDED, "emergency_ended", text
        self._mode, self._held, self._emergency = record.mode, frozenset(held), emergency


class Hook:
    """One hook: a queue, and a thread that empties it."""

    def __init__(self, table: HookTable, environ: Mapping[str, str]) -> None:
        """Begin; nobody is told anything yet."""
        self._table = table
        self._environ = environ
        self._health = HookHealth(table.name, shown(table))
        self._waiting: deque[Told] = deque()
        self._changed = threading.Condition()
        self._pause = 0.0  # before the next attempt, seconds; 0 after one that succeeded
        self._next = 0.0  # when that may be, by time.monotonic
        self._refusals = 0  # of the oldest event
        self._drops_said = False
        self._ends = float("inf")
        self._thread = threading.Thread(target=self._work, name=f"hook-{table.name}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Tell whether the thread lives."""
        return self._thread.is_alive()

    def health(self) -> HookHealth:
        """Return how it is; from any thread."""
        with self._changed:
            return replace(self._health, waiting=len(self._waiting))

    def use(self, table: HookTable) -> None:
        """Go on with another table of the same name, at once."""
        with self._changed:
            self._table, self._next, self._refusals = table, 0.0, 0
            self._health = replace(self._health, to=shown(table))
            self._changed.notify()

    def put(self, one: Told) -> None:
        """Have an event delivered where the hook is told of such; returns at once."""
        if one.event.type.partition(".")[0] not in self._table.on:
            return
        with self._changed:
            self._waiting.append(one)
            if len(self._waiting) > MOST_WAITING:
                self._drop(self._waiting.popleft(), f"{MOST_WAITING} newer ones wait")
            self._changed.notify()

    def stop(self, ends: float) -> None:
        """Try each event that waits once more, until a time by ``time.monotonic``; returns at once."""
        with self._changed:
            self._ends = ends
            self._changed.notify()

    def join(self, seconds: float) -> None:
        """Wait for the end."""
        self._thread.join(seconds)

    @property
    def _stopping(self) -> bool:
        return self._ends < float("inf")

    def _work(self) -> None:
        from tuner.daemon.delivery import DeliveryError, deliver  # noqa: PLC0415 - most have no hook

        while (one := self._take()) is not None:
            table, begun = self._table, time.monotonic()
            kind, ends = one.event.type.value, begun + table.timeout
            try:
                said = deliver(
                    table,
                    one.ident,
                    kind,
                    one.body,
                    ends=lambda ends=ends: min(ends, self._ends),  # type: ignore[misc] # as Ends
                    environ=self._environ,
                )
            except DeliveryError as error:
                self._failed(one, str(error), refused=error.refused)
            except Exception as error:
                log.exception("a hook failed by a defect", hook=table.name)
                self._failed(one, repr(error), refused=False)
            else:
                self._delivered(one, said)

    def _take(self) -> Told | None:
        """Wait until the oldest event may be tried; return it, None when there is nothing more to do."""
        with self._changed:
            while True:
                now = time.monotonic()
                if self._stopping and (not self._waiting or now >= self._ends):
                    return None
                if self._waiting and (self._stopping or now >= self._next):
                    return self._waiting[0]
                self._changed.wait(self._next - now if self._waiting else None)

    def _delivered(self, one: Told, said: str) -> None:
        with self._changed:
            self._remove(one)
            before, self._pause, self._next, self._refusals = self._health, 0.0, 0.0, 0
            self._health = replace(before, delivered=before.delivered + 1, failing_since=None, error="")
            self._drops_said = False
        log.debug("a hook delivered", hook=before.name, type=one.event.type.value, id=one.ident, answer=said)
        if before.failing_since is not None:
            log.info("a hook delivers again", hook=before.name, failed=before.failed, dropped=before.dropped)

    def _failed(self, one: Told, why: str, *, refused: bool) -> None:
        with self._changed:
            before, now = self._health, time.monotonic()
            self._refusals += refused
            if refused and self._refusals == 1:
                self._pause = 0.0  # somebody answers: the long pauses of a silence are over
            self._pause = min(LONGEST_PAUSE, self._pause * 2.0 or 1.0)
            self._next = now + self._pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
            self._health = replace(
                before,
                failed=before.failed + 1,
                failing_since=before.failing_since or time.time(),
                error=why,
            )
            if self._stopping:
                self._drop(one, "the daemon stops")
                self._remove(one)
            elif self._refusals >= MOST_REFUSALS and self._waiting and self._waiting[0] is one:
                self._drop(self._waiting.popleft(), f"refused {MOST_REFUSALS} times: {why}")
                self._pause = self._next = 0.0
            while self._waiting and now - self._waiting[0].at >= OLDEST:
                self._drop(self._waiting.popleft(), f"older than {OLDEST:.0f} s")
        if before.failing_since is None:
            log.warning(
                "a hook failed; it is tried again, and said here once more when it delivers",
                hook=before.name,
                to=before.to,
                reason=why,
            )

    def _remove(self, one: Told) -> None:
        if self._waiting and self._waiting[0] is one:  # it may have been dropped meanwhile
            self._waiting.popleft()

    def _drop(self, one: Told, why: str) -> None:
        """Count and say that an event is given up; of several before the next success the first is said."""
        self._health = replace(self._health, dropped=self._health.dropped + 1)
        self._refusals = 0
        level = log.debug if self._drops_said else log.warning
        self._drops_said = True
        level("a hook dropped an event", hook=self._table.name, type=one.event.type.value, reason=why)


class Hooks:
    """All hooks of a daemon, by name. ``take`` is for the loop's thread alone, ``use`` for one other."""

    def __init__(self, tables: Iterable[HookTable], *, environ: Mapping[str, str] = os.environ) -> None:
        """Take the configuration; nothing is begun before ``start``."""
        self._tables = tuple(tables)
        self._environ = environ
        self._hooks: dict[str, Hook] = {}
        self._happenings = Happenings()
        program_version()  # read off the disk here, and not by the loop

    @property
    def alive(self) -> bool:
        """Tell whether every thread lives."""
        return all(hook.alive for hook in self._hooks.values())

    def health(self) -> tuple[HookHealth, ...]:
        """Return how each hook is; from any thread."""
        return tuple(hook.health() for hook in self._hooks.values())

    def start(self) -> None:
        """Begin."""
        self.use(self._tables)

    def use(self, tables: Iterable[HookTable]) -> None:
        """Go on with another configuration; a hook that keeps its name keeps what waits."""
        before, now = self._hooks, {}
        for table in tables:
            now[table.name] = before.get(table.name) or Hook(table, self._environ)
            now[table.name].use(table)
        self._hooks = now
        for name in before.keys() - now.keys():
            before[name].stop(time.monotonic())

    def take(self, state: State, record: TickRecord) -> None:
        """Tell the hooks what happened in a tick; returns at once, and a defect here ends no loop."""
        try:
            for event in self._happenings.of(state, record):
                one = Told.now(event)
                for hook in self._hooks.values():
                    hook.put(one)
        except Exception:
            log.exception("hooks were not told by a defect", tick=record.tick.number)

    def stop(self, seconds: float) -> None:
        """Try once more what waits, all of it within so many seconds, and end."""
        ends = time.monotonic() + seconds
        for hook in self._hooks.values():
            hook.stop(ends)
        for hook in self._hooks.values():
            hook.join(max(0.0, ends - time.monotonic()) + 0.1)
