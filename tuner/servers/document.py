"""Writes the page of supported servers from adapters, recognition, flush laws and fixtures.

``python -m tuner.servers.document > docs/servers.md``, in a source tree: fixtures are not installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from policies.registry import LAWS
from tuner.records import ENABLE_COUNTERS, LOW_WATER_MARK, PRODUCTS
from tuner.servers.adapter import Family
from tuner.servers.document_read import read
from tuner.servers.document_words import DIFFERENT, INTRODUCTION, LEVELS, formula
from tuner.servers.families import FAMILIES, recognise
from tuner.servers.fixture import Fixture, load
from tuner.servers.port import Unsupported
from tuner.servers.release import release_of
from tuner.servers.writing import WRITABLE
from tuner.settings import LOW_WATER_POLICY

COMMAND = "python -m tuner.servers.document > docs/servers.md"
ROOT = Path(__file__).parents[2]
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
        f"<!-- Generated: {COMMAND} -->",
        INTRODUCTION,
        "## Which\n",
        LEVELS,
        _table(
            ("server", "known by", "flush law", "read as", "range of C and M"),
            _servers(fixtures, results),
        ),
        "\n## What is read\n",
        _table(("", *made), read(list(made.values()))),
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
            f"{counters}, and on MariaDB with the policy `{LOW_WATER_POLICY}` `{LOW_WATER_MARK}`",
            "([why](optimiser.md#the-low-water-mark)). To look, `PROCESS` is enough; to write it takes",
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
            formula(law),
            f"{law.gain_over_demand(SHOWN_RATIO):.2f}"
            if law.authority
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


if __name__ == "__main__":
    sys.stdout.write(here())
