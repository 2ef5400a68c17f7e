"""What was seen of a server in a while: what the rules of doctor go by."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from msgspec import Struct

from tuner.core.ownership.restarts import restarted
from tuner.findings.load import LEAST_PAGES
from tuner.records import Facts, Sample
from tuner.servers.port import Unreachable
from tuner.servers.release import release_of
from tuner.servers.survey import FILES, Survey
from tuner.system.storage import Volume, volume_of

OTHER_RUN = "the server was restarted, or another one answered, meanwhile: ask again"


class NotHereError(Exception):
    """A rule is for another kind of server."""


class NotKnownError(Exception):
    """A rule cannot be judged: what it needs was not shown, or not seen; the message says what."""


class Evidence(Struct, frozen=True):
    """A server, and what it did while it was watched.

    Attributes:
        facts: of the server.
        first: the first reading.
        last: the newest.
        peak_age: the highest modified age of all readings, as a share of the flush limit.
        before: a look at the beginning.
        after: a look at the end.
        volumes: what directories of the server are on, by data, redo and binlog; none where it is elsewhere.
        volumes_before: the same at the beginning.
    """

    facts: Facts
    first: Sample
    last: Sample
    peak_age: float
    before: Survey
    after: Survey
    volumes: Mapping[str, Volume] = {}
    volumes_before: Mapping[str, Volume] = {}

    @property
    def seconds(self) -> float:
        """Return how long it was watched."""
        return self.last.monotonic - self.first.monotonic

    @property
    def release(self) -> tuple[int, int, int]:
        """Return the server's release."""
        return release_of(self.facts.version)

    def per_second(self, name: str) -> float:
        """Return how fast a field of the readings grew, 1/s."""
        grown = getattr(self.last, name) - getattr(self.first, name)
        return max(0.0, float(grown)) / max(1e-3, self.seconds)

    @property
    def flushed(self) -> float:
        """Return how many pages were flushed in all, pages/s."""
        kinds = ("pages_adaptive", "pages_sync", "pages_background", "pages_lru")
        return sum(self.per_second(name) for name in kinds)

    @property
    def age(self) -> float:
        """Return the modified age now, as a share of the flush limit."""
        return self.last.age_ratio

    @property
    def dirty(self) -> float:
        """Return the share of the buffer pool that is dirty, percent."""
        return 100.0 * self.last.pages_dirty / max(1, self.last.pages_total)

    def must_flush(self) -> None:
        """Require a load.

        Raises:
            NotKnownError: next to no page was flushed.
        """
        if self.flushed < LEAST_PAGES:
            raise NotKnownError(f"no load: {self.flushed:.1f} pages/s were flushed")

    def setting(self, name: str) -> str:
        """Return a variable.

        Raises:
            NotHereError: this server has none of that name.
            NotKnownError: it shows none.
        """
        if name in self.after.variables:
            return self.after.variables[name]
        if why := self.after.lacking.get("variables"):
            raise NotKnownError(f"variables are not shown: {why}")
        raise NotHereError(name)

    def number(self, name: str) -> float:
        """Return a variable that is a number; raises what ``setting`` raises."""
        try:
            return float(self.setting(name))
        except ValueError as error:
            raise NotKnownError(f"{name} is {self.setting(name)!r}") from error

    def counter(self, name: str) -> int:
        """Return a counter as it stands.

        Raises:
            NotKnownError: the server does not show it.
        """
        if name not in self.after.counters:
            part = (
                "files"
                if name.startswith("writes:")
                else "status"
                if name.startswith("Innodb_")
                else "counters"
            )
            why = self.after.lacking.get(part, "it is off, or this release has none")
            raise NotKnownError(f"{name} is not shown: {why}")
        return self.after.counters[name]

    def rate(self, name: str) -> float:
        """Return how fast a counter grew, 1/s; raises what ``counter`` raises."""
        now = self.counter(name)
        if name not in self.before.counters:
            raise NotKnownError(f"{name} was not shown at the beginning")
        grown = now - self.before.counters[name]
        return max(0.0, grown / max(1e-3, self.after.monotonic - self.before.monotonic))

    def writes(self) -> dict[str, float]:
        """Return the writes a second to each kind of files.

        Raises:
            NotKnownError: the Performance Schema shows none.
        """
        found = {kind: self.rate(f"writes:{kind}") for kind in FILES.values() if self._shown(kind)}
        if sum(found.values()) <= 0.0:
            why = self.after.lacking.get("files", "it counts none" if self.facts.timed else "it is OFF")
            raise NotKnownError(f"performance_schema shows no writes to files: {why}")
        return found

    def _shown(self, kind: str) -> bool:
        return f"writes:{kind}" in self.after.counters

    def volume(self, what: str = "data") -> Volume:
        """Return what a directory is on: data, redo or binlog.

        Raises:
            NotKnownError: it is not on this machine.
        """
        if what not in self.volumes:
            raise NotKnownError("the server's directories are not to be seen from here")
        return self.volumes[what]

    def busy(self, what: str = "data") -> float:
        """Return the share of time for which a device had something to do; raises what ``volume`` raises."""
        end, begin = self.volume(what).busy_ms, self.volumes_before.get(what, self.volume(what)).busy_ms
        if end is None or begin is None:
            raise NotKnownError("the kernel does not say how busy the device is")
        return (end - begin) / 1000.0 / max(1e-3, self.after.monotonic - self.before.monotonic)

    def at_start(self, line: str) -> str:
        """Return in words how a variable is set that takes a restart; ``line`` as in my.cnf."""
        managed = self.facts.managed
        if managed:
            return f"have {managed} set {line}, which takes a restart of the instance"
        return f"{line} in my.cnf, and restart mysqld"

    def at_once(self, name: str, value: str) -> tuple[str, tuple[str, ...]]:
        """Return in words and as SQL how a dynamic variable is set."""
        return f"set it now, and {name} = {value} in my.cnf", (f"SET GLOBAL {name} = {value}",)


class Surveyed(Protocol):
    """A server that can be surveyed."""

    def survey(self) -> Survey:
        """Return what else it shows of how it flushes; raises Unreachable where nothing answers in time."""
        ...


def look_again(server: Surveyed, before: Survey, now: float) -> Survey:
    """Return a look at the end of a time of watching, which no statement that is too slow throws away.

    It is asked for twice; then the settings are those of the beginning, and no count is known.

    Args:
        server: that was watched.
        before: the look at the beginning.
        now: monotonic time, seconds.
    """
    try:
        return server.survey()
    except Unreachable:
        pass
    try:
        return server.survey()
    except Unreachable as error:
        lacking = dict.fromkeys(("status", "counters", "files"), f"not told at the end: {error}")
        return Survey(now, before.variables, lacking={**before.lacking, **lacking})


def evidence(
    facts: Facts, samples: Sequence[Sample], before: Survey, after: Survey, volumes: Mapping[str, Volume]
) -> Evidence:
    """Return what readings and a look at both ends show.

    Args:
        facts: of the server.
        samples: two or more readings of one run of the server, the oldest first.
        before: the look at the beginning.
        after: the look at the end.
        volumes: what its directories were on at the beginning.
    """
    return Evidence(
        facts=facts,
        first=samples[0],
        last=samples[-1],
        peak_age=max(one.modified_age / max(1, one.flush_limit) for one in samples),
        before=before,
        after=after,
        volumes=local_volumes(after),
        volumes_before=volumes,
    )


def one_run(samples: Sequence[Sample]) -> bool:
    """Tell whether readings, the oldest first, are of one run of one server; no others can be compared."""
    return all(b.identity == a.identity and not restarted(b, a) for a, b in pairwise(samples))


def local_volumes(look: Survey) -> dict[str, Volume]:
    """Return what the server's directories are on; none unless it runs on this machine."""
    found = {what: volume_of(place) for what, place in local_places(look).items()}
    return {what: one for what, one in found.items() if one is not None}


def local_places(look: Survey) -> dict[str, str]:
    """Return the server's directories, of data, redo log and binary log; none unless it runs on this machine.

    A server in a container has a host name of its own, and its paths are none of this machine's.
    """
    told = look.variables
    if told.get("hostname") != socket.gethostname() or "datadir" not in told:
        return {}
    data = told["datadir"]
    places = {"data": data, "redo": _below(data, told.get("innodb_log_group_home_dir", ""))}
    if told.get("log_bin_basename"):
        places["binlog"] = _below(data, told["log_bin_basename"].rpartition("/")[0])
    return places


def _below(directory: str, place: str) -> str:
    return os.path.normpath(place if place.startswith("/") else f"{directory}/{place}")
