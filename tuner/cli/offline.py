"""What ``status`` and ``restore`` do where no daemon answers: the journal, and a connection of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from api.views import Status, status_of
from tuner.cli.api_client import NoDaemon
from tuner.cli.errors import Refused, Unreachable, Unusable
from tuner.cli.options import real_server
from tuner.clock import SystemClock
from tuner.config.schema import Config
from tuner.core.state import SAME_START_SECONDS
from tuner.journal.reader import absence, last_record, originals, runs
from tuner.journal.tables import JournalError, Originals
from tuner.records import Facts
from tuner.restore import restore_offline
from tuner.servers.port import ServerError


def status_from_journal(config: Config, nobody: NoDaemon) -> Status:
    """Return the last tick on disk.

    Args:
        config: names the state directory.
        nobody: why no daemon answered, for the message.

    Raises:
        Unusable: there is no such state directory.
        Unreachable: there is no journal, or it cannot be read, or holds no tick yet.
    """
    directory = _state_directory(config, nobody)
    with _reading(nobody):
        record = last_record(directory)
        facts = _facts(directory)
    if record is None:
        raise Unreachable(f"{nobody.message}; and the journal in {directory} has no tick yet")
    return status_of(record, facts=facts, wall=time.time(), process=None, source="journal")


def restore_without_daemon(config: Config, nobody: NoDaemon, *, say: Callable[[str], None]) -> str:
    """Put the originals back over a connection of our own; return what was done.

    Args:
        config: names the state directory and the server.
        nobody: why no daemon answered, for the message.
        say: told each step in one line.

    Raises:
        Unusable: there is no such state directory.
        Unreachable: no journal that can be read, or the server does not answer.
        Refused: the journal holds no originals, or the server says no.
    """
    directory = _state_directory(config, nobody)
    with _reading(nobody):
        known = originals(directory)
    if not known:
        raise Refused(
            f"{nobody.message}; and the journal in {directory} holds no originals: nothing was written, "
            "or it was put back already"
        )
    say(f"{nobody.message}; going by the journal in {directory}")
    server = real_server(config, SystemClock())
    try:
        facts = _reached(server.facts)
        found = _originals_of(facts, known, directory)
        if abs(found.started - facts.started) > SAME_START_SECONDS:
            return (
                f"nothing to restore: {facts.endpoint} was restarted since a daemon wrote to it, "
                "and runs with the values of its own configuration"
            )
        server.claims_writer = True
        try:
            restore_offline(server, found.capacity, say=say)
        except ServerError as error:
            raise Refused(str(error)) from error
    finally:
        server.close()
    return f"restored C {found.capacity.io_capacity}, M {found.capacity.io_capacity_max} on {facts.endpoint}"


def _state_directory(config: Config, nobody: NoDaemon) -> Path:
    """Return the state directory, where there is a journal in it."""
    directory = Path(config.daemon.state_directory)
    with _reading(nobody):
        why = absence(directory)
    if not why:
        return directory
    if not directory.is_dir():
        raise Unusable(
            f"{directory}: no such directory; name the daemon's with --state-directory or --config\n"
            f"{nobody.message}"
        )
    raise Unreachable(f"{nobody.message}; and {why}")


@contextmanager
def _reading(nobody: NoDaemon) -> Iterator[None]:
    try:
        yield
    except (JournalError, OSError) as error:
        raise Unreachable(f"{nobody.message}; nor can its journal be read: {error}") from error


def _reached(facts: Callable[[], Facts]) -> Facts:
    try:
        return facts()
    except ServerError as error:
        raise Unreachable(f"the server cannot be reached: {error}") from error


def _originals_of(facts: Facts, known: list[Originals], directory: Path) -> Originals:
    for one in known:
        if one.identity == facts.identity:
            return one
    raise Refused(
        f"the journal in {directory} has no originals of {facts.endpoint} ({facts.identity}); "
        f"it knows {', '.join(one.identity for one in known)}"
    )


def _facts(directory: Path) -> Facts | None:
    known = runs(directory)
    return known[-1].facts if known else None
