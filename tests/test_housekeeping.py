"""The daemon's own chores: in one thread, again and again, whatever they raise or the clock does."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tuner.housekeeping import After, Housekeeping

SOON = 10.0


@pytest.fixture
def house() -> Iterator[Housekeeping]:
    """Return a housekeeping that ends with the test."""
    found = Housekeeping()
    yield found
    found.stop(SOON)


def until(what: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    over = time.monotonic() + SOON
    while not what():
        assert time.monotonic() < over, "not in time"
        threading.Event().wait(0.01)


def test_chores_come_back_in_one_thread_of_their_own(house: Housekeeping) -> None:
    """All of them run one after the other, in a thread that is nobody else's."""
    seen: list[tuple[str, int]] = []
    house.every(0.02, lambda: seen.append(("one", threading.get_ident())), name="one")
    house.every(0.03, lambda: seen.append(("other", threading.get_ident())), name="other")
    house.start()
    until(
        lambda: [name for name, _ in seen].count("one") > 2 and [name for name, _ in seen].count("other") > 2
    )

    threads = {thread for _, thread in seen}
    assert {name for name, _ in seen} == {"one", "other"}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_a_chore_that_fails_comes_back(house: Housekeeping, caplog: pytest.LogCaptureFixture) -> None:
    """What it raises is logged, and neither it nor the others end."""
    runs: list[float] = []

    def fail() -> None:
        runs.append(time.monotonic())
        raise OSError("the disk is full")

    house.every(0.02, fail, name="fails")
    with caplog.at_level(logging.ERROR, "apscheduler"):
        house.start()
        until(lambda: len(runs) > 2)

    assert "fails" in caplog.text


def test_a_chore_that_hangs_keeps_nobody_from_ending(house: Housekeeping) -> None:
    """Whoever stops it waits so long and no longer, and learns that something is still running."""
    hanging, release = threading.Event(), threading.Event()
    house.every(0.01, lambda: (hanging.set(), release.wait(SOON))[0], name="hangs")
    house.start()
    assert hanging.wait(SOON)
    began = time.monotonic()

    assert house.stop(0.2) is False
    assert time.monotonic() - began < SOON / 2
    release.set()


def test_it_can_be_stopped_before_it_begins() -> None:
    """A daemon that ends before its first tick has no thread to end."""
    assert Housekeeping().stop(SOON)


def test_a_clock_that_jumps_forward_is_made_up_for_once() -> None:
    """From 1970 to now is one run that is due, and the next an interval from now."""
    now = datetime(2026, 6, 1, tzinfo=UTC)

    assert After(60.0).get_next_fire_time(datetime(1970, 1, 1, tzinfo=UTC), now) == now + timedelta(minutes=1)


def test_a_clock_that_is_set_back_puts_nothing_off(house: Housekeeping) -> None:
    """What was due by the old clock is due an interval from now by the new one."""
    runs: list[float] = []
    house.every(0.05, lambda: runs.append(time.monotonic()), name="one")
    house.start()
    until(lambda: bool(runs))
    (job,) = house._scheduler.get_jobs()
    job.modify(next_run_time=datetime.now(UTC) + timedelta(days=1))
    before = len(runs)

    house.clock_was_set()
    until(lambda: len(runs) > before + 1)
