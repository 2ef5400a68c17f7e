"""``redo.grow_to``: when the daemon grows the redo log, by how much, what is on disk, and what is told."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import Result
from msgspec.structs import replace

from tests.bench import Bench, FakeServer
from tests.cli.redo_growth_outputs import BEGUN, Server, run
from tests.cli.support import ended
from tests.factory import ACTIVE, DEFAULT, REDO, SAVED, command
from tuner.core.ownership.transitions import BASELINE_GUARD, TRIAL, begin_restore
from tuner.daemon.growth import AGAIN_SECONDS, QUIET_SECONDS, SILENT_SECONDS, Growth
from tuner.findings.redo_growth import Growing
from tuner.journal.resized import alone, keep, resize_of, set_back
from tuner.records import Command, Facts
from tuner.servers.port import ServerError, Unreachable
from tuner.servers.redosize import DeniedError, NotSetError, TimeUpError
from tuner.settings import GrowTo, Settings
from tuner.system.storage import Room

GOAL = GrowTo(3 * REDO, unchecked=True)
LONG = int(3 * QUIET_SECONDS) + 20


class Log(Server):
    """The way to a fake server's redo log: a connection for each step.

    Attributes:
        limit: up to which size a procedure grows it, bytes; None without one.
        calls: of each SET whether it was by the procedure.
        then_lost: the SET after the next one gets no answer.
    """

    def __init__(self, beside: FakeServer, directory: Path) -> None:
        super().__init__(beside.facts(), size=beside.redo_capacity)
        self.beside, self.directory = beside, directory
        self.limit: int | None = None
        self.calls: list[bool] = []
        self.local = self.then_lost = False

    def facts(self) -> Facts:
        """Return what the fake server is."""
        self.size = self.beside.redo_capacity
        return super().facts()

    def redo_limit(self) -> int | None:
        """Return up to which size a procedure grows it."""
        return self.limit

    def resize_redo(self, facts: Facts, size: int, _seconds: float, *, called: bool = False) -> None:
        """Set it on the fake server."""
        super().resize_redo(facts, size, _seconds)
        self.calls.append(called)
        self.beside.redo_capacity = size
        if self.then_lost:
            self.fails = Unreachable("lost connection")


class Grown:
    """A loop by hand beside a fake server whose redo log is to grow.

    Attributes:
        bench: the loop.
        log: the way to the redo log.
        told: what log, journal and events are told.
    """

    def __init__(
        self, directory: Path, goal: GrowTo | None = GOAL, settings: Settings = ACTIVE, **log: object
    ) -> None:
        self.bench = Bench(settings)
        self.bench.server.redo_capacity = int(str(log.pop("found", REDO)))
        self.log = Log(self.bench.server, directory)
        for name, value in log.items():
            setattr(self.log, name, value)
        self.told: list[str] = []
        self.growth = Growth(directory, goal, connect=lambda: self.log, tell=self.told.append)
        self.turns(2)
        self.turn(SAVED)

    @property
    def sizes(self) -> list[int]:
        """Return what was set, in shares of the log found."""
        return [size // REDO for size, _ in self.log.sets]

    def turn(self, *commands: Command) -> None:
        """Tick once, and let a step that begins come to its end."""
        self.bench.turn(*commands)
        self.growth.take(self.bench.state, self.bench.record)
        for thread in threading.enumerate():
            if thread.name == "redo-growth":
                thread.join(10.0)

    def restore(self) -> None:
        """Have a person give C and M back, and tick until they are, and a little longer."""
        self.bench.until("set", "emergency", limit=600)
        self.turn(command("restore"))
        for _ in range(600):
            self.turn()
            if self.bench.state.mode is not ACTIVE.mode:
                break
        self.turns(3)

    def turns(self, count: int) -> None:
        """Tick so many times."""
        for _ in range(count):
            self.turn()

    @property
    def shown(self) -> Growing:
        """Return how far it is."""
        found = self.growth.status()
        assert found is not None
        return found

    @property
    def status(self) -> str:
        """Return it in words."""
        return self.shown.text


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


def test_the_disk_has_room_for_all_steps_whose_files_are_still_to_be_written(tmp_path: Path) -> None:
    """MySQL makes a file larger when its turn comes, so free space is not yet less by the steps before."""
    room = Room(free=160 * 2**20, total=200 * 2**20)
    with patch("tuner.findings.redo_growth.room_of", return_value=room):
        grown = Grown(tmp_path, GrowTo(3 * REDO, unchecked=False), local=True)
        grown.turns(2 * LONG)

    assert grown.sizes == [2]
    assert "200 MiB more are needed, 160 MiB are free" in grown.told[-1]
