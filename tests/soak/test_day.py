"""A day: its seeded hours, what its rows come to, and a referee that goes on where it stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.bench.store import Ledger
from tests.daemon.life import Life, after
from tests.soak import day, faults, hours
from tuner.settings import Mode, Settings

HOUR = 3600.0


def test_the_same_seed_gives_the_same_day() -> None:
    """A day can be repeated, and what is left of it is what it would have been."""
    assert hours.plan(7) == hours.plan(7)
    assert hours.plan(7) != hours.plan(8)
    assert [slot.hour for slot in hours.plan(7)] == [hour for hour in range(24) for _ in range(6)]


def test_the_last_twelve_hours_are_one_process() -> None:
    """Every kind of fault comes up, and none ends the daemon in the half day whose memory counts."""
    for seed in range(20):
        planned = hours.plan(seed)
        assert {slot.fault.kind for slot in planned} == set(faults.SECONDS)
        assert all(slot.fault.kind not in faults.RESTARTS for slot in planned if slot.hour >= 12)


def rows(
    resident: Any,  # noqa: ANN401 - of hour and command
    *,
    numbers: range = range(1, 145),
    commands: int = 1,
    revision: str = "0123456789",
) -> list[dict[str, Any]]:
    """Return a day's rows; ``resident`` says MiB by hours since midnight and number of the command."""
    found: list[dict[str, Any]] = []
    for number in numbers:
        command = (number - 1) * commands // 144
        minutes = []
        for minute in range(10):
            at = (number - 1) * 600.0 + minute * 60.0
            size = int(resident(at / HOUR, command) * 2**20)
            minutes.append({"at": at, "sessions": 2, "api": [1, size, 20, 5], "bare": [2, size, 9, 4]})
        found.append(
            {
                "server": "mysql-8.0.31",
                "seed": 7,
                "command": command,
                "revision": revision,
                "hour": (number - 1) // 6,
                "row": number,
                "offered": 300,
                "changed": 300.0,
                "beside": [],
                "fault": faults.SIGSTOP,
                "back_seconds": 2.0,
                "waits_for": "",
                "died": "",
                "sync_pages": 0,
                "minutes": minutes,
                "ledger": {"text": f"of {number}"},
            }
        )
    disk = {"write_iops": 1200}
    load = {"kind": "update_non_index", "threads": 16, "tables": 4, "rows": 400_000}
    measured = {"server": "MySQL 8.0.31", "disk": disk, "load": load, "redo_capacity": 2**20}
    end = {
        "hour": 23,
        "breaches": [],
        "ticks": 86_400,
        "writes": 31,
        "judged": {"run": 1, "tick": 1, "wall": 1.0},
    }
    conditions = {**measured, "buffer_pool": 2**20, "processors": 2}
    whole = {**end, "conditions": conditions}
    return [*found, {"server": "mysql-8.0.31", "seed": 7, "command": commands - 1, **whole}]


def report(tmp_path: Path, found: list[dict[str, Any]]) -> list[str]:
    ledger = Ledger(tmp_path / "day.jsonl")
    for row in found:
        ledger.add(row)
    return list(day.report(tmp_path / "day.jsonl"))


def test_memory_that_grows_is_called(tmp_path: Path) -> None:
    """A mebibyte an hour is more than may be, however little is there."""
    lines = report(tmp_path, rows(lambda hour, _: 40.0 + hour))

    assert any(
        line.startswith("- NOT MET: its slope over the last 12 hours") and "+1.00" in line for line in lines
    )


def test_a_process_that_begins_with_less_is_no_slope(tmp_path: Path) -> None:
    """Memory is flat where it is flat within every process, whatever each begins with."""
    lines = report(tmp_path, rows(lambda _, command: 40.0 - command, commands=24))

    assert sum(line.startswith("- met: its slope over the last 12 hours") for line in lines) == 2
    assert "- met: rows of ten minutes: 144 of 144" in lines


def test_a_row_without_a_revision_is_refused(tmp_path: Path) -> None:
    """Nobody could say what was measured."""
    with pytest.raises(ValueError, match="say no revision"):
        report(tmp_path, rows(lambda _hour, _: 40.0, revision=""))


def test_a_day_with_all_its_rows_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is started, and what would have it measured anew is named."""
    report(tmp_path, rows(lambda _hour, _: 40.0))

    hours.run(tmp_path / "day.jsonl", "mysql-8.0.31", hours=3)

    assert "finished before; without its rows in" in capsys.readouterr().out


def test_a_part_of_a_day_begins_at_its_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts side by side have each their hours and their journal; the same command does no other's hours."""
    lived: list[tuple[list[int], Any]] = []

    def live(part: Any, todo: list[hours.Slot]) -> None:  # noqa: ANN401 - what hours.py keeps to itself
        lived.append((sorted({slot.hour for slot in todo}), part._state))

    monkeypatch.setattr(hours._Day, "live", live)
    monkeypatch.setattr(hours, "server_named", lambda *_: None)
    report(tmp_path, rows(lambda _hour, _: 40.0, numbers=range(13, 22)))
    for first in (None, 2, 4):
        hours.run(tmp_path / "day.jsonl", "mysql-8.0.31", hours=2, first=first)

    assert [asked for asked, _ in lived] == [[0, 1], [3], [4, 5]]
    assert len({state for _, state in lived}) == 3


def test_the_page_is_what_the_rows_say() -> None:
    """Nobody wrote into the part of the page that is made of rows."""
    assert day.page() == day.PAGE.read_text(encoding="utf-8")


def test_the_referee_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """An interrupted part is judged by the next command: no tick is left out, and none is counted twice."""
    first = Life(tmp_path, Settings(mode=Mode.ACTIVE)).through("write")
    before = hours.judged(tmp_path, {"run": 0, "tick": 0, "wall": 0.0})
    second = after(first)
    second.through(30, lambda: second.daemon._memory.snapshot() or True, 30)

    found = hours.judged(tmp_path, before["judged"])
    again = hours.judged(tmp_path, found["judged"])

    assert found["breaches"] == again["breaches"] == []
    assert (before["ticks"], found["ticks"], again["ticks"]) == (len(first.records), len(second.records), 0)
    assert found["judged"]["tick"] > 0


def test_hours_whose_disk_was_in_memory_are_named(tmp_path: Path) -> None:
    """A disk in memory waits for no sync, so a reader has to know which hours had one."""
    found = rows(lambda *_: 40.0)
    assert "in memory" not in "".join(report(tmp_path, found))

    end = found[-1]
    conditions = {**end["conditions"], "disk": {"write_iops": 1200, "in_memory": True}}
    ends = [{**end, "hour": hour, "conditions": conditions} for hour in (10, 9)]
    text = "".join(report(tmp_path / "again", [*found, *ends]))

    assert "In hours 9, 10 the disk was a loop device in memory, limited alike." in text
