"""How the owner of a managed server does what a statement does, which no account may run there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from tuner.findings.finding import Finding

_SET = re.compile(r"SET GLOBAL (\w+) = '?([\w,.]+)'?$")

Assignment = tuple[str, str]


def _rds(assignments: Sequence[Assignment]) -> tuple[str, str]:
    quoted = ((name, f"'{value}'" if "," in value else value) for name, value in assignments)
    parameters = " ".join(
        f'"ParameterName={name},ParameterValue={value},ApplyMethod=immediate"' for name, value in quoted
    )
    how = (
        "in the instance's own parameter group, as a default one cannot be changed; in force within minutes, "
        "or after a reboot where RDS calls a parameter static, which takes ApplyMethod=pending-reboot"
    )
    return (
        how,
        f"aws rds modify-db-parameter-group --db-parameter-group-name GROUP --parameters {parameters}",
    )


def _cloud_sql(assignments: Sequence[Assignment]) -> tuple[str, str]:
    lists = any("," in value for _, value in assignments)
    flags = (":" if lists else ",").join(f"{name}={value}" for name, value in assignments)
    flags = f"^:^{flags}" if lists else flags
    how = (
        "as database flags: the command takes the place of all flags, so name those that are to stay too; "
        "one that Cloud SQL does not offer is refused, and some restart the instance"
    )
    return how, f"gcloud sql instances patch INSTANCE --database-flags={flags}"


def _azure(assignments: Sequence[Assignment]) -> tuple[str, str]:
    values = " ".join(f'{name}="{value}"' for name, value in assignments)
    how = "as server parameters; one that Azure does not offer is refused, a static one takes a restart"
    return how, (
        "az mysql flexible-server parameter set-batch --resource-group GROUP --server-name SERVER "
        f"--source user-override --args {values}"
    )


def _heatwave(assignments: Sequence[Assignment]) -> tuple[str, str]:
    variables = {
        re.sub("_([a-z])", lambda letter: letter[1].upper(), name): int(value) if value.isdigit() else value
        for name, value in assignments
    }
    how = (
        "in a configuration of your own, which the DB system is then given; a variable that HeatWave does "
        "not offer is refused, and nobody can set it"
    )
    return how, (
        "oci mysql configuration create --compartment-id COMPARTMENT --shape-name SHAPE "
        f"--parent-configuration-id CONFIGURATION --variables '{json.dumps(variables)}'"
    )


_WAYS: Mapping[str, Callable[[Sequence[Assignment]], tuple[str, str]]] = {
    "Amazon RDS": _rds,
    "Google Cloud SQL": _cloud_sql,
    "Azure Database for MySQL": _azure,
    "MySQL HeatWave": _heatwave,
}
"""By what ``Facts.managed`` says."""


def in_its_way(finding: Finding, provider: str) -> Finding:
    """Return a finding whose statements a managed server's owner can carry out; unchanged elsewhere.

    Args:
        finding: with SQL to paste.
        provider: as ``Facts.managed``; empty for a server that takes SET GLOBAL.
    """
    way = way_of(finding.sql, provider)
    return finding if way is None else replace(finding, fix=way[0], sql=way[1])


def way_of(sql: Sequence[str], provider: str) -> tuple[str, tuple[str, ...]] | None:
    """Return how a managed server's owner does what the statements do, in words and as a command.

    Args:
        sql: statements; one that sets a variable again adds to its list.
        provider: as ``Facts.managed``.

    Returns:
        None where nothing is to be set, or SET GLOBAL works; no command where its owner cannot either.
    """
    if provider not in _WAYS:
        return None
    if kept := [one for one in sql if one.startswith("ALTER INSTANCE ")]:
        return f"{provider} lets no account run {'; '.join(kept)}: ask its support", ()
    found = [match for match in map(_SET.match, sql) if match is not None]
    if not found:
        return None
    values: dict[str, list[str]] = {}
    for match in found:
        values.setdefault(match[1], []).append(match[2])
    how, command = _WAYS[provider]([(name, ",".join(several)) for name, several in values.items()])
    return f"{provider} takes no SET GLOBAL: {how}", (command,)
