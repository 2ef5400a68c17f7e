"""What ``innobrim redo --to`` and ``--undo`` do, what they print, and what is on disk when."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest
from click.testing import Result
from msgspec.structs import replace

from tests.cli.redo_growth_outputs import (
    BEGUN,
    FOLDER,
    FOUND,
    GIBIBYTE,
    MARIADB,
    MYSQL,
    TO,
    UNDO,
    WANTED,
    Server,
    output,
    run,
    situations,
)
from tests.cli.support import ended
from tests.factory import sample
from tuner.cli.redo import Answer
from tuner.cli.redo_growth import Resized
from tuner.findings.redo_growth import Resize, not_to_be_shrunk
from tuner.journal.resized import NAME, keep, resize_of
from tuner.journal.store import FILE_MODE
from tuner.servers.redosize import NotSetError, OtherSizeError
from tuner.system.storage import Room


@pytest.mark.parametrize("situation", situations())
def test_a_person_reads_what_was_recorded(situation: str) -> None:
    """Each situation prints its file and exit code; python -m tests.cli.redo_growth_outputs records anew."""
    assert output(situation) == (FOLDER / f"{situation}.txt").read_text(encoding="utf-8")


def test_the_size_found_is_on_disk_before_the_server_is_told(tmp_path: Path) -> None:
    """Whatever is killed from the SET on, what was found is in the state directory."""
    server = Server()
    run(server, tmp_path, *TO, "--yes")

    [(size, on_disk)] = server.sets
    assert size == WANTED
    assert on_disk is not None
    assert (on_disk.found, on_disk.wanted, on_disk.started) == (FOUND, WANTED, server.said.started)


@pytest.mark.parametrize(("answer", "sets"), [("y\n", [WANTED]), ("n\n", []), ("\n", [])])
def test_a_person_at_a_terminal_is_asked(tmp_path: Path, answer: str, sets: list[int]) -> None:
    """What changes is shown and nothing is set without a yes."""
    server = Server()
    result = run(server, tmp_path, *TO, answer=answer)

    assert [size for size, _ in server.sets] == sets
    assert (result.exit_code == 0) is bool(sets)
    assert "100 MiB to 1 GiB" in result.output
    assert (resize_of(tmp_path, server.said.names) is not None) is bool(sets)


@pytest.mark.parametrize("begun", [None, BEGUN], ids=["to", "undo"])
@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        ({"copied": True}, "LOCK INSTANCE FOR BACKUP"),
        ({"size": 3 * GIBIBYTE}, "3 GiB since a moment ago"),
        ({"said": replace(MYSQL, started=MYSQL.started + 3600.0)}, "mysqld was restarted"),
        ({"said": replace(MYSQL, identity="another")}, "another answers now"),
        ({"resizing": True}, "being changed already"),
    ],
    ids=["backup", "size", "restart", "failover", "resizing"],
)
def test_what_happens_while_a_person_is_asked_counts(
    tmp_path: Path, begun: Resize | None, meanwhile: dict[str, object], why: str
) -> None:
    """A yes that comes hours later sets nothing on a server that is not as the question said any more."""
    server = Server(size=FOUND if begun is None else WANTED)
    if begun is not None:
        keep(tmp_path, begun)
    result = _asked(server, tmp_path, TO if begun is None else UNDO[:1], **meanwhile)

    ended(result, 1, why)
    assert server.sets == []
    assert resize_of(tmp_path, MYSQL.names) == begun


def test_an_undo_looks_at_the_age_of_the_moment_of_the_yes(tmp_path: Path) -> None:
    """A load that begins while a person is asked keeps the larger log; a quiet hour is waited for anew."""
    server = Server(size=WANTED)
    keep(tmp_path, BEGUN)

    ended(_asked(server, tmp_path, UNDO[:1], age=400 * 2**20), 1, "the checkpoint age is 400 MiB")
    assert server.sets == []


@pytest.mark.parametrize(("begun", "size"), [(None, WANTED), (BEGUN, FOUND)], ids=["to", "undo"])
def test_who_takes_a_minute_to_say_yes_is_connected_again(
    tmp_path: Path, begun: Resize | None, size: int
) -> None:
    """Servers end a connection of the program's that is idle for 15 s, as while a person is asked."""
    server = Server(size=FOUND if begun is None else WANTED)
    if begun is not None:
        keep(tmp_path, begun)

    assert _asked(server, tmp_path, TO if begun is None else UNDO[:1], ended=True).exit_code == 0
    assert [one for one, _ in server.sets] == [size]


def _asked(server: Server, directory: Path, words: tuple[str, ...], **meanwhile: object) -> Result:
    """Return what the command comes to where this happens to the server before the person says yes."""

    def confirm(*_: object, **__: object) -> bool:
        for name, value in meanwhile.items():
            setattr(server, name, value)
        return True

    with patch("tuner.cli.redo_growth.click.confirm", confirm):
        return run(server, directory, *words, "--timeout", "0.1s", answer="y\n")


def test_without_a_place_for_the_size_found_nothing_is_set(tmp_path: Path) -> None:
    """A state directory that is not there, or takes no file, ends the command before the SET."""
    server = Server()
    ended(run(server, tmp_path / "none", *TO, "--yes"), 2, "no such directory", "--state-directory")
    (tmp_path / NAME).mkdir()
    ended(run(server, tmp_path, *TO, "--yes"), 1, NAME)

    assert server.sets == []


def test_a_second_growth_keeps_what_the_first_one_found(tmp_path: Path) -> None:
    """After two resizes the undo goes back to where it began; after a restart of mysqld to what that has."""
    server = Server()
    run(server, tmp_path, *TO, "--yes")
    run(server, tmp_path, "--to", "2G", "--yes")
    kept = resize_of(tmp_path, server.said.names)
    assert kept is not None
    assert (kept.found, kept.wanted) == (FOUND, 2 * GIBIBYTE)

    server.said = replace(server.said, started=server.said.started + 3600.0)
    run(server, tmp_path, "--to", "3G", "--yes")
    kept = resize_of(tmp_path, server.said.names)
    assert kept is not None
    assert (kept.found, kept.wanted) == (2 * GIBIBYTE, 3 * GIBIBYTE)


@pytest.mark.parametrize("before", [None, BEGUN])
def test_a_refused_set_leaves_on_disk_what_was_there(tmp_path: Path, before: object) -> None:
    """Where the server refuses, an earlier resize can still be undone, and none is made up."""
    server = Server(size=FOUND if before is None else WANTED)
    if before is not None:
        keep(tmp_path, BEGUN)
    server.fails = NotSetError("read-only (error 1290)")
    ended(run(server, tmp_path, "--to", "4G", "--yes"), 1, "read-only (error 1290)")

    assert resize_of(tmp_path, server.said.names) == before


def test_a_size_that_the_server_cuts_can_be_undone(tmp_path: Path) -> None:
    """Where the server takes a smaller size than it was given, that is what an undo knows to be ours."""
    server = Server()
    server.fails = OtherSizeError("innodb_redo_log_capacity is 536870912", 512 * 2**20)
    assert run(server, tmp_path, *TO, "--yes").exit_code == 1
    server.fails, server.size = None, 512 * 2**20
    assert run(server, tmp_path, *UNDO).exit_code == 0

    assert server.size == FOUND


def test_a_recovery_beyond_the_budget_is_refused(tmp_path: Path) -> None:
    """With max_recovery_seconds the log grows only where a crash recovery stays within it."""
    server = Server()
    config = tmp_path / "innobrim.toml"
    for budget, code in ((1, 1), (3600, 0)):
        config.write_text(f"[loop]\nmax_recovery_seconds = {budget}\n")
        result = run(server, tmp_path, *TO, "--yes", "--config", str(config))
        ended(result, code, f"max_recovery_seconds = {budget}")

    assert [size for size, _ in server.sets] == [WANTED]


def test_mariadb_needs_room_for_both_logs(tmp_path: Path) -> None:
    """Where MySQL needs room for what is added, MariaDB needs it for the whole new log."""
    room = Room(free=980 * 2**20, total=1000 * 2**20)
    mysql, mariadb = Server(), Server(MARIADB)
    assert run(mysql, tmp_path, *TO, "--yes", room=room).exit_code == 0
    ended(run(mariadb, tmp_path, *TO, "--yes", room=room), 1, "1 GiB more are needed, 980 MiB are free")

    assert mariadb.sets == []


@pytest.mark.parametrize("managed", ["Amazon RDS", "Google Cloud SQL"])
def test_the_owner_of_log_files_pastes_no_command_for_another_size(tmp_path: Path, managed: str) -> None:
    """The size asked for is the sum of the files, which no command may set as that of each."""
    server = Server(replace(MYSQL, version="5.7.44", redo_dynamic=False, managed=managed))
    result = run(server, tmp_path, "--to", "4G", "--yes")

    ended(result, 1, "innodb_log_file_size × innodb_log_files_in_group = 4294967296", managed, "restart")
    assert "aws" not in result.output
    assert "gcloud" not in result.output


def test_the_disk_has_room_for_what_an_earlier_growth_has_not_written_yet(tmp_path: Path) -> None:
    """MySQL writes a file in its new size when its turn comes: a second --to needs room for both growths."""
    server, room = Server(size=WANTED), Room(free=1500 * 2**20, total=1600 * 2**20)
    keep(tmp_path, BEGUN)
    ended(run(server, tmp_path, "--to", "2G", "--yes", room=room), 1, "1948 MiB more are needed")

    assert server.sets == []


def test_an_undo_sets_nothing_that_is_not_safe_or_not_ours(tmp_path: Path) -> None:
    """Above the limits of the smaller log, and where somebody else set the size, nothing is written."""
    for size, age in ((WANTED, 400 * 2**20), (3 * GIBIBYTE, 0)):
        server = Server(size=size)
        server.age = age
        keep(tmp_path, BEGUN)
        run(server, tmp_path, *UNDO)
        assert server.sets == []


def test_a_log_that_a_backup_copies_is_left_alone(tmp_path: Path) -> None:
    """While a backup holds its lock neither a growth nor its undo sets anything, and both say why."""
    growing, undoing = Server(), Server(size=WANTED)
    growing.copied = undoing.copied = True
    ended(run(growing, tmp_path, *TO, "--yes"), 1, "LOCK INSTANCE FOR BACKUP", "wait for its end")
    keep(tmp_path, BEGUN)
    ended(run(undoing, tmp_path, *UNDO), 1, "LOCK INSTANCE FOR BACKUP", "wait for its end")

    assert growing.sets == undoing.sets == []


def test_a_machine_reads_the_types_that_the_program_has(tmp_path: Path) -> None:
    """What --json prints is one object of the published type; what is no answer goes to standard error."""
    server = Server()
    grown = msgspec.json.decode(run(server, tmp_path, *TO, "--yes", "--json").stdout, type=Resized)
    told = msgspec.json.decode(run(server, tmp_path, "--json").stdout, type=Answer)
    undone = msgspec.json.decode(run(server, tmp_path, *UNDO, "--json").stdout, type=Resized)

    assert (grown.before, grown.in_force) == (FOUND, WANTED)
    assert grown.my_cnf[-1] == f"innodb_redo_log_capacity = {WANTED}"
    assert told.begun is not None
    assert (told.begun.stands, told.begun.resize.found) == ("in_force", FOUND)
    assert (undone.before, undone.in_force, undone.my_cnf) == (WANTED, FOUND, ())


@pytest.mark.parametrize(
    "words",
    [
        ("--to", "2"),
        ("--to", "10%"),
        ("--to", "1.0000001G"),
        ("--to", "1T"),
        ("--to", "big"),
        ("--to", "1G", "--undo", "--yes"),
        ("--yes",),
        ("--timeout", "5m"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_server_is_asked(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A size that no server takes, and options that exclude each other, end with exit 2."""
    server = Server()
    server.silent = True

    assert run(server, tmp_path, *words).exit_code == 2


@pytest.mark.parametrize("words", [TO, UNDO])
def test_a_file_that_cannot_be_read_is_named_and_left_as_it_is(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """What was found may still be read out of it by a person: nothing is set, and nothing overwritten."""
    (tmp_path / NAME).write_text("[{")
    server = Server()
    result = run(server, tmp_path, *dict.fromkeys((*words, "--yes")))

    assert result.exit_code != 0
    assert str(tmp_path / NAME) in result.output
    assert server.sets == []
    assert (tmp_path / NAME).read_text() == "[{"


def test_a_note_that_cannot_be_read_keeps_nobody_from_the_table(tmp_path: Path) -> None:
    """Innobrim redo without --to says that the note cannot be read, and foretells all the same."""
    (tmp_path / NAME).write_text("[{")
    result = run(Server(), tmp_path, "--json")

    assert result.exit_code == 0
    assert str(tmp_path / NAME) in result.stderr
    assert msgspec.json.decode(result.stdout, type=Answer).begun is None


def test_who_may_read_the_journal_reads_of_a_resize(tmp_path: Path) -> None:
    """What was found is no secret: the group of the state directory sees it, and nobody else."""
    run(Server(), tmp_path, *TO, "--yes")

    assert (tmp_path / NAME).stat().st_mode & 0o777 == FILE_MODE


@pytest.mark.parametrize(
    ("mark", "way"), [(0, "innodb_max_dirty_pages_pct_lwm = 0.001"), (1000, "innobrim drain")]
)
def test_a_way_that_works_there_lowers_the_age_before_an_undo(mark: int, way: str) -> None:
    """A MariaDB at its default mark of 0 flushes at no quiet hour and for no drain, so neither is advised."""
    resize = replace(BEGUN, variable="innodb_log_file_size")
    seen = sample(age=4.0 * FOUND, low_water_mark=mark)

    assert way in not_to_be_shrunk(resize, replace(seen, lsn_checkpoint=seen.lsn_oldest))
