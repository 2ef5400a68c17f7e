"""What ``status``, ``restore`` and ``park`` do without a daemon: its journal, a connection of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec.structs import replace

from api.models import DoneSince, Status
from api.views import status_of
from tuner.cli.answer import Refused, Unreachable, Unusable
from tuner.cli.client import NoDaemon
from tuner.cli.options import in_state_directory, real_server
from tuner.config.keys import IDENTITY_VARIABLE
from tuner.config.schema import Config
from tuner.core.leaving.lowwater import may_be_written
from tuner.core.ownership.standing import Standing
from tuner.core.state import SAME_START_SECONDS
from tuner.core.writes.restore_pace import HIDDEN
from tuner.daemon.predecessors import learned_from_journal, look
from tuner.journal.ending import Ending, ending
from tuner.journal.items import GivenBackItem, NoteItem
from tuner.journal.keeper import claimed
from tuner.journal.reader import absence, done_offline, last_record, originals, runs
from tuner.journal.readonly import located, lost
from tuner.journal.resized import ResizeError, resize_of
from tuner.journal.tables import LOCK_NAME, OFFLINE, JournalError, Originals
from tuner.journal.writer import JournalWriter
from tuner.records import Facts
from tuner.servers.port import ServerError
from tuner.servers.port import Unreachable as ServerUnreachable
from tuner.settings import Mode
from tuner.system.amounts import size
from tuner.system.clock import SystemClock
from tuner.system.statedir import as_caller
from tuner.without_daemon import NOTE_SECONDS, WAIT_SECONDS, WHO, park_offline, restore_offline, stands

RETRY_SECONDS = 1.0

ADVISORY_NEXT = "the next daemon is advisory until innobrim mode active"
"""What a restore without a daemon leads to."""


@in_state_directory
def status_from_journal(config: Config, nobody: NoDaemon) -> Status:
    """Return the last tick on disk.

    Raises:
        Unusable: there is no such state directory.
        Unreachable: there is no journal, or it cannot be read, or holds no tick yet.
    """
    directory = _state_directory(config, nobody)
    with _reading(nobody):
        record = last_record(directory, of_daemon=True)
        since = done_offline(directory, after=record.tick.wall) if record is not None else []
        facts = _facts(directory)
        learned = None if facts is None else learned_from_journal(directory, facts.identity)
    if record is None:
        raise Unreachable(f"{nobody.message}; and the journal in {directory} has no tick yet")
    wall, settings = time.time(), config.loop
    found = status_of(
        record,
        facts=facts,
        settings=settings,
        wall=wall,
        process=None,
        source="journal",
        learned=learned,
        price=config.daemon.write_price,
    )
    done = tuple(DoneSince(at=wall, message=message) for wall, message in since)
    return replace(found, since=done, alive=_claimed(directory))


@in_state_directory
def restore_without_daemon(
    config: Config, nobody: NoDaemon, *, say: Callable[[str], None], if_written: bool = False
) -> str:
    """Put the originals back over a connection of our own; return what was done.

    Args:
        config: names the state directory and the server.
        nobody: why no daemon answered.
        say: told each step in one line.
        if_written: a journal without originals is no refusal: there is nothing to restore.

    Raises:
        Unusable: there is no such state directory.
        Unreachable: no journal that can be read, or the server does not answer.
        Refused: the journal holds no originals, or the server says no.
    """
    directory = _state_directory(config, nobody)
    with _reading(nobody):
        known, last = originals(directory), _facts(directory)
    if not known:
        nothing = (
            f"the journal in {directory} holds no originals: nothing was written, or it was put back already"
        )
        if if_written:
            return f"nothing to restore: {nothing}"
        raise Refused(f"{nobody.message}; and {nothing}")
    say(f"no daemon answers, so this goes by the journal in {directory}{_of_whom(last)} ({nobody.message})")
    server = real_server(config, SystemClock(), last=last, say=say)
    notes = _notes(directory, config)
    try:
        try:
            facts = _reached(server.facts)
        except Unreachable as error:
            raise Unreachable("\n".join([str(error), *map(_by_hand, known)])) from error
        found = _originals_of(facts, known, directory)
        standing = look(directory, quietly=True).advisory_from_here(facts)
        if abs(found.started - facts.started) > SAME_START_SECONDS:
            stands(notes, standing)
            return (
                f"nothing to restore: {facts.endpoint} was restarted since a daemon wrote to it, "
                f"and runs with the values of its own configuration; {ADVISORY_NEXT}"
            )
        server.claims_writer = server.watches_latency = True
        server.writes_low_water = standing.low_water is not None
        try:
            restore_offline(
                server,
                found.capacity,
                low_water=standing.low_water,
                say=say,
                begins=lambda: stands(notes, standing),
                hidden=HIDDEN in facts.unseen,
            )
        except ServerError as error:
            if not notes.started:
                raise Refused(str(error)) from error
            _done(notes, f"not restored: {error}", "innobrim restore")
            raise Refused(f"{error}\n{_by_hand(found)}") from error
        notes.put(GivenBackItem(found.identity))
        if standing.low_water is not None:
            stands(notes, replace(standing, low_water=None))
        with suppress(ResizeError):
            log = resize_of(directory, facts.names)
            if log is not None and log.goal and not log.undone:
                say(f"the redo log stays as it was grown; innobrim redo --undo sets {size(log.found)} back")
        pair = found.capacity
        done = f"restored {pair.in_words} on {facts.endpoint}"
        _done(notes, done, "innobrim restore")
    finally:
        lost = _lost(notes, directory)
        server.close()
        if lost:
            say(f"warning: {lost}; the next daemon will not know of this restore, and may write again")
    return f"{done}; {ADVISORY_NEXT}"


@in_state_directory
def park_without_daemon(config: Config, nobody: NoDaemon, *, say: Callable[[str], None]) -> str:
    """Park over a connection of our own what a dead daemon left; return what was done.

    Raises:
        Unusable: there is no such state directory.
        Unreachable: no journal that can be read, or the server does not answer.
        Refused: a daemon lives there after all, or the server says no.
    """
    directory = _state_directory(config, nobody)
    if _claimed(directory):
        raise Refused(f"{nobody.message}; but one has {directory / LOCK_NAME}: ask it, or stop it")
    with _reading(nobody):
        found, last = ending(directory), _facts(directory)
    if found is None:
        return "nothing to park: no daemon ever wrote to a server from here"
    say(f"no daemon answers, so this goes by the journal in {directory}{_of_whom(last)} ({nobody.message})")
    return _park(config, found, last, say=say, unattended=False)


@in_state_directory
def park_if_crashed(config: Config, *, say: Callable[[str], None]) -> str:
    """Park what a daemon left that was killed, and nothing else; return what was done.

    Raises:
        Unusable: there is no such state directory.
        Unreachable: the journal cannot be read, or the server does not answer.
        Refused: the server says no.
    """
    directory = Path(config.daemon.state_directory)
    try:
        if not directory.is_dir():
            raise Unusable(
                f"{directory}: no such directory; name the daemon's with --state-directory or --config"
            )
        if why := absence(directory):
            if lost(located(directory)):
                raise Unreachable(f"what the last daemon left is not known: {why}")
            return "nothing to park: no daemon ever wrote to a server from here"
        if _claimed(directory):
            return "nothing to park: a daemon is at work"
        found, last = ending(directory), _facts(directory)
    except (JournalError, OSError) as error:
        raise Unreachable(f"the journal cannot be read: {error}") from error
    if found is None:
        return "nothing to park: no daemon ever wrote to a server from here"
    if found.orderly:
        return "nothing to park: the last daemon ended in order"
    return _park(config, found, last, say=say, unattended=True)


def _park(
    config: Config, found: Ending, last: Facts | None, *, say: Callable[[str], None], unattended: bool
) -> str:
    directory, clock = Path(config.daemon.state_directory), SystemClock()
    began = clock.monotonic()
    server = real_server(config, clock, last=last, say=say)
    notes = _notes(directory, config)
    try:
        facts = _reached(server.facts, patience=WAIT_SECONDS if unattended else 0.0)
        left = look(directory, quietly=True)
        if left.originals_of(facts) is None:
            named = _by_name(facts, left.originals or [])
            return f"nothing to park: nothing was written to {facts.endpoint} since its mysqld started{named}"
        state = left.begin(replace(config.loop, mode=Mode.ADVISORY), facts, now=clock.monotonic())
        server.writes_low_water = may_be_written(state)
        done = park_offline(
            server,
            clock,
            state,
            found,
            standing=left.stood(facts) or Standing(facts.identity, facts.started),
            notes=notes,
            began=began,
            unattended=unattended,
        )
        if notes.started:
            _done(notes, f"{done} on {facts.endpoint}", WHO)
    except ServerUnreachable as error:
        raise Unreachable(f"the server cannot be reached: {error}") from error
    except ServerError as error:
        if notes.started:
            _done(notes, str(error), WHO)
        raise Refused(str(error)) from error
    finally:
        lost = _lost(notes, directory)
        server.close()
    if lost:
        say(f"warning: {lost}; the next daemon will not know these values as its own")
    return f"{done} on {facts.endpoint}"


def _notes(directory: Path, config: Config) -> JournalWriter:
    """Return the journal, untouched until there is something to note; what it cannot note ``_lost`` tells."""
    return JournalWriter(directory, keep_ticks=config.daemon.keep_ticks, on_error=lambda _: None)


def _done(notes: JournalWriter, message: str, who: str) -> None:
    """Note what was done to a server without its daemon, for whoever asks for the status."""
    notes.put(NoteItem(wall=time.time(), code=OFFLINE, message=message, who=who))


def _lost(notes: JournalWriter, directory: Path) -> str:
    """Write what is left; return why something was lost, empty where nothing was."""
    if notes.close(NOTE_SECONDS):
        return ""
    return f"{directory}: {notes.trouble or f'the disk took no notes within {NOTE_SECONDS:.0f} s'}"


def _claimed(directory: Path) -> bool:
    try:
        return claimed(directory)
    except OSError:
        return False


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


def _reached(facts: Callable[[], Facts], *, patience: float = 0.0) -> Facts:
    """Return what server it is; ask again for so many seconds where nothing answers."""
    give_up = time.monotonic() + patience
    while True:
        try:
            with as_caller():
                return facts()
        except ServerError as error:
            if time.monotonic() >= give_up or not isinstance(error, ServerUnreachable):
                raise Unreachable(f"the server cannot be reached: {error}") from error
        time.sleep(RETRY_SECONDS)


def _originals_of(facts: Facts, known: list[Originals], directory: Path) -> Originals:
    for one in known:
        if one.identity in facts.names:
            return one
    raise Refused(
        f"the journal in {directory} has no originals of {facts.endpoint} ({facts.identity}); "
        f"it knows {', '.join(one.identity for one in known)}{_by_name(facts, known)}"
    )


def _by_name(facts: Facts, known: list[Originals]) -> str:
    """Return how to say which server this is, where the journal may know it by a name that a person gave."""
    names = [one.identity for one in known if ":" not in one.identity]
    if not names or not facts.calls_itself:
        return ""
    return f"; where it is one of these by its name, say so as for the daemon: {IDENTITY_VARIABLE}={names[0]}"


def _by_hand(one: Originals) -> str:
    """Return what a person types where a restore cannot.

    M comes twice: the server keeps it at or above C, which may be above it before this and below it after.
    """
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(one.started))
    highest = f"innodb_io_capacity_max = {one.capacity.io_capacity_max}"
    return (
        f"not restored: server {one.identity}; by hand, unless its mysqld was restarted since {since}: "
        f"SET GLOBAL {highest}, innodb_io_capacity = {one.capacity.io_capacity}, {highest};"
    )


def _of_whom(facts: Facts | None) -> str:
    """Return which server the last daemon was at: this command may have been told of another one."""
    return "" if facts is None else f", of a daemon at {facts.endpoint}"


def _facts(directory: Path) -> Facts | None:
    known = runs(directory)
    return known[-1].facts if known else None
