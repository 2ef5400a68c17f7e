"""What ``innobrim redo`` prints, one file for each situation in ``redo/``.

``python -m tests.cli.redo_outputs`` records them anew; read the difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from unittest.mock import patch

from click.testing import Result
from msgspec.structs import replace

from tests.cli.support import innobrim
from tests.lab.redo_sizes import watched
from tuner.cli.advise import Watched
from tuner.core.state import State
from tuner.records import Sample, TickRecord
from tuner.servers.survey import Survey

FOLDER = Path(__file__).parent / "redo"
WATCHED = ("redo", "--host", "db1", "--user", "dba", "--seconds", "120")


class Server:
    """A server of which all is known beforehand."""

    def __init__(self, *looks: Survey) -> None:
        self._looks: Iterator[Survey] = iter(looks)

    def survey(self) -> Survey:
        """Return the next look."""
        return next(self._looks)

    def close(self) -> None:
        """Do nothing."""


@cache
def seen() -> tuple[list[TickRecord], State]:
    """Return two minutes beside the measured machine, with the settings that it ships with."""
    return watched(100)


def steady() -> tuple[list[TickRecord], State]:
    """Return the same where commits are never seen to wait for pages: every second is like the mean."""
    records, state = seen()
    first, last = records[0].tick.reading, records[-1].tick.reading
    assert isinstance(first, Sample)
    assert isinstance(last, Sample)
    whole = last.monotonic - first.monotonic

    def evenly(sample: Sample) -> Sample:
        share = (sample.monotonic - first.monotonic) / whole
        names = ("lsn_current", "pages_adaptive", "row_changes", "commits")
        return replace(
            sample,
            **{
                name: round(getattr(first, name) + share * (getattr(last, name) - getattr(first, name)))
                for name in names
            },
        )

    made = []
    for record in records:
        reading = record.tick.reading
        assert isinstance(reading, Sample)
        made.append(replace(record, tick=replace(record.tick, reading=evenly(reading))))
    return made, state


def told(what: tuple[list[TickRecord], State], **facts: object) -> tuple[list[TickRecord], State]:
    """Return what was watched with other facts of the server."""
    records, state = what
    return records, replace(state, facts=replace(state.facts, **facts))


def look(**counters: int) -> Survey:
    """Return a look with these writes to files of each kind, and new pages, of a server with a binary log."""
    named = {
        "Innodb_pages_created" if name == "created" else f"writes:{name}": n for name, n in counters.items()
    }
    return Survey(0.0, {"log_bin": "ON", "sync_binlog": "1"} if "binlog" in counters else {}, named)


BLIND = Survey(0.0), Survey(0.0)
BINARY_LOG = look(data=0, redo=0, binlog=0), look(data=9_000, redo=30_000, binlog=51_000)
NEW_PAGES = look(data=0, redo=0, created=0), look(data=9_000, redo=30_000, created=70_000)

SITUATIONS: dict[str, Callable[[], tuple[tuple[list[TickRecord], State], Server]]] = {
    "device-is-the-limit": lambda: (seen(), Server(*BLIND)),
    "binary-log": lambda: (steady(), Server(*BINARY_LOG)),
    "new-pages": lambda: (steady(), Server(*NEW_PAGES)),
    "device-not-known": lambda: (steady(), Server(*BLIND)),
    "by-my-cnf": lambda: (
        told(seen(), family="mysql", version="8.0.28", redo_dynamic=False),
        Server(*BLIND),
    ),
    "no-m-moves-the-age": lambda: (
        told(
            seen(),
            family="mariadb",
            version="11.8.6",
            flush_law="soft-limit",
            redo_variable="innodb_log_file_size",
        ),
        Server(*BLIND),
    ),
    "an-hour-is-enough": lambda: (watched(100, rate=100), Server(*BLIND)),
    "holds-hours-already": lambda: (watched(800, rate=100), Server(*BLIND)),
    "no-load": lambda: (idle(), Server(*BLIND)),
    "nothing-dirtied": lambda: (
        changed(steady(), 0, pages_adaptive=0, pages_sync=0, pages_dirty=0),
        Server(*BLIND),
    ),
    "beside-innobrim": lambda: (
        changed(changed(seen(), 0, writer=False), 60, io_capacity_max=208, io_capacity=208),
        Server(*BLIND),
    ),
    "resized": lambda: (changed(seen(), 60, redo_capacity=209_715_200), Server(*BLIND)),
    "not-logged": lambda: (changed(seen(), 60, redo_enabled=False), Server(*BLIND)),
    "restarted": lambda: (changed(seen(), 60, uptime=5, row_changes=0), Server(*BLIND)),
}


def changed(
    what: tuple[list[TickRecord], State], since: int, **fields: int
) -> tuple[list[TickRecord], State]:
    """Return what was watched with these fields in each reading from that place on."""
    records, state = what
    made = list(records[:since])
    for record in records[since:]:
        reading = record.tick.reading
        assert isinstance(reading, Sample)
        made.append(replace(record, tick=replace(record.tick, reading=replace(reading, **fields))))
    return made, state


def idle() -> tuple[list[TickRecord], State]:
    """Return the same where nothing is written."""
    records, _ = seen()
    first = records[0].tick.reading
    assert isinstance(first, Sample)
    return changed(seen(), 0, lsn_current=first.lsn_current)


def run(situation: str, *words: str) -> Result:
    """Return what the command comes to."""
    (records, state), server = SITUATIONS[situation]()
    found = Watched()
    found.records, found.state = records, state
    with ExitStack() as stack:
        stack.enter_context(patch("tuner.cli.redo.real_server", lambda *_, **__: server))
        stack.enter_context(patch("tuner.cli.redo.watch", lambda *_, **__: found))
        return innobrim(*WATCHED, *words)


def output(situation: str) -> str:
    """Return what stands in the file of a situation."""
    result = run(situation)
    return f"{result.output}exit {result.exit_code}\n"


if __name__ == "__main__":
    for name in SITUATIONS:
        (FOLDER / f"{name}.txt").write_text(output(name), encoding="utf-8")
