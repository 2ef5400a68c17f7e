"""The API asked all the time beside a loop at work: its ticks, answers and memory, with and without."""

from __future__ import annotations

import http
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.bench.daemon import Daemon
from lab.bench.statistics import percentile
from lab.prove.clients import Asking, Listening, Ticks, ticks
from lab.prove.conditions import Bench, near_bench, row_of, say
from lab.servers.base import LabServerError
from lab.servers.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lab.bench.ledger import Ledger

REQUESTS, STREAMS = "requests", "streams"
KINDS = (REQUESTS, STREAMS)
RATE = 200
"""Requests a second for the status."""

OPEN_STREAMS = 50
"""The one that the ticks are read from among them."""

MEMORY_EVERY = 10
"""Ticks between two looks at the memory."""

SAID = ("commits_mean", "age_ratio_mean", "knob_changes", "sync_pages")
"""What a row has of the server's own figures."""

START_SECONDS = 60.0
MILLISECONDS = 1000.0
OK = int(http.HTTPStatus.OK)

Row = dict[str, Any]
Clients = Asking | Listening


class Times(NamedTuple):
    """How long each phase takes, seconds.

    Attributes:
        settle: of the loop, before anything is counted: least, most.
        quiet: without clients; before them and after them.
        warm: with clients, before anything is counted.
        counted: with clients.
    """

    settle: tuple[float, float]
    quiet: float
    warm: float
    counted: float

    @property
    def kind(self) -> float:
        """Return how long one kind of client takes, both quiet phases included."""
        return 2 * self.quiet + self.warm + self.counted


LONG = Times(settle=(60.0, 240.0), quiet=300.0, warm=60.0, counted=600.0)
TRIAL = Times(settle=(10.0, 20.0), quiet=10.0, warm=5.0, counted=20.0)


def run(ledger: Ledger, image: str, *, trial: bool = False) -> None:
    """Carry out both kinds, but for what is finished; one kind cannot be resumed in the middle.

    Args:
        ledger: finished rows.
        image: container image of the server.
        trial: shorten every phase, only to see that it works.

    Raises:
        LabServerError: server, load, daemon or API could not be had.
    """
    todo = [kind for kind in KINDS if ledger.find(part="load", kind=kind, trial=trial) is None]
    if not todo:
        say("load: finished before")
        return
    times = TRIAL if trial else LONG
    with near_bench(image) as bench:
        port = free_port()
        with Daemon(bench.server, api=True, api_port=port) as daemon:
            _await_answer(daemon)
            say(f"settling for up to {times.settle[1] / 60:.0f} min")
            bench.settle(*times.settle, check=daemon.check)
            for kind in todo:
                found = {"kind": kind, **_Site(bench, daemon, port).measured(kind, times)}
                ledger.add(row_of("load", bench, found, trial=trial))


def _await_answer(daemon: Daemon) -> None:
    end = time.monotonic() + START_SECONDS
    while daemon.ask() is None:
        daemon.check()
        if time.monotonic() >= end:
            raise LabServerError(f"no answer of the API within {START_SECONDS:.0f} s:\n{daemon.log()}")
        time.sleep(0.5)  # it announces its first answer nowhere


class _Site:
    """A daemon at work beside a server under load, and its clients."""

    def __init__(self, bench: Bench, daemon: Daemon, port: int) -> None:
        self._bench, self._daemon, self._port = bench, daemon, port

    def measured(self, kind: str, times: Times) -> Row:
        """Return the figures of one kind of client."""
        minutes = times.kind / 60
        say(f"{kind}: {minutes:.0f} min, of these {times.counted / 60:.0f} with clients")
        before, without = self._phase(times.quiet)
        with self._clients(kind) as clients:
            warm, _ = self._phase(times.warm)
            clients.count_anew()
            loaded, with_them = self._phase(times.counted)
            served = _served(clients, times.counted)
        after, without_again = self._phase(times.quiet)
        row = {
            **served,
            "without": figures([before, after]),
            "with": figures([loaded]) | {"processor": with_them["processor"]},
            "seconds": times.counted,
            "resident": {
                "without": without["resident"],
                "with": with_them["resident"],
                "after": without_again["resident"],
            },
            "server": {"without": [without["server"], without_again["server"]], "with": with_them["server"]},
        }
        row["without"]["processor"] = [without["processor"], without_again["processor"]]
        say(f"{kind}: without {before}; with {loaded}; without again {after}; warming up {warm}")
        return row

    def _clients(self, kind: str) -> Clients:
        return Asking(self._port, RATE) if kind == REQUESTS else Listening(self._port, OPEN_STREAMS - 1)

    def _phase(self, seconds: float) -> tuple[Ticks, Row]:
        """Return the ticks of a phase; memory, processor time and the server's own figures meanwhile."""
        resident: list[tuple[float, int]] = []
        seen = 0

        def each() -> None:
            nonlocal seen
            if seen % MEMORY_EVERY == 0:
                resident.append((round(time.monotonic() - began, 1), self._daemon.resident() or 0))
                self._daemon.check()
                if not self._bench.load.running():
                    raise LabServerError(f"the load ended:\n{self._bench.load.output()}")
            seen += 1

        began, spent = time.monotonic(), self._processor()
        found = ticks(self._port, seconds, each)
        ended = time.monotonic()
        resident.append((round(ended - began, 1), self._daemon.resident() or 0))
        server = self._bench.window(began, ended)
        return found, {
            "resident": resident,
            "processor": round((self._processor() - spent) / (ended - began), 4),
            "server": {name: server[name] for name in SAID},
        }

    def _processor(self) -> float:
        found = self._daemon.footprint()
        return 0.0 if found is None else found.processor


def figures(phases: Sequence[Ticks]) -> Row:
    """Return the ticks of some phases as figures: how many, how many left out, jitter in milliseconds."""
    jitter = sorted(one for phase in phases for one in phase.jitter)
    return {
        "ticks": sum(len(phase.numbers) for phase in phases),
        "missed": sum(phase.missed for phase in phases),
        "jitter_p50": _milliseconds(percentile(jitter, 50)),
        "jitter_p99": _milliseconds(percentile(jitter, 99)),
        "jitter_max": _milliseconds(jitter[-1]),
    }


def _served(clients: Clients, seconds: float) -> Row:
    """Return what the clients had of it."""
    if isinstance(clients, Listening):
        return {"streams": OPEN_STREAMS, "fewest_ticks": clients.fewest, "streams_ended": clients.ended}
    answers = clients.answers
    took = list(clients.seconds)
    return {
        "asked_per_second": RATE,
        "answered_per_second": round(answers.get(OK, 0) / seconds, 1),
        "answers": {str(code): count for code, count in sorted(answers.items())},
        "answer_p50": _milliseconds(percentile(took, 50)),
        "answer_p99": _milliseconds(percentile(took, 99)),
        "answer_max": _milliseconds(max(took)),
    }


def _milliseconds(seconds: float) -> float:
    return round(MILLISECONDS * seconds, 2)
