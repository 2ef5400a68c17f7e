"""The API asked all the time beside a loop at work: its ticks, answers and memory, with and without."""

from __future__ import annotations

import http
import time
from typing import TYPE_CHECKING, Any

from lab.experiment.daemon import Daemon
from lab.experiment.statistics import percentile, slope
from lab.experiment.store import Ledger, read_rows
from lab.prove.clients import Asking, Listening, Ticks, ticks
from lab.prove.conditions import Bench, near_bench, said, say
from lab.report.markdown import put, table, verdict
from lab.servers.base import LabServerError, free_port

if TYPE_CHECKING:
    from collections.abc import Sequence
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
        _conditions(rows),
    ]
    for kind, title in TITLES.items():
        parts += [f"## {title[0].upper()}{title[1:]}", *_kind(latest.get(kind))]
    return put(directory / PAGE, parts)


def _conditions(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    return said(
        rows[0]["conditions"],
        sharing="server, load, daemon and clients",
        told="The daemon is active and holds its set-point; a tick is a second. The clients ask over TCP on"
        " loopback, without TLS. Jitter is how far a tick is from one second after the one before, by the"
        " daemon's own times.",
    )


def _kind(row: Row | None) -> list[str]:
    if row is None:
        return [f"Not begun: `{COMMAND}`."]
    minutes = float(row["seconds"]) / 60
    how = (
        f"`{COMMAND}`; {minutes:.0f} minutes with clients, and beside them as long without, half of it before"
        " and half of it after, in the same daemon. One client listens all the time: the ticks are its."
    )
    return [how, _side_by_side(row), "\n".join([*_verdicts(row), *_memory(row)])]


def _side_by_side(row: Row) -> str:
    head = ["", "ticks", "left out", "jitter p50, ms", "p99, ms", "max, ms", "processor, of one core"]
    head += ["commits/s", "age ratio"]
    return table(head, [_line("without", row), _line("with", row)])


def _line(name: str, row: Row) -> list[object]:
    found = row[name]
    server = _each(row["server"][name])
    return [
        name,
        found["ticks"],
        found["missed"],
        *(f"{found[f'jitter_{which}']:.1f}" for which in ("p50", "p99", "max")),
        ", ".join(f"{share:.1%}" for share in _each(found["processor"])),
        ", ".join(f"{one['commits_mean']:.0f}" for one in server),
        ", ".join(f"{one['age_ratio_mean']:.3f}" for one in server),
    ]


def _each(value: Any) -> list[Any]:  # noqa: ANN401 - of a row
    """Return what was measured before and after, or the one thing that was."""
    return value if isinstance(value, list) else [value]


def _verdicts(row: Row) -> list[str]:
    loaded = row["with"]
    lines = [
        verdict(f"ticks left out with clients: {loaded['missed']}; none wanted", met=not loaded["missed"]),
        verdict(
            f"jitter p99 with clients: {loaded['jitter_p99']:.1f} ms, without"
            f" {row['without']['jitter_p99']:.1f} ms; at most {MOST_JITTER:.0f} ms wanted",
            met=loaded["jitter_p99"] <= MOST_JITTER,
        ),
    ]
    if row["kind"] == STREAMS:
        enough = loaded["ticks"] - TICKS_AT_THE_ENDS
        return [
            *lines,
            verdict(
                f"streams that the daemon ended: {row['streams_ended']}; none wanted",
                met=not row["streams_ended"],
            ),
            verdict(
                f"ticks on the stream that had fewest: {row['fewest_ticks']} of {loaded['ticks']}; all but"
                f" {TICKS_AT_THE_ENDS} wanted",
                met=row["fewest_ticks"] >= enough,
            ),
        ]
    other = {code: count for code, count in row["answers"].items() if code != str(OK)}
    wanted = ANSWERED * row["asked_per_second"]
    return [
        *lines,
        verdict(
            f"answered with 200: {row['answered_per_second']} a second of {row['asked_per_second']} asked"
            f" for; at least {wanted:.0f} wanted",
            met=row["answered_per_second"] >= wanted,
        ),
        verdict(f"other answers, or none (0): {other or 'none'}; none wanted", met=not other),
        (
            f"- an answer took {row['answer_p50']:.1f} ms (p50), {row['answer_p99']:.1f} ms (p99),"
            f" {row['answer_max']:.1f} ms at most"
        ),
    ]


def _memory(row: Row) -> list[str]:
    """Return the lines on resident memory: at most, and how it went."""
    found = {name: [(at, of / MEBIBYTE) for at, of in row["resident"][name]] for name in row["resident"]}
    loaded = found["with"]
    begin, end = loaded[0][1], loaded[-1][1]
    highest = max(of for every in found.values() for _, of in every)
    lines = [
        verdict(
            f"resident memory with clients: {begin:.1f} MiB at the beginning, {end:.1f} MiB at the end; at"
            f" most {MOST_GROWTH:.0f} MiB more wanted",
            met=end - begin <= MOST_GROWTH,
        ),
        verdict(
            f"highest: {highest:.1f} MiB; at most {MOST_RESIDENT} MiB wanted", met=highest <= MOST_RESIDENT
        ),
    ]
    try:
        trend = slope([at / 3600.0 for at, _ in loaded], [of for _, of in loaded])
    except ValueError:
        return lines
    before, after = found["without"], found["after"]
    return [
        *lines,
        (
            f"- its slope with clients: {trend.mean:+.1f} MiB/h (95 % bounds {trend.low:+.1f} to"
            f" {trend.high:+.1f}); without, before {before[0][1]:.1f} to {before[-1][1]:.1f} MiB, after"
            f" {after[0][1]:.1f} to {after[-1][1]:.1f} MiB"
        ),
    ]
