"""What the simulated server predicts of a suite's rows, and how near real ones came.

A case is predicted anew as long as no row of it was measured, and never again after that.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
from msgspec.structs import replace

from lab.bench import store
from lab.bench.plan import BEST, Contender, Plan, Suite, load_suite
from lab.bench.row import measure
from lab.bench.runner import Bench, chosen
from lab.bench.search import between, expected_ratio
from lab.bench.simulated import SimulatedRig
from lab.bench.store import Ledger, Row
from lab.scenarios import Scenario, static
from tools.cases import CASES, FOLDER, Case, Setting
from tools.kept import FIRST_ENDS, without_best
from tools.markdown import table

ROOT = Path(__file__).parents[1]
BENCH = ROOT / "docs/results/bench"
PAGE = ROOT / "docs/results/predictions.md"
SEED = 1
"""Of the order of contenders, here and on the real server."""

FIGURES = ("commits", "age_ratio", "pages_per_commit", "sync_pages")

AGE, THROUGHPUT = 0.05, 0.10
"""How far off a prediction may be: of the age ratio, and as a share of commits/s."""


LADDER = tuple(2 * round(50.0 * 1.07**step) for step in range(28, -1, -1))
"""Values of M, highest first, predicted for whichever the search on a real server finds, pages/s."""


INTRODUCTION = f"""\
# What the simulated server predicted, and what was measured

Made by `python -m tools.predictions`: suites of [the bench](../lab/bench.md) on the simulated server, with
the same reset, settling, search and blocks in the same order as on a real one (`--seed {SEED}`). A case is
predicted anew as long as no row of it was measured; from its first row on its predictions stay, and the
command compares them. They are in `predictions/CASE.jsonl`;
[make prove](../lab/bench.md#suites-with-a-prediction) puts the real rows into `docs/results/bench/CASE`.

Files beside them say what the simulated server is like, and how that was chosen. The pages that change are
those of the fit for each row ([how](../lab/simulate.md#where-the-parameters-come-from)); disk, redo log,
buffer pool and threads are the suite's. It has no adaptive hash index, and no processors.

Cells are predicted / measured, means of the blocks. A prediction is kept where the age ratio is within
{AGE} and commits/s within {100 * THROUGHPUT:.0f} %. Best static is what the search found on either side;
once it is measured, its prediction is that of the measured M, from a ladder that is predicted with each
case. What an open load is offered is a share of what each side's own default sustained: its pages tell, not
its commits.

`mysql-8.0.31`, `mysql-8.0.15` and `mysql-5.7.22`: their rows of 100 MiB are of three servers at work at the
same time, which left no processor idle ([how](bench/README.md#redo-sizes)), those of 1 GiB of two at once,
with the processors shared at first; so is most of seed-000. 5.7.22 with 1 GiB and its default of neighbours
was not measured ([why](bench/README.md#redo-sizes)).

`mysql-8.0.31-mended` is the same server after seed-000 showed what was wrong: a commit costs the device
0.36 writes there and not 0.32, which was read off rows on busy processors, where more commits share a group.
It was predicted before its own case was measured, alone on the disk: all three ages are kept, and the
commits of default and ours; those of best static are foretold 12 % too high.

`mysql-5.7.22-neighbors-0` is 5.7.22 with 1 GiB and `innodb_flush_neighbors = 0`: with 1, its default, the age
is a saw there. `mysql-5.7.22-mended` is the same rows with what a commit costs read off the rows of 100 MiB:
0.34 writes, and not the 0.43 of 5.6. The rows were there before it; it was not read off them.

`sizes-8.0.31` and `sizes-9.7` are the variants with a synced binary log of which the simulated server has
everything: `write_only` and `update_non_index` at a limit of writes/s. TPC-C, reads, bytes/s and a disk
without a limit are not predicted. What a commit of `write_only` costs with a binary log is read off one run
of 8.0.31. The simulated age goes all of its way under the limit, which costs no time; a real one goes most of
it [on a faster disk](../lab/bench.md#a-redo-log-that-takes-an-hour-to-fill).

`sizes-8.0.31-mended` is `write_only` with what the first block showed. In it the default was foretold 12 %
too high, as a commit writes 2290 bytes of redo, and not the 1600 that were read off that run: an age is
shorter, and a page is written more often. `sizes-9.7` has these figures too.

`sizes-8.0.31-worn` and `sizes-9.7-worn` are those of 1 GiB on tables [filled as after long
use](../lab/bench.md#loads). The pages of `write_only` are counted in the server's own statistics, and not
fitted. That is what was wrong with the default of 9.7, foretold 24 % too fast: an update, a delete and an
insert change a page of the secondary index too, which is six pages a commit where the age is short, and not
three. From here on shares of what the default sustains are predicted as well. `sizes-8.0.31-memory` is
8.0.31 on a [disk in memory](../lab/bench.md#a-disk-in-memory), where a commit has half of the writes; rows
of such a disk alone are held against it. With 3000 writes/s it is foretold 30 and 47 % too fast, as
processors were the limit of the real one. At 90 % of what its default sustains the default is foretold 15 %
too slow, with a third more pages than it wrote, and the age of ours was not at rest. Ours of 9.7 had its
age still rising when it was counted, so the age that was foretold is not there yet.

In `binary-log-8.0.31` and `binary-log-9.7` a commit of `update_non_index` costs 1.30 writes, and not the
2.4 of `write_only`. Rows of 8.0.31 that were counted after 150 s say so; they were measured again after 360
s, when ours was still not at rest by the rule. Pages were foretold 18 to 31 % too few: with a synced binary
log a commit writes more redo, 736 bytes in place of 547 on 8.0.31 and 832 in place of 545 on 9.7, so that
an age is fewer commits. `binary-log-8.0.31-mended` and `binary-log-9.7-mended` have that, read off these
rows: they say that it explains them, and foretell nothing. `sizes-8.0.31-worn` and `sizes-9.7-worn` have it
from the start.

The cases of 9.7 that follow have no binary log, and 100 MiB, but for the 16 MiB of `nothing-to-gain-9.7`:
`contenders-9.7`, `alternating-9.7`, `disks-9.7`, `open-9.7` and `claims-9.7` are the others. They have the
fit to 9.7, which is of three static settings of `contenders`, so that `contenders-9.7` foretells default
and best static under the very conditions of the fit, and the others alone go beyond it. The same is true of
`mariadb-11.8`, which is fitted to six static settings of the suite `mariadb`. Rows of these suites from
before the predictions are not compared. `nothing-to-gain-9.7` is foretold 27 and 12 % too fast: no
processor was idle. Not predicted: a disk without a limit, a load bound by processors, a buffer pool of 64
MiB, and MariaDB 10.11, whose commits ask for all dirty pages beyond the flush limit, as no simulated
release with its law does.

`sizes-8.0.31-killed`, `sizes-8.0.31-killed-memory` and `sizes-9.7-killed` are the same server and load as
without a kill, with the contenders in another order. In real rows a server has just started, but in its
first, so that its age comes up from nothing; the simulated one is never killed. That is why the default of
`sizes-8.0.31-killed-memory` is foretold 37 % too slow: real pages a commit were those of a server that has
just begun to write. Ours is foretold within 2 %.
"""
HEAD = ("contender", "commits/s", "error", "age ratio", "error", "pages/commit", "sync pages/s", "M", "kept")


def predict(case: Case) -> list[Row]:
    """Return the rows of a case on the simulated server, with what is compared of each."""
    asked = load_suite(case.suite)
    suite = _without_ends(asked)

    def rig(plan: Plan, say: Callable[[str], None]) -> SimulatedRig:
        return SimulatedRig(case.parameters(plan), plan, say)

    with tempfile.TemporaryDirectory() as place:
        ledger = Ledger(Path(place) / store.ROWS)
        Bench(suite, ledger, rig, _quiet, seed=SEED, variants=case.variants).run()
    rows = [_short(row) | {"plan_hash": asked.digest} for row in ledger.rows if "figures" in row]
    for plan in chosen(suite, case.variants):
        if "best-static" in plan.contenders:
            keys = {"variant": plan.variant, "plan_hash": asked.digest, "stage": "ladder", "block": 0}
            knee = [row for row in rows if (row["stage"], row["variant"]) == ("knee", plan.variant)]
            offered = round((plan.load.knee_share or 0.0) * knee[0]["commits"]) if knee else None
            rows += [_short({**row, **keys}) for row in _ladder(case.parameters(plan), plan, offered)]
    return rows


def _without_ends(suite: Suite) -> Suite:
    """Return a suite whose rows end as they are; the simulated server is not killed."""
    return replace(suite, plans=tuple(replace(plan, crash=False) for plan in suite.plans))


def _ladder(like: Scenario, plan: Plan, offered: int | None) -> list[Row]:
    """Return a row for each M of the ladder, each brought near its age as in a search.

    Args:
        like: parameters of the simulated server.
        plan: what is measured.
        offered: transactions/s where those are a share of what the default sustains.
    """
    rows: list[Row] = []
    with SimulatedRig(like, plan, _quiet) as rig:
        if offered is not None:
            rig.offer(offered)
            rig.start_load()
        for m in LADDER:
            name = f"M = {m}"
            row = measure(rig, Contender(name, "static"), static.pair(m), expected_ratio(rows, m))
            rows.append({**row, "contender": name, "io_capacity_max": m})
    return rows


def _quiet(_: str) -> None:
    """Say nothing."""


def _short(row: Row) -> Row:
    figures = row["figures"]
    kept = ("variant", "plan_hash", "stage", "block", "contender", "io_capacity_max", "settled")
    return {
        **{key: row[key] for key in kept},
        "commits": figures["commits_mean"],
        "age_ratio": figures["age_ratio_mean"],
        "pages_per_commit": figures["pages_per_commit"],
        "sync_pages": round(figures["sync_pages"] / figures["seconds"], 1),
    }


def measured(case: Case) -> list[Row]:
    """Return what is compared of a case's real rows, none where there are none yet.

    Raises:
        ClickException: they are of another plan than was predicted, or were there before a prediction.
    """
    suite = load_suite(case.suite)
    plans = {row["plan_hash"] for row in store.read_rows(case.file)} if case.file.exists() else set()
    first = {without_best(suite).digest} if suite.digest in plans else set()
    names = case.rows or (case.name, f"{case.name}{FIRST_ENDS}")
    files = {path: _real(case, path) for name in names for path in sorted(BENCH.glob(f"{name}/{store.ROWS}"))}
    for path, rows in files.items():
        _check(case, path, rows, plans | first)
    newest_first = sorted(files.values(), key=lambda rows: max(map(_when, rows), default=""), reverse=True)
    found: list[Row] = []
    for hashes, rows in itertools.product((plans, first), newest_first):
        seen = {row["variant"] for row in found}
        found += [_short(row) for row in rows if row["plan_hash"] in hashes and row["variant"] not in seen]
    return found


def _when(row: Row) -> str:
    return str(row.get("when", ""))


def _real(case: Case, path: Path) -> list[Row]:
    """Return the rows of one file that are compared: those of a disk and tables as predicted."""
    return [
        row
        for row in store.read_rows(path)
        if "figures" in row
        and store.in_memory(row) == case.in_memory
        and row.get("conditions", {}).get("fill_factor") == case.filled
        and (not case.variants or row["variant"] in case.variants)
    ]


def _check(case: Case, path: Path, rows: list[Row], plans: set[str]) -> None:
    """Raise where rows were there before their prediction, or are of another plan."""
    if rows and not case.file.exists():
        raise click.ClickException(f"{path}: measured before {case.file.name} was predicted; no prediction")
    if other := {row["plan_hash"] for row in rows} - plans:
        raise click.ClickException(
            f"{path}: has rows of the plan {min(other)}, and {case.file.name} is of"
            f" {', '.join(sorted(plans)) or 'another'}; measure with the suite that was predicted"
        )


class Compared(NamedTuple):
    """A contender's means, predicted and measured; nothing measured is None."""

    setting: Setting
    predicted: dict[str, float]
    real: dict[str, float] | None

    @property
    def errors(self) -> tuple[float, float] | None:
        """Return how far off commits/s, as a share, and the age ratio are."""
        if self.real is None:
            return None
        return (
            self.predicted["commits"] / self.real["commits"] - 1.0,
            self.predicted["age_ratio"] - self.real["age_ratio"],
        )

    @property
    def kept(self) -> bool | None:
        """Return whether the prediction is kept."""
        errors = self.errors
        return None if errors is None else abs(errors[0]) <= THROUGHPUT and abs(errors[1]) <= AGE


def compared(predictions: list[Row], real: list[Row]) -> list[Compared]:
    """Return the contenders of the blocks, in the order of their variants."""
    found = []
    for one in dict.fromkeys(Setting(row["variant"], row["contender"]) for row in _blocks(predictions)):
        mean, seen = _means(predictions, one) or {}, _means(real, one)
        if seen is not None and one.contender == BEST.name:
            mean = _on_the_ladder(predictions, one.variant, seen["M"]) or mean
        found.append(Compared(one, mean, seen))
    places = list(dict.fromkeys(one.setting.variant for one in found))
    return sorted(found, key=lambda one: (places.index(one.setting.variant), one.setting.contender))


def _blocks(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["stage"] == "block"]


def _means(rows: list[Row], setting: Setting) -> dict[str, float] | None:
    mine = [row for row in _blocks(rows) if (row["variant"], row["contender"]) == setting]
    means = {name: statistics.fmean(row[name] for row in mine) for name in FIGURES} if mine else None
    if means is not None and mine[0]["io_capacity_max"] is not None:
        means["M"] = mine[0]["io_capacity_max"]
    return means


def _on_the_ladder(rows: list[Row], variant: str, m: float) -> dict[str, float] | None:
    """Return what is predicted of an M, on a line between its neighbours; None beyond them all."""
    rungs = {
        row["io_capacity_max"]: row for row in rows if (row["stage"], row["variant"]) == ("ladder", variant)
    }
    if m in rungs:
        return {name: rungs[m][name] for name in FIGURES} | {"M": m}
    found = {name: between({one: row[name] for one, row in rungs.items()}, int(m)) for name in FIGURES}
    known = {name: value for name, value in found.items() if value is not None}
    return known | {"M": m} if known else None


def page(predictions: dict[Case, list[Row]], real: dict[Case, list[Row]]) -> str:
    """Return the page, Markdown."""
    parts = [INTRODUCTION]
    for case, rows in predictions.items():
        found = compared(rows, real[case])
        parts.append(f"## {case.name}\n\n{_about(case, found)}")
        for variant in dict.fromkeys(one.setting.variant for one in found):
            lines = [_line(one) for one in found if one.setting.variant == variant]
            parts.append(f"### {variant}\n\n{table(HEAD, lines)}\n" if variant else f"{table(HEAD, lines)}\n")
        if case.order:
            parts.append(_order(case, found))
    return "\n".join(parts)


def _about(case: Case, found: list[Compared]) -> str:
    judged = [one.kept for one in found if one.kept is not None]
    kept = "Fitted to these rows; within the bounds" if case.fitted else "Kept"
    said = f"{kept}: {sum(judged)} of {len(judged)}." if judged else "Not measured yet."
    names = (case.like, *(name for _, name in case.others))
    files = " and ".join(f"[{name}.toml]({FOLDER.name}/{name}.toml)" for name in names)
    return f"Suite `{case.suite}`; parameters in {files}. {said}\n"


def _line(one: Compared) -> tuple[str, ...]:
    def pair(name: str, digits: int) -> str:
        values = [one.predicted.get(name), None if one.real is None else one.real.get(name)]
        return " / ".join("–" if value is None else f"{value:.{digits}f}" for value in values)

    errors = one.errors
    commits = "–" if errors is None else f"{100 * errors[0]:+.1f}%"
    age = "–" if errors is None else f"{errors[1]:+.3f}"
    kept = "–" if one.kept is None else "yes" if one.kept else "**no**"
    return (
        one.setting.contender,
        pair("commits", 0),
        commits,
        pair("age_ratio", 2),
        age,
        pair("pages_per_commit", 3),
        pair("sync_pages", 1),
        pair("M", 0),
        kept,
    )


def _order(case: Case, found: list[Compared]) -> str:
    """Return whether throughput rises from setting to setting as it did where the order comes from."""
    by_setting = {one.setting: one for one in found}
    lines = []
    for name in ("predicted", "real"):
        means = [getattr(by_setting[one], name) for one in case.order]
        if all(means):
            rates = [one["commits"] for one in means]
            same = rates == sorted(rates)
            words = ", ".join(f"{rate:.0f}" for rate in rates)
            lines.append(
                f"- {'predicted' if name == 'predicted' else 'measured'}: {words} commits/s; "
                f"{'the same order' if same else 'another order'}"
            )
    settings = ", ".join(f"{one.contender} ({one.variant})" for one in case.order)
    return f"The article's order, lowest throughput first: {settings}.\n" + "\n".join(lines) + "\n"


def current() -> str:
    """Return the page of the predictions and the rows that are there; raises as ``measured``."""
    return page(
        {case: store.read_rows(case.file) for case in CASES}, {case: measured(case) for case in CASES}
    )


@click.command()
@click.option("--compare", is_flag=True, help="Predict nothing; make the page anew of what is there.")
def main(*, compare: bool) -> None:
    """Predict what was not measured yet, and compare what was: docs/results/predictions.md."""
    real = {case: measured(case) for case in CASES}
    for case in () if compare else CASES:
        if not real[case] or case.fitted:
            case.file.unlink(missing_ok=True)
            ledger = Ledger(case.file)
            for row in predict(case):
                ledger.add(row)
        click.echo(f"{case.name}: {'compared' if real[case] else 'predicted'}")
    PAGE.write_text(current(), encoding="utf-8")
    click.echo(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
