"""Reads the table of a hosted server, which stands in the configuration file alone."""

from __future__ import annotations

import re

from tuner.config.keys import BRACKETS, HOSTED, HOSTED_KEYS, toml
from tuner.config.schedule import values_of
from tuner.config.schema import HostedTable

RDS = re.compile(r"arn:aws[a-z-]*:rds:(?P<region>[a-z0-9-]+):\d{12}:db:(?P<name>[A-Za-z][A-Za-z0-9-]*)")
"""The ARN of an instance of Amazon RDS."""


def read_hosted(place: str, table: object) -> tuple[HostedTable | None, list[str]]:
    """Return the table, None where it cannot be used, and a line for everything that is wrong.

    Args:
        place: file and table, for the messages.
        table: what the file says.
    """
    if not isinstance(table, dict):
        return None, [f"{place} must be a table: write {BRACKETS[HOSTED]}"]
    values, problems = values_of(place, table, HOSTED_KEYS, "a hosted server")
    instance, group = values.get("instance"), values.get("parameter_group")
    if instance is not None and not RDS.fullmatch(instance):
        problems.append(
            f"{place}.instance = {toml(instance)}: must be the ARN of an Amazon RDS instance, such as "
            f"{(HOSTED_KEYS['instance'].bounds.examples or [''])[0]}"
        )
    elif instance is not None and "parameter_group" not in table:
        problems.append(
            f"{place}.parameter_group is missing; it must be the name of the instance's DB parameter group"
        )
    elif isinstance(group, str) and group.startswith("default."):
        problems.append(
            f"{place}.parameter_group = {toml(group)}: Amazon RDS lets nobody change a default group; make "
            "one of your own, and give it to the instance"
        )
    return (None if problems else HostedTable(**values)), problems
