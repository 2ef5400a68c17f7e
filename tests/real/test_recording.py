"""The loop on a real server: it finds its set-point and stays there, costs little, and replays."""

from __future__ import annotations

import statistics

import pytest

from tests.real.installation import innobrim
from tests.real.recording import BAND, WINDOW, Footprint, Recording, is_held
from tuner.records import Sample

pytestmark = [pytest.mark.real, pytest.mark.timeout(1500)]

MEBIBYTE = 1024 * 1024
LEAST_SECONDS = 60.0
LARGEST_SHARE = 0.01


def test_the_age_stays_at_the_set_point(recording: Recording) -> None:
    """From the default setting the age comes to the set-point, and is held there for 90 seconds."""
    assert len(recording.ticks) >= 0.95 * WINDOW
    assert is_held(recording.ticks)


def test_another_pair_of_eyes_sees_the_same(recording: Recording) -> None:
    """An independent connection reads the age that the daemon records, within a second's flushing."""
    ours = [one.tick.reading.age_ratio for one in recording.ticks if isinstance(one.tick.reading, Sample)]
    theirs = [one.sample.age_ratio for one in recording.readings]
    mean = statistics.fmean(ours)
    assert len(theirs) >= 0.95 * WINDOW
    assert abs(statistics.fmean(theirs) - mean) <= BAND
    assert sum(abs(one - mean) <= 2 * BAND for one in theirs) >= 0.95 * len(theirs)


def test_nothing_is_flushed_in_an_emergency(recording: Recording) -> None:
    """While the age is held, the server flushes no page synchronously and no writer waits for redo space."""
    first, last = recording.readings[0].sample, recording.readings[-1].sample
    assert last.pages_sync == first.pages_sync
    assert last.redo_space_waits == first.redo_space_waits


def test_the_set_point_is_worth_holding(recording: Recording) -> None:
    """What is held is a redo log filled well beyond what the default setting uses."""
    assert min(one.decision.set_point or 0.0 for one in recording.ticks) > 0.6
    assert recording.readings[-1].sample.io_capacity_max < 1000


def test_without_api(recording: Recording, figures: list[str]) -> None:
    """A daemon without API fits into 52 MiB and a hundredth of a core."""
    fits(recording.without_api, "without API", 52, figures)


def test_with_api(recording: Recording, figures: list[str]) -> None:
    """A daemon that serves the API fits into 75 MiB and a hundredth of a core; a command says so."""
    fits(recording.with_api, "with API", 75, figures)
    process = recording.status["process"]
    assert abs(process["resident_bytes"] - recording.with_api.resident) < 4 * MEBIBYTE
    assert 0.0 < process["core_share"] < 2 * LARGEST_SHARE


def fits(cost: Footprint, which: str, mebibytes: int, figures: list[str]) -> None:
    """See what a daemon costs at one tick a second, and print it."""
    figures.append(f"{which}: {cost.resident / MEBIBYTE:.1f} MiB resident, {cost.share:.3%} of a core")
    assert cost.seconds >= LEAST_SECONDS
    assert cost.resident <= mebibytes * MEBIBYTE
    assert cost.share < LARGEST_SHARE


def test_the_same_decisions_come_out_again(recording: Recording) -> None:
    """A journal recorded on a real server replays to the same decisions and reason codes, every one."""
    done = innobrim("replay", str(recording.state))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every decision the same" in done.stdout
    assert "skipped" not in done.stdout
    compared = int(done.stdout.split(": ")[1].split(" ticks")[0])
    assert compared >= recording.settled_after + len(recording.ticks) - 10
