"""The tables of docs/servers.md and docs/hosted.md: servers, from recognition, flush laws and fixtures."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from policies.registry import LAWS
from tools.markdown import Parts, table
from tuner.records import PRODUCTS
from tuner.servers.adapter import Family
from tuner.servers.families import recognise
from tuner.servers.fixture import Fixture, load
from tuner.servers.known import NOT_RUN, WORDS, known_by
from tuner.servers.port import Unsupported
from tuner.servers.providers import HOST, KNOBS, PROVIDERS, Provider
from tuner.servers.release import named, release_of

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "servers"
RESULTS = ROOT / "docs" / "results"
SIMULATED = frozenset({"plant.md", "plant-seeds.md", "predictions.md"})
"""Pages of results that are about the simulated server: a real one in them ran without the loop."""

SUMMARY = "README.md"
"""The page of results that sums up the bench's rows."""

BY_TEST = "`make prove PART=releases`"
"""What runs the loop on each release that make servers makes."""

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
    def hosted(self) -> bool:
        """Tell whether a provider runs it: one that is refused is Aurora."""
        return self.family is None or bool(self.family.managed)

    @property
    def place(self) -> tuple[int, tuple[int, int, int], str]:
        """Return what it is sorted by: family and release."""
        families = list(PRODUCTS)
        at = families.index(self.family.name) if self.family is not None else len(families)
        return at, release_of(self.fixture.version), self.name


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
        level = how(one, results)
        if one.family is None:
            rows[one.name] = (one.name, level, f"refused: {one.refusal}")
            continue
        same = (other.family for other in known if other.name == one.name)
        release = release_of(one.fixture.version)
        laws = dict.fromkeys(
            f"*`{other.flush_law}`*"
            if (other.name, release, other.flush_law) in NOT_RUN
            else f"`{other.flush_law}`"
            for other in same
            if other is not None
        )
        rows.setdefault(one.name, (one.name, level, ", ".join(laws)))
    return table(("server", "how it is known", "flush law"), rows.values())


def how(one: Known, results: Mapping[str, str]) -> str:
    """Return how a server is known, with what it was measured by.

    Args:
        one: the server.
        results: what each page of measurements says, by its path below docs/results.
    """
    version = one.fixture.version
    level = "source" if one.family is None else known_by(one.family.name, version, one.family.managed)
    links = [
        f"[{name.removesuffix('.md').removesuffix('/README')}](results/{name})"
        for name in pages_of(version, results)
    ]
    by = f": {', '.join(links) or BY_TEST}" if level == "measured" else ""
    return f"{WORDS[level]}{by}"


def pages_of(version: str, results: Mapping[str, str]) -> list[str]:
    """Return the pages of measurements that name a release, by their path below docs/results."""
    release = re.compile(rf"(?<![\d.]){re.escape(named(release_of(version)))}(?!\d)")
    return [name for name, text in sorted(results.items()) if release.search(text)]


def results_of_the_loop(directory: Path) -> dict[str, str]:
    """Return the pages with figures of the loop on real servers, by their path below the directory."""
    pages = [path for path in sorted(directory.glob("*.md")) if path.name not in {*SIMULATED, SUMMARY}]
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
    """Return the M that each flush law takes to hold the age, where M moves it."""
    laws = [law for law in LAWS.values() if law.m_moves_age]
    rows = [(f"`{law.name}`", f"{law.gain_over_demand(SHOWN_RATIO):.2f}") for law in laws]
    return table(("law", f"M / P at {100 * SHOWN_RATIO:.0f} % of A"), rows)


def providers() -> str:
    """Return by what each managed service is known, and how C and M are set there."""
    rows = []
    for one in PROVIDERS.values():
        told = ["its address" if name == HOST else f"`{name}`" for name in one.marks]
        offered = sorted(one.offers or ())
        also = f"; `{'`, `'.join(offered)}` {one.place}" if offered else ""
        rows.append((one.name, ", ".join(told), _set_there(one, also)))
    return table(("service", "recognised by", "the pair is set"), rows)


def _set_there(one: Provider, also: str) -> str:
    if one.moves:
        return f"by {one.moves}: leave both to them"
    if one.lacks >= KNOBS:
        return f"by the provider alone{also}"
    by = "" if one.command is None else f": `{one.command([]).partition(' --')[0]}`"
    return f"{one.place}{by}"


def _rows(*, hosted: bool) -> str:
    chosen = [one for one in known() if one.hosted is hosted]
    return servers(chosen, results_of_the_loop(RESULTS))


PARTS: Parts = {"servers": lambda: _rows(hosted=False), "privileges": privileges, "laws": laws}
HOSTED_PARTS: Parts = {"providers": providers, "hosted": lambda: _rows(hosted=True)}
