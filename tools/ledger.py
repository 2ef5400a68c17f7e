"""The ledger of what was saved against what the server left alone writes: docs/results/ledger.md.

Runs are kept as those of ``tools.no_harm`` are, so that the same command goes on where it was stopped.
"""

from __future__ import annotations

import click
from msgspec.structs import replace

from lab.bench.store import Row
from lab.scenarios import load_scenario, scenario_names
from lab.simulate_loop import run_policy
from tools.markdown import table
from tools.no_harm import LEFT_OUT, ROOT, Job, finished, in_minutes
from tuner.core.estimate.window import all_flushed
from tuner.core.savings.ledger import Savings
from tuner.records import Sample, TickRecord
from tuner.settings import Mode, Settings

PAGE = ROOT / "docs/results/ledger.md"
SEEDS = (1,)
LONG = LEFT_OUT | {"daily"}
"""Days of simulated time, which take minutes a run."""

ADVISORY_SHARE = 0.4
"""Of a scenario's time, in which a loop that begins in advisory mode sees the settings found at work."""

FROM_START, SEEN = "active from the start", "advisory first"
MINUTE = 60.0

HEAD = ("scenario", "written", "true", "ledger", "bounds", "within", "true", "ledger", "bounds", "within")


WHY = """
Active from the start it says too much where b is told from ages on their way up, on which pages become dirty
otherwise than at rest: the bounds reckon with that. Too little is the error on the safe side; why it is made
in these is not known yet. A loop that saw the settings found at work has far smaller errors, so an advisory
day before active mode is worth its time."""


class Minutes:
    """Row changes and pages dirtied in each minute of a run."""

    def __init__(self) -> None:
        """Begin before the first reading."""
        self.each: list[tuple[int, int]] = []
        self._last: tuple[float, int, int] | None = None

    def add(self, record: TickRecord) -> None:
        """Take one tick in."""
        sample = record.tick.reading
        if not isinstance(sample, Sample):
            return
        now = (sample.monotonic, sample.row_changes, all_flushed(sample) + sample.pages_dirty)
        if self._last is None:
            self._last = now
        elif now[0] - self._last[0] >= MINUTE:
            self.each.append((now[1] - self._last[1], now[2] - self._last[2]))
            self._last = now


def compared(job: Job) -> Row:
    """Return for both beginnings: pages written, what the ledger says was saved, and what truly was."""
    scenario = job.scenario
    alone = Minutes()
    run_policy(scenario, Settings(), publish=alone.add)
    found: Row = {**job.key}
    for name, begin in ((FROM_START, 0.0), (SEEN, ADVISORY_SHARE * scenario.seconds)):
        ours = Minutes()
        mode = Mode.ADVISORY if begin else Mode.ACTIVE
        run = run_policy(scenario, Settings(mode=mode), publish=ours.add, active_from=begin or None)
        found[name] = _figures(run.savings, alone, ours, begun=int(begin / MINUTE))
    return found


def _figures(savings: Savings, alone: Minutes, ours: Minutes, *, begun: int) -> list[float]:
    """Return pages written, saved by the ledger with its bounds, and truly, for each minute's row changes."""
    true = 0.0
    for (rows, pages), (our_rows, our_pages) in zip(alone.each[begun:], ours.each[begun:], strict=False):
        true += pages * (our_rows / rows if rows > 0 else 1.0) - our_pages
    return [savings.written, savings.least, savings.likely, savings.most, true]


def page(rows: list[Row]) -> str:
    """Return the page of finished rows, Markdown."""
    by_scenario: dict[str, list[Row]] = {}
    for row in rows:
        by_scenario.setdefault(row["scenario"], []).append(row)
    lines = [_line(name, by_scenario[name]) for name in sorted(by_scenario)]
    each = [(name, row) for row in rows for name in (FROM_START, SEEN)]
    within = {
        name: sum(_within(row[name]) for kind, row in each if kind == name) for name in (FROM_START, SEEN)
    }
    introduction = f"""\
# The ledger of what was saved against the truth

Simulated servers, every scenario but {" and ".join(sorted(LONG))}, seed {" and ".join(map(str, SEEDS))}; \
`python -m tools.ledger`. Each seed runs once without a write, once with the loop active from the start, so \
that it never sees the settings found at work, and once advisory for the first \
{100 * ADVISORY_SHARE:.0f} % of the time. Truly saved are the pages that the untouched server writes for a \
row change, minute by minute, times our row changes, less our pages. All figures are shares of the pages \
that we wrote, means over the seeds: 2.00 says that two more would have been written for each. Within are \
the runs whose truth lies inside the bounds, of {len(SEEDS)}.

Within in all: **{within[FROM_START]} of {len(rows)}** active from the start, **{within[SEEN]} of \
{len(rows)}** advisory first. The first columns are active from the start, the last four advisory first.
"""
    return f"{introduction}\n{table(HEAD, lines)}\n\n{_outside(rows)}\n"


def _outside(rows: list[Row]) -> str:
    """Return which runs are outside, on which side, as sentences."""
    said = []
    for kind in (FROM_START, SEEN):
        out = [row for row in rows if not _within(row[kind])]
        for side, low in (("too little", True), ("too much", False)):
            names = sorted({row["scenario"] for row in out if (row[kind][4] > row[kind][2]) is low})
            if names:
                said.append(f"{kind.capitalize()}, the ledger says {side} in {', '.join(names)}.")
    return "\n".join([*said, WHY])


def _within(figures: list[float]) -> bool:
    """Tell whether the truth lies inside the bounds; a page in a thousand is rounding."""
    written, least, _, most, true = figures
    return least - 0.001 * written <= true <= most + 0.001 * written


def _line(name: str, rows: list[Row]) -> tuple[str, ...]:
    def mean(kind: str, at: int, *, shared: bool) -> float:
        each: list[list[float]] = [row[kind] for row in rows]
        return sum(one[at] / ((one[0] or 1.0) if shared else 1.0) for one in each) / len(each)

    cells = [f"{mean(FROM_START, 0, shared=False):,.0f}"]
    for kind in (FROM_START, SEEN):
        least, likely, most, true = (mean(kind, at, shared=True) for at in (1, 2, 3, 4))
        inside = sum(_within(row[kind]) for row in rows)
        cells += [f"{true:.2f}", f"{likely:.2f}", f"{least:.2f} to {most:.2f}", str(inside)]
    return (name, *cells)


@click.command()
@in_minutes
def main(minutes: float) -> None:
    """Run every scenario without the loop and with it, and write docs/results/ledger.md."""
    known = [load_scenario(name) for name in scenario_names() if name not in LONG]
    known.sort(key=lambda one: one.seconds)
    jobs = [Job(replace(one, seed=seed), "ledger") for seed in SEEDS for one in known]
    PAGE.write_text(page(finished(compared, jobs, minutes=minutes)), encoding="utf-8")
    click.echo(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
