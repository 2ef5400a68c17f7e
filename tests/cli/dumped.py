"""Figures of servers that people published, as a server that answers with them, and what the commands say.

Each file of ``tests/fixtures/dumps`` has what one publication shows, and in comments what is assumed beside
it. Where it is silent, a fixture of the same family answers. ``python -m tests.cli.dumped [NAME …]`` prints
what advise, doctor, check and redo say of it; docs/results/advise.md judges that.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec import Struct
from msgspec.structs import replace

from lab.plant.clock import SimClock
from tests.cli.support import SimInbox
from tests.servers.fixtured import Fixtured, Rows, fixture
from tuner.cli import advise, check, doctor, redo
from tuner.cli.main import cli
from tuner.servers.fixture import Reading
from tuner.servers.server import RealServer

FOLDER = Path(__file__).parents[1] / "fixtures" / "dumps"
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
COMMANDS = {"advise": 120, "doctor": 30, "check": None, "redo": 120}
"""What is asked, and for how many seconds it watches."""

LSNS = (
    *(f"Innodb_redo_log_{one}_lsn" for one in ("current", "checkpoint", "flushed_to_disk")),
    *(f"Innodb_lsn_{one}" for one in ("current", "flushed", "last_checkpoint")),
)

OFF = {"status": "disabled", "enabled": "0"}
"""How a counter is shown to be off, by the column that says it: no publication shows any."""


class Dump(Struct, frozen=True, forbid_unknown_fields=True):
    """One publication.

    Attributes:
        title: its own.
        url: where it is, or in which publication.
        fixture: the server that answers where it is silent.
        redo_rate: by which every log sequence number grows, bytes/s.
        variables: as SHOW GLOBAL VARIABLES has them; an empty text for one that is not there.
        status: as SHOW GLOBAL STATUS has them.
        log: lines of the LOG section of SHOW ENGINE INNODB STATUS, by label.
        rates: by how much status variables grow a second.
        files: writes a second to files of a kind, by the Performance Schema's name.
        says: what advise has to answer: gain, nothing or cannot.
        finds: ids that advise or doctor must have.
        spares: ids that neither may have.
    """

    title: str
    url: str
    fixture: str
    redo_rate: float
    says: str
    variables: dict[str, str] = {}
    status: dict[str, int] = {}
    log: dict[str, int] = {}
    rates: dict[str, float] = {}
    files: dict[str, float] = {}
    finds: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()


def dump(name: str) -> Dump:
    """Return what a file says."""
    return msgspec.toml.decode(FILES[name].read_bytes(), type=Dump)


class Dumped(Fixtured):
    """A session to a server that shows the figures of a publication, and what they have grown by since."""

    def __init__(self, seen: Dump, clock: SimClock) -> None:
        super().__init__(fixture(seen.fixture))
        self._seen, self._clock, self._began = seen, clock, clock.monotonic()

    @property
    def reading(self) -> Reading:
        """Return the tables as they stand now."""
        seen, base, seconds = self._seen, super().reading, self._clock.monotonic() - self._began
        rates = dict.fromkeys(LSNS, seen.redo_rate) | {"Uptime": 1.0} | seen.rates
        status = base.status | {one: str(value) for one, value in seen.status.items()}
        status |= {
            one: str(int(status.get(one, "0")) + int(rate * seconds))
            for one, rate in rates.items()
            if one in status or one in seen.rates
        }
        lines = [f"{label} {value + int(seen.redo_rate * seconds)}\n" for label, value in seen.log.items()]
        variables = {one: said for one, said in (base.variables | seen.variables).items() if said}
        off = dict.fromkeys(base.metrics, (OFF[self._fixture.state_column], "0"))
        log = "".join(lines) or base.engine_log
        return replace(base, variables=variables, status=status, metrics=off, engine_log=log)

    def query(self, statement: str) -> Rows:
        """Answer, files that are written to as well."""
        if self._seen.files and "file_summary_by_event_name" in statement:
            seconds = self._clock.monotonic() - self._began
            counts = {name: int(rate * seconds) for name, rate in self._seen.files.items()}
            return [(name, count, count if "log" in name else 0) for name, count in counts.items()]
        return super().query(statement)


def asked(seen: Dump, command: str, *words: str) -> Result:
    """Run a command beside the server of a publication, on a clock that waits for nobody."""
    clock = SimClock(start=50.0)
    session = Dumped(seen, clock)
    server = RealServer(session.endpoint, clock, session=session)
    wait = partial(doctor.watch, wait=lambda seconds: clock.advance_to(clock.monotonic() + seconds))
    seconds = COMMANDS[command]
    with pytest.MonkeyPatch.context() as patch:
        for module in (advise, check, doctor, redo):
            patch.setattr(module, "real_server", lambda *_: server)
            patch.setattr(module, "SystemClock", lambda: clock)
        patch.setattr(advise, "BoardInbox", SimInbox)
        patch.setattr(doctor, "watch", wait)
        watched = () if seconds is None else ("--seconds", str(seconds))
        return CliRunner().invoke(cli, [command, "--host", "db1", "--user", "dba", *watched, *words])


if __name__ == "__main__":
    for each in sys.argv[1:] or FILES:
        published = dump(each)
        sys.stdout.write(f"=== {each}: {published.title}\n")
        for asking in COMMANDS:
            said = asked(published, asking)
            why = "" if said.stdout else said.stderr
            sys.stdout.write(f"--- {asking}: exit {said.exit_code}\n{said.stdout}{why}\n")
