"""Another pair by way of the provider, and the way back: one variable at a time, each seen in the server.

A change takes the provider up to minutes. So nothing here is an emergency or a park, and no change begins
within ``DWELL_SECONDS`` of the last one, or after ``MOST_A_DAY`` within a day. The way back is always open,
and counts as a change.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tuner.core.leaving.restore import restore_step
from tuner.core.limits import allowed
from tuner.core.writes.plan import CAPACITY, plan
from tuner.hosted.kept import Kept, keep, kept_of
from tuner.hosted.opened import barred, not_in_force, values_of
from tuner.hosted.port import NAMES, HostedError, Look, NotInTimeError, Store
from tuner.records import Capacity, Facts, Missed, Sample
from tuner.servers.port import Server, ServerError
from tuner.settings import Settings
from tuner.system.clock import Clock

DWELL_SECONDS = 1800.0
MOST_A_DAY = 4
DAY_SECONDS = 86_400.0
LOOK_SECONDS = 5.0
"""Between two looks at the server while the provider is at work."""

RAISED_BY = 2.0
"""Most that one step raises M by, as a factor: a raise at a high age has pages flushed at once."""


class Standing(Struct, frozen=True):
    """What a person is told before a change, and what must still be so after the answer."""

    identity: str
    in_force: Capacity
    seen: Look


class Change:
    """One hosted server, and what its provider keeps of it.

    Attributes:
        now: what both show.
        kept: what is on disk of it; None where nothing has to be set back.
    """

    def __init__(
        self,
        server: Server,
        store: Store,
        *,
        host: str,
        settings: Settings,
        directory: Path,
        clock: Clock,
        say: Callable[[str], None],
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Look at server, provider and disk; nothing is written.

        Args:
            server: that answers at the address of the instance.
            store: that the configuration names.
            host: by which the server is reached.
            settings: whose limits of M count.
            directory: the state directory.
            clock: whose time it is.
            say: told each step in a line.
            wait: called with the seconds between two looks.

        Raises:
            HostedError: nothing may be changed there, or it cannot be told.
            ServerError: the server does not answer.
            KeptError: what was found before cannot be read.
        """
        self._server, self._store, self._host = server, store, host
        self._settings, self._directory, self._clock = settings, directory, clock
        self._say, self._wait = say, wait
        self.facts: Facts = server.facts()
        before = kept_of(directory, store.key)
        self.kept = None if before is None or before.restored else before
        self._begun = [] if before is None else before.begun
        self.now = self._look()

    def _look(self) -> Standing:
        sample = self._read()
        return Standing(sample.identity, sample.capacity, self._seen())

    def _seen(self) -> Look:
        seen = self._store.look()
        if why := barred(self._store, seen, self.facts, self._host):
            raise HostedError(why)
        return seen

    def _read(self) -> Sample:
        sample = self._server.read()
        if isinstance(sample, Missed):
            raise ServerError(sample.reason)
        return sample

    def must_be_as_told(self) -> None:
        """End where server or provider is not what a person was told of; a question may take hours."""
        self._server.close()  # which ends a connection that nothing came over for seconds
        before, self.now = self.now, self._look()
        if self.now != before:
            raise HostedError("server or provider show something else since a moment ago: ask again")

    def foreign(self) -> str:
        """Return what somebody else set at the provider since we wrote there; empty where nobody did."""
        kept, values = self.kept, values_of(self.now.seen)
        if kept is None:
            return ""
        return "; ".join(
            f"{name} is {self.now.seen.parameters[name]}, and InnoBrim {kept.knows(name)}"
            for name in NAMES
            if kept.foreign(name, values[name])
        )

    def to_be_set(self, wanted: Capacity | None, *, adopt: bool) -> Capacity:
        """Return the pair that is to be in force.

        Args:
            wanted: by a person; None for what was found.
            adopt: what somebody else set is to count as found.

        Raises:
            HostedError: it is not to be set now.
        """
        if wanted is None:
            return self._found().found
        if why := self._refusal(wanted, adopt=adopt):
            raise HostedError(why)
        return wanted

    def _found(self) -> Kept:
        if self.kept is None:
            raise HostedError(f"innobrim hosted has changed nothing in {self.now.seen.place} from here")
        return self.kept

    def _refusal(self, wanted: Capacity, *, adopt: bool) -> str:
        if wanted == self.now.in_force:
            return f"{wanted} is in force already"
        if why := self._not_allowed(wanted):
            return f"{wanted}: {why}"
        if why := not_in_force(values_of(self.now.seen), self.now.in_force):
            return f"{why}: wait until it is in force, or have the provider apply it"
        if not adopt and (why := self.foreign()):
            return (
                f"{why}: somebody else changed it; innobrim hosted restore sets back what InnoBrim found, "
                "and --adopt takes theirs for what was found"
            )
        return self.now.seen.pending or self._too_soon(wanted)

    def _not_allowed(self, wanted: Capacity) -> str:
        lowest, highest = allowed(self._settings, self.facts)
        if wanted.io_capacity < self.facts.capacity_minimum or wanted.io_capacity_max % wanted.io_capacity:
            return (
                f"innodb_io_capacity must be at least {self.facts.capacity_minimum}, and "
                "innodb_io_capacity_max a whole multiple of it"
            )
        if not lowest <= wanted.io_capacity_max <= highest:
            return f"innodb_io_capacity_max must be from {lowest} to {highest}, as [loop] has it"
        for name, value in zip(NAMES, (wanted.io_capacity, wanted.io_capacity_max), strict=True):
            taken = self.now.seen.parameters[name]
            if value < taken.lowest or (taken.highest is not None and value > taken.highest):
                return f"{self._store.service} takes {taken.lowest} to {taken.highest} for {name}"
        return ""

    def _too_soon(self, wanted: Capacity) -> str:
        kept = self.kept
        if kept is not None and (kept.wanted == wanted or self._nothing_taken(kept)):
            return ""  # it goes on with what was not done in time, or the provider took nothing
        since = self._since()
        if since and since[-1] < DWELL_SECONDS:
            left = (DWELL_SECONDS - since[-1]) / 60.0
            return (
                f"the last change began less than {DWELL_SECONDS / 60:.0f} minutes ago: wait {left:.0f} "
                "minutes, and look what it brought"
            )
        if sum(one < DAY_SECONDS for one in since) >= MOST_A_DAY:
            return f"{MOST_A_DAY} changes within a day are enough for a setting that is to stay"
        return ""

    def _nothing_taken(self, kept: Kept) -> bool:
        """Tell whether the provider still keeps what was found, and no restore has brought that back."""
        return kept.values == values_of(self.now.seen) and kept.wanted != kept.found

    def _since(self) -> list[float]:
        """Return how long ago each change began, seconds; a clock that was ahead then counts by how far."""
        now = self._clock.wall()
        return [abs(now - one) for one in self._begun]

    def _begins(self, kept: Kept, wanted: Capacity) -> None:
        """Have a change counted on disk, where it does not go on with the last one."""
        if kept.wanted != wanted:
            pairs = zip(self._begun, self._since(), strict=True)
            self._begun = [*(one for one, since in pairs if since < DAY_SECONDS), self._clock.wall()]
        self.kept = replace(kept, begun=self._begun, wanted=wanted)
        keep(self._directory, self._store.key, self.kept)

    def apply(self, wanted: Capacity, *, timeout: float) -> None:
        """Have the pair in force; what was found is on disk before the provider is told.

        Args:
            wanted: the pair.
            timeout: how long the provider may take for one variable, seconds.

        Raises:
            HostedError: the provider refused, failed, or was not done in time; or somebody else changed
                something meanwhile.
            ServerError: the server is another one, or is gone.
            KeptError: what was found is not on disk; nothing was written.
        """
        kept = self.kept
        if kept is None or self.foreign():
            kept = Kept(self._store.key, self.now.in_force, values_of(self.now.seen))
        self._begins(kept, wanted)
        self._go(wanted, timeout)

    def restore(self, *, timeout: float) -> Capacity:
        """Have in force what was found, and at the provider what it kept then; raises what ``apply`` does.

        Returns:
            the pair that is in force: a default or a formula of the provider's may be another number by now.
        """
        kept = self._found()
        if self.now.in_force == kept.found and self._nothing_taken(kept):
            self._begun = self._begun[:-1]  # of a change that the provider did not take
        else:
            self._begins(kept, kept.found)
        self._go(in_force := kept.found, timeout)
        for name in NAMES:
            if self._seen().parameters[name].value != kept.values[name]:
                in_force = self._write(name, kept.values[name], None, timeout)
        still = Kept(self._store.key, kept.found, kept.values, begun=self._begun, restored=True)
        keep(self._directory, self._store.key, still if self._begun else None)
        self.kept = None
        return in_force

    def _go(self, wanted: Capacity, timeout: float) -> None:
        pair = self.now.in_force
        while pair != wanted:
            raised = wanted.io_capacity_max > pair.io_capacity_max
            target = restore_step(pair, wanted, factor=RAISED_BY) if raised else wanted
            for name, value in plan(pair, target):
                pair = (
                    replace(pair, io_capacity=value)
                    if name == CAPACITY
                    else replace(pair, io_capacity_max=value)
                )
                self._write(name, str(value), pair, timeout)

    def _write(self, name: str, value: str | None, pair: Capacity | None, timeout: float) -> Capacity:
        """Write one variable; return what the server shows once that is the pair and the provider is done.

        Args:
            name: of the variable.
            value: to be written; None for the provider's default.
            pair: that is awaited; None for whatever the provider makes of the value.
            timeout: as for ``apply``.
        """
        if self.kept is not None and value is not None:
            wrote = {**self.kept.wrote, name: [*self.kept.wrote.get(name, []), value]}
            self.kept = replace(self.kept, wrote=wrote)
            keep(self._directory, self._store.key, self.kept)
        said = f"{name} = {'the default' if value is None else value}"
        began = self._clock.monotonic()
        self._store.write(name, value)
        in_force: Capacity | None = None
        settled = False
        while in_force is None or not settled:
            if self._clock.monotonic() - began > timeout:
                shows = "nothing" if in_force is None else str(in_force)
                raise NotInTimeError(
                    f"{said} is written at the provider, and not in force after {timeout:.0f} s: the server "
                    f"shows {shows}, awaited is {pair or 'that the provider is done'}; it may still come"
                )
            self._wait(LOOK_SECONDS)
            sample = self._server.read()
            if isinstance(sample, Sample):
                in_force = sample.capacity
                if sample.identity != self.now.identity:
                    raise ServerError(f"another server, {sample.identity}, answers at {self._host}")
            settled = self._store.settled() and in_force is not None and pair in {None, in_force}
        self._say(f"{said} is in force after {self._clock.monotonic() - began:.0f} s")
        return in_force
