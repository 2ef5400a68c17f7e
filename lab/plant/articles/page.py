"""docs/results/plant-seeds.md: the plant beside what published articles say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.plant.articles import text
from lab.plant.articles.runs import (
    BLOCK,
    GIB,
    PUBLISHED,
    Counted,
    Fit,
    Published,
    block_means,
    counted,
    fit,
    period,
    published_run,
    settled,
    static,
    waves,
)
from lab.plant.articles.settings import (
    SCENARIOS,
    WAVES,
    WaveRow,
    ladder,
    operations_per_commit,
    single_insert,
    wave_scenario,
)
from lab.plant.readings import watched
from lab.scenarios import load_scenario
from tuner.servers.families.log_files import log_group_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

MAXIMA = ((20, 16.61), (40, 33.24))
"""Redo in GiB, and what the article's dashboard calls the maximum checkpoint age of it."""

HOUR = 3600
START_UP = 600
"""Seconds that the waves are not counted in: the first filling of the redo log."""

CALM = 0.02
"""Unevenness below which nothing is called a wave."""

OTHER_LOADS: tuple[tuple[str, dict[str, object]], ...] = (
    ("4 pages a transaction", {"pages_per_commit": 4.0}),
    ("16 pages a transaction", {"pages_per_commit": 16.0}),
    ("10,000 bytes of redo a transaction", {"redo_bytes_per_commit": 10_000.0}),
    (
        "80 % of the changes on 20 % of the pages",
        {"distribution": "hot_set", "hot_share": 0.2, "hot_touches": 0.8},
    ),
    ("Zipf, exponent 0.99", {"distribution": "zipf"}),
)


def error(found: float, wanted: float) -> str:
    """Return how far a number is from the one wanted, in percent of that."""
    return f"{found / wanted - 1.0:+.1%}"


def _age_rows(runs: list[tuple[Published, Counted]]) -> Iterator[str]:
    for row, run in runs:
        age, used = run.age / GIB, "fitted" if row.fitted else "predicted"
        yield (
            f"| {load_scenario(row.scenario).server.redo_capacity / GIB:.0f} GB | {row.io_capacity_max} "
            f"| {used} | {age:.2f} / {row.age:.2f} | {error(age, row.age)} "
            f"| {run.commits:.0f} / {row.commits:.0f} | {error(run.commits, row.commits)} | {run.pages:.0f} |"
        )


def _other_rows() -> Iterator[str]:
    for name, load in OTHER_LOADS:
        found = fit(**load)
        both = {"hot_pages": found.hot_pages, "commit_seconds": found.commit_seconds}
        runs = [(row, published_run(row, **{**load, **both})) for row in PUBLISHED if not row.fitted]
        ages = ", ".join(error(run.age / GIB, row.age) for row, run in runs)
        commits = ", ".join(error(run.commits, row.commits) for row, run in runs)
        worst = max(abs(one) for one in found.errors)
        yield (
            f"| {name} | {found.hot_pages / 1e6:.2f} million | {found.commit_seconds * 1e3:.3f} ms "
            f"| {worst:.1%} | {ages} | {commits} |"
        )


def _wave_row(row: WaveRow) -> str:
    _, samples = watched(wave_scenario(row).plant, seconds=3 * HOUR)
    means = block_means(samples)
    hours = [waves(means[max(START_UP, HOUR * i) // BLOCK : HOUR * (i + 1) // BLOCK]) for i in range(3)]
    run = counted(samples[START_UP : HOUR + 1])
    repeats = period(means[START_UP // BLOCK : 2 * HOUR // BLOCK]) if hours[0].unevenness > CALM else None
    return (
        f"| {row.io_capacity}/{row.io_capacity_max} | {row.doublewrite_pages} "
        f"| {'' if row.most_pages is None else f'{row.most_pages:.0f}'} "
        f"| {' / '.join(f'{hour.unevenness:.1%}' for hour in hours)} "
        f"| {hours[0].lowest:.0f} to {hours[0].highest:.0f} "
        f"| {'none' if repeats is None else f'{repeats:.0f} s'} | {run.age / run.redo:.0f} s "
        f"| {run.age_max / GIB:.2f} | {run.pages:.0f} | {run.sync:.0f} | {row.article} |"
    )


def _doublewrite_rows() -> Iterator[str]:
    for pages in (1.0, 10.0):
        found = []
        for batch in (4, 128):
            plant = single_insert(batch, pages=pages)
            run = counted(watched(plant, seconds=2400)[1][1200:])
            found.append((run.commits, operations_per_commit(plant, run)))
        (slow, many), (fast, few) = found
        yield (
            f"| {pages:.0f} | {many:.2f} → {few:.2f} | {error(few, many)} | -55% "
            f"| {slow:.0f} → {fast:.0f} | {error(fast, slow)} |"
        )


def _ladder_rows() -> Iterator[str]:
    for least, most in ((200, 2000), (10_000, 20_000)):
        for name, redo in (("2 × 2000 MB", 4_194_304_000), ("2 × 4 GB", 2**33), ("2 × 8 GB", 2**34)):
            scenario = ladder(redo, least, most)
            _, samples = watched(scenario.plant, seconds=scenario.seconds)
            run = counted(samples[scenario.measured_from :])
            whole = block_means(samples[60:])
            yield (
                f"| {least}/{most} | {name} | {run.commits:.0f} | {min(whole):.0f} "
                f"| {run.age / redo:.2f} | {run.pages:.0f} | {run.sync:.0f} |"
            )


def report() -> Iterator[str]:
    """Yield the page's lines, in Markdown."""
    yield from text.HEAD.splitlines()
    yield ""
    hashes = [f"`{name}` {load_scenario(name).plant.fingerprint()}" for name in SCENARIOS]
    yield f"Plants: {', '.join(hashes)}. Seed 1."
    yield from text.AGES.splitlines()
    runs = [
        (row, settled(static(load_scenario(row.scenario), row.io_capacity_max, row.io_capacity_max)))
        for row in PUBLISHED
    ]
    yield from _age_rows(runs)
    order = [run.commits for _, run in runs]
    yield ""
    yield f"Order of throughput as in the article, lowest first: {'yes' if order == sorted(order) else 'no'}."
    for redo, limit in MAXIMA:
        raw = log_group_limits(redo * 2**30 // 2, 2).raw_async / GIB
        yield f"Maximum checkpoint age with {redo} GB, computed and not fitted: {raw:.2f} / {limit:.2f} GiB."
    yield from text.OTHERS.splitlines()
    yield from _other_rows()
    yield from text.WAVES.splitlines()
    yield from (_wave_row(row) for row in WAVES)
    yield from text.DOUBLEWRITE.splitlines()
    yield from _doublewrite_rows()
    yield from text.LADDER.splitlines()
    yield from _ladder_rows()
    yield from text.TAIL.splitlines()


def fitted() -> str:
    """Return the two parameters as the fit finds them."""
    found: Fit = fit()
    errors = ", ".join(f"{one:+.2%}" for one in found.errors)
    return (
        f"hot_pages = {found.hot_pages:.0f}\ncommit_seconds = {found.commit_seconds:.6f}\n"
        f"errors of age and throughput at M = 8000, then 7000: {errors}"
    )
