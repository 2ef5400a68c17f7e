"""Bursts of more clients at moments that the seed decides."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.plant.parameters import LoadChange, LoadParameters

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
    base = list(_unrolled(load, float(seconds)))
    extra, below = 0, base[0]
    moments: dict[float, LoadChange] = {}
    order: list[tuple[float, int, LoadChange | int]] = [(one.at, 0, one) for one in base]
    order += [(when, 1, more) for when, more in came]
    order.sort(key=lambda moment: moment[:2])
    for when, _, what in order:
        if isinstance(what, int):
            extra = what
        else:
            below = what
        moments[when] = replace(below, at=when, threads=below.threads + extra)
    timeline = tuple(one for one in moments.values() if one.at < seconds)
    return replace(load, timeline=timeline, repeat=None)


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
