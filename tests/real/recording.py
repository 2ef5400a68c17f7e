"""One long run of the loop beside a real server, which several tests judge."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.bench.figures import Reading
from lab.bench.rig import Sampler
from lab.servers.base import LabServer
from tests.real.installation import Innobrim
from tests.real.support import new_account, until
from tuner.records import TickRecord

BAND = 0.05
SETTLE_LIMIT = 600.0
REACHED_TICKS = 30
WINDOW = 90.0
SHARE = 0.95
"""Share of the window's ticks that are to be within the band."""

LONGEST = 300.0
"""Such a window has to be seen within so many seconds: a disk that others use is not always steady."""

START_RATIO = 0.3
SET_POINT = 0.75
"""Below the line where the cap decides, so that a load unsettled by other work is held as well."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one daemon cost in the window.

    Attributes:
        resident: memory at its end, bytes.
        cpu: processor time, seconds.
        seconds: length of the window.
    """

    resident: int
    cpu: float
    seconds: float

    @property
    def share(self) -> float:
        """Return the share of one core."""
        return self.cpu / self.seconds


@dataclass(frozen=True, slots=True)
class Recording:
    """What was seen.

    Attributes:
        state: the daemon's state directory, with its journal.
        settled_after: seconds from its start until it had reached its set-point.
        ticks: the daemon's ticks within the window, from its journal.
        readings: the window as seen over another connection.
        with_api: what the writing daemon cost, which served the API.
        without_api: what a second daemon cost, which served none.
        status: what ``innobrim status --json`` said at the end of the window.
    """

    state: Path
    settled_after: float
    ticks: list[TickRecord]
    readings: list[Reading]
    with_api: Footprint
    without_api: Footprint
    status: dict[str, Any]


def error_of(record: TickRecord) -> float | None:
    """Return how far the age ratio of a tick is from its set-point; None where either is unknown."""
    if record.estimate is None or record.decision.set_point is None:
        return None
    return record.estimate.age_ratio - record.decision.set_point


STEADY = 60
"""Ticks in a row with an age near the set-point, after which it has settled."""

SETTLES = 1500.0
"""Seconds that this may take: an age of 1600 MiB of redo rises for a quarter of an hour."""


RESTING, AT_REST = 180, 0.03
"""Ticks in which an age that has come to rest elsewhere moves by no more than the second."""


def settle(daemon: Innobrim, set_point: float) -> None:
    """Return once the age has been near the set-point for a minute, or rests where the lowest M has it."""
    end, ages = time.monotonic() + SETTLES, list[float]()
    while True:
        assert time.monotonic() < end, f"no steady age within {SETTLES:.0f} s:\n{daemon.log()}"
        estimate = daemon.await_ticks(1)["estimate"]
        ages = [] if estimate is None else [*ages, estimate["age_ratio"]]
        late, near = ages[-RESTING:], [abs(one - set_point) <= BAND for one in ages[-STEADY:]]
        if len(near) == STEADY and all(near):
            return
        if len(late) == RESTING and max(late) - min(late) <= AT_REST:
            return


def held(recording: Recording) -> tuple[int, float]:
    """Return the seconds of the window within the band, and the farthest error."""
    errors = [abs(one) for one in map(error_of, recording.ticks) if one is not None]
    return sum(1 for one in errors if one <= BAND), max(errors)


def record(server: LabServer, directory: Path) -> Recording:
    """Carry the run out beside a server under load; both daemons are asked to write, and one may."""
    second_account = new_account(server, "innobrim_second", "SYSTEM_VARIABLES_ADMIN")
    with (
        Sampler(server) as sampler,
        Innobrim(server, directory / "first") as first,
        Innobrim(server, directory / "second", account=second_account, api=False) as second,
    ):
        until(
            lambda: sampler.readings() and sampler.readings()[-1].sample.age_ratio < START_RATIO,
            60.0,
            "the age that belongs to the default setting",
        )
        began = time.monotonic()
        first.start("--active", "--set-point", str(SET_POINT))
        first.await_status(lambda found: found["tick"] > 0, 60.0, "the first tick")
        second.start("--active")
        until(lambda: reached(first), SETTLE_LIMIT, "the set-point reached")
        settled_after = time.monotonic() - began
        started = (time.monotonic(), first.cpu_seconds(), second.cpu_seconds())
        until(lambda: _watched(started[0], first, second), LONGEST + 30.0, "the end of the window")
        ended_at = time.monotonic()
        footprints = (
            Footprint(first.resident(), first.cpu_seconds() - started[1], ended_at - started[0]),
            Footprint(second.resident(), second.cpu_seconds() - started[2], ended_at - started[0]),
        )
        status = json.loads(first.command("status", "--json").stdout)
        second.terminate()
        first.terminate()
        return Recording(
            state=first.state,
            settled_after=settled_after,
            ticks=window(first),
            readings=sampler.readings(ended_at - WINDOW, ended_at),
            with_api=footprints[0],
            without_api=footprints[1],
            status=status,
        )


def reached(daemon: Innobrim) -> bool:
    """Return whether the last ticks on disk are all within the band around the set-point."""
    daemon.running()
    errors = [error_of(one) for one in daemon.records()[-REACHED_TICKS:]]
    return len(errors) == REACHED_TICKS and all(one is not None and abs(one) <= BAND for one in errors)


def window(daemon: Innobrim, seconds: float = WINDOW) -> list[TickRecord]:
    """Return the ticks on disk of the last seconds."""
    records = daemon.records()
    return [one for one in records if one.tick.now > records[-1].tick.now - seconds]


def is_held(ticks: list[TickRecord]) -> bool:
    """Tell whether nearly all ticks of a window are within the band."""
    errors = [error_of(one) for one in ticks]
    return sum(one is not None and abs(one) <= BAND for one in errors) >= SHARE * len(errors)


def _watched(began: float, *daemons: Innobrim) -> bool:
    for one in daemons:
        one.running()
    lasted = time.monotonic() - began
    return lasted >= LONGEST or (lasted >= WINDOW and is_held(window(daemons[0])))
