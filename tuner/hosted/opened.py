"""Which provider's store the configuration names, and whether it may be used as it is."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.config.schema import HostedTable
from tuner.core.writes.plan import CAPACITY, CAPACITY_MAX
from tuner.findings.finding import Finding
from tuner.findings.providers import left_to
from tuner.hosted.azure import ServerParameters
from tuner.hosted.cloudsql import DatabaseFlags
from tuner.hosted.port import NAMES, HostedError, Look, Parameter, Store
from tuner.hosted.rds import ParameterGroup
from tuner.records import Capacity, Facts


def opened(table: HostedTable) -> Store:
    """Return the store that a table names; raises ``HostedError`` where its extra is not installed."""
    if table.instance.startswith("arn:"):
        return ParameterGroup(table)
    if table.instance.startswith("/"):
        return ServerParameters(table.instance)
    return DatabaseFlags(table.instance)


def barred(store: Store, seen: Look, facts: Facts, host: str) -> str:
    """Return why nothing may be written there for this server; empty where it may.

    Args:
        store: that the configuration names.
        seen: of it, now.
        facts: of the server that answers.
        host: by which it was reached; empty for a socket.
    """
    if not facts.managed.startswith(store.service):
        return f"{facts.endpoint} does not look like {store.service}, but like {facts.managed or 'your own'}"
    if why := left_to(facts.managed) or seen.barred:
        return f"{seen.place}: {why}"
    if host.rstrip(".").lower() not in {one.rstrip(".").lower() for one in seen.addresses}:
        return (
            f"the server was reached by {host or 'a socket'}, and the instance's address is "
            f"{' or '.join(seen.addresses)}: connect to that, so that it is known to be the same server"
        )
    missing = Parameter(barred="it is not there")
    every = ((name, seen.parameters.get(name, missing).barred) for name in NAMES)
    return "; ".join(f"{name} in {seen.place}: {why}" for name, why in every if why)


def not_in_force(values: Mapping[str, str | None], in_force: Capacity) -> str:
    """Return which number of the provider's is not what the server has; empty where there is none."""
    now = {CAPACITY: in_force.io_capacity, CAPACITY_MAX: in_force.io_capacity_max}
    return "; ".join(
        f"{name} is {values[name]} at the provider and {now[name]} in the server"
        for name in NAMES
        if (values[name] or "").isdigit() and int(values[name] or 0) != now[name]
    )


def values_of(seen: Look) -> dict[str, str | None]:
    """Return what the provider keeps of each variable; None for its own default."""
    return {name: seen.parameters[name].value for name in NAMES}


def line(table: HostedTable, facts: Facts, host: str) -> Finding:
    """Return the line of ``innobrim check`` about the table; nothing is written."""
    try:
        store = opened(table)
        seen = store.look()
    except HostedError as error:
        fix = "docs/hosted.md says which credentials are taken, and which rights they need"
        return Finding("hosted", "problem", str(error), fix=fix)
    if why := barred(store, seen, facts, host):
        return Finding("hosted", "problem", why)
    said = ", ".join(f"{name} {seen.parameters[name]}" for name in NAMES)
    others = f"; also in force on {', '.join(seen.beside)}" if seen.beside else ""
    return Finding("hosted", "ok", f"innobrim hosted apply can change {seen.place}: {said}{others}")
