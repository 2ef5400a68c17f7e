"""Amazon RDS: the variables are in a DB parameter group, which an instance has and several may share.

By the Amazon RDS User Guide, "Working with parameter groups", and the RDS API reference: DescribeDBInstances,
DescribeDBParameters, ModifyDBParameterGroup, ResetDBParameterGroup. A change of a dynamic parameter with
ApplyMethod=immediate is in force without a reboot, on each instance that has the group.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tuner.config.hosted import RDS
from tuner.config.schema import HostedTable
from tuner.hosted.port import (
    ANSWER_SECONDS,
    CONNECT_SECONDS,
    NAMES,
    TRIES,
    HostedError,
    Look,
    Parameter,
    bounds_of,
)

EXTRA = "pip install '.[rds]' in a checkout"
ENGINES = frozenset({"mysql", "mariadb"})
PENDING = "it is pending-reboot: reboot the instance first, or the group's values may not be those in force"


def client(region: str) -> Any:  # noqa: ANN401 - boto3 has no types
    """Return the SDK's client for a region; credentials come from its own chain alone.

    Raises:
        HostedError: the extra is not installed.
    """
    try:
        import boto3  # noqa: PLC0415 - an extra
        from botocore.config import Config  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise HostedError(f"Amazon RDS is reached by boto3, which is not installed: {EXTRA}") from error
    limits = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=ANSWER_SECONDS,
        retries={"mode": "standard", "total_max_attempts": TRIES},
    )
    with _told("its client"):
        return boto3.Session().client("rds", region_name=region, config=limits)


class ParameterGroup:
    """The DB parameter group of one instance."""

    service = "Amazon RDS"

    def __init__(self, table: HostedTable) -> None:
        """Take the instance and its group; raises ``HostedError`` where the SDK is not there."""
        named = re.fullmatch(RDS, table.instance)
        if named is None or table.parameter_group is None:
            raise HostedError(f"{table.instance} with {table.parameter_group} is no instance of Amazon RDS")
        self._arn, self._group, self._shared = table.instance, table.parameter_group, table.shared_group
        self.key = f"{self._arn} {self._group}"
        self.place = f"the parameter group {self._group} of {named['name']}"
        self._client = client(named["region"])

    def look(self) -> Look:
        """Ask for all instances of the region, as any may share the group, and for both parameters."""
        with _told("DescribeDBInstances"):
            pages = self._client.get_paginator("describe_db_instances").paginate()
            return self._look([one for page in pages for one in page["DBInstances"]])

    def _look(self, instances: list[dict[str, Any]]) -> Look:
        mine = next((one for one in instances if one["DBInstanceArn"] == self._arn), None)
        if mine is None:
            return Look(self.place, barred=f"there is no instance {self._arn} in this account and region")
        beside = tuple(
            one["DBInstanceIdentifier"] for one in instances if one is not mine and self._status(one)
        )
        if barred := self._barred(mine, beside):
            return Look(self.place, barred=barred, beside=beside)
        with _told("DescribeDBParameters"):
            pages = self._client.get_paginator("describe_db_parameters").paginate(
                DBParameterGroupName=self._group,
                Filters=[{"Name": "parameter-name", "Values": list(NAMES)}],
            )
            shown = {one["ParameterName"]: one for page in pages for one in page["Parameters"]}
        return Look(
            self.place,
            addresses=(mine["Endpoint"]["Address"],),
            parameters={name: _parameter(shown[name]) for name in NAMES if name in shown},
            pending=PENDING if self._status(mine) == "pending-reboot" else "",
            beside=beside,
        )

    def write(self, name: str, value: str | None) -> None:
        """Modify the parameter, or reset it to the engine's default, at once."""
        parameter = {"ParameterName": name, "ApplyMethod": "immediate"}
        if value is None:
            with _told("ResetDBParameterGroup"):
                self._client.reset_db_parameter_group(
                    DBParameterGroupName=self._group, ResetAllParameters=False, Parameters=[parameter]
                )
        else:
            with _told("ModifyDBParameterGroup"):
                self._client.modify_db_parameter_group(
                    DBParameterGroupName=self._group, Parameters=[{**parameter, "ParameterValue": value}]
                )

    def settled(self) -> bool:
        """Tell whether RDS is done; what else waits for a reboot is no concern of a dynamic parameter's."""
        with _told("DescribeDBInstances"):
            (mine,) = self._client.describe_db_instances(DBInstanceIdentifier=self._arn)["DBInstances"]
            status = self._status(mine)
        if status in {"applying", "in-sync", "pending-reboot"}:
            return status != "applying"
        raise HostedError(f"Amazon RDS says {status or 'nothing'} of {self.place}")

    def _status(self, instance: dict[str, Any]) -> str:
        """Return whether an instance has what the group says; empty where it does not have the group."""
        groups = {one["DBParameterGroupName"]: one for one in instance["DBParameterGroups"]}
        return str(groups[self._group]["ParameterApplyStatus"]) if self._group in groups else ""

    def _barred(self, mine: dict[str, Any], beside: tuple[str, ...]) -> str:
        """Return why nothing may be changed; empty where it may."""
        if mine["Engine"] not in ENGINES:
            return f"its engine is {mine['Engine']}, not one of {', '.join(sorted(ENGINES))}"
        if cluster := mine.get("DBClusterIdentifier"):
            return f"it belongs to the cluster {cluster}, whose own parameter group counts"
        status = self._status(mine)
        if not status:
            theirs = ", ".join(one["DBParameterGroupName"] for one in mine["DBParameterGroups"])
            return f"the instance has another group, {theirs}: name that one, if it is yours alone"
        if beside and not self._shared:
            return (
                f"{', '.join(beside)} would get the same values: give each instance a group of its own, or "
                "set shared_group = true where that is meant"
            )
        if mine["DBInstanceStatus"] != "available" or "Endpoint" not in mine:
            return f"the instance is {mine['DBInstanceStatus']}: wait until it is available"
        return "" if status in {"in-sync", "pending-reboot"} else f"it is {status}: wait until it is in-sync"


def _parameter(shown: dict[str, Any]) -> Parameter:
    barred = ""
    if not shown.get("IsModifiable"):
        barred = "Amazon RDS lets nobody change it"
    elif shown.get("ApplyType") != "dynamic":
        barred = f"it is {shown.get('ApplyType')}, and takes a reboot"
    value = shown.get("ParameterValue") if shown.get("Source") == "user" else None
    return Parameter(value, *bounds_of(shown.get("AllowedValues")), barred)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Say what was asked where the SDK fails; only called once it is installed."""
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise HostedError(f"Amazon RDS, {what}: {error}") from error
    except (KeyError, ValueError, TypeError) as error:
        raise HostedError(f"Amazon RDS, {what}: an answer that is not understood: {error!r}") from error
