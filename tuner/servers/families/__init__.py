"""Which family a server belongs to, by what it has and can do; pure. Each family is a module here."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.servers.adapter import FACTOR, VARIABLES, Adapter, Build, Family
from tuner.servers.families.log_files import MySQL56Adapter, MySQL57Adapter, MySQL80Adapter
from tuner.servers.families.mariadb import MariaDBAdapter
from tuner.servers.families.redo_capacity import RedoCapacityAdapter
from tuner.servers.port import Unsupported
from tuner.servers.providers import MARKS, provider_of
from tuner.servers.release import EXAMPLES, release_of, version_of
from tuner.system.printable import printable

FAMILIES: list[type[Adapter]] = [
    MySQL56Adapter,
    MySQL57Adapter,
    MySQL80Adapter,
    RedoCapacityAdapter,
    MariaDBAdapter,
]
"""All of them; Percona Server is read as the MySQL that it is made of. A new one is its module and a line."""

SUPPORTED = (
    "supported, measured live or known from source, are MySQL 5.6 to 9.7, Percona Server 5.7 to 8.4 and "
    "MariaDB 10.5.7 to 11.8; newer ones are taken for the newest of these"
)

WITHOUT_INNODB = ("TiDB", "OceanBase", "SingleStore", "StarRocks", "Doris")
"""Other databases, by the word that each has in its version or the comment to it."""

_ASKED = (
    *VARIABLES,
    "server_uuid",
    "version",
    "version_comment",
    "hostname",
    "port",
    "datadir",
    "innodb_page_size",
    "innodb_read_only",
    "innodb_redo_log_capacity",
    FACTOR,
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_thread_concurrency",
    "aurora_version",
    "performance_schema",
    *MARKS,
)


def asked() -> tuple[str, ...]:
    """Return the variables that tell families apart, or that limits depend on."""
    theirs = (name for one in FAMILIES for name in (*one.recognised_by, *one.sized_by))
    return tuple(dict.fromkeys((*_ASKED, *theirs)))


def recognise(variables: Mapping[str, str], host: str = "") -> Family:
    """Return what a server is.

    Args:
        variables: those of ``asked`` that it has, by name.
        host: as in ``provider_of``: some managed services are told by it.

    Raises:
        KeyError: one that all servers have is missing.
        Unsupported: of no family that can be sampled; the message says why.
    """
    try:
        version = version_of(variables["version"])
    except ValueError as error:
        raise Unsupported(f"the server says as its version what is none: {error}") from error
    name = f"{printable(variables.get('version_comment', ''))} {version}".strip()
    if "aurora_version" in variables or "mysql_aurora" in version:
        aurora = f"Aurora {printable(variables.get('aurora_version', ''))}".strip()
        raise Unsupported(
            f"{name}: {aurora} flushes no pages from the instance, so io_capacity has no effect"
        )
    if stranger := next((one for one in WITHOUT_INNODB if one.lower() in name.lower()), ""):
        raise Unsupported(f"{name}: {stranger} speaks MySQL's protocol and has no InnoDB; {SUPPORTED}")
    build = Build(name.lower(), release_of(version), variables, provider_of(variables, host))
    if build.release == (0, 0, 0):
        raise Unsupported(f"{name}: no release can be read from that; a version is {EXAMPLES}")
    for one in FAMILIES:
        if (family := one.recognise(build)) is not None:
            return family
    raise Unsupported(f"{name} is too old; {SUPPORTED}")
