"""What a statement that no account may run on a managed server becomes for its owner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tuner.findings.finding import Finding
from tuner.records import Facts
from tuner.servers.providers import KNOBS, PROVIDERS, Provider

_SET = re.compile(r"SET GLOBAL (\w+) = '?([\w,.]+)'?$")


def in_its_way(found: Iterable[Finding], facts: Facts) -> list[Finding]:
    """Return findings whose statements a managed server's owner can carry out; unchanged elsewhere.

    Where the service itself moves C and M, none that would set them is left: two loops would fight.

    Args:
        found: with SQL to paste.
        facts: of the server.
    """
    left = left_to(facts.managed)
    kept = [one for one in found if not (left and KNOBS & _assigned(one.sql).keys())]
    ways = ((one, way_of(one.sql, facts)) for one in kept)
    return [one if way is None else replace(one, fix=way[0], sql=way[1]) for one, way in ways]


def left_to(managed: str) -> str:
    """Return in words what of the provider's moves C and M; empty where nothing is known to.

    Args:
        managed: as ``Facts.managed``.
    """
    provider = PROVIDERS.get(managed)
    if provider is None or not provider.moves:
        return ""
    return f"{provider.moves} move innodb_io_capacity and innodb_io_capacity_max: leave both to them"


def kept_by(managed: str) -> str:
    """Return in words what keeps a gain where no loop may write; empty for a server of one's own.

    Args:
        managed: as ``Facts.managed``.
    """
    provider = PROVIDERS.get(managed)
    if provider is None:
        return ""
    no_loop = f"{provider.name} lets no loop write"
    if left := left_to(managed):
        return f"{no_loop}: {left}"
    if provider.lacks >= KNOBS:
        return f"{no_loop}, and its owner can set neither innodb_io_capacity nor innodb_io_capacity_max"
    return f"{no_loop}: the one pair below keeps the gain while the load stays"


def moved_by_provider(facts: Facts) -> list[Finding]:
    """Return the finding for a server whose provider moves C and M; empty where nothing is known to."""
    provider = PROVIDERS.get(facts.managed)
    if provider is None or not provider.moves:
        return []
    return [
        Finding(
            id="provider-moves-them",
            severity="info",
            title=left_to(facts.managed),
            reason="they follow the load, and anything else that is set works against them",
            fix=f"to set both yourself, turn that off first: {provider.moves_off}",
        )
    ]


def way_of(sql: Sequence[str], facts: Facts) -> tuple[str, tuple[str, ...]] | None:
    """Return how a managed server's owner does what the statements do, in words and as a command.

    Args:
        sql: statements; one that sets a variable again adds to its list.
        facts: of the server.

    Returns:
        None where nothing is to be set, or SET GLOBAL works; no command where its owner cannot either, where
        that is not known, or where it takes a console.
    """
    provider = PROVIDERS.get(facts.managed)
    if provider is None:
        return None
    if kept := [one for one in sql if one.startswith("ALTER INSTANCE ")]:
        return f"{provider.name} lets no account run {'; '.join(kept)}: ask its support", ()
    values = _assigned(sql)
    if not values:
        return None
    if provider.moves and KNOBS & values.keys():
        return left_to(facts.managed), ()
    if why := _not_offered(provider, values):
        return why, ()
    command = () if provider.command is None else (provider.command(list(values.items())),)
    return f"{provider.name} takes no SET GLOBAL: {provider.place}", command


def _not_offered(provider: Provider, names: Iterable[str]) -> str:
    """Return in words which variables a provider does not offer, or may not; empty where it offers all."""
    if lacking := [one for one in names if one in provider.lacks]:
        return f"{provider.name} does not offer {' and '.join(lacking)} to its owners: ask its support"
    unknown = [one for one in names if provider.offers is not None and one not in provider.offers]
    if not unknown:
        return ""
    return (
        f"look whether {provider.name} offers {' and '.join(unknown)}, {provider.place}; else ask its support"
    )


def _assigned(sql: Sequence[str]) -> dict[str, str]:
    """Return what statements set, by variable; what is set twice is a list."""
    found: dict[str, list[str]] = {}
    for match in map(_SET.match, sql):
        if match is not None:
            found.setdefault(match[1], []).append(match[2])
    return {name: ",".join(several) for name, several in found.items()}
