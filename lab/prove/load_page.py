"""The page of the API under load, made from the finished rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lab.bench.ledger import read_rows
from lab.bench.statistics import slope
from lab.prove.load import OK, OPEN_STREAMS, RATE, REQUESTS, STREAMS
from lab.prove.page import conditions, put, verdict
from lab.report.markdown import table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAGE = "api-load.md"
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

Row = dict[str, Any]


def write(directory: Path) -> Path:
    """Write the page from the rows in ``directory`` and return its path."""
    rows = read_rows(directory / "load.jsonl")
    latest = {str(row["kind"]): row for row in sorted(rows, key=lambda row: not row["trial"])}
    parts = [
        "# The API under load",
        "Written by `python -m lab.prove --report` from the rows beside this page, nothing by hand.",
        _conditions(rows),
        "**Some of these rows are of a trial with shortened phases: they show that it works, and no more.**"
        if any(row["trial"] for row in latest.values())
        else "",
    ]
    for kind, title in TITLES.items():
        parts += [f"## {title[0].upper()}{title[1:]}", *_kind(latest.get(kind))]
    return put(directory / PAGE, parts)


def _conditions(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    return conditions(
        rows[0]["conditions"],
        load="",
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
