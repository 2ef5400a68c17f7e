"""Which family a server belongs to, by what it can do; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from tuner.printable import printable
from tuner.servers.adapter import FACTOR, VARIABLES, Adapter
from tuner.servers.families.log_files import MySQL56Adapter, MySQL57Adapter, MySQL80Adapter
from tuner.servers.families.mariadb import TELLING, MariaDBAdapter, heeds_from, law_of
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.port import Unsupported
from tuner.servers.release import named, release_of, version_of

ASKED = (
    *VARIABLES,
    "server_uuid",
    "version",
    "version_comment",
    "hostname",
    "port",
    "datadir",
    "basedir",
    "innodb_page_size",
    "innodb_read_only",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    FACTOR,
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_thread_concurrency",
    "aurora_version",
    "performance_schema",
    *TELLING,
)
"""Variables that tell families apart, or that limits depend on."""

SUPPORTED = "supported are MySQL 5.6 to 9.x and 26.7, Percona Server 5.7 to 8.4 and MariaDB from 10.5.7 on"
MARIADB_OLDEST = (10, 5, 7)
RAISED = (8, 4)
"""The release from which on C and M are at most 32 bits."""

MARIADB_NARROWER = {(10, 11): 12, (11, 4): 6, (11, 8): 2}
"""The patch releases from which on that is so in MariaDB (MDEV-36149); later series always had it.

The changelog of 10.11.12 has the change, those of 11.4.6 and 11.8.2 include it from there; no changelog of
10.5 or 10.6 names it. The series between ended before.
"""

UNVERIFIED = (
    "the server has MDEV-31939, flushes whatever the age, and exports a percentage that decides nothing; "
    "MariaDB {} has that mended"
)
"""Why nothing that such a build exports can verify the law, with the next release in which it can."""

MAXIMUM_32, MAXIMUM_64 = 2**32 - 1, 2**63 - 1


class Family(Struct, frozen=True):
    """What a server is.

    Attributes:
        name: mysql, percona or mariadb.
        flush_law: name of its adaptive flush law.
        adapter: how it is read.
        capacity_maximum: highest value that it accepts for C or M, pages/s.
        write_privilege: what an account needs to set them.
        managed: the provider whose service it is, where that takes no SET GLOBAL; else empty.
        unverified: why nothing that it exports can verify the law; empty where something can.
    """

    name: str
    flush_law: str
    adapter: Adapter
    capacity_maximum: int
    write_privilege: str = "SUPER"
    managed: str = ""
    unverified: str = ""


def recognise(variables: Mapping[str, str]) -> Family:
    """Return the family of a server.

    Args:
        variables: those of ``ASKED`` that it has, by name.

    Raises:
        KeyError: one that all servers have is missing.
        Unsupported: of no family that can be sampled; the message says why.
    """
    try:
        version = version_of(variables["version"])
    except ValueError as error:
        raise Unsupported(f"the server says as its version what is none: {error}") from error
    comment = printable(variables.get("version_comment", ""))
    name = f"{comment} {version}".strip()
    if "aurora_version" in variables:
        raise Unsupported(
            f"{name}: Aurora {printable(variables['aurora_version'])} flushes no pages "
            "from the instance, so io_capacity has no effect"
        )
    release = release_of(version)
    absent = [one for one in (*VARIABLES, *TELLING) if one not in variables]
    page_size = int(variables["innodb_page_size"])
    managed = provider(variables)
    if "mariadb" in name.lower():
        return _mariadb(name, release, MariaDBAdapter(page_size, absent, release=release), variables, managed)
    factor = variables.get(FACTOR)
    family = "mysql" if factor is None else "percona"
    maximum = MAXIMUM_32 if release >= RAISED else MAXIMUM_64
    if "innodb_redo_log_capacity" in variables:
        redo = RedoCapacityAdapter(page_size, absent, percona=factor is not None)
        return Family(family, redo.law_with(factor), redo, maximum, "SYSTEM_VARIABLES_ADMIN", managed)
    if release >= (8, 0):
        eight = MySQL80Adapter(page_size, absent, percona=factor is not None)
        return Family(family, eight.law_with(factor), eight, maximum, "SYSTEM_VARIABLES_ADMIN", managed)
    if release >= (5, 7):
        seven = MySQL57Adapter(page_size, absent, percona=factor is not None)
        return Family(family, seven.law_with(factor), seven, maximum, managed=managed)
    if release >= (5, 6) and factor is None:
        six = MySQL56Adapter(page_size, absent)
        return Family(family, six.law_with(None), six, maximum, managed=managed)
    raise Unsupported(f"{name} is too old; {SUPPORTED}")


def _mariadb(
    name: str,
    release: tuple[int, int, int],
    adapter: MariaDBAdapter,
    variables: Mapping[str, str],
    managed: str,
) -> Family:
    if release < MARIADB_OLDEST:
        raise Unsupported(f"{name} is too old; {SUPPORTED}")
    law = law_of(release, float(variables["innodb_max_dirty_pages_pct_lwm"]))
    series = release[:2]
    narrower = series > max(MARIADB_NARROWER) or release[2] >= MARIADB_NARROWER.get(series, release[2] + 1)
    return Family(
        "mariadb",
        law,
        adapter,
        MAXIMUM_32 if narrower else MAXIMUM_64,
        managed=managed,
        unverified=UNVERIFIED.format(named(heeds_from(release))) if law == "age-blind" else "",
    )


def provider(variables: Mapping[str, str]) -> str:
    """Return whose managed service this is, where that takes no SET GLOBAL of C and M; empty elsewhere."""
    if variables.get("basedir", "").startswith("/rdsdbbin/"):
        return "Amazon RDS"
    version, comment = variables["version"].lower(), variables.get("version_comment", "").lower()
    marks = set(re.split(r"[^a-z0-9]+", version))
    if "google" in f"{version} {comment}":
        return "Google Cloud SQL"
    if "azure" in marks or "azure" in comment:
        return "Azure Database for MySQL"
    if ("cloud" in marks and "mariadb" not in f"{version} {comment}") or "enterprise - cloud" in comment:
        return "MySQL HeatWave"
    return ""
