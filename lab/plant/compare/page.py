"""The page of the plant's error, as Markdown; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.compare import earlier, earlier_mariadb
from lab.plant.compare.judge import PROMISES, SCARCE, SYNC_M, Both, Compared
from lab.plant.compare.suites import BENCHES, Variant
from lab.report.figures import UNKNOWN
from lab.report.markdown import bullets, table
from lab.report.words import conditions_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMAND = "python -m lab.plant.compare --write"
MARK = f"<!-- Generated: {COMMAND}; state "

INTRODUCTION = f"""\
# The simulated server against real ones

Written by `{COMMAND}`, nothing by hand, from rows of the published
[benches](../bench.md) that have a C and M that stay; the simulated servers run under the same conditions.

- Real side: {", ".join(f"`{name}`" for name in BENCHES)}: a closed load that
  changes pages evenly, on a disk whose limit stays. Left out are `open`, whose throughput is the rate that
  is offered; `alternating`, whose disk changes, so that no age settles; `nothing-to-gain`, where processors,
  buffer pool or redo log are the limit; `seeds`, some of whose settings the plant has not: the articles that
  they are from are in [plant-seeds.md](plant-seeds.md).
- Each row is a static C/M. It begins at a low age, or near its own where that is known or guessed; C and M
  are set; it is counted when the age has settled. The simulated server begins at the real one's age, gets C
  and M in the same second and is counted in the same seconds. The same code works both out. One that flushes
  neighbours was at work for long: its areas were flushed one after the other, and not all at once. Where no M
  moves the age (MariaDB without a low-water mark), it begins where the row before has left it.
- Cells are real / simulated; an error is the simulated one's. x is the modified age over the flush limit.
  "To 63 %" is how many seconds the age took for 63 % of its way from the first second to its mean in the
  counted ones: the answer to a step of M. There is none where it went less than 0.15,
  as in most rows that began near their own age.
- Parameters of load and disk are fitted on one bench of a server; its other values of M judge, and the
  server's other benches. Fitted on are the values of M at the quartiles of those that were tried, in each
  variant, first rows aside: what was tried decides, nothing that came out. Their rows are marked *fitted*.
- Rows marked *first* were the first on their server, whose averages over 30 s still held the filling of the
  tables: for some three minutes it flushes as fast as M allows, whatever the age. Their twins begin with
  20 MB/s of redo in the averages, which is a guess.
- Rows marked ‡ judge the processors and not the disk: less than a tenth of the machine's processor time was
  idle in the counted seconds, and the plant has none. A row that does not say how much was idle judges.
- Rows marked *fitted*, *first* or ‡ count nowhere in the table below. Rows marked † had not settled when
  counting began.
- "Stalled" are the counted seconds in which a writer waited for redo space, "age / redo" is the highest
  checkpoint age as a share of the redo capacity."""

HEAD = (
    "C/M",
    "",
    "commits/s",
    "error",
    "x",
    "error",
    "pages/s",
    "error",
    "sync pages/s",
    "stalled, s",
    "age / redo",
    "to 63 %, s",
    "error",
)
SPREAD = (
    ("mean, commits/s", "commits_mean"),
    ("standard deviation", "commits_sd"),
    ("5th percentile", "commits_p5"),
    ("slowest second", "commits_min"),
)


EARLIER = """\
MySQL 9.7.4 at 1200 writes/s, figures only: one run each, 240 s, the last 120 counted. The default parameters
of load and disk were fitted on the first table; of the second only the lowest seconds were looked at."""

EARLIER_MARIADB = """\
MariaDB 11.8.6 under the same load at 1200 writes/s, figures only: one run each, 120 to 160 s, the last half
counted. How the rows began is not known, nor their order; the plant's follow one another on one server for
each value of `innodb_max_dirty_pages_pct_lwm` (lwm), whose tables were just filled. Fitted on the two rows
that say so are `redo_bytes_per_commit` 440, `group_operations` 5.58, `operations_per_page` 1.017 and, with
lwm 0.001, the order 200/2000, 500/1000, 210/420, 250/500; the other four judge. The second table says what
another start changes."""


def document(variants: Sequence[Variant], *, state: str, expected: Sequence[str] = BENCHES) -> str:
    """Return the page.

    Args:
        variants: of all benches, in order.
        state: hash of what the page is made from.
        expected: benches that are said to be missing where they have no row.
    """
    parts = [f"{MARK}{state} -->\n{INTRODUCTION}"]
    measured = {one.suite for one in variants}
    if missing := [name for name in expected if name not in measured]:
        parts.append(f"**Not measured yet:** {', '.join(f'`{name}`' for name in missing)}.")
    if variants:
        parts += ["## What is kept of what is promised", _kept(variants)]
    for one in variants:
        parts += _variant(one)
    parts += ["## Measured before the bench", EARLIER, "\n".join(earlier.report())]
    parts += ["## MariaDB, measured before the bench", EARLIER_MARIADB, "\n".join(earlier_mariadb.report())]
    return "\n\n".join(parts) + "\n"


def _kept(variants: Sequence[Variant]) -> str:
    rows = []
    for one in variants:
        cells = [_title(one)]
        for promise in PROMISES:
            errors = promise.errors(one.rows)
            worst = _error(max(errors, key=abs, default=None), share=promise is not PROMISES[0])
            cells.append(f"{promise.kept(one.rows)} of {len(errors)}, worst {worst}" if errors else UNKNOWN)
        rows.append(cells)
    return table(("of the rows that judge", *(one.title for one in PROMISES)), rows)


def _title(one: Variant) -> str:
    server = next((str(row.real.conditions.get("server", "")) for row in one.rows), "")
    return ", ".join(word for word in (server, f"`{one.suite}`", one.name) if word)


def _variant(one: Variant) -> Iterable[str]:
    yield f"## {_title(one)}"
    if one.rows:
        yield f"{conditions_short(one.rows[0].real.conditions)}; plant {one.plant}."
        yield _fitted(one)
        yield table(HEAD, [_row(row) for row in one.rows])
        yield from _idle(one.rows)
    for row in one.rows:
        if row.real.io_capacity_max == SYNC_M:
            yield _spread(row)
    if one.left_out:
        yield f"Not compared:\n{bullets(one.left_out)}"


def _fitted(one: Variant) -> str:
    fit = one.fit
    if fit is None:
        return "Parameters of load and disk: the plant's own, fitted on none of these rows."
    values = ", ".join(f"{name} {value:.5g}" for name, value in {**fit.load, **fit.disk}.items())
    seen = []
    for variant in dict.fromkeys(one.variant for one in fit.fitted_on):
        settings = [str(one.io_capacity_max) for one in fit.fitted_on if one.variant == variant]
        seen.append(f"{variant}, M = {', '.join(settings)}".removeprefix(", "))
    on = "; ".join(seen)
    return f"Parameters of load and disk: `{fit.name}` ({values}); fitted on `{fit.suite}`: {on}."


def _idle(rows: Sequence[Compared]) -> Iterable[str]:
    """Yield how little of the processors was left; nothing where there were enough."""
    crowded = sum(row.crowded for row in rows)
    if crowded:
        idle = [value for row in rows if (value := row.real.figure("machine_idle")) is not None]
        yield (
            f"Processors of the real server's machine idle: {min(idle):.2f} to {max(idle):.2f} of their time;"
            f" less than {SCARCE:g} in {crowded} of {len(rows)} rows, which are marked ‡ and do not count."
        )


def _row(row: Compared) -> list[str]:
    marks = ["*fitted*"] * row.fitted + ["*first*"] * row.fresh + ["‡"] * row.crowded
    marks += ["†"] * (row.real.settled is False)
    pages, response = row.figure("pages_per_second"), row.response
    return [
        row.setting,
        " ".join(marks),
        _both(row.throughput),
        _error(row.throughput.share, share=True),
        _both(row.age, 2),
        _error(row.age.difference, share=False),
        _both(pages),
        _error(pages.share, share=True),
        _both(row.per_second("sync_pages")),
        _both(row.figure("stall_seconds")),
        _both(row.figure("checkpoint_ratio_max"), 3),
        UNKNOWN if response.real is None and response.plant is None else _both(response),
        _error(response.share, share=True),
    ]


def _spread(row: Compared) -> str:
    lines = []
    for title, name in SPREAD:
        both = row.figure(name)
        lines.append((title, _one(both.real), _one(both.plant), _error(both.share, share=True)))
    return table((f"at M = {SYNC_M}, block {row.real.block}", "real", "simulated", "error"), lines)


def _both(both: Both, digits: int = 0) -> str:
    return f"{_one(both.real, digits)} / {_one(both.plant, digits)}"


def _one(value: float | None, digits: int = 0) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def _error(value: float | None, *, share: bool) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:+.1%}" if share else f"{value:+.3f}"
