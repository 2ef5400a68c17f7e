"""What ``innobrim redo --to`` and ``--undo`` print, one file for each situation in ``redo_growth/``.

``python -m tests.cli.redo_growth_outputs`` records them anew; read the difference before you keep it.
"""

from __future__ import annotations

import re
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner, Result
from msgspec.structs import replace

from tests.api.factory import FACTS, MEBIBYTE, sample
from tests.cli.redo_outputs import seen
from tuner.cli.advise import Watched
from tuner.cli.main import cli
from tuner.findings.redo_growth import Resize
from tuner.journal.resized import keep, resize_of
from tuner.records import Facts, Missed, Sample
from tuner.servers.port import ServerError, Unreachable
from tuner.servers.redosize import DeniedError, TimeUpError
from tuner.servers.survey import Survey
from tuner.system.storage import Room

FOLDER = Path(__file__).parent / "redo_growth"
GIBIBYTE = 1024 * MEBIBYTE
FOUND, WANTED = 100 * MEBIBYTE, GIBIBYTE
LSN = 5 * GIBIBYTE

MYSQL = replace(FACTS, endpoint="dba@db1:3306", account="dba@%")
MARIADB = replace(
    MYSQL,
    family="mariadb",
    version="11.8.6",
    version_comment="MariaDB Server",
    redo_variable="innodb_log_file_size",
    write_privilege="SUPER",
)
OLD = replace(MYSQL, version="5.7.44", redo_variable="innodb_log_file_size", redo_dynamic=False)
RDS = replace(MYSQL, managed="Amazon RDS")

BEGUN = Resize(
    identity=FACTS.identity,
    variable="innodb_redo_log_capacity",
    found=FOUND,
    wanted=WANTED,
    started=FACTS.started,
    begun=FACTS.started + 60.0,
    lsn=LSN,
)


class Server:
    """A server whose redo log can be set.

    Attributes:
        size: of the log in force, bytes.
        age: of the checkpoint, bytes.
        sets: what was set, with what was on disk then.
        readings: sizes in force after a SET that are seen before the new one, with whether it is resizing.
        fails: what a SET ends with.
        allowed: what the account may; None where that is not known.
        at_it: somebody's statement sets it now.
        resizing: it is at another size that somebody set.
        copied: a backup holds its lock.
        silent: there is no reading.
        ended: it has ended the connection over which nothing came; who asks over that one is told so.
        local: it runs on this machine.
        looks: readings after which a SET answers.
    """

    def __init__(self, facts: Facts = MYSQL, *, size: int = FOUND) -> None:
        self.said, self.size, self.age = facts, size, 10 * MEBIBYTE
        self.sets: list[tuple[int, Resize | None]] = []
        self.readings: list[tuple[int, bool]] = []
        self.fails: ServerError | None = None
        self.allowed: bool | None = True
        self.at_it = self.resizing = self.silent = self.copied = self.ended = False
        self.local = True
        self.directory = Path()
        self.looks = 0
        self.looked = threading.Event()

    def facts(self) -> Facts:
        """Return what it is."""
        if self.silent:
            raise Unreachable("dba@db1:3306 refused the connection")
        if self.ended:
            raise Unreachable("dba@db1:3306: lost connection")
        return self.said

    def read(self) -> Sample | Missed:
        """Return how it is."""
        if self.silent:
            return Missed(1.0, 1.0, "dba@db1:3306: lost connection")
        if self.sets and self.looks > 0:  # what is said twice is printed once, however late the SET ends
            self.looks -= 1
            self.age -= MEBIBYTE
            if self.looks == 0:
                self.looked.set()
        size, resizing = self.readings.pop(0) if self.sets and self.readings else (self.size, self.resizing)
        return sample(
            1,
            redo_capacity=size,
            resizing=resizing,
            backup_locked=self.copied,
            lsn_current=LSN,
            lsn_checkpoint=LSN - self.age,
        )

    def may_write(self) -> bool | None:
        """Return what the account may."""
        return self.allowed

    def survey(self) -> Survey:
        """Return where its files are."""
        here = socket.gethostname() if self.local else "db1"
        return Survey(1.0, {"hostname": here, "datadir": "/var/lib/mysql/"})

    def resizing_redo(self, _facts: Facts) -> bool:
        """Tell whether somebody sets it."""
        return self.at_it

    def resize_redo(self, facts: Facts, size: int, _seconds: float) -> None:
        """Set it."""
        self.sets.append((size, resize_of(self.directory, facts.names)))
        if self.looks:
            self.looked.wait(5.0)
        if self.fails is not None:
            raise self.fails
        self.size = size

    def close(self) -> None:
        """Have the next statement connect again."""
        self.ended = False


TO = ("--to", "1G")
YES = ("--yes",)
UNDO = ("--undo", "--yes")

Situation = tuple[Server, tuple[str, ...], Resize | None]


def _with(server: Server, **values: object) -> Server:
    for name, value in values.items():
        setattr(server, name, value)
    return server


def situations() -> dict[str, Situation]:
    """Return each situation: the server, what is typed, and what is on disk."""
    two_steps = [(FOUND, True), (500 * MEBIBYTE, True)]
    on_disk_of_mariadb = replace(BEGUN, variable="innodb_log_file_size")
    later = replace(MYSQL, started=FACTS.started + 3600.0)
    return {
        "grown": (Server(), (*TO, *YES), None),
        "grown-on-mariadb": (Server(MARIADB), (*TO, *YES), None),
        "shown-on-its-way": (_with(Server(), readings=two_steps), (*TO, *YES), None),
        "shown-on-its-way-on-mariadb": (_with(Server(MARIADB), looks=3), (*TO, *YES), None),
        "elsewhere": (_with(Server(), local=False), (*TO, *YES), None),
        "not-larger": (Server(size=WANTED), (*TO, *YES), None),
        "by-my-cnf": (Server(OLD), (*TO, *YES), None),
        "managed": (Server(RDS), (*TO, *YES), None),
        "managed-with-log-files": (Server(replace(OLD, managed="Amazon RDS")), ("--to", "4G", *YES), None),
        "no-room": (Server(), ("--to", "30G", *YES), None),
        "no-privilege": (_with(Server(), allowed=False), (*TO, *YES), None),
        "denied": (_with(Server(), allowed=None, fails=DeniedError("Access denied")), (*TO, *YES), None),
        "nobody-to-ask": (Server(), TO, None),
        "at-it-already": (_with(Server(MARIADB), at_it=True), (*TO, *YES), None),
        "gave-up": (_with(Server(MARIADB), fails=TimeUpError("timeout")), (*TO, *YES), None),
        "lost": (_with(Server(), fails=Unreachable("dba@db1:3306: lost connection")), (*TO, *YES), None),
        "not-in-time": (
            _with(Server(), readings=[(FOUND, True)] * 9999),
            (*TO, *YES, "--timeout", "0.2s"),
            None,
        ),
        "undone": (Server(size=WANTED), UNDO, BEGUN),
        "undo-of-nothing": (Server(), UNDO, None),
        "undo-above-the-limits": (_with(Server(size=WANTED), age=400 * MEBIBYTE), UNDO, BEGUN),
        "undo-after-a-restart": (Server(later), UNDO, BEGUN),
        "undo-of-somebody-elses": (Server(size=2 * WANTED), UNDO, BEGUN),
        "undo-under-way": (_with(Server(MARIADB), at_it=True), UNDO, on_disk_of_mariadb),
        "told-in-force": (Server(size=WANTED), (), BEGUN),
        "told-under-way": (_with(Server(MARIADB), at_it=True), (), on_disk_of_mariadb),
        "told-never-taken": (Server(), (), BEGUN),
        "told-after-a-restart-of-mysqld": (Server(later), (), BEGUN),
        "silent": (_with(Server(), silent=True), (*TO, *YES), None),
    }


@contextmanager
def in_place_of_a_server(server: Server, directory: Path, *, room: Room | None = None) -> Iterator[None]:
    """Have the command find this server, and never wait."""
    server.directory = directory
    records, state = seen()
    watched = Watched()
    watched.records, watched.state = records, state
    with ExitStack() as stack:
        for name, made in (
            ("tuner.cli.redo.real_server", lambda *_, **__: server),
            ("tuner.findings.redo_growth.room_of", lambda _: room or Room(20 * GIBIBYTE, 100 * GIBIBYTE)),
            ("tuner.cli.redo_growth.watch", lambda *_, **__: watched),
            ("tuner.cli.redo.watch", lambda *_, **__: watched),
            ("tuner.cli.redo_growth.LOOK_SECONDS", 0.02),
            ("tuner.cli.redo_growth.GRACE_SECONDS", 0.0),
        ):
            stack.enter_context(patch(name, made))
        yield


def run(server: Server, directory: Path, *words: str, answer: str = "", room: Room | None = None) -> Result:
    """Return what the command comes to beside a state directory; an answer is typed at a terminal."""
    with (
        in_place_of_a_server(server, directory, room=room),
        patch("tuner.cli.redo_growth.at_terminal", lambda: bool(answer)),
    ):
        typed = ["redo", "--host", "db1", "--user", "dba", "--state-directory", str(directory), *words]
        return CliRunner().invoke(cli, typed, prog_name="innobrim", input=answer)


def output(situation: str) -> str:
    """Return what stands in the file of a situation."""
    server, words, kept = situations()[situation]
    with tempfile.TemporaryDirectory() as name:
        if kept is not None:
            keep(Path(name), kept)
        result = run(server, Path(name), *words)
        after = resize_of(Path(name), server.said.names)
    printed = result.output if words else result.stderr  # the table is in redo/
    text = re.sub(r"after [0-9.]+ s", "after T s", printed).replace(name, "STATE")
    on_disk = "nothing" if after is None else f"{after.found} found, {after.wanted} wanted"
    return f"{text}exit {result.exit_code}; on disk: {on_disk}\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for one in situations():
        (FOLDER / f"{one}.txt").write_text(output(one), encoding="utf-8")
