"""Reads the table of a hosted server, which stands in the configuration file alone."""

from __future__ import annotations

import re

from tuner.config.keys import BRACKETS, HOSTED, HOSTED_KEYS, toml
from tuner.config.schema import HostedTable
from tuner.config.tables import values_of

RDS = r"arn:aws[a-z-]*:rds:(?P<region>[a-z0-9-]+):\d{12}:db:(?P<name>[A-Za-z][A-Za-z0-9-]*)"
"""The ARN of an instance of Amazon RDS."""

AZURE = (
    r"/subscriptions/(?P<subscription>[^/]+)/resourceGroups/(?P<group>[^/]+)"
    r"/providers/Microsoft\.DBforMySQL/flexibleServers/(?P<name>[^/]+)"
)
"""The resource ID of a flexible server of Azure, whose letters may be large or small."""


CLOUD_SQL = (
    r"(?P<project>([a-z0-9.-]+:)?[a-z][a-z0-9-]*):(?P<region>[a-z]+-[a-z]+\d+):(?P<name>[a-z][a-z0-9-]*)"
)
"""The connection name of an instance of Google Cloud SQL; an older project's has a domain before it."""


def read_hosted(place: str, table: object) -> tuple[HostedTable | None, list[str]]:
    """Return the table, None where it cannot be used, and a line for everything that is wrong.

    Args:
        place: file and table, for the messages.
        table: what the file says.
    """
    if not isinstance(table, dict):
        return None, [f"{place} must be a table: write {BRACKETS[HOSTED]}"]
    values, problems = values_of(place, table, HOSTED_KEYS, "a hosted server")
    instance, group = values.get("instance", ""), values.get("parameter_group") or ""
    here, rds = f"{place}.parameter_group", re.fullmatch(RDS, instance) is not None
    others = re.fullmatch(AZURE, instance, re.IGNORECASE) or re.fullmatch(CLOUD_SQL, instance)
    if instance and not rds and not others:
        problems.append(
            f"{place}.instance = {toml(instance)}: must be the ARN of an Amazon RDS instance, such as "
            f"{(HOSTED_KEYS['instance'].bounds.examples or [''])[0]}, the resource ID of a flexible server, "
            "or the connection name of a Cloud SQL instance, such as project:europe-west1:db1"
        )
    elif rds and "parameter_group" not in table:
        problems.append(f"{here} is missing; it must be the name of the instance's DB parameter group")
    elif instance and not rds and group:
        problems.append(f"{here} = {toml(group)}: only Amazon RDS has such groups; leave it out")
    elif group.startswith("default."):
        problems.append(
            f"{here} = {toml(group)}: Amazon RDS lets nobody change a default group; make one of your own, "
            "and give it to the instance"
        )
    return (None if problems else HostedTable(**values)), problems
