"""The API asked all the time beside a loop at work: its ticks, answers and memory, with and without."""

from __future__ import annotations

import contextlib
import http
import time
from typing import TYPE_CHECKING, Any

from lab.experiment.daemon import Daemon
from lab.experiment.store import Ledger, read_rows
from lab.prove.clients import Asking, Listening, Ticks, ticks
from lab.prove.conditions import Bench, near_bench, said, say
from lab.report.markdown import put, table, verdict
from lab.servers.base import LabServerError, free_port
from lab.statistics import percentile, slope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


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


SETTLE = (60.0, 240.0)
"""Of the loop, before anything is counted: least, most, seconds."""

QUIET, WARM, COUNTED = 300.0, 60.0, 600.0
"""Seconds without clients, before them and after them; with clients and not counted; and counted."""


def run(results: Path, image: str) -> int:
    """Carry out both kinds, but for what is finished; one kind cannot be resumed in the middle.

    Args:
        results: directory of the rows.
        image: container image of the server.

    Raises:
        LabServerError: server, load, daemon or API could not be had.
    """
    ledger = Ledger(results / FILE)
    todo = [kind for kind in KINDS if ledger.find(kind=kind) is None]
    if not todo:
        say(f"load: finished before; without {results / FILE} it is measured anew")
        return 0
    with near_bench(image) as bench:
        port = free_port()
        with Daemon(bench.server, api=True, api_port=port) as daemon:
            _await_answer(daemon)
            say(f"settling for up to {SETTLE[1] / 60:.0f} min")
            bench.settle(*SETTLE, check=daemon.check)
            for kind in todo:
                found = _Site(bench, daemon, port).measured(kind)
                when = time.strftime("%Y-%m-%dT%H:%M:%S%z")
                ledger.add({"kind": kind, **found, "conditions": bench.conditions(), "when": when})
    return 0


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

    def measured(self, kind: str) -> Row:
        """Return the figures of one kind of client."""
        say(f"{kind}: {(2 * QUIET + WARM + COUNTED) / 60:.0f} min, of these {COUNTED / 60:.0f} counted")
        before, without = self._phase(QUIET)
        with self._clients(kind) as clients:
            warm, _ = self._phase(WARM)
            clients.count_anew()
            loaded, with_them = self._phase(COUNTED)
            served = _served(clients, COUNTED)
        after, without_again = self._phase(QUIET)
        row = {
            **served,
            "without": figures([before, after]),
            "with": figures([loaded]) | {"processor": with_them["processor"]},
            "seconds": COUNTED,
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


FILE, PAGE = "load.jsonl", "api-load.md"
COMMAND = "make prove PART=load"
MEBIBYTE = 2**20
MOST_JITTER = 100.0
"""Milliseconds at the 99th percentile with clients; a tick is a second."""

MOST_RESIDENT = 75
"""MiB, at any time."""

MOST_GROWTH = 4.0
"""MiB, from the beginning of the counted time with clients to its end."""

ANSWERED = 0.95
"""Share of the requests asked for that has to be served in time: the clients share the processors."""

TICKS_AT_THE_ENDS = 2
"""A stream may have so many fewer than the one that is counted, for the moments of its beginning and end."""

TITLES = {
    REQUESTS: f"{RATE} status requests a second",
    STREAMS: f"{OPEN_STREAMS} streams",
}


def write(directory: Path) -> Path:
    """Write the page from the rows in ``directory`` and return its path."""
    rows = read_rows(directory / FILE)
    latest = {str(row["kind"]): row for row in rows}
    parts = [
        "# The API under load",
        "Written by `python -m lab.prove --report` from the rows beside this page, nothing by hand.",
    ]
    if rows:
        told = (
            "The daemon is active and holds its set-point; a tick is a second. The clients ask over TCP on"
            " loopback, without TLS. Jitter is how far a tick is from one second after the one before, by the"
            " daemon's own times."
        )
        parts.append(said(rows[0]["conditions"], sharing="server, load, daemon and clients", told=told))
    for kind, title in TITLES.items():
        parts += [f"## {title[0].upper()}{title[1:]}", *_kind(latest.get(kind))]
    return put(directory / PAGE, parts)


def _kind(row: Row | None) -> list[str]:
    if row is None:
        return [f"Not begun: `{COMMAND}`."]
    minutes = float(row["seconds"]) / 60
    how = (
        f"`{COMMAND}`; {minutes:.0f} minutes with clients, and beside them as long without, half of it before"
        " and half of it after, in the same daemon. One client listens all the time: the ticks are its."
    )
    head = ["", "ticks", "left out", "jitter p50, ms", "p99, ms", "max, ms", "processor, of one core"]
    head += ["commits/s", "age ratio"]
    beside = table(head, [_line("without", row), _line("with", row)])
    return [how, beside, "\n".join(verdict(text, met=met) for text, met in (*_verdicts(row), *_memory(row)))]


def _line(name: str, row: Row) -> list[object]:
    """Return one side of the comparison; without clients it was measured before them and after them."""
    found, server, processor = row[name], row["server"][name], row[name]["processor"]
    servers, shares = (one if isinstance(one, list) else [one] for one in (server, processor))
    return [
        name,
        found["ticks"],
        found["missed"],
        *(f"{found[f'jitter_{which}']:.1f}" for which in ("p50", "p99", "max")),
        ", ".join(f"{share:.1%}" for share in shares),
        ", ".join(f"{one['commits_mean']:.0f}" for one in servers),
        ", ".join(f"{one['age_ratio_mean']:.3f}" for one in servers),
    ]


def _verdicts(row: Row) -> Iterator[tuple[str, bool]]:
    """Yield what is promised of ticks and answers, each with whether it was kept."""
    loaded = row["with"]
    yield f"ticks left out with clients: {loaded['missed']}; none wanted", not loaded["missed"]
    jitter, without = loaded["jitter_p99"], row["without"]["jitter_p99"]
    said_of = f"jitter p99 with clients: {jitter:.1f} ms, without {without:.1f} ms"
    yield f"{said_of}; at most {MOST_JITTER:.0f} ms wanted", jitter <= MOST_JITTER
    if row["kind"] == STREAMS:
        ended, fewest = row["streams_ended"], row["fewest_ticks"]
        yield f"streams that the daemon ended: {ended}; none wanted", not ended
        said_of = f"ticks on the stream that had fewest: {fewest} of {loaded['ticks']}"
        enough = fewest >= loaded["ticks"] - TICKS_AT_THE_ENDS
        yield f"{said_of}; all but {TICKS_AT_THE_ENDS} wanted", enough
        return
    other = {code: count for code, count in row["answers"].items() if code != str(OK)}
    answered, asked = row["answered_per_second"], row["asked_per_second"]
    took = f"{row['answer_p50']:.1f} ms (p50), {row['answer_p99']:.1f} (p99), {row['answer_max']:.1f} at most"
    said_of = f"answered with 200: {answered} a second of {asked} asked for, in {took}"
    yield f"{said_of}; at least {ANSWERED * asked:.0f} a second wanted", answered >= ANSWERED * asked
    yield f"other answers, or none (0): {other or 'none'}; none wanted", not other


def _memory(row: Row) -> Iterator[tuple[str, bool]]:
    """Yield the same of resident memory: at the beginning and the end, how it went, and at most."""
    found = {name: [(at, of / MEBIBYTE) for at, of in row["resident"][name]] for name in row["resident"]}
    loaded, before, after = found["with"], found["without"], found["after"]
    begin, end = loaded[0][1], loaded[-1][1]
    trend = ""
    with contextlib.suppress(ValueError):  # too few looks at it
        rise = slope([at / 3600.0 for at, _ in loaded], [of for _, of in loaded])
        trend = f"; slope {rise.mean:+.1f} MiB/h (95 % bounds {rise.low:+.1f} to {rise.high:+.1f})"
    said_of = (
        f"resident memory with clients: {begin:.1f} MiB at the beginning, {end:.1f} MiB at the end{trend}"
    )
    beside = f"without, before {before[0][1]:.1f} to {before[-1][1]:.1f} MiB, after {after[0][1]:.1f} to"
    beside += f" {after[-1][1]:.1f} MiB"
    yield f"{said_of}; at most {MOST_GROWTH:.0f} MiB more wanted; {beside}", end - begin <= MOST_GROWTH
    highest = max(of for every in found.values() for _, of in every)
    yield f"highest: {highest:.1f} MiB; at most {MOST_RESIDENT} MiB wanted", highest <= MOST_RESIDENT
