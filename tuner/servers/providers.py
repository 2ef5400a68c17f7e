"""Managed services: by what each is known, and what its owner may set there and how; pure.

None lets any account ``SET GLOBAL``: that takes SUPER or SYSTEM_VARIABLES_ADMIN, which the providers keep.
Below each entry stand the pages of the provider's documentation that it follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

HOST = "host"
"""The mark that is no variable: the address by which the server is reached."""

KNOBS = frozenset({"innodb_io_capacity", "innodb_io_capacity_max"})

Assignment = tuple[str, str]
"""A variable, and its value as it is written in a statement; a list has commas."""


class Provider(Struct, frozen=True):
    """One managed service.

    Attributes:
        name: as its provider calls it.
        marks: patterns, each of the whole of one variable of the server's, or of the address (``HOST``), in
            small letters; one that fits is enough. No word that a build of one's own may have is one.
        place: where its owner sets a variable, with what goes wrong there.
        command: what sets variables there; none where it takes a console.
        offers: the variables that are known to be offered there, of those that are ever advised; None where
            all are taken to be.
        lacks: those that are known not to be; whether any other is offered is not known.
        moves: what of the provider's moves C and M, a plural; empty where nothing is known to.
        moves_off: how that is turned off, and what it costs.
    """

    name: str
    marks: Mapping[str, str]
    place: str
    command: Callable[[Sequence[Assignment]], str] | None = None
    offers: frozenset[str] | None = None
    lacks: frozenset[str] = frozenset()
    moves: str = ""
    moves_off: str = ""


def _rds(assignments: Sequence[Assignment]) -> str:
    quoted = ((name, f"'{value}'" if "," in value else value) for name, value in assignments)
    parameters = " ".join(
        f'"ParameterName={name},ParameterValue={value},ApplyMethod=immediate"' for name, value in quoted
    )
    return f"aws rds modify-db-parameter-group --db-parameter-group-name GROUP --parameters {parameters}"


def _cloud_sql(assignments: Sequence[Assignment]) -> str:
    lists = any("," in value for _, value in assignments)
    flags = (":" if lists else ",").join(f"{name}={value}" for name, value in assignments)
    return f"gcloud sql instances patch INSTANCE --database-flags={'^:^' if lists else ''}{flags}"


def _azure(assignments: Sequence[Assignment]) -> str:
    values = " ".join(f'{name}="{value}"' for name, value in assignments)
    return (
        "az mysql flexible-server parameter set-batch --resource-group GROUP --server-name SERVER "
        f"--source user-override --args {values}"
    )


def _heatwave(assignments: Sequence[Assignment]) -> str:
    variables = {
        re.sub("_([a-z])", lambda letter: letter[1].upper(), name): int(value) if value.isdigit() else value
        for name, value in assignments
    }
    return (
        "oci mysql configuration create --compartment-id COMPARTMENT --shape-name SHAPE "
        f"--parent-configuration-id CONFIGURATION --variables '{json.dumps(variables)}'"
    )


def _alibaba(assignments: Sequence[Assignment]) -> str:
    return (
        f"aliyun rds ModifyParameter --DBInstanceId INSTANCE --Parameters '{json.dumps(dict(assignments))}'"
    )


def _tencent(assignments: Sequence[Assignment]) -> str:
    listed = json.dumps([{"Name": name, "CurrentValue": value} for name, value in assignments])
    return f"tccli cdb ModifyInstanceParam --InstanceIds '[\"INSTANCE\"]' --ParamList '{listed}'"


_CLOUD_SQL = Provider(
    "Google Cloud SQL",
    {"version": r"\d+\.\d+\.\d+-google(-log)?", "version_comment": r"\(google\)"},
    "as database flags: the command takes the place of all flags, so name those that are to stay too; "
    "one that Cloud SQL does not offer is refused, and some restart the instance",
    _cloud_sql,
)
# Cloud SQL for MySQL: Configure database flags; MySQL users.

_ALL = (
    Provider(
        "Amazon RDS",
        {
            "basedir": "/rdsdbbin/.*",
            "version_comment": r"managed by https://aws\.amazon\.com/rds/",
            HOST: r".+\.rds\.(cn-[a-z0-9-]+\.)?amazonaws\.com(\.cn)?",
        },
        "in the instance's own parameter group, as a default one cannot be changed; in force within minutes, "
        "or after a reboot where RDS calls a parameter static, which takes ApplyMethod=pending-reboot",
        _rds,
    ),
    # Amazon RDS User Guide: Working with parameter groups; Master user account privileges; Dynamic privileges
    # for RDS for MySQL. AWS CLI: modify-db-parameter-group.
    replace(
        _CLOUD_SQL,
        name="Google Cloud SQL with optimized writes",
        marks={"innodb_cloudsql_optimized_write": "on|1"},
        moves="Cloud SQL's optimized writes",
        moves_off="gcloud sql instances patch INSTANCE --database-flags=innodb_cloudsql_optimized_write=OFF, "
        "with all flags that are to stay; it restarts the instance",
    ),
    # Cloud SQL for MySQL: Configure database flags, tip on innodb_cloudsql_optimized_write (Enterprise Plus
    # alone, on by default). Google Cloud blog of 5 January 2026 on optimized writes: adaptive I/O limits move
    # innodb_io_capacity and innodb_io_capacity_max with the load.
    _CLOUD_SQL,
    Provider(
        "Azure Database for MySQL",
        {
            "version": r"\d+\.\d+\.\d+-azure(-log)?",
            "version_comment": "mysql azure",
            HOST: r".+\.mysql\.database\.(azure\.com|usgovcloudapi\.net|chinacloudapi\.cn)",
        },
        "as server parameters; one that Azure does not offer is refused, a static one takes a restart",
        _azure,
    ),
    # Azure Database for MySQL - Flexible Server: Server parameters; Limitations; Storage IOPS (autoscale IOPS
    # moves the limit of the storage, and no variable of the server). Azure CLI: az mysql flexible-server
    # parameter; cloud (the address's end in each cloud).
    Provider(
        "MySQL HeatWave",
        {"version": r"\d+\.\d+\.\d+(-u\d+)?-cloud", "version_comment": "mysql enterprise - cloud"},
        "in a configuration of your own, which the DB system is then given; on AWS the shape alone decides "
        "on the redo log",
        _heatwave,
        offers=frozenset({"innodb_redo_log_capacity", "binlog_group_commit_sync_delay"}),
        lacks=KNOBS | {"innodb_monitor_enable"},
    ),
    # HeatWave Service: Configuration Variables (user variables are edited, system variables are Oracle's).
    # OCI API: ConfigurationVariables. HeatWave on AWS Service Guide: User-Configurable System Variables;
    # Shape-Dependent System Variables.
    Provider(
        "ApsaraDB RDS",
        {HOST: r".+\.mysql\.(?!polardb\.)([a-z0-9-]+\.)?rds\.aliyuncs\.com"},
        "as parameters of the instance; one that it does not offer is refused, some take a restart",
        _alibaba,
    ),
    # ApsaraDB RDS for MySQL: Account permissions; Modify instance parameters; ModifyParameter.
    Provider(
        "TencentDB for MySQL",
        {HOST: r".+\.tencentcdb\.com"},
        "as parameters of the instance; one that it does not offer is refused, some take a restart",
        _tencent,
    ),
    # TencentDB for MySQL: Use limits; Setting instance parameters; ModifyInstanceParam. The word txsql in a
    # version is no mark: that build is open source, and anybody's own server.
    Provider(
        "Aiven for MySQL",
        {HOST: r".+\.aivencloud\.com"},
        "in the advanced configuration of the service",
        offers=frozenset({"innodb_flush_neighbors", "innodb_log_buffer_size"}),
        lacks=KNOBS,
    ),
    # Aiven for MySQL: Advanced parameters. Terraform: aiven_mysql.
    Provider(
        "DigitalOcean Managed MySQL",
        {HOST: r".+\.db\.ondigitalocean\.com"},
        "among the advanced configurations of the cluster, in the control panel or by the API; "
        "only the Advanced Edition offers it",
    ),
    # DigitalOcean: How to Reconfigure MySQL Database Clusters; How to Modify User Privileges in MySQL
    # Databases. Terraform: digitalocean_database_mysql_config, digitalocean_database_advanced_mysql_config.
    Provider(
        "MariaDB SkySQL",
        {HOST: r".+\.skysql\.com"},
        "by the Configuration Manager, of the service's own configuration",
        offers=frozenset({"innodb_log_file_size"}),
        lacks=KNOBS,
    ),
    # MariaDB SkySQL: Configuration Management.
)

PROVIDERS: Mapping[str, Provider] = {one.name: one for one in _ALL}
"""By what ``Facts.managed`` says. A new one is an entry above; the first that fits has a server."""

MARKS = tuple(dict.fromkeys(name for one in _ALL for name in one.marks if name != HOST))
"""The variables by which they are told."""


def provider_of(variables: Mapping[str, str], host: str = "") -> str:
    """Return the name of the managed service that a server belongs to; empty for a server of one's own.

    Args:
        variables: of the server, by name, those of the marks that it has.
        host: the address by which it is reached, with or without the dot of a full name; empty where that is
            not known, or where it is reached by a unix socket.
    """
    said = {**variables, HOST: host.removesuffix(".")}
    for one in _ALL:
        for name, pattern in one.marks.items():
            if re.fullmatch(pattern, said.get(name, "").lower()):
                return one.name
    return ""
