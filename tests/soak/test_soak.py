"""The soak: seeded faults, and what its rows come to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from lab.bench.store import Ledger
from tests.soak import faults, run


def test_the_same_seed_gives_the_same_faults() -> None:
    """A soak can be repeated: order and lengths come from the seed alone."""
    assert faults.plan(7, 90) == faults.plan(7, 90)
    assert faults.plan(7, 90) != faults.plan(8, 90)
    assert [one.minute for one in faults.plan(7, 90)] == list(range(1, 91))


def test_every_kind_of_fault_comes_up() -> None:
    """Ninety minutes show every kind, each for as long as it may last."""
    for seed in range(20):
        planned = faults.plan(seed, 90)
        assert {one.kind for one in planned} == set(faults.SECONDS)
        assert all(
            faults.SECONDS[one.kind][0] <= one.seconds <= faults.SECONDS[one.kind][1] for one in planned
        )


def test_the_last_life_of_a_part_is_long_enough_for_a_slope() -> None:
    """The daemon is not ended in the last three fifths of a part."""
    for seed in range(20):
        for piece in faults.pieces(90):
            ends = [
                one.minute
                for one in faults.plan(seed, 90)
                if one.minute in piece and one.kind in faults.RESTARTS
            ]
            assert ends
            assert piece.stop - max(ends) >= run.WARM_UP_MINUTES + run.FEWEST_MINUTES


def test_no_part_of_a_soak_is_longer_than_an_hour() -> None:
    """Any length is cut into parts that leave time to start the server."""
    for minutes in (1, 45, 46, 90, 200):
        parts = faults.pieces(minutes)
        assert [minute for part in parts for minute in part] == list(range(1, minutes + 1))
        assert all(len(part) <= 45 for part in parts)


def test_every_kind_of_fault_can_be_carried_out() -> None:
    """The deck knows no kind that nothing carries out."""
    assert set(faults.Faults(Mock(), Mock(), Mock())._inject) == set(faults.SECONDS)


def minute_row(minute: int, **other: object) -> dict[str, Any]:
    return {
        "part": "soak",
        "seed": 7,
        "minutes": 20,
        "piece": 1,
        "minute": minute,
        "fault": faults.SIGSTOP,
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
        **other,
    }


def test_the_report_counts_faults_and_breaches(tmp_path: Path) -> None:
    """Every breach, every way back and the memory's slope are in it."""
    ledger = Ledger(tmp_path / "soak.jsonl")
    breach = {"run": 1, "what": "3: too soon"}
    for minute in range(1, 21):
        ledger.add(minute_row(minute, breaches=[breach] if minute == 5 else []))
    end = {"end": 20, "piece": 1, "exit": 0, "stop_seconds": 0.4, "breaches": [], "ticks": 1200, "writes": 31}
    ledger.add({"minutes": 20, "seed": 7, **end})

    lines = list(run.report(tmp_path / "soak.jsonl"))

    assert "part 1: 1200 ticks and 31 writes judged; ended with exit 0, 0.4 s after SIGTERM" in lines
    assert "met: minutes: 20 of 20" in lines
    assert "NOT MET: breaches of an invariant: 1; none wanted" in lines
    assert "  run 1, 3: too soon" in lines
    assert any("minutes 11 to 20 of one process: +0.00 MiB/h" in line for line in lines)


def test_the_report_says_what_a_daemon_waited_for(tmp_path: Path) -> None:
    """A fault without a way back names the hold, and a lost minute is no kept promise."""
    ledger = Ledger(tmp_path / "soak.jsonl")
    ledger.add(minute_row(1, back_seconds=None, waits_for="foreign_change: innobrim resume", person=True))

    lines = list(run.report(tmp_path / "soak.jsonl"))

    assert "NOT MET: minutes: 1 of 20" in lines
    assert "NOT MET: faults with no way back within 2 minutes: 1; none wanted" in lines
    assert f"  minute 1, {faults.SIGSTOP}: waited for foreign_change: innobrim resume" in lines


def test_a_soak_with_all_its_minutes_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is started, and what would have it measured anew is named."""
    ledger = Ledger(tmp_path / "soak.jsonl")
    for minute in range(1, 21):
        ledger.add(minute_row(minute))

    run.run(tmp_path / "soak.jsonl", "no-image")

    said = f"finished before; without {tmp_path / 'soak.jsonl'} it is measured anew"
    assert said in capsys.readouterr().out


def test_a_breach_is_reported_once_and_by_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The referee of all real runs judges each minute; what it called before is not counted again."""
    daemon: Any = SimpleNamespace(state=tmp_path)
    watch = run.Watch(daemon, daemon, daemon)
    assert watch.breaches() == []

    def broken(_state: Path, number: int) -> None:
        raise AssertionError(f"3: too soon in run {number}")

    monkeypatch.setattr(run, "runs", lambda _state: [SimpleNamespace(number=one) for one in (1, 2, 3)])
    monkeypatch.setattr(run, "judge_run", broken)

    assert [one["what"] for one in watch.breaches()] == ["3: too soon in run 2", "3: too soon in run 3"]
    assert watch.breaches() == []
