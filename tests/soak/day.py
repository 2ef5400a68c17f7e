"""``python -m tests.soak.day``: the next hours of a day, and what its rows come to.

The part of docs/results/day.md between its two comments is made of rows alone.
"""

from __future__ import annotations

import itertools
import signal
import statistics
from collections.abc import Iterator
from pathlib import Path

import click

from lab.bench.store import read_rows
from lab.servers.spec import LabServerError
from lab.statistics import slope
from tests.soak.__main__ import terminated
from tests.soak.hours import FILE, HOURS, SLOTS, run
from tests.soak.run import WARM_UP_MINUTES, Row, promise
from tools.markdown import Parts, filled, table

RESULTS = Path(__file__).parents[2] / "docs" / "results"
PAGE = RESULTS / "day.md"
MEBIBYTE, GIBIBYTE = 2**20, 2**30

API, BARE = "api", "bare"
LIMITS = {API: ("with the API", 75.0), BARE: ("without the API", 52.0)}
"""MiB resident, at most."""

SLOPE_LIMIT, SLOPE_HOURS = 0.3, 12
MINUTE = 60.0


def page(rows: Path = RESULTS / FILE) -> str:
    """Return the page with its part made anew; raises as ``report``."""
    parts: Parts = {"day": lambda: "\n".join(report(rows))}
    return filled(PAGE.read_text(encoding="utf-8"), parts)


def report(path: Path) -> Iterator[str]:
    """Yield in lines of Markdown what the rows of each server come to.

    Raises:
        ValueError: a row says no revision.
    """
    rows = read_rows(path)
    if not rows:
        yield "No hour of a day is measured yet: `make prove PART=day`."
    for name in dict.fromkeys(str(row["server"]) for row in rows):
        yield from _server(name, [row for row in rows if row["server"] == name])


def _server(name: str, rows: list[Row]) -> Iterator[str]:
    tens, ends = [row for row in rows if "row" in row], [row for row in rows if "judged" in row]
    if lacking := sorted({row["row"] for row in tens if not row["revision"]}):
        raise ValueError(f"{name}: rows {lacking} say no revision; measure them again in a checkout")
    yield f"## {name}, seed {rows[0]['seed']}"
    yield ""
    yield _conditions(tens, [row for row in ends if "conditions" in row])
    yield ""
    head = ("hour", "offered/s", "row changes/s", "faults and what else went on", "writing again, s at most")
    yield table(
        (*head, "writes", "sync pages", "MiB with the API", "without"),
        (_hour(hour, tens, ends) for hour in sorted({int(row["hour"]) for row in tens})),
    )
    yield ""
    yield from (f"- {line}" for line in _promises(tens, ends))
    yield from (f"- {line}" for which in LIMITS for line in _memory(which, tens))
    yield from (f"- {line}" for line in _saved(tens))
    yield ""


def _conditions(tens: list[Row], found: list[Row]) -> str:
    revisions = ", ".join(dict.fromkeys(str(row["revision"]) for row in tens))
    if not found:
        return f"No hour is whole yet; revision {revisions}."
    had = found[-1]["conditions"]
    load = had["load"]
    return (
        f"{had['server']}, disk limited to {had['disk']['write_iops']} writes/s, redo"
        f" {had['redo_capacity'] // MEBIBYTE} MiB, buffer pool {had['buffer_pool'] // MEBIBYTE} MiB,"
        " no binary log;"
        f" `{load['kind']}`, {load['threads']} threads, {load['tables']} tables of {load['rows']} rows;"
        f" {had['processors']} processors; revision {revisions}.{_in_memory(found)}"
    )


def _in_memory(found: list[Row]) -> str:
    hours = sorted({str(row["hour"]) for row in found if row["conditions"]["disk"].get("in_memory")}, key=int)
    if not hours:
        return ""
    return f" In hours {', '.join(hours)} the disk was a loop device in memory, limited alike."


def _hour(hour: int, day: list[Row], ends: list[Row]) -> tuple[str, ...]:
    tens = [row for row in day if row["hour"] == hour]
    back = [row["back_seconds"] for row in tens if row["back_seconds"] is not None]
    beside = [str(row["fault"]) for row in tens] + [one for row in tens for one in row["beside"]]
    return (
        str(hour),
        str(tens[0]["offered"]),
        f"{statistics.fmean(row['changed'] for row in tens):.0f}",
        "; ".join(beside),
        f"{max(back):.0f}" if back else "-",
        str(sum(row["writes"] for row in ends if row["hour"] == hour)),
        str(sum(int(row["sync_pages"] or 0) for row in tens)),
        *(_range([value for _, value, _ in points(which, day, range(hour, hour + 1))]) for which in LIMITS),
    )


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "-"


def _promises(tens: list[Row], ends: list[Row]) -> Iterator[str]:
    kept = len({row["row"] for row in tens})
    breaches = [one for row in ends for one in row["breaches"]]
    died = sum(bool(row["died"]) for row in tens)
    lost = [row for row in tens if row["back_seconds"] is None]
    yield promise(f"rows of ten minutes: {kept} of {HOURS * SLOTS}", kept=kept == HOURS * SLOTS)
    yield promise(f"breaches of an invariant: {len(breaches)}; none wanted", kept=not breaches)
    yield from (f"run {one['run']}, {one['what']}" for one in breaches)
    yield promise(f"the daemon ended by itself {died} times; never wanted", kept=not died)
    yield promise(f"faults after which a person was needed: {len(lost)}; none wanted", kept=not lost)
    yield from (f"row {row['row']}, {row['fault']}: waited for {row['waits_for']}" for row in lost)
    judged, wrote = sum(row["ticks"] for row in ends), sum(row["writes"] for row in ends)
    commands = len({row["command"] for row in tens})
    yield f"{judged} ticks and {wrote} writes judged; each of {commands} commands had a fresh server"
    minutes = [minute for row in tens for minute in row["minutes"]]
    files, threads = (max((one[API][at] for one in minutes if API in one), default=0) for at in (2, 3))
    sessions = max((one["sessions"] for one in minutes if "sessions" in one), default=0)
    yield f"at most {files} files and {threads} threads with the API, {sessions} sessions of both daemons"


def points(which: str, tens: list[Row], hours: range) -> list[tuple[float, float, str]]:
    """Return hours since 1970, MiB and process of the minutes of some hours, less a process's first ten."""
    found: list[tuple[float, float, str]] = []
    first: dict[str, float] = {}
    for row in tens:
        for minute in row["minutes"]:
            if which not in minute:
                continue
            life = f"{row['command']}/{minute[which][0]}"
            began = first.setdefault(life, minute["at"])
            if row["hour"] in hours and minute["at"] - began >= WARM_UP_MINUTES * MINUTE:
                found.append((minute["at"] / 3600.0, minute[which][1] / MEBIBYTE, life))
    return found


def _memory(which: str, tens: list[Row]) -> Iterator[str]:
    name, limit = LIMITS[which]
    found = points(which, tens, range(HOURS))
    if not found:
        yield f"resident memory {name}: no process is older than {WARM_UP_MINUTES} minutes yet"
        return
    highest = max(value for _, value, _ in found)
    yield promise(
        f"resident memory {name}: {highest:.1f} MiB at most; at most {limit:.0f} wanted",
        kept=highest <= limit,
    )
    times, values = _about_their_means(points(which, tens, range(HOURS - SLOPE_HOURS, HOURS)))
    if len(times) <= SLOTS:
        yield f"its slope over the last {SLOPE_HOURS} hours: too few rows yet"
        return
    bounds = slope(times, values)
    low, high = bounds.low or 0.0, bounds.high or 0.0
    yield promise(
        f"its slope over the last {SLOPE_HOURS} hours, {len(times)} medians of ten minutes:"
        f" {bounds.mean:+.2f} MiB/h (95 % bounds {low:+.2f} to {high:+.2f}); within ±{SLOPE_LIMIT} wanted",
        kept=low >= -SLOPE_LIMIT and high <= SLOPE_LIMIT,
    )


def _about_their_means(found: list[tuple[float, float, str]]) -> tuple[list[float], list[float]]:
    """Return times and medians of ten minutes, each less its process's mean: a restart is no slope."""
    times: list[float] = []
    values: list[float] = []
    for _, life in itertools.groupby(sorted(found, key=lambda one: one[2]), key=lambda one: one[2]):
        of_life = list(life)
        tens = [of_life[at : at + 10] for at in range(0, len(of_life), 10)]
        when = [statistics.median(at for at, _, _ in ten) for ten in tens]
        what = [statistics.median(value for _, value, _ in ten) for ten in tens]
        times += [at - statistics.fmean(when) for at in when]
        values += [value - statistics.fmean(what) for value in what]
    return times, values


def _saved(tens: list[Row]) -> Iterator[str]:
    """Yield the newest ledger of each command; each server that begins fresh begins a ledger."""
    newest = {row["command"]: row["ledger"] for row in tens if row["ledger"]}
    for number, ledger in enumerate(newest.values(), 1):
        yield f"saved, server {number}: {ledger['text']}"


@click.command()
@click.option("--server", "name", default="mysql-9.7", show_default=True, help="A name of `make servers`.")
@click.option("--hours", type=click.IntRange(1, HOURS), default=1, show_default=True, help="At most.")
@click.option("--first", type=click.IntRange(0, HOURS - 1), help="Only --hours from this one on.")
@click.option("--seed", type=int, help="Order of faults and bursts; default: drawn.")
@click.option(
    "--rows",
    type=click.Path(path_type=Path, dir_okay=False),
    default=RESULTS / FILE,
    help="File of the finished rows; docs/results/day.jsonl by default, and then the page is made of it.",
)
@click.option("--report", "only_report", is_flag=True, help="Measure nothing.")
def main(
    *, name: str, hours: int, first: int | None, seed: int | None, rows: Path, only_report: bool
) -> None:
    """Live through the next hours of a day that have no rows; the same command goes on with what is left.

    Parts of a day side by side each take --first, the day's --seed, and a file of --rows of their own.

    Example: python -m tests.soak.day --server mysql-8.0.31 --hours 3
    """
    signal.signal(signal.SIGTERM, terminated)
    try:
        if not only_report:
            run(rows, name, hours=hours, seed=seed, first=first)
    except LabServerError as error:
        raise click.ClickException(str(error)) from error
    finally:
        click.echo("\n".join(report(rows)))
        if rows.resolve() == (RESULTS / FILE).resolve():
            PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
