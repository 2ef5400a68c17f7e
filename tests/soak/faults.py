"""The faults of a soak: which comes in which minute, what it does, and how it is taken back."""

from __future__ import annotations

import contextlib
import itertools
import random
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import pymysql

from lab.servers.spec import MEBIBYTE, LabServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lab.bench.rig import Rig
    from tests.real.proxy import Proxy
    from tests.soak.child import SoakDaemon

BASELINE = (1000, 2000)
WRITE_IOPS = 1200
REDO_SMALL, REDO_LARGE = 100 * MEBIBYTE, 160 * MEBIBYTE
WRITER_LOCK = "innobrim.writer"
MODULES = ("module_log", "module_buffer")
FLOOD_THREADS = 4
FLOOD_PATHS = ("/v1/status", "/metrics", "/v1/events", "/v1/history", "/livez")
QUERY_SECONDS = 45.0
_PAIR = "SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max"


SIGSTOP = "daemon stopped (SIGSTOP)"
KILL = "daemon killed (kill -9)"
TERMINATE = "daemon ended (SIGTERM)"
SESSION = "daemon's session killed"
BLACK_HOLE = "packets dropped"
FOREIGN = "C and M set to the declared baseline by somebody else"
RESIZE = "redo capacity changed"
READ_LOCK = "FLUSH TABLES WITH READ LOCK"
BACKUP_LOCK = "LOCK INSTANCE FOR BACKUP"
READ_ONLY = "super_read_only set"
COUNTERS = "counters off"
RUBBISH = "configuration reloaded with rubbish (SIGHUP)"
LOAD_OFF = "load off"
DISK = "disk's write limit halved"
FLOOD = "API flooded"
WRITER_LOCK = "writer lock taken by another session"

SECONDS: dict[str, tuple[int, int]] = {
    SIGSTOP: (5, 30),
    KILL: (3, 10),
    TERMINATE: (3, 10),
    SESSION: (0, 0),
    BLACK_HOLE: (5, 25),
    FOREIGN: (0, 0),
    RESIZE: (0, 0),
    READ_LOCK: (20, 20),
    BACKUP_LOCK: (20, 20),
    READ_ONLY: (20, 20),
    COUNTERS: (20, 20),
    RUBBISH: (5, 10),
    LOAD_OFF: (30, 30),
    DISK: (45, 45),
    FLOOD: (10, 10),
    WRITER_LOCK: (20, 20),
}
"""Every kind with the shortest and longest time that it lasts, seconds; 0 is over at once."""

RESTARTS = (KILL, TERMINATE)
RESTART_SHARE = 0.4
PIECE = 45


class Planned(NamedTuple):
    """One fault: minute of the soak from 1, kind, and how long it lasts, seconds."""

    minute: int
    kind: str
    seconds: int


def pieces(minutes: int) -> list[range]:
    """Return the minutes of each part of a soak: of equal length, none longer than 45 minutes."""
    count = max(1, -(-minutes // PIECE))
    bounds = [1 + round(minutes * at / count) for at in range(count + 1)]
    return [range(first, last) for first, last in itertools.pairwise(bounds)]


def plan(seed: int, minutes: int) -> list[Planned]:
    """Return the fault of every minute.

    Each part goes through shuffled decks with every kind once. The daemon's ends come only in the first two
    fifths of a part, and twice in a deck there, so that its last life is long enough to show a leak.
    """
    dice = random.Random(seed)  # noqa: S311 - an order that must be repeatable is no secret
    return [
        planned
        for piece in pieces(minutes)
        for planned in drawn(dice, piece, piece.start + RESTART_SHARE * len(piece))
    ]


def drawn(dice: random.Random, places: range, restarts_until: float) -> Iterator[Planned]:
    """Yield the fault of every place from shuffled decks with each kind once.

    Args:
        dice: what the order comes from.
        places: minutes, or whatever is counted.
        restarts_until: the first place at which the daemon is not ended any more.
    """
    deck: list[str] = []
    for place in places:
        if place >= restarts_until:
            deck = [kind for kind in deck if kind not in RESTARTS]
        if not deck:
            more = RESTARTS if place < restarts_until else ()
            kinds = [kind for kind in SECONDS if place < restarts_until or kind not in RESTARTS]
            deck = [*kinds, *more]
            dice.shuffle(deck)
        kind = deck.pop()
        yield Planned(place, kind, dice.randint(*SECONDS[kind]))


class Faults:
    """Everything that a fault may reach.

    Attributes:
        requests: requests that the last flood got an answer to.
        note: what the last fault has to say about itself, for the record.
    """

    def __init__(self, rig: Rig, daemon: SoakDaemon, line: Proxy) -> None:
        self._rig, self._daemon, self._line = rig, daemon, line
        self._large = False
        self.requests = 0
        self.note = ""
        self._inject: dict[str, Callable[[float], None]] = {
            SIGSTOP: _lasting(lambda: daemon.signal(signal.SIGSTOP), lambda: daemon.signal(signal.SIGCONT)),
            KILL: self._kill,
            TERMINATE: self._terminate,
            SESSION: lambda _: self._kill_sessions(),
            BLACK_HOLE: _lasting(line.fall_silent, line.speak),
            FOREIGN: lambda _: rig.server.set_capacity(*BASELINE),
            RESIZE: lambda _: self._resize(),
            READ_LOCK: lambda s: self._hold(s, "FLUSH TABLES WITH READ LOCK", "UNLOCK TABLES"),
            BACKUP_LOCK: lambda s: self._hold(s, "LOCK INSTANCE FOR BACKUP", "UNLOCK INSTANCE"),
            READ_ONLY: _lasting(
                lambda: self._ask("SET GLOBAL super_read_only = ON"),
                lambda: self._ask("SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF"),
            ),
            COUNTERS: _lasting(lambda: self._counters("disable"), lambda: self._counters("enable")),
            RUBBISH: _lasting(
                lambda: self._reload(lambda: daemon.spoil("[loop]\nset_piont = maybe\n= = =\n")),
                lambda: self._reload(daemon.configure),
            ),
            LOAD_OFF: _lasting(rig.stop_load, rig.start_load),
            DISK: _lasting(lambda: self._limit(WRITE_IOPS // 2), lambda: self._limit(WRITE_IOPS)),
            FLOOD: self._flood,
            WRITER_LOCK: self._take_lock,
        }

    def carry_out(self, kind: str, seconds: float) -> None:
        """Let one fault last so many seconds; it is taken back when this returns.

        A server that refuses to play along is noted, and the soak goes on.
        """
        self.note, self.requests = "", 0
        try:
            self._inject[kind](seconds)
        except (pymysql.MySQLError, OSError, subprocess.TimeoutExpired) as error:
            self.note = f"not carried out: {type(error).__name__}: {error}"

    def sessions(self) -> int:
        """Return how many server sessions the daemon's account has."""
        return len(self._session_ids())

    def _kill(self, seconds: float) -> None:
        """Kill the daemon, do what the service manager does after a crash, and start it again."""
        self._daemon.kill()
        try:
            done = self._daemon.command(*AFTER_CRASH)
            self.note = f"after the crash: exit {done.returncode}, {_line(done.stdout or done.stderr)}"
            _last(seconds)
        finally:
            self._daemon.start()

    def _terminate(self, seconds: float) -> None:
        code = self._daemon.terminate()
        took = self._daemon.stop_seconds or 0.0
        try:
            pair = self._rig.server.query(_PAIR)[0]
            self.note = f"ended with {code} after {took:.1f} s, left {pair[0]}/{pair[1]}"
            _last(seconds)
        finally:
            self._daemon.start()

    def _session_ids(self) -> list[int]:
        user = self._rig.server.daemon.user
        rows = self._rig.server.query(
            f"SELECT id FROM performance_schema.processlist WHERE user = '{user}'", timeout=QUERY_SECONDS
        )
        return [int(row[0]) for row in rows]

    def _kill_sessions(self) -> None:
        for number in self._session_ids():
            with contextlib.suppress(pymysql.MySQLError):  # gone already
                self._rig.server.query(f"KILL {number}")

    def _resize(self) -> None:
        self._large = not self._large
        wanted = REDO_LARGE if self._large else REDO_SMALL
        self.note = f"to {wanted // MEBIBYTE} MiB"
        self._ask(f"SET GLOBAL innodb_redo_log_capacity = {wanted}")

    def _hold(self, seconds: float, begin: str, end: str) -> None:
        with contextlib.closing(self._rig.server.connect(timeout=QUERY_SECONDS)) as connection:
            _do(connection, begin)
            _last(seconds)
            _do(connection, end)

    def _counters(self, done: str) -> None:
        self._ask(*(f"SET GLOBAL innodb_monitor_{done} = '{module}'" for module in MODULES))

    def _reload(self, change: Callable[[], None]) -> None:
        change()
        self._daemon.signal(signal.SIGHUP)

    def _limit(self, writes: int) -> None:
        refusal = self._rig.server.limit_write_iops(writes)
        if refusal is not None:
            raise LabServerError(refusal)

    def _flood(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        answered = [0] * FLOOD_THREADS

        def ask(place: int) -> None:
            with self._daemon.client() as client:
                while time.monotonic() < end:
                    path = FLOOD_PATHS[(place + answered[place]) % len(FLOOD_PATHS)]
                    with contextlib.suppress(httpx.HTTPError):
                        client.get(path)
                        answered[place] += 1

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(FLOOD_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.requests = sum(answered)
        self.note = f"{self.requests} requests in {seconds:.0f} s"

    def _take_lock(self, seconds: float) -> None:
        """Wait for the lock in line, then end the session that has it."""
        with contextlib.closing(self._rig.server.connect(timeout=QUERY_SECONDS)) as connection:
            waiter = threading.Thread(target=_do, args=(connection, f"SELECT GET_LOCK('{WRITER_LOCK}', 30)"))
            waiter.start()
            self._await_waiter()
            self._kill_sessions()
            waiter.join()
            _last(seconds)
            _do(connection, f"SELECT RELEASE_LOCK('{WRITER_LOCK}')")

    def _await_waiter(self) -> None:
        end = time.monotonic() + 5.0
        query = "SELECT 1 FROM performance_schema.processlist WHERE state = 'User lock'"
        while not self._rig.server.query(query) and time.monotonic() < end:
            time.sleep(0.1)  # the server announces no waiter

    def _ask(self, *statements: str) -> None:
        for statement in statements:
            self._rig.server.query(statement, timeout=QUERY_SECONDS)


AFTER_CRASH = ("park", "--if-crashed")
"""What the service manager runs after the daemon's end by a crash."""


def _lasting(begin: Callable[[], object], end: Callable[[], object]) -> Callable[[float], None]:
    """Return a fault that lasts, and is taken back whatever becomes of its beginning."""

    def fault(seconds: float) -> None:
        try:
            begin()
            _last(seconds)
        finally:
            end()

    return fault


def _last(seconds: float) -> None:
    """Let a fault last."""
    time.sleep(seconds)  # the time itself is what is waited for


def _do(connection: pymysql.Connection[Any], statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "nothing said"
