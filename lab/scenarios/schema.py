"""One scenario: how long, from when on counted, and the server, disk, load and bursts in it."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from lab.plant.parameters import DiskParameters, LoadChange, LoadParameters, PlantParameters, ServerParameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


T = TypeVar("T")

DAY = 86_400.0

Duration = Annotated[float, Meta(ge=1, le=86_400)]
Clients = Annotated[int, Meta(ge=1, le=10_000)]


class Bursts(Struct, frozen=True, forbid_unknown_fields=True):
    """Clients that come beside those of the load, and go again; never two bursts at once.

    Attributes:
        per_day: bursts in a day, on average, at moments that nothing tells beforehand.
        shortest: seconds that one lasts at least.
        longest: seconds that one lasts at most.
        fewest: clients that one brings at least.
        most: clients that one brings at most.
    """

    per_day: Annotated[float, Meta(gt=0, le=1000)]
    shortest: Duration
    longest: Duration
    fewest: Clients
    most: Clients

    def problems(self) -> Iterator[str]:
        """Yield what does not fit together."""
        if self.shortest > self.longest:
            yield f"bursts.shortest = {self.shortest:g}: is above bursts.longest = {self.longest:g}"
        if self.fewest > self.most:
            yield f"bursts.fewest = {self.fewest}: is above bursts.most = {self.most}"


def with_bursts(load: LoadParameters, bursts: Bursts, *, seconds: int, seed: int) -> LoadParameters:
    """Return a load with bursts on top, as one timeline that does not repeat.

    The times between bursts are exponential, lengths and numbers of clients even between their bounds.

    Args:
        load: what goes on without them.
        bursts: how many there are, how long, how large.
        seconds: length of the run.
        seed: decides them; the load's own noise does not depend on it.
    """
    came: list[tuple[float, int]] = [(0.0, 0)]
    dice = Random(f"bursts {seed}")  # noqa: S311 - a repeatable load, not a secret
    at = 0.0
    while (at := at + dice.expovariate(bursts.per_day / DAY)) < seconds:
        came.append((at, dice.randint(bursts.fewest, bursts.most)))
        at += dice.uniform(bursts.shortest, bursts.longest)
        came.append((at, 0))
    base = [(one.at, one) for one in _unrolled(load, float(seconds))]
    moments = sorted({when for when, _ in (*base, *came) if when < seconds})
    timeline = []
    for when in moments:
        below = _latest(base, when)
        timeline.append(replace(below, at=when, threads=below.threads + _latest(came, when)))
    return replace(load, timeline=tuple(timeline), repeat=None)


def _latest(changes: Sequence[tuple[float, T]], when: float) -> T:
    return changes[bisect_right(changes, when, key=itemgetter(0)) - 1][1]


def _unrolled(load: LoadParameters, end: float) -> Iterator[LoadChange]:
    """Yield the entries of a timeline, again and again where it repeats, until the end."""
    for turn in itertools.count():
        offset = turn * (load.repeat or 0.0)
        for one in load.timeline:
            if one.at + offset >= end:
                return
            yield replace(one, at=one.at + offset)
        if load.repeat is None:
            return


SHORTEST_WINDOW = 60
"""Seconds that must at least be counted."""

HIGHEST_SEED = 10**18
"""Of a scenario file and of ``--seed``."""

LARGEST_COMMIT = 0.1
"""Largest share of the redo log that one commit may write: a few larger ones fill it, whatever is flushed."""

SETTLING_RESIDENCES = 5.0
"""Residence times of a redo record, S/R, that a steady scenario waits before it counts."""


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated run.

    Attributes:
        name: how it is called.
        description: one line for people.
        seconds: length of the run.
        measured_from: second from which everything is counted, to the end; before the first
            change where load or disk move once.
        seed: decides every random number; ``--seed`` goes before it.
        fit: fitted parameters of load and disk, by their name in ``lab/plant/fits.toml``; what the scenario
            says itself goes before them; Empty: the plant's own.
        server: the server's settings.
        disk: the device and its limit over time.
        load: the clients and their number over time.
        bursts: clients that come beside those now and then, with each seed at other moments; None: none.
    """

    name: Annotated[str, Meta(min_length=1)]
    description: str
    seconds: Annotated[int, Meta(ge=SHORTEST_WINDOW, le=2_678_400)]
    measured_from: Annotated[int, Meta(ge=0)]
    seed: Annotated[int, Meta(ge=0, le=HIGHEST_SEED)] = 1
    fit: str = ""
    server: ServerParameters = msgspec.field(default_factory=ServerParameters)
    disk: DiskParameters = msgspec.field(default_factory=DiskParameters)
    load: LoadParameters = msgspec.field(default_factory=LoadParameters)
    bursts: Bursts | None = None

    @property
    def plant(self) -> PlantParameters:
        """Return what the simulated server is built from."""
        load = self.load
        if self.bursts is not None:
            load = with_bursts(load, self.bursts, seconds=self.seconds, seed=self.seed)
        return PlantParameters(server=self.server, disk=self.disk, load=load)

    @property
    def changes(self) -> tuple[float, ...]:
        """Return when load or disk change, in order; empty where the scenario is steady."""
        disk = [change.at for change in self.disk.timeline[1:]]
        load = [change.at for change in self.load.timeline[1:]]
        return tuple(sorted(disk + load + [change.at for change in self.server.resizes]))

    @property
    def moves(self) -> bool:
        """Tell whether load, disk or redo do not stay as they are: by the clock, in bursts or by credits."""
        return bool(self.changes) or self.bursts is not None or self.disk.credits is not None

    @property
    def offered(self) -> bool:
        """Tell whether transactions are offered at a rate of their own throughout."""
        return all(change.rate is not None for change in self.load.timeline)

    @property
    def repeats(self) -> bool:
        """Tell whether load or disk do the same again and again."""
        return self.disk.repeat is not None or self.load.repeat is not None

    def problems(self) -> list[str]:
        """Return what does not fit together, one line each; empty when all is well."""
        found = [
            *self._wrong_moments("disk.timeline", [one.at for one in self.disk.timeline], self.disk.repeat),
            *self._wrong_moments("load.timeline", [one.at for one in self.load.timeline], self.load.repeat),
            *self._wrong_moments("server.resizes", [0.0, *(one.at for one in self.server.resizes)], None),
        ]
        if self.measured_from > self.seconds - SHORTEST_WINDOW:
            found.append(
                f"measured_from = {self.measured_from}: leaves less than {SHORTEST_WINDOW} s of "
                f"seconds = {self.seconds} to count"
            )
        if self.changes and not self.repeats and self.measured_from >= self.changes[0]:
            found.append(
                f"measured_from = {self.measured_from}: must lie before the first change, "
                f"at {self.changes[0]:g}"
            )
        found.extend(self._wrong_amounts())
        found.extend(self._wrong_commits())
        found.extend(self.server_problems())
        return found

    def server_problems(self) -> list[str]:
        """Return what this kind of server cannot be, one line each; empty when all is well."""
        return [*self._wrong_settings(), *self._wrong_redo()]

    def _wrong_moments(self, key: str, moments: list[float], repeat: float | None) -> Iterator[str]:
        """Yield what is wrong with the moments of a timeline, seconds."""
        if moments[0] != 0:
            yield f"{key}: the first entry is at {moments[0]:g}; it must be at 0"
        for earlier, later in itertools.pairwise(moments):
            if later <= earlier:
                yield f"{key}: {later:g} comes after {earlier:g}; the moments must rise"
        if moments[-1] >= self.seconds:
            yield f"{key}: {moments[-1]:g} is not before the end, seconds = {self.seconds}"
        if repeat is not None and moments[-1] >= repeat:
            yield f"{key}: {moments[-1]:g} is not before the repetition, repeat = {repeat:g}"

    def _wrong_amounts(self) -> Iterator[str]:
        """Yield amounts of load and disk that cannot stand together."""
        load, burst = self.load, self.disk.credits
        if load.pages_per_commit > load.hot_pages:
            yield (
                f"load.pages_per_commit = {load.pages_per_commit:g}: is more than all the pages there are, "
                f"load.hot_pages = {load.hot_pages:g}"
            )
        highest = max(change.write_iops for change in self.disk.timeline)
        if self.bursts is not None:
            yield from self.bursts.problems()
            if any(change.rate is not None for change in load.timeline):
                yield "bursts: bring clients, and load.timeline offers transactions at a rate of its own"
        if burst is not None and burst.burst_iops <= highest:
            yield (
                f"disk.credits.burst_iops = {burst.burst_iops:g}: must be above write_iops = {highest:g}, "
                "which the disk takes without credits"
            )

    def _wrong_commits(self) -> Iterator[str]:
        """Yield commits that a redo log of this size cannot take."""
        least = min([self.server.redo_capacity, *(one.redo_capacity for one in self.server.resizes)])
        amounts = [("load.redo_bytes_per_commit", self.load.redo_bytes_per_commit)]
        for number, change in enumerate(self.load.timeline):
            if change.redo_bytes_per_commit is not None:
                key = f"load.timeline[{number}].redo_bytes_per_commit"
                amounts.append((key, change.redo_bytes_per_commit))
        for key, amount in amounts:
            if amount > LARGEST_COMMIT * least:
                yield (
                    f"{key} = {amount:,.15g}: must be at most {LARGEST_COMMIT * least:,.0f}, a tenth of the "
                    f"redo log, redo_capacity = {least:,}"
                )

    def _wrong_settings(self) -> Iterator[str]:
        """Yield settings that the server has not, or that cannot stand together."""
        for name in self.server.unknown:
            yield f"server.{name}: {self.server.flavour} has no innodb_{name}"
        server = self.server.in_force
        least, most = server.io_capacity, server.io_capacity_max
        if least > most:
            yield f"server.io_capacity = {least}: is above server.io_capacity_max = {most}"
        low, high = server.max_dirty_pages_pct_lwm, server.max_dirty_pages_pct
        if low > high:
            yield (
                f"server.max_dirty_pages_pct_lwm = {low:g}: is above server.max_dirty_pages_pct = {high:g}"
            )

    def _wrong_redo(self) -> Iterator[str]:
        """Yield sizes of the redo log that this kind of server cannot have."""
        server = self.server
        sizes = [("server.redo_capacity", server.redo_capacity)]
        sizes += [("server.resizes", change.redo_capacity) for change in server.resizes]
        for key, size in sizes:
            try:
                server.kind.limits(size)
            except ValueError as error:
                yield f"{key} = {size}: {error}"
        if server.resizes and not server.kind.resizes:
            yield f"server.resizes: {server.flavour} has one size of its redo log until it is restarted"
