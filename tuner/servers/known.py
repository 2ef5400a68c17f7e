"""How a release is known: the loop was measured live on it, it is recorded, its source was read, or none.

``tests/servers/test_known.py`` holds this table to what ran: a release is measured where ``make prove
PART=releases`` runs the loop on it or a page of docs/results has figures of it, and recorded where a fixture
of ``tests/fixtures/servers`` was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from policies.registry import LAWS
from tuner.records import PRODUCTS, Facts
from tuner.servers.release import named, release_of

Level = Literal["measured", "recorded", "source", "newer"]

WORDS: Mapping[Level, str] = MappingProxyType(
    {
        "measured": "measured live",
        "recorded": "recorded",
        "source": "known from source",
        "newer": "newer than any source that was read",
    }
)
"""What each level is called for people; docs/servers.md says what it means."""

SEEN: Mapping[str, Mapping[tuple[int, int, int], Level]] = MappingProxyType(
    {
        "mysql": {
            (5, 6, 24): "measured",
            (5, 7, 22): "measured",
            (8, 0, 12): "measured",
            (8, 0, 15): "measured",
            (8, 0, 31): "measured",
            (9, 7, 4): "measured",
        },
        "mariadb": {
            (10, 5, 23): "measured",
            (10, 11, 18): "measured",
            (11, 4, 5): "measured",
            (11, 8, 6): "measured",
            (11, 8, 9): "measured",
        },
    }
)
"""Releases that were ever run here, by family; every other one is known from its source alone, or newer."""

NEWEST_READ: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"mysql": (9, 7), "percona": (8, 4), "mariadb": (11, 8)}
)
"""The newest series of each family whose source was read; a newer server is taken for one like it."""

NOT_RUN = frozenset({("mariadb", (10, 5, 23), "mariadb-wakes"), ("mariadb", (11, 4, 5), "soft-limit")})
"""Flush laws that a release measured live has by default, and that the loop was not run under there."""


def known_by(family: str, version: str, managed: str = "") -> Level:
    """Return how a server is known.

    Args:
        family: mysql, percona or mariadb.
        version: as the server says it.
        managed: the provider whose build it is, none of which was ever seen; else empty.
    """
    release = release_of(version)
    if family in NEWEST_READ and release[:2] > NEWEST_READ[family]:
        return "newer"
    return "source" if managed else SEEN.get(family, {}).get(release, "source")


def measured(family: str) -> list[tuple[int, int, int]]:
    """Return the releases of a family that the loop was measured live on, in order."""
    return sorted(release for release, level in SEEN.get(family, {}).items() if level == "measured")


def in_words(family: str, version: str, managed: str = "", law: str = "") -> str:
    """Return in words how a server is known; arguments as of ``known_by``.

    Of one that was not measured live, it is said which releases around it were.

    Args:
        family: mysql, percona or mariadb.
        version: as the server says it.
        managed: the provider whose build it is; else empty.
        law: flush law that is in force; empty for any.
    """
    level, release = known_by(family, version, managed), release_of(version)
    if level == "measured":
        other = ", under another flush law" if (family, release, law) in NOT_RUN else ""
        return f"this release was {WORDS[level]}{other}"
    ran, product = measured(family), PRODUCTS.get(family, family)
    around = [*[one for one in ran if one <= release][-1:], *[one for one in ran if one > release][:1]]
    nearest = listed(map(named, around)) or f"no {product}"
    taken = f", and taken for {product} {'.'.join(map(str, NEWEST_READ[family]))}" if level == "newer" else ""
    return f"this release is {WORDS[level]}{taken}; measured live: {nearest}"


def law_and_level(facts: Facts) -> str:
    """Return in words by which law a server flushes, and how it is known."""
    law = LAWS.get(facts.flush_law)
    does = f"flush law {facts.flush_law}" + ("" if law is None else f", {law.in_words}")
    return f"{does}; {in_words(facts.family, facts.version, facts.managed, facts.flush_law)}"


def all_measured() -> str:
    """Return every release that the loop was measured live on, as people write a list."""
    return ", ".join(f"{PRODUCTS[family]} {listed(map(named, measured(family)))}" for family in SEEN)


def listed(names: Iterable[str]) -> str:
    """Return names as people write a list, the last one after "and"."""
    *others, last = [*names] or [""]
    return f"{', '.join(others)} and {last}" if others else last
