"""``innobrim redo --to`` and ``--undo``: another size of the redo log while the server runs, by consent."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import click
from msgspec import Meta, Struct
from msgspec.structs import replace

from tuner.cli.advise import watch
from tuner.cli.answer import (
    Refused,
    Unfinished,
    Unreachable,
    Unusable,
    interruptible,
    like_ctrl_c,
    say,
    say_json,
)
from tuner.cli.options import entered
from tuner.config.schema import Config
from tuner.core.state import SAME_START_SECONDS
from tuner.findings.redo_growth import (
    Resize,
    Stands,
    barred,
    copied_by,
    how_far,
    kept_back,
    lines_for_my_cnf,
    next_step,
    not_to_be_shrunk,
    space_for,
    stands,
    to_keep,
    told,
)
from tuner.findings.sizing import sizing
from tuner.journal.resized import NAME, ResizeError, alone, keep, resize_of, set_back
from tuner.records import Facts, Missed, Sample
from tuner.servers.port import ServerError
from tuner.servers.port import Unreachable as ServerUnreachable
from tuner.servers.redosize import GRACE_SECONDS, DeniedError, NotSetError, OtherSizeError, TimeUpError
from tuner.servers.server import RealServer
from tuner.system.amounts import size
from tuner.system.clock import SystemClock

LOOK_SECONDS = 0.5
"""Between two looks at a server that is being resized."""


class Resized(Struct, frozen=True):
    """What ``--to`` and ``--undo`` print as JSON."""

    variable: Annotated[str, Meta(description="what was set")]
    before: Annotated[int, Meta(description="redo capacity before, bytes")]
    in_force: Annotated[int, Meta(description="redo capacity now, bytes")]
    seconds: Annotated[float, Meta(description="how long the server took")]
    my_cnf: Annotated[tuple[str, ...], Meta(description="lines for my.cnf; none after an undo")]


class Begun(Struct, frozen=True):
    """A resize that was begun before, and how far it is."""

    resize: Resize
    stands: Stands


class Target:
    """A server whose redo log a person wants to have another size.

    Attributes:
        server: the server itself.
        config: which server, and which state directory.
        facts: of it.
        sample: of now.
    """

    def __init__(self, server: RealServer, config: Config, *, as_json: bool) -> None:
        """Ask the server what it is and how it is; raises ``Unreachable`` where it does not answer."""
        self.server, self.config, self._as_json = server, config, as_json
        self.directory = Path(config.daemon.state_directory)
        self.facts: Facts = server.facts()
        self.sample: Sample = self._read()

    def say(self, *lines: str) -> None:
        """Say what is no answer for a machine."""
        say(*lines, err=self._as_json)

    def kept(self) -> Resize | None:
        """Return what is on disk of this server; raises ``Refused`` where that is not known."""
        with entered(self.directory):
            try:
                return resize_of(self.directory, self.facts.names)
            except ResizeError as error:
                raise Refused(str(error)) from error

    def must_have_directory(self) -> None:
        """End where there is no place for the value found."""
        if not self.directory.is_dir():
            raise Unusable(
                f"{self.directory}: no such directory, and the value found has to be on disk first; name one "
                "with --state-directory or --config"
            )

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep a daemon's steps away; raises ``Refused`` where one is under way, or has just been made."""
        with ExitStack() as held:
            with entered(self.directory):
                try:
                    held.enter_context(alone(self.directory))
                except ResizeError as error:
                    raise Refused(str(error)) from error
            self.must_be_as_before()
            yield

    def keep(self, resize: Resize) -> None:
        """Have it on disk; raises ``Refused`` where it is not: nothing may be set then."""
        with entered(self.directory):
            try:
                keep(self.directory, resize)
            except ResizeError as error:
                raise Refused(f"nothing was set: the value found has to be on disk first: {error}") from error

    def put_back(self, before: Resize | None, resize: Resize) -> None:
        """Have on disk what was there before a resize that was not begun after all."""
        if before is None:
            self.forget(resize)
        else:
            self.keep(before)

    def forget(self, resize: Resize) -> None:
        """Have nothing of it on disk any more, but that a daemon's was undone."""
        with entered(self.directory):
            try:
                set_back(self.directory, resize)
            except ResizeError as error:
                say(f"warning: {error}; the next innobrim redo tells of this resize again", err=True)

    def under_way(self) -> bool:
        """Tell whether a statement of somebody's sets the size now."""
        return self.facts.family == "mariadb" and self.server.resizing_redo(self.facts)

    def must_not_be_under_way(self) -> None:
        """End where another size is being set now."""
        if self.sample.resizing or self.under_way():
            raise Refused(f"{self.facts.redo_variable} is being changed already: wait for its end")

    def must_not_be_copied(self) -> None:
        """End where something may copy the redo log, which another size would break."""
        for why in copied_by(self.sample):
            raise Refused(f"{why}; another size of the redo log may break its copy: wait for its end")

    def must_be_as_before(self) -> None:
        """Read the server anew; end where its redo log, or who has it, is not what a person was told of."""
        self.server.close()  # a server ends a connection that nothing came over for seconds: connect again
        now, sample = self.server.facts(), self._read()
        if now.identity not in self.facts.names:
            raise Refused(f"{now.identity} answers now, and it was {self.facts.identity}: ask again")
        if abs(now.started - self.facts.started) > SAME_START_SECONDS:
            raise Refused("mysqld was restarted since a moment ago: ask again")
        if sample.redo_capacity != self.sample.redo_capacity:
            raise Refused(f"the redo log has {size(sample.redo_capacity)} since a moment ago: ask again")
        self.sample = sample

    def must_be_allowed(self) -> None:
        """End where the account may not set the variable."""
        if self.server.may_write() is False:
            raise Refused(self._denied())

    def set(self, resize: Resize, wanted: int, timeout: float) -> float:
        """Set the size and wait until it is in force; return how long that took, seconds."""
        failures: list[ServerError] = []

        def statement() -> None:
            try:
                self.server.resize_redo(self.facts, wanted, timeout)
            except ServerError as error:
                failures.append(error)

        began = time.monotonic()
        setting = threading.Thread(target=statement, name="redo-size", daemon=True)
        goes_on = "stopped waiting; the server goes on by itself, and innobrim redo says how far it is"
        with like_ctrl_c(), interruptible(goes_on):
            setting.start()
            self._wait(setting, failures, resize, wanted, until=began + timeout)
        return time.monotonic() - began

    def _wait(
        self,
        setting: threading.Thread,
        failures: list[ServerError],
        resize: Resize,
        wanted: int,
        *,
        until: float,
    ) -> None:
        said = ""
        while True:
            setting.join(LOOK_SECONDS)
            answered = not setting.is_alive()
            if failures:
                self._failed(failures[0])
            reading = self.server.read()
            if isinstance(reading, Sample):
                self.sample = reading
                if answered and reading.redo_capacity == wanted and not reading.resizing:
                    return
                shown = reading.resizing or (not answered and self.facts.family == "mariadb")
                if shown and (line := how_far(resize, reading)) != said:
                    self.say(line)
                    said = line
            if time.monotonic() >= until + (0.0 if answered else GRACE_SECONDS):
                why = f"; {reading.reason}" if isinstance(reading, Missed) else ""
                raise Unfinished(
                    f"not in force in time: {size(self.sample.redo_capacity)} is{why}; the server goes on by "
                    "itself, and innobrim redo says how far it is"
                )
            if answered:
                time.sleep(LOOK_SECONDS)

    def _failed(self, error: ServerError) -> NoReturn:
        """End with what became of the SET."""
        if isinstance(error, ServerUnreachable):
            raise Unreachable(
                f"{error}; whether the size was set is not known: what was found is on disk, and "
                "innobrim redo says how far it is"
            ) from error
        if isinstance(error, TimeUpError):
            raise Unfinished(
                f"the server gave up in time ({error}), and has the redo log that it had: take a longer "
                "--timeout, or a time with less to flush"
            ) from error
        why = self._denied() if isinstance(error, DeniedError) else str(error)
        raise Refused(why) from error

    def _denied(self) -> str:
        facts = self.facts
        return (
            f"the account {facts.named_account} has no {facts.write_privilege}, which setting "
            f"{facts.redo_variable} takes: a person who has it runs this, by --user"
        )

    def _read(self) -> Sample:
        reading = self.server.read()
        if isinstance(reading, Missed):
            raise Unreachable(reading.reason)
        return reading


def at_terminal() -> bool:
    """Tell whether somebody can answer a question."""
    return sys.stdin.isatty()


def must_be_asked_or_told(*, yes: bool) -> None:
    """End where nobody can consent."""
    if not yes and not at_terminal():
        raise Unusable("this changes the server, and there is no terminal to ask at: say --yes")


def grow(target: Target, wanted: int, *, seconds: int, timeout: float, yes: bool, as_json: bool) -> None:
    """Make the redo log so large, bytes, where nothing speaks against it and the person consents.

    Args:
        target: the server.
        wanted: size, bytes.
        seconds: how long to watch, where a limit of the recovery time is set.
        timeout: seconds until the new size has to be in force.
        yes: consent was given.
        as_json: print JSON.
    """
    facts = target.facts
    if why := barred(facts, target.sample, wanted):
        raise Refused(why)
    if not facts.redo_dynamic:
        _by_restart(facts, lines_for_my_cnf(facts, wanted), wanted, as_json=as_json)
    target.must_not_be_under_way()
    target.must_not_be_copied()
    target.must_have_directory()
    with target.alone():
        _grow(target, wanted, seconds=seconds, timeout=timeout, yes=yes, as_json=as_json)


def _grow(target: Target, wanted: int, *, seconds: int, timeout: float, yes: bool, as_json: bool) -> None:
    facts, found = target.facts, target.sample.redo_capacity
    lines = lines_for_my_cnf(facts, wanted)
    target.must_be_allowed()
    # MySQL writes a file in its new size when its turn comes: an earlier growth may be on no disk yet
    on_disk = _to_keep(target, target.kept(), wanted).found
    disk = _disk(target, on_disk, wanted)
    recovery = _recovery(target, wanted, seconds)
    target.say(
        f"{facts.redo_variable} on {facts.endpoint}: from {size(found)} to {size(wanted)}, while it runs",
        f"  disk:     {disk}",
        f"  recovery: {recovery}",
        f"  at once:  {_at_once(facts)}",
        "  undo:     innobrim redo --undo, until mysqld is restarted",
        f"  restart:  ends it; for good my.cnf needs {lines[-1]}",
    )
    _consent(yes=yes)
    target.must_be_as_before()  # watching and a question may take hours
    target.must_not_be_under_way()
    target.must_not_be_copied()
    _disk(target, on_disk, wanted)
    before = target.kept()
    resize = _to_keep(target, before, wanted)
    target.keep(resize)
    try:
        took = target.set(resize, wanted, timeout)
    except (Refused, Unfinished) as error:
        cause = error.__cause__
        if isinstance(cause, OtherSizeError):
            target.keep(replace(resize, wanted=cause.there))
        elif isinstance(cause, NotSetError):
            target.put_back(before, resize)
        raise
    if as_json:
        say_json(Resized(facts.redo_variable, found, target.sample.redo_capacity, took, lines))
        return
    say(
        f"{size(wanted)} is in force after {took:.1f} s; innobrim redo --undo sets {size(resize.found)} back",
        "for the next start of mysqld, in my.cnf:",
        *(f"  {line}" for line in lines),
    )


def undo(target: Target, *, timeout: float, yes: bool, as_json: bool) -> None:
    """Set back the size that was found, where that is safe and the person consents."""
    with target.alone():
        _undo(target, timeout=timeout, yes=yes, as_json=as_json)


def _undo(target: Target, *, timeout: float, yes: bool, as_json: bool) -> None:
    kept = target.kept()
    facts, now = target.facts, target.sample.redo_capacity
    if kept is None:
        raise Refused(
            f"innobrim redo has resized no redo log of {facts.endpoint} ({facts.identity}) from here"
        )
    standing = stands(kept, facts, target.sample, under_way=target.under_way())
    if kept.undone and standing != "in_force":  # else what was to set it back did not get there
        raise Refused(kept_back(kept))
    if standing in {"not_in_force", "restarted", "changed"}:
        target.forget(kept)
        target.say(f"nothing to undo: {told(kept, standing, target.sample)}")
        if as_json:
            say_json(Resized(kept.variable, now, now, 0.0, ()))
        return
    if standing == "under_way":
        raise Refused(told(kept, standing, target.sample))
    target.must_be_allowed()
    _must_be_safe(target, kept)
    target.say(
        f"{kept.variable} on {facts.endpoint}: from {size(now)} back to {size(kept.found)}, while it runs",
        f"  at once:  the checkpoint age, {size(target.sample.checkpoint_age)}, is below all "
        "limits of the smaller log; pages are flushed earlier from then on",
        f"  restart:  take {kept.variable} = {kept.wanted} out of my.cnf where it is there",
    )
    _consent(yes=yes)
    target.must_be_as_before()  # a question may take hours
    target.must_not_be_under_way()
    _must_be_safe(target, kept)
    took = target.set(replace(kept, lsn=target.sample.lsn_current, found=now), kept.found, timeout)
    target.forget(kept)
    if as_json:
        say_json(Resized(kept.variable, now, target.sample.redo_capacity, took, ()))
        return
    say(f"{size(kept.found)} is in force again after {took:.1f} s")


def _must_be_safe(target: Target, kept: Resize) -> None:
    """End where the log found cannot be set back now."""
    target.must_not_be_copied()
    if why := not_to_be_shrunk(kept, target.sample):
        raise Refused(why)


def begun_before(server: RealServer, config: Config) -> Begun | None:
    """Return the resize of this server that is on disk, and say on stderr how far it is; None without one."""
    directory = Path(config.daemon.state_directory)
    try:
        if not (directory / NAME).exists():
            return None
    except OSError:  # a directory of the daemon's, which not everybody may look into
        return None
    target = Target(server, config, as_json=True)
    try:
        kept = target.kept()
    except Refused as error:  # what another size would bring does not depend on it
        target.say(f"warning: whether the redo log was resized is not known: {error.message}")
        return None
    if kept is None:
        return None
    standing = stands(kept, target.facts, target.sample, under_way=target.under_way())
    if kept.undone and standing != "in_force":
        target.say(kept_back(kept))
        return None
    target.say(f"{told(kept, standing, target.sample)}; {next_step(kept, standing, target.sample)}")
    return Begun(kept, standing)


def _by_restart(facts: Facts, lines: tuple[str, ...], wanted: int, *, as_json: bool) -> None:
    """Print the lines for my.cnf, and end with a no: nothing was set."""
    say(*lines, err=as_json)
    raise Refused(
        f"{facts.product} cannot safely change its redo log while it runs: {facts.larger_redo(wanted)[0]}"
    )


def _to_keep(target: Target, before: Resize | None, wanted: int) -> Resize:
    return to_keep(before, target.facts, target.sample, wanted, wall=time.time())


def _consent(*, yes: bool) -> None:
    if not yes and not click.confirm("Set it?", err=True):
        raise Refused("nothing was set: not confirmed")


def _disk(target: Target, found: int, wanted: int) -> str:
    space = space_for(target.server.survey(), target.facts, found, wanted)
    more = f"{size(space.more)} more"
    if space.why:
        raise Refused(f"{space.where}: {space.why}")
    if space.where:
        return f"{more} in {space.where}, of {size(space.free)} that are free"
    return f"{more}; no room could be checked: the server's files are not on this machine, or hidden from us"


def _recovery(target: Target, wanted: int, seconds: int) -> str:
    """Return how long a crash recovery takes with such a log; refuse one beyond the budget that is set."""
    config = target.config
    budget = config.loop.max_recovery_seconds
    if not budget:
        return "takes longer with more redo: innobrim redo predicts it; no max_recovery_seconds is set"
    watched = watch(target.server, SystemClock(), config, seconds)
    _, state = watched.last()
    found = sizing(watched.records, state, None, (wanted / target.sample.redo_capacity,))
    key = f"max_recovery_seconds = {budget:g}"
    if found is None:
        raise Refused(
            f"how long a recovery takes cannot be told without a load, and {key} is set: ask at a busy hour"
        )
    took = found.sizes[0].recovery_seconds
    if took > budget:
        raise Refused(
            f"a crash recovery with {size(wanted)} takes {took:.0f} s, and {key}: take a smaller log, or "
            "raise the budget"
        )
    return f"{took:.0f} s after a crash at the age that is held then, within {key}"


def _at_once(facts: Facts) -> str:
    if facts.family == "mariadb":
        return "the new log is written beside the old one until a checkpoint has passed today's end"
    return "the new limits of the age count; the files grow as they are written; nothing is flushed for it"
