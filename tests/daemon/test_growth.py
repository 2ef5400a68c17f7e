"""``redo.grow_to``: when the daemon grows the redo log, by how much, what is on disk, and what is told."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from tests.daemon.grown import GOAL, LONG, Grown
from tests.factory import ACTIVE, DEFAULT, REDO, SAVED, command
from tuner.daemon.growth import AGAIN_SECONDS
from tuner.journal.resized import resize_of
from tuner.records import Command
from tuner.servers.port import ServerError, Unreachable
from tuner.servers.redosize import DeniedError, NotSetError, TimeUpError
from tuner.settings import GrowTo, Settings
from tuner.system.storage import Room


def test_it_doubles_at_most_and_ends_at_the_size_wanted(tmp_path: Path) -> None:
    """100 MiB become 200 and then 300 and no more; what was found first is on disk before each SET."""
    grown = Grown(tmp_path)
    grown.turns(LONG)

    assert grown.sizes == [2, 3]
    assert [(one.found, one.wanted, one.goal) for _, one in grown.log.sets if one is not None] == [
        (REDO, 2 * REDO, 3 * REDO),
        (REDO, 3 * REDO, 3 * REDO),
    ]
    assert grown.status == "it is in force"
    assert [text.rpartition("; ")[2] for text in grown.told if "begins" in text] == 2 * ["100 MiB was found"]


def test_without_the_key_nothing_is_set(tmp_path: Path) -> None:
    """The daemon itself resizes nothing unless a person set redo.grow_to."""
    grown = Grown(tmp_path, None)
    grown.turns(LONG)

    assert grown.sizes == []
    assert grown.growth.status() is None


def test_advisory_mode_says_what_it_would_do(tmp_path: Path) -> None:
    """Nothing is set and nothing is on disk; it is told once, and in status."""
    grown = Grown(tmp_path, settings=Settings())
    grown.turns(LONG)

    assert grown.sizes == []
    assert resize_of(tmp_path, grown.log.said.names) is None
    (told,) = grown.told
    assert "from 100 MiB to 200 MiB" in told
    assert "advisory" in told
    assert "advisory" in grown.status


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (command("pause"), "held: paused"),
        (command("drain", value="lowest", ttl=3600.0), "a drain"),
        (command("park"), "held: paused"),
    ],
    ids=["pause", "drain", "park"],
)
def test_nothing_is_grown_while_something_else_goes_on(tmp_path: Path, asked: Command, why: str) -> None:
    """Under a hold, a drain or a park no step begins, and status says what is waited for."""
    grown = Grown(tmp_path, None)
    grown.turns(30)
    grown.turn(asked)
    grown.growth.use(GOAL)
    grown.turns(LONG)

    assert grown.sizes == []
    assert why in grown.status


@pytest.mark.parametrize("flag", ["backup_locked", "read_locked", "cloning"])
def test_no_step_begins_while_a_backup_or_clone_is_under_way(tmp_path: Path, flag: str) -> None:
    """The log is not changed under whoever copies it; status says what is waited for, and then it grows."""
    grown = Grown(tmp_path, None)
    grown.bench.server.shows = {flag: True}
    grown.growth.use(GOAL)
    grown.turns(LONG)
    assert grown.sizes == []
    assert "waits for its end: " in grown.status

    grown.bench.server.shows = {}
    grown.turns(LONG)
    assert grown.sizes == [2, 3]


def test_a_budget_is_kept(tmp_path: Path) -> None:
    """Where twice the log could take a recovery beyond max_recovery_seconds it stays as it is."""
    held = Grown(tmp_path, settings=replace(ACTIVE, max_recovery_seconds=1.0))
    held.turns(LONG)
    free = Grown(tmp_path, settings=replace(ACTIVE, max_recovery_seconds=86_400.0))
    free.turns(LONG)

    assert held.sizes == []
    assert "max_recovery_seconds = 1" in held.status
    assert free.sizes == [2, 3]


@pytest.mark.parametrize(
    ("log", "goal", "why"),
    [
        ({"local": False}, GrowTo(3 * REDO, unchecked=False), "unchecked"),
        ({"allowed": False}, GOAL, "innobrim setup-sql --grow-redo-to 300M"),
        ({"limit": REDO}, GOAL, "innobrim setup-sql --grow-redo-to 300M"),
        ({"fails": DeniedError("Access denied")}, GOAL, "Access denied"),
    ],
    ids=["unseen disk", "no privilege", "procedure's limit", "denied"],
)
def test_a_refusal_is_told_once(tmp_path: Path, log: dict[str, Any], goal: GrowTo, why: str) -> None:
    """What cannot be is said in one line with what would be right, and tried again in an hour, no sooner."""
    grown = Grown(tmp_path, goal, **log)
    grown.turns(4 * LONG)
    tries = len(grown.log.sets)

    assert grown.bench.server.redo_capacity == REDO
    assert resize_of(tmp_path, grown.log.said.names) is None
    assert sum(why in text for text in grown.told) == 1
    assert why in grown.status
    assert tries <= 1
    assert 4 * LONG < AGAIN_SECONDS


@pytest.mark.parametrize("change", [{"redo_dynamic": False}, {"managed": "Amazon RDS"}], ids=str)
def test_a_server_that_cannot_is_told_once(tmp_path: Path, change: dict[str, Any]) -> None:
    """An old or managed server keeps its log, and what would be right is said."""
    grown = Grown(tmp_path)
    grown.log.said = replace(grown.log.said, **change)
    grown.turns(2 * LONG)

    assert grown.sizes == []
    assert len(grown.told) == 1


def test_the_procedure_does_it_up_to_its_limit(tmp_path: Path) -> None:
    """An account that may call it alone grows the log by it, and no further than it lets through."""
    grown = Grown(tmp_path, allowed=False, limit=2 * REDO)
    grown.turns(LONG)

    assert grown.sizes == [2]
    assert grown.log.calls == [True]
    assert "setup-sql" in grown.told[-1]


def test_a_step_that_a_dead_daemon_began_is_told_and_gone_on_with(tmp_path: Path) -> None:
    """What was killed between the note on disk and the SET is said, and what was found stays what it was."""
    first = Grown(tmp_path, fails=Unreachable("lost connection"))
    first.turns(LONG // 2)
    assert first.sizes == [2]

    following = Grown(tmp_path)
    following.turns(LONG)
    assert "begun by the daemon" in following.told[0]
    assert following.sizes == [2, 3]
    kept = resize_of(tmp_path, following.log.said.names)
    assert kept is not None
    assert kept.found == REDO


def test_nothing_is_set_where_the_note_cannot_be_on_disk(tmp_path: Path) -> None:
    """Without what was found on disk no SET is sent, and the reason is told."""
    (tmp_path / "redo-resize.json").mkdir()
    grown = Grown(tmp_path)
    grown.turns(LONG)

    assert grown.sizes == []
    assert any("redo-resize.json" in text for text in grown.told)


def test_a_restart_of_mysqld_is_no_undo(tmp_path: Path) -> None:
    """A mysqld that comes back with the size of its my.cnf is told, and its log grows again."""
    grown = Grown(tmp_path)
    grown.turns(LONG)
    server = grown.bench.server
    server.redo_capacity = REDO
    server.restart(DEFAULT)
    grown.log.said = server.facts()
    grown.turn()
    grown.turns(2)
    grown.turn(SAVED)
    grown.turns(2 * LONG)

    assert any("mysqld was restarted" in text for text in grown.told)
    assert grown.sizes == [2, 3, 2, 3]


def test_an_error_of_any_kind_leaves_the_loop_alone(tmp_path: Path) -> None:
    """Whatever a step comes to, the ticks go on and it is told."""
    grown = Grown(tmp_path, fails=ServerError("odd"))
    grown.turns(LONG)

    assert any("odd" in text for text in grown.told)
    assert not grown.bench.record.holds


def test_another_server_than_the_loops_is_left_alone(tmp_path: Path) -> None:
    """Where a failover or a proxy has another server answer the step's connection, nothing is set there."""
    grown = Grown(tmp_path)
    grown.log.said = replace(grown.log.said, identity="another")
    grown.turns(LONG)

    assert grown.sizes == []
    assert any("another answers" in text for text in grown.told)


def test_what_was_found_survives_a_later_step_that_nobody_saw_the_end_of(tmp_path: Path) -> None:
    """Killed between the second note and its SET, the next daemon goes on, and the first size is kept."""
    first = Grown(tmp_path, then_lost=True)
    first.turns(LONG)
    assert first.sizes == [2, 3]
    assert first.bench.server.redo_capacity == 2 * REDO

    following = Grown(tmp_path, found=2 * REDO)
    following.turns(LONG)
    assert "200 MiB" in following.told[0]
    assert "somebody else" not in following.told[0]
    kept = resize_of(tmp_path, following.log.said.names)
    assert kept is not None
    assert (kept.found, kept.wanted) == (REDO, 3 * REDO)


def test_a_fault_of_the_program_is_told_once_and_not_tried_every_few_seconds(tmp_path: Path) -> None:
    """Whatever is raised in a step is told with its name, and the next try is an hour later."""
    grown = Grown(tmp_path, fails=RuntimeError("odd"))
    grown.turns(4 * LONG)

    assert len(grown.log.sets) == 1
    assert sum("odd" in text for text in grown.told) == 1
    assert "odd" in grown.status


def test_each_step_that_is_told_to_begin_is_told_how_it_ended(tmp_path: Path) -> None:
    """A server that refuses a step every hour has both in the log every time, not only the beginning."""
    grown = Grown(tmp_path, fails=NotSetError("no"))
    grown.turns(int(AGAIN_SECONDS) + 2 * LONG)

    begun = [text for text in grown.told if "begins" in text]
    assert len(begun) == 2
    assert len([text for text in grown.told if "was not set: no" in text]) == 2


def test_the_wait_grows_from_failure_to_failure_and_status_says_when_it_ends(tmp_path: Path) -> None:
    """A MariaDB that gives each step up is asked after one wait, then two, four, and at most a day."""
    with patch("tuner.daemon.growth.AGAIN_SECONDS", 30.0), patch("tuner.daemon.growth.LONGEST_WAIT", 90.0):
        grown = Grown(tmp_path, fails=TimeUpError("max_statement_time"))
        tries: list[float] = []
        said: list[float] = []
        for _ in range(300):
            grown.turn()
            if len(grown.log.sets) > len(tries):
                tries.append(grown.bench.record.tick.now)
            elif (again := grown.shown.next_try) is not None:
                assert "max_statement_time" in grown.status
                said.append(again - grown.bench.record.tick.wall + grown.bench.record.tick.now)
        grown.log.fails = None
        grown.turns(90 + LONG)

    assert [round(b - a) for a, b in pairwise(tries)] == [31, 61, 91, 91]
    assert {round(at) for at in said} >= {round(at) for at in tries[1:]}
    assert (grown.shown.found, grown.shown.in_force, grown.shown.next_try) == (REDO, 3 * REDO, None)


def test_the_disk_has_room_for_all_steps_whose_files_are_still_to_be_written(tmp_path: Path) -> None:
    """MySQL makes a file larger when its turn comes, so free space is not yet less by the steps before."""
    room = Room(free=160 * 2**20, total=200 * 2**20)
    with patch("tuner.findings.redo_growth.room_of", return_value=room):
        grown = Grown(tmp_path, GrowTo(3 * REDO, unchecked=False), local=True)
        grown.turns(2 * LONG)

    assert grown.sizes == [2]
    assert "200 MiB more are needed, 160 MiB are free" in grown.told[-1]
