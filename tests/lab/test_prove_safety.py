"""The safety proofs' arithmetic: seeded faults, kills, slopes, the relay, and the page."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from lab.bench.ledger import Ledger
from lab.bench.statistics import slope
from lab.prove import deck, recovery, safety, surge
from lab.prove.faults import Faults
from lab.prove.relay import Relay
from lab.servers import timing
from lab.servers.base import LabServerError
from tests.lab.factory import CONDITIONS


def test_the_same_seed_gives_the_same_faults() -> None:
    """A soak can be repeated: order and lengths come from the seed alone."""
    assert deck.plan(7, 90) == deck.plan(7, 90)
    assert deck.plan(7, 90) != deck.plan(8, 90)
    assert [one.minute for one in deck.plan(7, 90)] == list(range(1, 91))


def test_every_kind_of_fault_comes_up() -> None:
    """Ninety minutes show every kind, each for as long as it may last."""
    for seed in range(20):
        planned = deck.plan(seed, 90)
        assert {one.kind for one in planned} == set(deck.SECONDS)
        assert all(deck.SECONDS[one.kind][0] <= one.seconds <= deck.SECONDS[one.kind][1] for one in planned)


def test_the_last_life_of_a_part_is_long_enough_for_a_slope() -> None:
    """The daemon is not ended in the last three fifths of a part."""
    for seed in range(20):
        for piece in deck.pieces(90):
            ends = [
                one.minute for one in deck.plan(seed, 90) if one.minute in piece and one.kind in deck.RESTARTS
            ]
            assert ends
            assert piece.stop - max(ends) >= safety.WARM_UP_MINUTES + safety.FEWEST_MINUTES


def test_no_part_of_a_soak_is_longer_than_an_hour() -> None:
    """Any length is cut into parts that leave time to start the server."""
    for minutes in (1, 45, 46, 90, 200):
        parts = deck.pieces(minutes)
        assert [minute for part in parts for minute in part] == list(range(1, minutes + 1))
        assert all(len(part) <= 45 for part in parts)


def test_every_kind_of_fault_can_be_carried_out() -> None:
    """The deck knows no kind that nothing carries out."""
    nobody: Any = type("Nobody", (), {"server": None})()
    assert set(Faults(nobody, nobody, nobody)._inject) == set(deck.SECONDS)


def test_kills_come_at_every_age_cold_and_warm() -> None:
    """Twelve kills, each age three times, both ways."""
    kills = recovery.plan()
    assert len(kills) == 12
    for ratio in recovery.AGES:
        found = [one.cold for one in kills if one.ratio == ratio]
        assert len(found) == 3
        assert set(found) == {True, False}


def test_the_last_initialisation_counts() -> None:
    """An earlier start's lines do not make a later one longer."""
    lines = [(timing.STARTED, 10.0), (timing.ENDED, 11.0), (timing.STARTED, 20.0)]
    assert timing.last_span([*lines, (timing.ENDED, 23.5)]) == 3.5
    with pytest.raises(LabServerError, match="when InnoDB was ready"):
        timing.last_span(lines)


def test_an_error_is_relative_to_what_was_measured() -> None:
    """A prediction too long by half is +50 %."""
    assert recovery.error(6.0, 4.0) == 0.5
    assert recovery.error(None, 4.0) is None


def test_dropping_caches_reaches_every_file(tmp_path: Path) -> None:
    """Files in subdirectories count, and a missing directory is named."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "one").write_bytes(b"x" * 5000)
    (tmp_path / "sub" / "two").write_bytes(b"y")
    assert timing.drop_caches(tmp_path) == 2
    with pytest.raises(LabServerError, match="nowhere"):
        timing.drop_caches(tmp_path / "nowhere")


def test_the_parts_fit_into_an_hour() -> None:
    """No part takes longer than it promises."""
    long = surge.LONG
    assert 2 * (long.settle[1] + long.counted) + long.surge + 300 <= 3600
    assert recovery.BUDGET <= 3600


def test_a_slope_has_bounds() -> None:
    """A straight line has a slope without spread; three points are the fewest."""
    exact = slope([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0])
    assert (exact.mean, exact.low, exact.high) == pytest.approx((2.0, 2.0, 2.0))
    noisy = slope([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, -1.0, 0.0])
    assert noisy.low is not None
    assert noisy.high is not None
    assert noisy.low < 0.0 < noisy.high
    with pytest.raises(ValueError, match="no slope"):
        slope([0.0, 1.0], [0.0, 1.0])


def test_a_relay_passes_on_until_told_to_drop() -> None:
    """Bytes go through; once dropped, nothing does, nobody is told, and only new connections come back."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5.0)
        with Relay(listener.getsockname()[1]) as relay:
            client = socket.create_connection(("127.0.0.1", relay.port), 5.0)
            server, _ = listener.accept()
            client.sendall(b"hello")
            assert server.recv(5) == b"hello"
            relay.drop()
            client.sendall(b"lost")
            server.settimeout(0.2)
            with pytest.raises(TimeoutError):
                server.recv(4)
            relay.pass_on()
            client.sendall(b"still lost")
            with pytest.raises(TimeoutError):
                server.recv(4)
            again = socket.create_connection(("127.0.0.1", relay.port), 5.0)
            fresh, _ = listener.accept()
            again.sendall(b"back")
            fresh.settimeout(5.0)
            assert fresh.recv(4) == b"back"
            for one in (client, server, again, fresh):
                one.close()


def kill_row(number: int, **other: object) -> dict[str, Any]:
    return {
        "part": "recovery",
        "number": number,
        "age_ratio": 0.8,
        "checkpoint_age": 70 * 2**20,
        "pages_dirty": 20_000,
        "cold": number % 2 == 0,
        "prior": 12.0,
        "learned": 4.4,
        "measured": 4.0,
        "first_query": 5.0,
        "error_prior": 2.0,
        "error_learned": 0.1,
        "learned_from": number - 1,
        "conditions": CONDITIONS,
        **other,
    }


def minute_row(minute: int, **other: object) -> dict[str, Any]:
    return {
        "part": "soak",
        "seed": 7,
        "minutes": 20,
        "piece": 1,
        "minute": minute,
        "fault": deck.SIGSTOP,
        "back_seconds": 2.0,
        "waits_for": "",
        "person": False,
        "died": "",
        "breaches": [],
        "sync_pages": 0,
        "pid": 1,
        "resident": 60 * 2**20,
        "files": 20,
        "threads": 5,
        "sessions": 1,
        "at": 60.0 * minute,
        "conditions": CONDITIONS,
        **other,
    }


def test_the_page_prints_the_errors_of_the_predictions(tmp_path: Path) -> None:
    """Median and worst are printed, and a promise that was not kept is said not to be."""
    ledger = Ledger(tmp_path / "recovery.jsonl", resume=True)
    for number in (1, 2, 3):
        ledger.add(kill_row(number))
    text = safety.write(tmp_path).read_text()
    assert "met: as learned, from the second kill on: median error 10%, worst +10%; 2 of 2" in text
    assert "**not met**: by the prior alone: median error 200%, worst +200%; 0 of 3" in text
    assert "Not run yet: `python -m lab.prove --part surge`" in text


def test_the_page_counts_faults_and_breaches(tmp_path: Path) -> None:
    """Every breach, every way back and the memory's slope are on the page."""
    ledger = Ledger(tmp_path / "soak.jsonl", resume=True)
    breach = {"invariant": 3, "run": 1, "tick": 9, "wall": 0.0, "what": "too soon"}
    for minute in range(1, 21):
        ledger.add(minute_row(minute, breaches=[breach] if minute == 5 else []))
    end = {"end": 20, "piece": 1, "exit": 0, "stop_seconds": 0.4, "breaches": [], "ticks": 1200, "writes": 31}
    ledger.add({"minutes": 20, "seed": 7, **end})
    text = safety.write(tmp_path).read_text()
    assert "part 1: 1200 ticks and 31 writes judged; ended with exit 0, 0.4 s after SIGTERM" in text
    assert "met: minutes: 20 of 20" in text
    assert "**not met**: breaches of an invariant: 1" in text
    assert "invariant 3, tick 9: too soon" in text
    assert f"| {deck.SIGSTOP} | 20 | 2.0 | 2.0 | 0 | 0 | 0 | 1 |" in text
    assert "minutes 11 to 20 of one process: +0.00 MiB/h" in text
    assert "60.0 MiB resident, 20 files, 5 threads, 1 server sessions" in text


def test_the_page_says_what_a_daemon_waited_for(tmp_path: Path) -> None:
    """A fault without a way back names the hold."""
    ledger = Ledger(tmp_path / "soak.jsonl", resume=True)
    ledger.add(minute_row(1, back_seconds=None, waits_for="foreign_change: innobrim resume", person=True))
    text = safety.write(tmp_path).read_text()
    assert "**not met**: faults with no way back within 2 minutes: 1" in text
    assert f"minute 1, {deck.SIGSTOP}: waited for foreign_change: innobrim resume" in text
    assert "no process lived long enough" in text


def surge_row(phase: str, **other: object) -> dict[str, Any]:
    return {
        "part": "surge",
        "phase": phase,
        "seconds": 1800,
        "offered": 1500,
        "commits_mean": 1500.0,
        "age_ratio_mean": 0.9,
        "age_ratio_max": 0.95,
        "checkpoint_ratio_max": 0.75,
        "io_capacity_max_mean": 400.0,
        "sync_pages": 0,
        "stall_seconds": 0,
        "longest_queue": 3,
        "set_point": surge.SET_POINT,
        "checkpoint_cap": surge.CHECKPOINT_CAP,
        "conditions": CONDITIONS,
        **other,
    }


def test_the_page_says_whether_the_surge_was_held(tmp_path: Path) -> None:
    """Sync-flushed pages, waits and what was served are on the page, and trial rows are marked."""
    ledger = Ledger(tmp_path / "surge.jsonl", resume=True)
    ledger.add(surge_row("closed", offered=None, trial=True))
    ledger.add(surge_row("held", trial=True))
    ledger.add(surge_row("surge", sync_pages=12, left="400/800", commits_mean=1490.0, trial=True))
    text = safety.write(tmp_path).read_text()
    assert "**not met**: sync-flushed pages in 30 minutes: 12" in text
    assert "met: seconds in which a writer waited for redo space: 0" in text
    assert "served of what was offered: 99.3%" in text
    assert "rows are of a trial" in text


def test_a_trial_gives_way_to_real_rows(tmp_path: Path) -> None:
    """Whenever each was made, a page with real rows shows none of a trial, and does not call itself one."""
    kills = Ledger(tmp_path / "recovery.jsonl", resume=True)
    kills.add(kill_row(1, trial=True, measured=77.0))
    kills.add(kill_row(1, trial=False))
    kills.add(kill_row(2, trial=True, measured=77.0))
    surges = Ledger(tmp_path / "surge.jsonl", resume=True)
    surges.add(surge_row("surge", trial=False))
    surges.add(surge_row("surge", trial=True, sync_pages=12))

    text = safety.write(tmp_path).read_text()

    assert "met: sync-flushed pages in 30 minutes: 0" in text
    assert "77.0" not in text
    assert "a trial" not in text


@pytest.mark.parametrize("trial", [True, False])
def test_a_trial_finishes_nothing_of_the_real_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, trial: bool
) -> None:
    """Shortened rows in the ledger are no reason to skip the long ones, nor the other way about."""

    def began(*_: object) -> None:
        raise LabServerError("begun")

    monkeypatch.setattr(surge, "near_bench", began)
    monkeypatch.setattr(recovery, "Bench", began)
    ledger = Ledger(tmp_path / "rows.jsonl", resume=True)
    ledger.add(surge_row("surge", trial=trial))
    for kill in recovery.plan():
        ledger.add(kill_row(kill.number, trial=trial))
    surge.run(ledger, "image", trial=trial)
    recovery.run(ledger, "image", trial=trial)

    with pytest.raises(LabServerError, match="begun"):
        surge.run(ledger, "image", trial=not trial)
    with pytest.raises(LabServerError, match="begun"):
        recovery.run(ledger, "image", trial=not trial)
