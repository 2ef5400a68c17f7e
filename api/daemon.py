"""The daemon as the API sees it: what it is, what its loop last said and whether it lives, what it costs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from api.models import Health, Process
from api.problems import ApiError
from tuner.config.checks import worst_tick_seconds
from tuner.config.schema import Config
from tuner.daemon.board import Board
from tuner.records import HoldCode, Lifecycle, Sample, TickRecord
from tuner.system.clock import Beat

_PAGE = os.sysconf("SC_PAGE_SIZE")

STARTUP_SECONDS = 15.0
"""How long the first tick, or an attempt to reach the server before it, may take."""

TICKS_OF_SILENCE = 2
"""A loop that has given no sign of life for so many intervals is dead; see docs/decisions/heartbeat.md."""

LEAST_SILENCE = 1.0
"""No interval is so short that a busy machine's scheduler makes a loop dead, seconds."""


def resident_bytes() -> int:
    """Return this process's resident memory, bytes; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, IndexError, ValueError):
        return 0


@dataclass(frozen=True, slots=True)
class About:
    """The daemon as the API describes it.

    Attributes:
        version: of InnoBrim.
        interval: seconds between two ticks.
        started: when the daemon started, Unix time.
        configuration: returns the configuration in force; it holds no secret.
        monotonic: the clock that liveness is measured on, seconds.
        speed: seconds on the loop's clock in one real second; above 1 in a demo.
    """

    version: str
    interval: float
    started: float
    configuration: Callable[[], Config]
    monotonic: Callable[[], float] = time.monotonic
    speed: float = 1.0

    @property
    def run(self) -> str:
        """Return this run's name, hexadecimal: ticks and events are numbered anew in each."""
        return f"{int(self.started * 1000):x}"


class DaemonView:
    """A loop by what it last put on its board, and the process that it runs in."""

    def __init__(self, board: Board, about: About) -> None:
        self.board = board
        self.about = about
        self._begun = about.monotonic()

    def newest(self) -> TickRecord:
        """Return the newest record.

        Raises:
            ApiError: there is none yet.
        """
        record = self.board.last()
        if record is None:
            why = self.board.tally().waiting or "the loop has not made its first tick yet"
            raise ApiError("unavailable", why, headers={"Retry-After": "2"})
        return record

    def now(self) -> float:
        """Return the loop's own Unix time: its last tick's and what passed since; a demo's runs faster.

        Raises:
            ApiError: there is no tick yet.
        """
        record, alive = self.newest(), self.board.tally().alive
        return record.tick.wall + (max(0.0, self.about.monotonic() - alive) if alive is not None else 0.0)

    def _limit_before_ticks(self) -> float:
        """Return how long reaching the server, and the first tick, may take, seconds."""
        slowest = worst_tick_seconds(self.about.configuration())
        return TICKS_OF_SILENCE * self.about.interval + 1.0 + slowest + STARTUP_SECONDS

    def _limit(self, beat: Beat) -> float:
        """Return how long a ticking loop may be silent, seconds.

        A server that keeps it waiting for longer than two intervals, as its time limit allows, kills nobody.
        """
        interval = self.about.interval
        return max(TICKS_OF_SILENCE * interval, beat.within + interval, LEAST_SILENCE)

    def live(self) -> Health:
        """Say whether the loop's thread still ticks, or waits for its server with a sign of life."""
        tally, beat = self.board.tally(), self.board.pulse.newest
        now = self.about.monotonic()
        if tally.alive is None:
            waited, limit = now - self._begun, self._limit_before_ticks()
            late = f"no tick since the start {waited:.1f} s ago" if waited > limit else ""
            return Health(not late, late or "starting: no tick yet", None, limit)
        if tally.waiting or beat is None:
            age, limit = now - tally.alive, self._limit_before_ticks()
        else:
            age, limit = max(0.0, now - beat.at), self._limit(beat)
        dead = age > limit
        reason = tally.waiting or "the loop ticks"
        if dead:
            reason = f"the loop is dead: no sign of life for {age:.1f} s, {limit:.1f} s is the limit"
        return Health(not dead, reason, round(age, 3), limit)

    def ready(self) -> Health:
        """Say whether the loop lives and has a fresh good sample of its server."""
        live = self.live()
        if not live.ok:
            return live
        why = self._unready()
        return replace(live, ok=not why, reason=why or "the last sample is fresh and good")

    def _unready(self) -> str:
        """Return what a loop that lives lacks; empty where it is ready."""
        record, tally = self.board.last(), self.board.tally()
        if tally.dead:
            return f"dead is the daemon's thread {' and '.join(tally.dead)}: restart the daemon"
        if record is None or tally.waiting:
            return tally.waiting or "starting: no tick yet"
        if record.lifecycle is not Lifecycle.RUNNING:
            return f"the daemon is {record.lifecycle.value}"
        if not isinstance(record.tick.reading, Sample):
            return f"the last reading failed: {record.tick.reading.reason}"
        stale = next((hold.reason for hold in record.holds if hold.code is HoldCode.STALE), None)
        return "" if stale is None else f"the samples are stale: {stale}"

    def process(self) -> Process:
        """Return what the daemon itself costs."""
        about = self.about
        spent = time.process_time()
        since, spent_before = self.board.tally().begun or (about.monotonic(), spent)
        lived = about.monotonic() - since
        share = (spent - spent_before) / lived if lived > 0 else 0.0
        return Process(
            version=about.version,
            started=about.started,
            interval=about.interval,
            resident_bytes=resident_bytes(),
            cpu_seconds=round(spent, 3),
            core_share=round(max(0.0, share), 6),
            speed=about.speed,
        )
