"""``redo.grow_to`` beside people who set the size of the redo log, undo it, or give the originals back."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import Result
from msgspec.structs import replace

from tests.cli.redo_growth_outputs import BEGUN, run
from tests.cli.support import ended
from tests.daemon.grown import GOAL, LONG, Grown, Log
from tests.factory import ACTIVE, REDO
from tuner.core.ownership.transitions import BASELINE_GUARD, TRIAL, begin_restore
from tuner.daemon.growth import SILENT_SECONDS
from tuner.journal.resized import alone, keep, resize_of, set_back
from tuner.servers.port import Unreachable
from tuner.servers.redosize import NotSetError
from tuner.settings import GrowTo, Settings


def test_what_a_person_made_smaller_stays_so(tmp_path: Path) -> None:
    """After an undo no daemon grows the log again, the next one neither, until grow_to is another one."""
    grown = Grown(tmp_path)
    grown.turns(LONG)
    grown.bench.server.redo_capacity = REDO
    grown.turns(LONG)
    assert grown.sizes == [2, 3]

    following = Grown(tmp_path)
    following.turns(LONG)
    assert following.sizes == []
    assert "another value" in following.status

    following.growth.use(GrowTo(4 * REDO, unchecked=True))
    following.turns(LONG)
    assert following.sizes == [2, 4]


def test_what_a_person_made_smaller_while_no_reading_came_stays_so(tmp_path: Path) -> None:
    """A reading that is missed just then hides it from no daemon, whoever had set the size before."""
    grown = Grown(tmp_path, found=2 * REDO)
    grown.bench.server.down = "lost connection"
    grown.turn()
    grown.bench.server.down, grown.bench.server.redo_capacity = "", REDO
    grown.turns(2 * LONG)

    assert grown.sizes == []
    assert "another value" in grown.status


@pytest.mark.parametrize("size", [1, 2])
def test_what_a_person_made_smaller_while_no_daemon_ran_stays_so(tmp_path: Path, size: int) -> None:
    """The next daemon knows that the log had been larger since mysqld started, and leaves it."""
    Grown(tmp_path).turns(LONG)

    following = Grown(tmp_path, found=size * REDO)
    following.turns(LONG)
    assert following.sizes == []
    assert "another value" in following.told[0]

    following.growth.use(GrowTo(4 * REDO, unchecked=True))
    following.turns(LONG)
    assert following.sizes[-1] == 4


def test_a_person_and_the_daemon_resize_in_turn_and_keep_what_was_found(tmp_path: Path) -> None:
    """While innobrim redo --to is at work the daemon begins no step, and what either found stays on disk."""
    grown = Grown(tmp_path)

    class Refusing(Log):
        def resize_redo(self, *_: object, **__: object) -> None:
            grown.turns(LONG)
            raise NotSetError("read-only (error 1290)")

    ended(run(Refusing(grown.bench.server, tmp_path), tmp_path, "--to", "1G", "--yes"), 1, "error 1290")
    assert grown.sizes == []
    assert "another resize is under way" in grown.status

    grown.turns(int(SILENT_SECONDS) + LONG)
    kept = resize_of(tmp_path, grown.log.said.names)
    assert grown.sizes == [2, 3]
    assert kept is not None
    assert (kept.found, kept.wanted, kept.undone) == (REDO, 3 * REDO, False)


@pytest.mark.parametrize("words", [("--to", "1G"), ("--undo",)])
def test_while_the_daemon_is_at_a_step_a_person_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Innobrim redo says that a step is under way, and sets and notes nothing."""
    grown = Grown(tmp_path)
    person = Log(grown.bench.server, tmp_path)
    refused: list[Result] = []

    def step(*_: object, **__: object) -> None:
        refused.append(run(person, tmp_path, *words, "--yes"))

    with patch.object(grown.log, "resize_redo", step), patch("tuner.daemon.growth.LONGEST_STEP", 0.0):
        grown.turns(LONG // 2)
    kept = resize_of(tmp_path, grown.log.said.names)

    ended(refused[0], 1, "another resize is under way", str(tmp_path))
    assert person.sets == []
    assert kept is not None
    assert (kept.found, kept.wanted, kept.undone) == (REDO, 2 * REDO, False)


def test_status_promises_no_step_after_an_undo_until_a_person_grows_the_log(tmp_path: Path) -> None:
    """An advisory daemon does not say that it would grow a log that was set back; after redo --to it does."""
    keep(tmp_path, replace(BEGUN, found=REDO, wanted=2 * REDO, goal=GOAL.size, undone=True))
    grown = Grown(tmp_path, settings=Settings())
    grown.turns(3)
    assert "another value" in grown.status

    assert run(grown.log, tmp_path, "--to", "200M", "--yes").exit_code == 0
    grown.turns(3)
    assert "it would grow from 200 MiB to 300 MiB" in grown.status


def test_an_undo_without_a_daemon_counts_as_well(tmp_path: Path) -> None:
    """What innobrim redo --undo notes on disk keeps the next daemon from growing it."""
    grown = Grown(tmp_path)
    grown.turns(LONG)
    kept = resize_of(tmp_path, grown.log.said.names)
    assert kept is not None
    set_back(tmp_path, kept)

    following = Grown(tmp_path)
    following.turns(LONG)
    assert following.sizes == []


@pytest.mark.parametrize(
    ("age", "sizes", "allowed"), [(10, [2, 3, 1], True), (80, [2, 3], True), (10, [2, 3], False)]
)
def test_a_restore_sets_the_log_back_where_that_is_safe(
    tmp_path: Path, age: int, sizes: list[int], *, allowed: bool
) -> None:
    """At a low age and with the privilege it is as found again; else it is said how a person does that."""
    grown = Grown(tmp_path, allowed=True)
    grown.turns(LONG)
    grown.log.age, grown.log.allowed = age * 2**20, allowed
    grown.restore()

    assert grown.sizes == sizes
    assert ("innobrim redo --undo" in grown.told[-1]) is (sizes[-1] != 1)


@pytest.mark.parametrize("happens", ["backup", "another resize", "lost before", "lost at the SET"])
def test_a_restore_that_does_not_get_to_the_log_says_how_a_person_does(tmp_path: Path, happens: str) -> None:
    """A backup, another resize or a lost connection leaves the log, and the undo that is told works then."""
    grown = Grown(tmp_path, allowed=True)
    grown.turns(LONG)
    log = grown.log
    log.copied, log.silent = happens == "backup", happens == "lost before"
    log.fails = Unreachable("lost connection") if happens == "lost at the SET" else None
    with ExitStack() as stack:
        stack.enter_context(patch("tuner.daemon.growth.LONGEST_STEP", 0.0))
        if happens == "another resize":
            stack.enter_context(alone(tmp_path))
        grown.restore()
    assert "innobrim redo --undo sets 100 MiB back" in grown.told[-1]
    assert grown.bench.server.redo_capacity == 3 * REDO

    log.copied, log.silent, log.fails = False, False, None
    assert run(log, tmp_path, "--undo", "--yes").exit_code == 0
    assert grown.bench.server.redo_capacity == REDO


@pytest.mark.parametrize("first", [True, False], ids=["person first", "daemon first"])
def test_a_restore_leaves_the_log_that_a_person_has_set(tmp_path: Path, *, first: bool) -> None:
    """Where redo --to was among the growths a person is told how to undo them, and no daemon repeats them."""
    goal = GrowTo(4 * REDO, unchecked=True) if first else GOAL
    grown = Grown(tmp_path, None if first else goal, allowed=True)
    grown.turns(LONG)
    assert run(grown.log, tmp_path, "--to", "200M" if first else "400M", "--yes").exit_code == 0
    grown.growth.use(goal)
    grown.turns(LONG)
    assert grown.sizes[-1] == 4
    grown.restore()
    assert grown.sizes[-1] == 4
    assert "innobrim redo --undo sets 100 MiB back" in grown.told[-1]

    assert run(grown.log, tmp_path, "--undo", "--yes").exit_code == 0
    following = Grown(tmp_path, goal)
    following.turns(LONG)
    assert grown.sizes[-1] == 1
    assert following.sizes == []


@pytest.mark.parametrize("who", [BASELINE_GUARD, TRIAL])
def test_a_restore_that_no_person_asked_for_leaves_the_log_alone(tmp_path: Path, who: str) -> None:
    """Where the guard or a trial gives C and M back, the log stays as large as the person wants it."""
    grown = Grown(tmp_path, allowed=True)
    grown.turns(LONG)
    bench = grown.bench
    bench.until("set", "emergency", limit=600)
    bench.state = begin_restore(bench.state, who, now=bench.server.now)
    for _ in range(600):
        grown.turn()
        if bench.state.mode is not ACTIVE.mode:
            break
    grown.turns(3)

    assert bench.state.mode is not ACTIVE.mode
    assert grown.sizes == [2, 3]
