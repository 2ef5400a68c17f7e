"""What ``innobrim redo`` prints."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from tests.cli.redo_outputs import FOLDER, SITUATIONS, output, run
from tuner.cli.redo import Answer
from tuner.findings.sizing import sizing
from tuner.records import Sample


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_person_reads_what_was_recorded(situation: str) -> None:
    """Each situation prints its file, exit code included; python -m tests.cli.redo_outputs records anew."""
    assert output(situation) == (FOLDER / f"{situation}.txt").read_text(encoding="utf-8")


def test_a_machine_reads_the_type_that_the_program_has() -> None:
    """What --json prints is an object of the published type, with every field of it."""
    printed = run("binary-log", "--json").stdout
    answer = msgspec.json.decode(printed, type=Answer)

    assert msgspec.json.encode(answer).decode() == printed.strip()
    assert answer.sizing.pages_share == pytest.approx(9 / 171, abs=0.01)
    assert [one.redo_capacity for one in answer.sizing.sizes] == [52_428_800 << n for n in range(6)]


def test_the_size_to_take_is_the_first_line_and_its_safe_way_is_named_first() -> None:
    """Nobody looks for the answer below a table, and pastes SQL that looks at no disk and keeps no undo."""
    first, *more = run("device-is-the-limit").stdout.splitlines()
    (how,) = (line for line in more if line.startswith("  how:"))

    assert first == "[redo-size] take a redo log of 800 MiB instead of 100 MiB"
    assert how.split()[:5] == ["how:", "innobrim", "redo", "--to", "800M,"]
    assert "watched for 120 s" in "".join(more)  # as asked, and not one less


def test_no_log_is_proposed_that_holds_twice_an_hour_of_redo() -> None:
    """What is proposed is the smallest size that holds an hour, whatever share of writes more saves."""
    answer = msgspec.json.decode(run("an-hour-is-enough", "--json").stdout, type=Answer)
    holds = {one.redo_capacity: one.holds_seconds for one in answer.sizing.sizes}
    knee = answer.sizing.knee
    assert knee is not None

    assert (answer.sizing.knee_by, holds[knee // 2] < 3600.0 <= holds[knee]) == ("hour", True)
    assert holds[knee] == pytest.approx(knee / answer.sizing.redo_rate)


def test_new_pages_are_written_whatever_the_log() -> None:
    """Where a load fills new pages, as most it writes are, no larger log is said to save these."""
    answer = msgspec.json.decode(run("new-pages", "--json").stdout, type=Answer)
    saved = [one.page_writes_saved for one in answer.sizing.sizes]

    assert all(one.high < 0.3 for one in saved)


def test_a_neighbour_is_one_page_written() -> None:
    """Pages flushed as neighbours are among those flushed, and are not counted once more."""
    (records, state), _ = SITUATIONS["device-is-the-limit"]()
    made = [
        replace(one, tick=replace(one.tick, reading=replace(one.tick.reading, pages_neighbour=100 * place)))
        for place, one in enumerate(records)
        if isinstance(one.tick.reading, Sample)
    ]

    assert sizing(made, state, None) == sizing(records, state, None)


def test_a_log_that_saves_only_pages_gains_no_more_than_their_share() -> None:
    """Beside a synced binary log that makes most writes, the largest log saves less than a tenth of them."""
    answer = msgspec.json.decode(run("binary-log", "--json").stdout, type=Answer)
    saved = [one.device_writes_saved for one in answer.sizing.sizes]

    assert all(one is not None and one.high < 0.1 for one in saved)
