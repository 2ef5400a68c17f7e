"""The tables of docs/servers.md: supported servers, from adapters, recognition, flush laws and fixtures."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from policies.flushlaw import AGE_BLIND, TERMS_WITH_NEED, FlushLaw
from policies.registry import LAWS
from policies.setpoint import SAWTOOTH_SECONDS
from tools.markdown import Parts, table
from tuner.records import PRODUCTS
from tuner.servers.adapter import Adapter, Family
from tuner.servers.families import FAMILIES, recognise
from tuner.servers.families.mariadb import MAX_AGE, RESIZED, MariaDBAdapter
from tuner.servers.fixture import Fixture, load
from tuner.servers.port import Unsupported
from tuner.servers.release import release_of

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "servers"
RESULTS = ROOT / "docs" / "results"
SIMULATED = frozenset({"plant.md", "plant-seeds.md"})
"""Pages of results that are about the simulated server: a real one in them ran without the loop."""

SHOWN_RATIO = 0.8
"""The age ratio at which laws are compared."""


class Known(NamedTuple):
    """A server that there is a fixture of.

    Attributes:
        name: as people call it.
        family: what it is recognised as; None where it is refused.
        refusal: why it is refused.
        fixture: its answers.
    """

    name: str
    family: Family | None
    refusal: str
    fixture: Fixture

    @classmethod
    def by(cls, fixture: Fixture) -> Known:
        """Return the server of a fixture."""
        variables = fixture.readings[0].variables
        try:
            family = recognise(variables)
        except Unsupported as error:
            aurora = variables.get("aurora_version")
            name = f"Aurora {aurora}" if aurora else fixture.version
            return cls(name, None, str(error).partition(": ")[2] or str(error), fixture)
        name = f"{PRODUCTS[family.name]} {'.'.join(map(str, release_of(fixture.version)))}"
        return cls(f"{name} on {family.managed}" if family.managed else name, family, "", fixture)

    @property
    def place(self) -> tuple[bool, int, tuple[int, int, int], str]:
        """Return what it is sorted by: servers of one's own first, then by family and release."""
        families = list(PRODUCTS)
        plain = self.family is not None and not self.family.managed
        at = families.index(self.family.name) if self.family is not None else len(families)
        return not plain, at, release_of(self.fixture.version), self.name


@functools.cache
def known() -> list[Known]:
    """Return the servers of all fixtures."""
    return sorted((Known.by(load(path)) for path in FIXTURES.glob("*.json")), key=lambda one: one.place)


def servers(known: list[Known], results: Mapping[str, str]) -> str:
    """Return a row for each server; several fixtures of one are one row.

    Args:
        known: the servers, sorted.
        results: what each page of measurements says, by its path below docs/results.
    """
    rows: dict[str, tuple[str, ...]] = {}
    for one in known:
        level = _level(one.fixture, results)
        if one.family is None:
            rows[one.name] = (one.name, level, f"refused: {one.refusal}", "–", "–")
            continue
        same = (other.family for other in known if other.name == one.name)
        laws = dict.fromkeys(f"`{other.flush_law}`" for other in same if other is not None)
        top = "2³² − 1" if one.family.capacity_maximum < 1 << 32 else "2⁶³ − 1"
        row = (one.name, level, ", ".join(laws), one.family.adapter.title, f"100 to {top}")
        rows.setdefault(one.name, row)
    return table(("server", "known by", "flush law", "read as", "range of C and M"), rows.values())


def _level(fixture: Fixture, results: Mapping[str, str]) -> str:
    if fixture.synthetic:
        return "source"
    release = re.escape(".".join(map(str, release_of(fixture.version))))
    named = re.compile(rf"(?<![\d.]){release}(?!\d)")
    pages = [name for name, text in sorted(results.items()) if named.search(text)]
    links = (f"[{name.removesuffix('.md').removesuffix('/README')}](results/{name})" for name in pages)
    return f"measured: {', '.join(links)}" if pages else "recorded"


def results_of_the_loop(directory: Path) -> dict[str, str]:
    """Return the pages with figures of the loop on real servers, by their path below the directory."""
    pages = [path for path in sorted(directory.glob("*.md")) if path.name not in SIMULATED]
    pages += sorted(directory.glob("*/README.md"))
    return {path.relative_to(directory).as_posix(): path.read_text(encoding="utf-8") for path in pages}


def privileges() -> str:
    """Return what it takes to write to each kind of server."""
    wanted: dict[str, dict[str, None]] = {}
    for one in known():
        if one.family is not None:
            wanted.setdefault(one.family.write_privilege, {})[one.family.adapter.title] = None
    return "\n".join(
        f"- `{name}` on what is read as {', '.join(titles)}" for name, titles in sorted(wanted.items())
    )


def laws() -> str:
    """Return what each flush law flushes, and which servers go by it."""
    rows = []
    for law in LAWS.values():
        names = dict.fromkeys(
            one.name for one in known() if one.family is not None and one.family.flush_law == law.name
        )
        gain = f"{law.gain_over_demand(SHOWN_RATIO):.2f}"
        over = gain if law.m_moves_age else "any above 1: M does not move the age"
        rows.append((f"`{law.name}`", _formula(law), over, ", ".join(names) or "none of the above"))
    head = ("law", "what it flushes, pages/s", f"M over demand at an age ratio of {SHOWN_RATIO}", "law of")
    return table(head, rows)


def _formula(law: FlushLaw) -> str:
    """Return in words and signs how many pages a law flushes."""
    cap = law.need_cap
    need = f"M / {1 / cap:g}" if 0.0 < cap < 1.0 else f"{cap:g} × M"
    if law is AGE_BLIND:
        return f"the mean of C, F and p, p at most {need}: the age decides nothing"
    if not law.m_moves_age:
        return f"asleep nothing; awake the mean of C, F and p, p at most {need}; from A on up to M"
    with_need = law.terms >= TERMS_WITH_NEED
    mean = f"the mean of PCT, F and p, p at most {need}" if with_need else "the mean of PCT and F"
    cut = ", cut to a whole number" if law.whole else ""
    return (
        f"{'asleep nothing; awake ' if law.sleeps else ''}{mean}"
        f"{'; from A on PCT alone' if law.alone else ''}. "
        f"PCT = C × ⌊⌊M / C⌋ × X^{law.exponent:g} / {law.divisor:g}⌋ %, X = 100 × age / A{cut}"
    )


def read() -> str:
    """Return a row for each thing that is read, a column for each family of servers."""
    made = {one.title: one() for one in FAMILIES}
    rows = {
        "modified age": lambda one: f"`log_lsn_current` − `{one.oldest}`",
        "without counters": _uncounted_age,
        "limits": _limits,
        "compared with": lambda one: (
            ", ".join(f"`{name}`" for name in one.limit_counters)
            or f"`{MAX_AGE}`, from `{one.redo_variable}`"
        ),
        "waits for redo space": lambda one: f"`{one.waits}`",
        "pages from the LRU tail": lambda one: f"`{one.lru}`",
        "pages wanted for age": lambda one: f"`{one.by_age}`" if one.by_age else "not exported",
        "rows changed": lambda one: (
            "`Innodb_rows_inserted`, `_updated`, `_deleted`"
            if "Innodb_rows_inserted" in one.status
            else "`Handler_write`, `_update`, `_delete`, of all engines"
        ),
        "redo log is resized by": _resized,
        "between checkpoints, redo of": lambda one: (
            f"{float(one.checkpoints.get('sawtooth_seconds', SAWTOOTH_SECONDS)):g} s"
        ),
        "writers wait": lambda one: (
            "from the sync point" if one.checkpoints.get("sync_stalls", False) else "at the stall point"
        ),
        "surroundings": lambda one: ", ".join(one.parts),
        "it is told from others by": lambda one: f"`{one.identity.replace('@@GLOBAL.', '')}`",
    }
    return table(("", *made), ((what, *map(cell, made.values())) for what, cell in rows.items()))


def _uncounted_age(adapter: Adapter) -> str:
    if adapter.ages_need_counters:
        own = " − ".join(f"`{name}`" for name in adapter.percona_ages)
        return "`SHOW ENGINE INNODB STATUS`, every 5 s" + (f"; Percona Server: {own}" if own else "")
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


def _resized(adapter: Adapter) -> str:
    if isinstance(adapter, MariaDBAdapter):
        since = ".".join(map(str, RESIZED))
        return f"`SET GLOBAL {adapter.redo_variable}`; before {since} in my.cnf, and a restart"
    variable = adapter.redo_variable
    return f"`SET GLOBAL {variable}`" if adapter.redo_dynamic else f"`{variable}` in my.cnf, and a restart"


PARTS: Parts = {
    "servers": lambda: servers(known(), results_of_the_loop(RESULTS)),
    "read": read,
    "privileges": privileges,
    "laws": laws,
}
