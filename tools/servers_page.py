"""docs/servers.md: the servers that are supported, from adapters, recognition, flush laws and fixtures."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from policies.flushlaw import AGE_BLIND, MARIADB, MARIADB_WAKES, SOFT_LIMIT, TERMS_WITH_NEED, FlushLaw
from policies.registry import LAWS
from policies.setpoint import SAWTOOTH_SECONDS
from tuner.records import ENABLE_COUNTERS, LOW_WATER_MARK, PRODUCTS
from tuner.servers.adapter import FACTOR, RAISED, Adapter, Family
from tuner.servers.enginestatus import SECONDS
from tuner.servers.families import FAMILIES, SUPPORTED, recognise
from tuner.servers.families.mariadb import BLIND, HEEDING, MAX_AGE, NARROWER, RESIZED, MariaDBAdapter
from tuner.servers.fixture import Fixture, load
from tuner.servers.port import Unsupported
from tuner.servers.release import named, release_of
from tuner.servers.writing import WRITABLE

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "servers"
RESULTS = ROOT / "docs" / "results"
SIMULATED = frozenset({"plant.md", "plant-seeds.md"})
"""Pages of results that are about the simulated server: a real one in them ran without the loop."""

SHOWN_RATIO = 0.8
"""The age ratio at which laws are compared."""


def document(fixtures: Mapping[str, Fixture], results: Mapping[str, str]) -> str:
    """Return the whole page, Markdown.

    Args:
        fixtures: by name.
        results: what each page of measurements says, by its path below docs/results.
    """
    made = {one.title: one() for one in FAMILIES}
    parts = [
        INTRODUCTION,
        "## Which\n",
        LEVELS,
        _table(
            ("server", "known by", "flush law", "read as", "range of C and M"),
            _servers(fixtures, results),
        ),
        "\n## What is read\n",
        _table(("", *made), _read(list(made.values()))),
        "\n## What is written\n",
        _written(fixtures),
        "\n## Flush laws\n",
        _table(
            ("law", "what it flushes, pages/s", f"M over demand at an age ratio of {SHOWN_RATIO}", "law of"),
            _laws(fixtures),
        ),
        DIFFERENT,
    ]
    return "\n".join(parts)


def name_of(fixture: Fixture) -> tuple[str, Family | None, str]:
    """Return a server's name, what it is recognised as, and else why it is refused."""
    variables = fixture.readings[0].variables
    try:
        family = recognise(variables)
    except Unsupported as error:
        said = str(error).partition(": ")[2] or str(error)
        aurora = variables.get("aurora_version")
        return (f"Aurora {aurora}" if aurora else fixture.version), None, said
    release = ".".join(map(str, release_of(fixture.version)))
    name = f"{PRODUCTS[family.name]} {release}"
    return (f"{name} on {family.managed}" if family.managed else name), family, ""


def _servers(fixtures: Mapping[str, Fixture], results: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return a row for each server; several fixtures of one are one row."""
    rows: dict[str, list[tuple[str, Family | None, str, Fixture]]] = {}
    for key in sorted(fixtures, key=lambda key: _order(fixtures[key])):
        name, family, refusal = name_of(fixtures[key])
        rows.setdefault(name, []).append((key, family, refusal, fixtures[key]))
    found: list[tuple[str, ...]] = []
    for name, same in rows.items():
        _, family, refusal, fixture = same[0]
        level = _level(fixture, results)
        if family is None:
            found.append((name, level, f"refused: {refusal}", "–", "–"))
            continue
        laws = {one.flush_law: None for _, one, _, _ in same if one is not None}
        top = "2³² − 1" if family.capacity_maximum < 1 << 32 else "2⁶³ − 1"
        found.append(
            (name, level, ", ".join(f"`{law}`" for law in laws), family.adapter.title, f"100 to {top}")
        )
    return found


def _order(fixture: Fixture) -> tuple[bool, int, tuple[int, int, int], str]:
    name, family, _ = name_of(fixture)
    families = list(PRODUCTS)
    plain = family is not None and not family.managed
    at = families.index(family.name) if family is not None else len(families)
    return not plain, at, release_of(fixture.version), name


def _level(fixture: Fixture, results: Mapping[str, str]) -> str:
    if fixture.synthetic:
        return "source"
    release = re.escape(".".join(map(str, release_of(fixture.version))))
    named = re.compile(rf"(?<![\d.]){release}(?!\d)")
    pages = [name for name, said in sorted(results.items()) if named.search(said)]
    if not pages:
        return "recorded"
    links = (f"[{name.removesuffix('.md').removesuffix('/README')}](results/{name})" for name in pages)
    return f"measured: {', '.join(links)}"


def _written(fixtures: Mapping[str, Fixture]) -> str:
    names = " and ".join(f"`{name}`" for name in WRITABLE)
    counters = " and ".join(f"`{one}`" for one in ENABLE_COUNTERS)
    wanted: dict[str, dict[str, None]] = {}
    for key in sorted(fixtures, key=lambda key: _order(fixtures[key])):
        _, family, _ = name_of(fixtures[key])
        if family is not None:
            wanted.setdefault(family.write_privilege, {})[family.adapter.title] = None
    privileges = [
        f"- `{name}` on what is read as {', '.join(servers)}" for name, servers in sorted(wanted.items())
    ]
    return "\n".join(
        [
            f"{names}, by `SET GLOBAL`; with `enable_counters = true` also",
            f"{counters}, and on MariaDB with `low_water_mark = true` `{LOW_WATER_MARK}`",
            "([why](decisions/low-water-mark.md)). To look, `PROCESS` is enough; to write it takes",
            "`EXECUTE` on the procedures of",
            "`innobrim setup-sql`, with which all go through these alone, or\n",
            *privileges,
            "\nThe procedures' definer, with which nobody can log in, has that privilege then",
            "([security model](security-model.md)).",
            "\nA session keeps the `SUPER` of its login: a daemon that was refused a write logs in again",
            "before the next one, which `innobrim resume` lets it try.",
        ]
    )


def _laws(fixtures: Mapping[str, Fixture]) -> list[tuple[str, ...]]:
    seen: dict[str, dict[str, None]] = {}
    for key in sorted(fixtures, key=lambda key: _order(fixtures[key])):
        name, family, _ = name_of(fixtures[key])
        if family is not None:
            seen.setdefault(family.flush_law, {})[name] = None
    return [
        (
            f"`{law.name}`",
            _formula(law),
            f"{law.gain_over_demand(SHOWN_RATIO):.2f}"
            if law.m_moves_age
            else "any above 1: M does not move the age",
            ", ".join(seen.get(law.name, {})) or "none of the above",
        )
        for law in LAWS.values()
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def here() -> str:
    """Return the page for the source tree that this is in."""
    fixtures = {path.stem: load(path) for path in sorted(FIXTURES.glob("*.json"))}
    return document(fixtures, results_of_the_loop(RESULTS))


def results_of_the_loop(directory: Path) -> dict[str, str]:
    """Return the pages with figures of the loop on real servers, by their path below the directory."""
    pages = [path for path in sorted(directory.glob("*.md")) if path.name not in SIMULATED]
    pages += sorted(directory.glob("*/README.md"))
    return {path.relative_to(directory).as_posix(): path.read_text(encoding="utf-8") for path in pages}


def _read(adapters: Sequence[Adapter]) -> list[tuple[str, ...]]:
    """Return a row for each thing that is read, a column for each family of servers."""

    def row(what: str, cells: Sequence[str]) -> tuple[str, ...]:
        return (what, *cells)

    return [
        row("modified age", [f"`log_lsn_current` − `{one.oldest}`" for one in adapters]),
        row("without counters", [_uncounted_age(one) for one in adapters]),
        row("limits", [_limits(one) for one in adapters]),
        row("compared with", [_compared(one) for one in adapters]),
        row("waits for redo space", [f"`{one.waits}`" for one in adapters]),
        row("pages from the LRU tail", [f"`{one.lru}`" for one in adapters]),
        row(
            "pages wanted for age", [f"`{one.by_age}`" if one.by_age else "not exported" for one in adapters]
        ),
        row("rows changed", [_rows(one) for one in adapters]),
        row("redo log is resized by", [_resized(one) for one in adapters]),
        row("between checkpoints, redo of", [f"{_checkpoint(one):g} s" for one in adapters]),
        row(
            "writers wait",
            ["from the sync point" if _stalls(one) else "at the stall point" for one in adapters],
        ),
        row("surroundings", [", ".join(one.parts) for one in adapters]),
        row("it is told from others by", [f"`{one.identity.replace('@@GLOBAL.', '')}`" for one in adapters]),
    ]


def _uncounted_age(adapter: Adapter) -> str:
    if adapter.ages_need_counters:
        found = "`SHOW ENGINE INNODB STATUS`, every 5 s"
        own = " − ".join(f"`{name}`" for name in adapter.percona_ages)
        return f"{found}; Percona Server: {own}" if own else found
    current = next(name for name in adapter.status if name.endswith(("_current_lsn", "_lsn_current")))
    checkpoint = next(
        name for name in adapter.status if name.endswith(("_checkpoint_lsn", "_last_checkpoint"))
    )
    return f"`{current}` − `{checkpoint}`"


def _limits(adapter: Adapter) -> str:
    if MAX_AGE in adapter.status:
        return f"`{MAX_AGE}`"
    if "Innodb_redo_log_capacity_resized" in adapter.status:
        return "computed from `Innodb_redo_log_capacity_resized`"
    return "computed from `innodb_log_file_size` × `innodb_log_files_in_group`"


def _compared(adapter: Adapter) -> str:
    if adapter.limit_counters:
        return ", ".join(f"`{name}`" for name in adapter.limit_counters)
    return f"`{MAX_AGE}`, from `{adapter.redo_variable}`"


def _rows(adapter: Adapter) -> str:
    if "Innodb_rows_inserted" in adapter.status:
        return "`Innodb_rows_inserted`, `_updated`, `_deleted`"
    return "`Handler_write`, `_update`, `_delete`, of all engines"


def _resized(adapter: Adapter) -> str:
    if isinstance(adapter, MariaDBAdapter):
        since = ".".join(map(str, RESIZED))
        return f"`SET GLOBAL {adapter.redo_variable}`; before {since} in my.cnf, and a restart"
    if adapter.redo_dynamic:
        return f"`SET GLOBAL {adapter.redo_variable}`"
    return f"`{adapter.redo_variable}` in my.cnf, and a restart"


def _checkpoint(adapter: Adapter) -> float:
    return float(adapter.checkpoints.get("sawtooth_seconds", SAWTOOTH_SECONDS))


def _stalls(adapter: Adapter) -> bool:
    return bool(adapter.checkpoints.get("sync_stalls", False))


LWM = "innodb_max_dirty_pages_pct_lwm"
REMEDY = f"{LWM} = 0.001"


def _formula(law: FlushLaw) -> str:
    """Return in words and signs how many pages a law flushes."""
    cut = ", cut to a whole number" if law.whole else ""
    percentage = f"PCT = C × ⌊⌊M / C⌋ × X^{law.exponent:g} / {law.divisor:g}⌋ %, X = 100 × age / A{cut}"
    if law is AGE_BLIND:
        return f"the mean of C, F and p, p at most {_share(law)}: the age decides nothing"
    if not law.m_moves_age:
        return f"asleep nothing; awake the mean of C, F and p, p at most {_share(law)}; from A on up to M"
    if law.terms < TERMS_WITH_NEED:
        mean = "the mean of PCT and F"
    else:
        mean = f"the mean of PCT, F and p, p at most {_share(law)}"
    if law.sleeps:
        mean = f"asleep nothing; awake {mean}"
    alone = "; from A on PCT alone" if law.alone else ""
    return f"{mean}{alone}. {percentage}"


def _before(release: tuple[int, ...]) -> str:
    """Return the patch release before."""
    return named((*release[:-1], release[-1] - 1))


def _builds() -> str:
    pairs = ((named(first), _before(last)) for first, last in BLIND)
    return ", ".join(first if first == last else f"{first} to {last}" for first, last in pairs)


def _mended() -> str:
    """Return the first release of each series in which MDEV-31939 is mended."""
    series = {first[:2] for first, _ in BLIND}
    return ", ".join(named(first) for first, _ in HEEDING if first[:2] in series)


def _firsts() -> str:
    """Return the first release of each series of MariaDB in which the age decides nothing with 0 there."""
    series = {first[:2]: first for first, _ in (*HEEDING, *BLIND) if first < (11,)}
    return ", ".join(named(first) for _, first in sorted(series.items()))


def _share(law: FlushLaw) -> str:
    """Return the most that p counts for."""
    return f"{law.need_cap:g} × M" if law.need_cap >= 1.0 else f"M / {1 / law.need_cap:g}"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


INTRODUCTION = f"""\
# Servers

What can be said of every server is in the [README](../README.md); here is what depends on which one it is.
Families are told apart by what a server has and can do, and by its release where nothing else tells.
{_sentence(SUPPORTED)}
The line `supported` of `innobrim check` says what a server was taken for.
"""

LEVELS = """\
How each is known:

- **measured**: the loop was run on it, under load; the page has the figures.
- **recorded**: its answers under load are kept as a fixture. Its limits are those that we compute, to the
  byte, and the flush percentage that it exports is the one that our law gives, where the law goes by it.
- **source**: read in its source or manual, and never seen by us; a fixture is written from these documents.

Whatever is known of it, a server's own limits are compared with ours at the start, or when the counters
that show them are turned on, and the [model gate](decisions/model-gate.md) lets nothing be
written before its own percentages were met. You have one that is only known from its source?
`innobrim record --fixture` [makes a recording](record-and-report.md#a-fixture).
"""

DIFFERENT = f"""
The third column is the M at which the age rests there, over the pages a second that the load makes dirty.
C and M are `innodb_io_capacity` and `innodb_io_capacity_max`, A is the age that the law divides by, F the
mean rate of the flushing so far, p the pages that the mean redo rate needs. No law flushes more than M.
Sources are named in [policies/flushlaw.py](../policies/flushlaw.py). The law in force is looked up at every
reading, since `{FACTOR}` and `{LWM}` can be set at any time; after a change it is verified anew.

## What is different

- **MariaDB with `{LWM}` = 0**, its default (`{SOFT_LIMIT.name}`). The page cleaner falls asleep below the
  low-water mark and sleeps until the age is 7/8 of `Innodb_checkpoint_max_age`. M does not move the age,
  only how evenly the pages go: it is kept above the demand, and a drain is refused.
  {SOFT_LIMIT.remedy.replace(REMEDY, f"`{REMEDY}`")}. More [here](decisions/mariadb-laws.md).
- **MariaDB before MDEV-26827**, with the same default: before {_firsts()} (`{MARIADB_WAKES.name}`). It falls
  asleep there too, but awake it goes by the age, so that M moves it: the loop holds a set-point while it is
  awake, and writes nothing while it sleeps. More [here](decisions/mariadb-laws.md). 10.5.7 and 10.5.8 never
  sleep (`{MARIADB.name}`); 10.5.9 does, and awake it heeds no age (`{SOFT_LIMIT.name}`).
- **MariaDB with MDEV-31939**: {_builds()} (`{AGE_BLIND.name}`). They flush whatever the age,
  and the percentage that they export decides nothing; {_mended()} and later have it mended. So active mode
  needs `loop.accept_unverified = true` there. Every other server exports what the model gate needs, or has
  no percentage that decides (`{SOFT_LIMIT.name}`).
- **MariaDB with `{LWM}` above 0**, in builds without that bug: the age counts only while at least so much
  of the buffer pool is dirty. Below, the server flushes for all of C and exports a percentage that it does
  not use: the model gate takes that for a mismatch, and active mode holds. With 0.001 that does not happen.
  The age counts only from `innodb_adaptive_flushing_lwm` on, too. Below, the server writes out whatever is
  dirty, up to C pages a second, and leaves its counters as they were. So under a light load, one that makes
  fewer than C pages dirty a second, there is next to no age, and a page is written again after each change:
  leave the variable at 0 there. The loop can only lower C and M, as far as `min_io_capacity_max` allows.
  M decides the age below the flush limit; beyond it does so late, and little lies between there and where
  writers wait. So the loop keeps away from it as from a sync point ([why](decisions/mariadb-laws.md)).
- **Writers that wait.** In MySQL 8.0 and later sync flushing goes on beside the writers, who wait from the
  stall point on. In MySQL 5.6 and 5.7 they wait from the sync point on, and in MariaDB the two are one:
  there the set-point keeps more distance.
- **Setting one knob beyond the other.** MySQL and Percona Server cut what was asked for: C to M, or M to C.
  MariaDB moves the other one: a C above M makes M twice C, an M below C lowers C to it. The loop sets them
  in the order in which neither happens, and reads both back.
- **Values above 2³² − 1** are possible before MySQL {named(RAISED)}, and in MariaDB in all of
  10.5 and 10.6, and before {", ".join(named((*one, patch)) for one, patch in NARROWER.items())}.
- **MySQL 26.7** came after 9.7: from there on the numbers are year and month. Its manual names no
  system or status variable that is read or set here as changed or removed; its source was not read. It is
  taken for what it has, as any later release is.
- **MySQL 5.6 and 5.7** go by the `innodb_thread_concurrency` that mysqld started with. Where another one was
  set since, the limits that they export are not those of the one in force: `check` says so, with both
  numbers (`blocked`), and nothing is written until they agree.
- **MySQL 8.0 before 8.0.30** works `log_concurrency_margin` out before its counters go on: it is 0, and not
  compared, until the server makes it larger, which is seen where the counters were on by then.
- **MySQL 8.0.16**, and what is like it among the early 8.0, exports limits that are not rounded to log
  blocks, and flushes by them without taking the margin off. It is read and not controlled: `check` says that
  this build is not understood (`blocked`).
- **Percona Server** flushes by `{FACTOR}`: `high_checkpoint`, its default, or `legacy`, which is MySQL's
  law.
- **Managed servers.** Amazon RDS, Google Cloud SQL, Azure Database for MySQL and MySQL HeatWave take no
  `SET GLOBAL` of the two: `check`, `advise`, `record` and the advisory loop work, and print what is to be
  set as `aws rds modify-db-parameter-group`, `gcloud sql instances patch`,
  `az mysql flexible-server parameter set-batch` or `oci mysql configuration create`, the counters too. What
  can be set there is one pair for all hours: ask for it at a busy one. The grants are the administrator's
  account's to give: those of the reading account in the [README](../README.md#beside-a-server-of-your-own).
  `innobrim setup-sql` knows Cloud SQL, Azure and HeatWave by their version, such as `8.0.37-azure` or
  `8.0.36-u2-cloud`, and prints those; RDS it does not, and its script ends at the definer's privilege to
  write, which nobody there can give. Aurora flushes no pages from the instance: it is refused. Other
  providers are not told from servers of your own: where nobody may be given the privilege, `check` names it
  as missing, and advisory mode works.
- **Counters off.** What is left is in [degraded.md](degraded.md). Where only `SHOW ENGINE INNODB STATUS`
  shows an age, it is asked every {SECONDS:g} s, since it holds up statements.
- **Surroundings.** Before MySQL 8.0, and on MariaDB, a replica is seen and its lag is not; locks and clones
  are not seen either. MariaDB counts the latency of statements only with `performance_schema = ON`, and its
  default is OFF: a `restore` goes by time alone then.
"""
