"""How a release is known: the loop was measured live on it, it is recorded, or its source alone was read.

``tests/servers/test_known.py`` holds this table to what ran: a release is measured where ``make prove
PART=releases`` runs the loop on it or a page of docs/results has figures of it, and recorded where a fixture
of ``tests/fixtures/servers`` was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from tuner.records import PRODUCTS
from tuner.servers.release import named, release_of

Level = Literal["measured", "recorded", "source"]

WORDS: Mapping[Level, str] = MappingProxyType(
    {"measured": "measured live", "recorded": "recorded", "source": "known from source"}
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
"""Releases that were ever run here, by family; every other one is known from its source alone."""


def known_by(family: str, version: str, managed: str = "") -> Level:
    """Return how a server is known.

    Args:
        family: mysql, percona or mariadb.
        version: as the server says it.
        managed: the provider whose build it is, none of which was ever seen; else empty.
    """
    return "source" if managed else SEEN.get(family, {}).get(release_of(version), "source")


def measured(family: str) -> list[tuple[int, int, int]]:
    """Return the releases of a family that the loop was measured live on, in order."""
    return sorted(release for release, level in SEEN.get(family, {}).items() if level == "measured")


def in_words(family: str, version: str, managed: str = "") -> str:
    """Return in words how a server is known; arguments as of ``known_by``.

    Of one that was not measured live, it is said which releases around it were.
    """
    level = known_by(family, version, managed)
    if level == "measured":
        return f"this release was {WORDS[level]}"
    release, ran = release_of(version), measured(family)
    around = [*[one for one in ran if one <= release][-1:], *[one for one in ran if one > release][:1]]
    nearest = listed(map(named, around)) or f"no {PRODUCTS.get(family, family)}"
    return f"this release is {WORDS[level]}; measured live: {nearest}"


def all_measured() -> str:
    """Return every release that the loop was measured live on, as people write a list."""
    return ", ".join(f"{PRODUCTS[family]} {listed(map(named, measured(family)))}" for family in SEEN)


def listed(names: Iterable[str]) -> str:
    """Return names as people write a list, the last one after "and"."""
    *others, last = [*names] or [""]
    return f"{', '.join(others)} and {last}" if others else last
