"""Whether the loop lives and whether it sees its server; what the process costs. No SQL anywhere."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from api.about import About
from tuner.board import Board
from tuner.config.checks import worst_tick_seconds
from tuner.records import HoldCode, Lifecycle, Sample

STARTUP_SECONDS = 15.0
"""How long the first tick, or an attempt to reach the server before it, may take."""


class Health(Struct, frozen=True):
    """The answer of a probe."""

    ok: Annotated[bool, Meta(description="the probe's answer")]
    reason: Annotated[str, Meta(description="why, in words")]
    tick_age_seconds: Annotated[
        float | None, Meta(description="seconds since the last sign of life; none before the first")
    ]
    limit_seconds: Annotated[float, Meta(description="a tick older than this means that the loop is dead")]


class Process(Struct, frozen=True):
    """The daemon itself."""

    version: Annotated[str, Meta(description="InnoBrim's version")]
    started: Annotated[float, Meta(description="when the daemon started, Unix time")]
    interval: Annotated[float, Meta(description="seconds between two ticks")]
    resident_bytes: Annotated[int, Meta(description="resident memory, bytes")]
    cpu_seconds: Annotated[float, Meta(description="processor time since the process started, seconds")]
    core_share: Annotated[float, Meta(description="share of one core since the first tick, 0 to 1")]


class Vitals:
    """Judges the loop by what it last put on the board."""

    def __init__(self, board: Board, about: About) -> None:
        self._board = board
        self._about = about
        self._begun = about.monotonic()

    @property
    def limit(self) -> float:
        """Return how old the last tick may be, seconds: two intervals, a second, and the slowest tick."""
        slowest = worst_tick_seconds(self._about.configuration())
        return 2 * self._about.interval + 1.0 + slowest

    def live(self) -> Health:
        """Say whether the loop's thread still ticks, or waits for its server with a sign of life."""
        tally = self._board.tally()
        now = self._about.monotonic()
        if tally.alive is None:
            waited = now - self._begun
            if waited > self.limit + STARTUP_SECONDS:
                return self._health(f"no tick since the start {waited:.1f} s ago", ok=False)
            return self._health("starting: no tick yet", ok=True)
        age = now - tally.alive
        limit = self.limit + (STARTUP_SECONDS if tally.waiting else 0.0)
        if age > limit:
            reason = f"the loop is dead: its last tick was {age:.1f} s ago, {limit:.1f} s is the limit"
            return self._health(reason, age, ok=False)
        return self._health(tally.waiting or "the loop ticks", age, ok=True)

    def ready(self) -> Health:
        """Say whether the loop lives and has a fresh good sample of its server."""
        live = self.live()
        if not live.ok:
            return live
        record = self._board.last()
        waiting = self._board.tally().waiting
        if record is None or waiting:
            return self._health(waiting or "starting: no tick yet", live.tick_age_seconds, ok=False)
        age = live.tick_age_seconds
        if record.lifecycle is not Lifecycle.RUNNING:
            return self._health(f"the daemon is {record.lifecycle.value}", age, ok=False)
        if not isinstance(record.tick.reading, Sample):
            return self._health(f"the last reading failed: {record.tick.reading.reason}", age, ok=False)
        for hold in record.holds:
            if hold.code is HoldCode.STALE:
                return self._health(f"the samples are stale: {hold.reason}", age, ok=False)
        return self._health("the last sample is fresh and good", age, ok=True)

    def process(self) -> Process:
        """Return what the daemon itself costs."""
        about = self._about
        spent = about.cpu_seconds()
        since, spent_before = self._board.tally().begun or (about.monotonic(), spent)
        lived = about.monotonic() - since
        share = (spent - spent_before) / lived if lived > 0 else 0.0
        return Process(
            version=about.version,
            started=about.started,
            interval=about.interval,
            resident_bytes=about.resident_bytes(),
            cpu_seconds=round(spent, 3),
            core_share=round(max(0.0, share), 6),
        )

    def _health(self, reason: str, age: float | None = None, *, ok: bool) -> Health:
        return Health(ok=ok, reason=reason, tick_age_seconds=age, limit_seconds=self.limit)
