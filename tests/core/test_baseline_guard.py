"""Two sets of values on one server: noise is no loss, a real one is found, and no load stands for another."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.factory import sample
from tuner.core.baseline.guard import (
    BLOCK_SECONDS,
    KINDS,
    LEAST_SETTLING,
    BaselineGuard,
    BaselineTick,
    Ended,
    Returned,
    Side,
    no_better,
    update,
)
from tuner.records import Capacity

OURS, BASELINE = Side.OURS, Side.BASELINE
SETTLING = int(LEAST_SETTLING / BLOCK_SECONDS) + 1
"""Minutes after a change of side of which nothing is counted."""

STEP = 5.0


class Server:
    """A server whose counters grow minute by minute as they are told to, beside a guard that looks on."""

    def __init__(self, noise: float = 0.0, seed: int = 1) -> None:
        self.guard = BaselineGuard()
        self.ended: list[Ended] = []
        self._noise = noise
        self._dice = random.Random(seed)  # noqa: S311 - noise, and no secret
        self._at = self._rows = self._pages = self._lsn = self._waits = self._time = 0.0

    def minutes(
        self,
        count: int,
        side: Side,
        *,
        rows: float = 3000.0,
        pages: float = 0.2,
        row_bytes: float = 400.0,
        threads: float = 16.0,
        waits: float = 0.0,
        dips: float = 0.0,
        disturbed: bool = False,
        **shown: Any,  # noqa: ANN401 - any field of a reading
    ) -> list[str]:
        """Let minutes pass; return the losses that they were called.

        ``pages`` are dirtied for each row change, and ``row_bytes`` of redo; ``threads`` statements write, 0
        where the server does not show it; nothing comes through in so many ``dips`` seconds of each minute.
        """
        before = len(self.ended)
        for _ in range(count):
            factor, other = (self._dice.lognormvariate(0.0, self._noise) for _ in range(2))
            for place in range(round(BLOCK_SECONDS / STEP)):
                now = 0.0 if place * STEP < dips else rows * factor
                self._at += STEP
                self._rows += now * STEP
                self._pages += now * pages * other * STEP
                self._lsn += now * row_bytes * STEP
                self._waits += waits * STEP
                self._time += threads * STEP
                reading = sample(
                    self._at,
                    row_changes=round(self._rows),
                    pages_adaptive=round(self._pages),
                    pages_dirty=1000,
                    pages_lru=0,
                    lsn_current=10**10 + round(self._lsn),
                    free_page_waits=round(self._waits),
                    write_time=self._time if threads else None,
                    **shown,
                )
                look = BaselineTick(
                    reading.monotonic, reading, side, disturbed, now, beyond=False, settling=0.0
                )
                self.guard, ended = update(self.guard, look)
                self.ended += [] if ended is None else [ended]
        return [one.loss for one in self.ended[before:] if one.loss]


def known(noise: float = 0.02, minutes: int = 30, **how: Any) -> Server:  # noqa: ANN401 - what minutes takes
    """Return a server that was looked at for half an hour under its own values."""
    server = Server(noise)
    server.minutes(SETTLING + minutes, BASELINE, **how)
    return server


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), noise=st.floats(0.0, 0.3), baseline=st.integers(10, 60))
def test_noise_alone_is_no_loss(seed: int, noise: float, baseline: int) -> None:
    """Minutes that are as good on both sides, however noisy, are called no loss in four hours."""
    server = Server(noise, seed)
    server.minutes(SETTLING + baseline, BASELINE)

    assert server.minutes(240, OURS) == []


@pytest.mark.parametrize(
    ("worse", "said"),
    [
        ({"rows": 2700.0}, " row changes/s instead of 2974, with as many"),
        ({"pages": 0.25}, "pages for each row change instead of 0.2"),
        ({"dips": 10.0, "threads": 0.0}, "of the time with hardly a row change"),
        ({"waits": 20.0}, "20 waits for a free page a second instead of 0"),
    ],
)
def test_a_real_loss_is_found_and_said_with_its_figures(worse: dict[str, float], said: str) -> None:
    """Fewer rows, more pages, starved time or waits for free pages: each is found within twenty minutes."""
    losses = known(threads=worse.get("threads", 16.0)).minutes(SETTLING + 20, OURS, **worse)  # type: ignore[arg-type] # no flag

    assert losses
    assert said in losses[0]


@pytest.mark.parametrize("shown", [9, 5])
def test_too_little_evidence_of_either_side_is_no_verdict(shown: int) -> None:
    """With fewer than ten minutes of the baseline, or of ours, nothing is called a loss."""
    assert known(0.0, shown).minutes(60, OURS, rows=1000.0, pages=0.5) == []
    assert known(0.0, 60).minutes(SETTLING + shown, OURS, rows=1000.0, pages=0.5) == []


@pytest.mark.parametrize(
    ("before", "ours"),
    [
        ({}, {"rows": 2600.0, "threads": 16.0 * 2600.0 / 3000.0}),
        ({"threads": 0.0}, {"rows": 1500.0, "threads": 0.0}),
        ({}, {"rows": 3300.0, "pages": 0.25}),
        ({}, {"rows": 1000.0, "pages": 0.5, "row_bytes": 1200.0}),
        ({}, {"rows": 1000.0, "disturbed": True}),
        ({"io_capacity": 1000, "io_capacity_max": 2000}, {"rows": 1000.0}),
    ],
    ids=["asks for less", "concurrency unknown", "commits more", "another load", "disturbed", "another pair"],
)
def test_what_is_no_loss(before: dict[str, Any], ours: dict[str, Any]) -> None:
    """A load's own choice, more work done, another load, a backup, an older baseline prove nothing."""
    server = known(threads=before.get("threads", 16.0))
    if "io_capacity" in before:
        server.minutes(SETTLING + 2, BASELINE, **before)
        assert server.guard.pair == Capacity(1000, 2000)

    assert server.minutes(60, OURS, **ours) == []
    assert not ours.get("disturbed") or all(one.ours.rows.count == 0 for one in server.guard.kinds)
    assert "row_bytes" not in ours or len(server.guard.kinds) == 2


def test_kinds_are_bounded() -> None:
    """However many loads come by, six are remembered."""
    server = Server()
    for number in range(20):
        server.minutes(SETTLING + 2, BASELINE, row_bytes=100.0 * 2.0**number, rows=3000.0 / 2.0**number)

    assert len(server.guard.kinds) == KINDS


@pytest.mark.parametrize(("rows", "found"), [(2600.0, True), (3000.0, False)])
def test_a_baseline_that_shows_no_better_is_told(rows: float, *, found: bool) -> None:
    """Once the baseline is back and does as ours did, the load had changed; where it does better, not."""
    server = known(0.0)
    assert server.minutes(SETTLING + 20, OURS, rows=2600.0)
    ended = server.ended[-1]
    returned = Returned("", ended.kind.context, ended.kind.ours)
    server.guard = replace(server.guard, returned=returned)
    server.minutes(SETTLING + 12, BASELINE, rows=rows)

    assert server.guard.returned is not None
    assert no_better(server.guard.returned) is found


@given(
    numbers=st.lists(st.integers(0, 2**63), min_size=6, max_size=6),
    seconds=st.lists(st.floats(0.0, 1e9), min_size=3, max_size=30),
    sides=st.lists(st.sampled_from(Side), min_size=30, max_size=30),
)
@settings(max_examples=60)
def test_it_never_raises_on_finite_readings(
    numbers: list[int], seconds: list[float], sides: list[Side]
) -> None:
    """Whatever counters a server shows, in whatever order, the step goes on."""
    guard = BaselineGuard()
    rows, pages, waits, lsn, selects, changes = numbers
    for at, side in zip(seconds, sides, strict=False):
        reading = sample(
            at,
            row_changes=int(rows * at) % 2**63,
            pages_adaptive=pages,
            free_page_waits=waits,
            lsn_current=int(lsn * at) % 2**63,
            write_time=at,
            select_statements=selects,
            change_statements=changes,
        )
        for now in (at, at + 5.0, at + 10.0, at + 70.0):
            look = BaselineTick(now, reading, side, disturbed=False, rows_now=1e9, beyond=True, settling=0.0)
            guard, _ = update(guard, look)
