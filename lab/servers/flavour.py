"""The kinds of server that the lab starts, by what they say or are called, and with what each is started."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from tuner.servers.release import version_of


class LabServerError(Exception):
    """A server that could not be had, or not be used so; the message says what was tried and what it said."""


Product = Literal["MySQL", "Percona Server", "MariaDB"]

_FILE_STEP = 1024 * 1024


class Flavour(StrEnum):
    """Servers that are started, filled and ended alike."""

    MYSQL = "mysql"
    """MySQL and Percona Server from 8.0.30 on."""

    MYSQL_57 = "mysql-5.7"
    """MySQL and Percona Server from 5.7 to 8.0.29."""

    MYSQL_56 = "mysql-5.6"
    MARIADB = "mariadb"
    """MariaDB from 10.5 on."""


@dataclass(frozen=True, slots=True)
class Traits:
    """How one flavour is handled.

    Attributes:
        program: the server's name on the path of an image.
        redo_files: files of ``innodb_log_file_size`` that make up the redo log; 0 where its capacity is one
            number, ``innodb_redo_log_capacity``.
        switches: arguments that it is always started with.
        privileges: what the daemon's account needs on ``*.*``, to look and to set C and M.
        first_start: shell commands that make the data directory ``DATA``. They find ``MYSQLD``, its
            program; ``ACCOUNTS``, a file of statements; ``GUARD``, what goes before a program; and as their
            own arguments those that say where things are.
        accounts_at_start: the accounts are made by every start, as the first one cannot.
        create_user: it knows CREATE USER IF NOT EXISTS; else GRANT makes accounts.
        shutdown_statement: it knows SHUTDOWN; else SIGTERM ends it in order.
        tls: passwords need it, so it is there.
        log_table: its error log can be read from ``performance_schema.error_log``.
        no_files: keeps it from reading and writing files of this machine for its users.
    """

    program: str = "mysqld"
    redo_files: int = 2
    switches: tuple[str, ...] = ("--skip-log-bin", "--skip-name-resolve")
    privileges: str = "PROCESS, SUPER"
    first_start: str = '$GUARD "$MYSQLD" "$@" --initialize-insecure'
    accounts_at_start: bool = False
    create_user: bool = True
    shutdown_statement: bool = True
    tls: bool = False
    log_table: bool = False
    no_files: tuple[str, ...] = ()


_BOOTSTRAP_56 = """
folder=$(dirname "$(command -v "$MYSQLD")")
for share in "$folder/share" "$folder/../share" "$folder/../share/mysql" /usr/share/mysql; do
  [ ! -f "$share/mysql_system_tables.sql" ] || break
done
mkdir -p "$DATA"
{
  echo 'CREATE DATABASE mysql;'
  echo 'USE mysql;'
  cat "$share/mysql_system_tables.sql" "$share/mysql_system_tables_data.sql" "$ACCOUNTS"
} >"$ACCOUNTS.all"
$GUARD "$MYSQLD" "$@" --bootstrap <"$ACCOUNTS.all"
"""
"""What mysql_install_db does, without its Perl."""

_INSTALL_MARIADB = """
folder=$(dirname "$(command -v "$MYSQLD")")
for install in "$folder/mariadb-install-db" "$folder/../bin/mariadb-install-db" \\
  "$folder/../scripts/mariadb-install-db" mariadb-install-db; do
  [ ! -x "$install" ] || break
done
$GUARD "$install" "$@" --auth-root-authentication-method=normal --skip-test-db
$GUARD "$MYSQLD" "$@" --bootstrap <"$ACCOUNTS"
"""

TRAITS = {
    Flavour.MYSQL: Traits(
        redo_files=0,
        switches=("--mysqlx=OFF", "--skip-log-bin"),
        privileges="PROCESS, SYSTEM_VARIABLES_ADMIN",
        first_start='$GUARD "$MYSQLD" "$@" --initialize-insecure --init-file="$ACCOUNTS"',
        tls=True,
        log_table=True,
        no_files=("--secure-file-priv=NULL",),
    ),
    Flavour.MYSQL_57: Traits(
        switches=("--loose-mysqlx=OFF", "--skip-log-bin", "--skip-name-resolve"),
        accounts_at_start=True,
        tls=True,
        no_files=("--secure-file-priv=NULL",),
    ),
    Flavour.MYSQL_56: Traits(first_start=_BOOTSTRAP_56, create_user=False, shutdown_statement=False),
    Flavour.MARIADB: Traits(program="mariadbd", redo_files=1, first_start=_INSTALL_MARIADB),
}


def redo_arguments(flavour: Flavour, capacity: int) -> list[str]:
    """Return the arguments for a redo log of so many bytes; several files get whole MiB each."""
    files = TRAITS[flavour].redo_files
    if files == 0:
        return [f"--innodb-redo-log-capacity={capacity}"]
    if files == 1:
        return [f"--innodb-log-file-size={capacity}"]
    size = capacity // files // _FILE_STEP * _FILE_STEP
    return [f"--innodb-log-file-size={size}", f"--innodb-log-files-in-group={files}"]


def product(version: str, comment: str) -> Product:
    """Return whose server it is, by ``@@version`` and ``@@version_comment``."""
    if "mariadb" in version.lower() or "mariadb" in comment.lower():
        return "MariaDB"
    return "Percona Server" if "percona" in comment.lower() else "MySQL"


OLDEST: dict[Product, tuple[int, ...]] = {"MySQL": (5, 6), "Percona Server": (5, 7), "MariaDB": (10, 5)}
"""The first version of each that is supported."""

_FIRST_57 = (5, 7)
_FIRST_CAPACITY = (8, 0, 30)
_SAID = re.compile(r"Ver (\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Version:
    """A server's maker and version."""

    product: Product
    numbers: tuple[int, ...]

    def __str__(self) -> str:
        """Return both as people write them."""
        return f"{self.product} {dotted(self.numbers)}"

    @property
    def flavour(self) -> Flavour:
        """How it is started, filled and ended."""
        if self.product == "MariaDB":
            return Flavour.MARIADB
        if self.numbers < _FIRST_57:
            return Flavour.MYSQL_56
        return Flavour.MYSQL_57 if self.numbers < _FIRST_CAPACITY else Flavour.MYSQL

    @property
    def refusal(self) -> str | None:
        """Why it is not taken, None when it is."""
        oldest = OLDEST[self.product]
        if self.numbers >= oldest:
            return None
        return f"{self} is not supported: {self.product} {dotted(oldest)} is the oldest that is"


def read_version(text: str) -> Version | None:
    """Return what a line of ``mysqld --version`` or ``mariadbd --version`` says, None when it is neither."""
    found = _SAID.search(text)
    if found is None:
        return None
    return Version(product(text, text), tuple(int(one) for one in found.groups()))


def dotted(numbers: tuple[int, ...]) -> str:
    """Return a version's numbers as people write them."""
    return ".".join(map(str, numbers))


def version_said(version: object) -> str:
    """Return a server's ``@@version``, out of which pages are made.

    Raises:
        LabServerError: it is no version.
    """
    try:
        return version_of(str(version))
    except ValueError as error:
        raise LabServerError(f"the server says as its version what is none: {error}") from error


IMAGES = (
    *("innobrim/mysql:9.7", "mysql:9.7", "mysql:8.4", "mysql:8.0"),
    *("innobrim/mariadb:11.8", "mariadb:11.8", "innobrim/mariadb:10.11", "mariadb:10.11"),
)
"""Those that are taken unasked, best first; innobrim's own are made, not fetched."""

_OFFICIAL: dict[str, Product] = {
    "mysql": "MySQL",
    "mysql-server": "MySQL",
    "mariadb": "MariaDB",
    "percona": "Percona Server",
    "percona-server": "Percona Server",
}
_VARIABLES: dict[str, Product] = {
    "MYSQL_VERSION": "MySQL",
    "MARIADB_VERSION": "MariaDB",
    "PS_VERSION": "Percona Server",
}
_NUMBERS = re.compile(r"(?:\d+:)?(\d+(?:\.\d+)+)")
_AMBIGUOUS = (8, 0)
"""A tag that both sides of 8.0.30 may have."""


def image_product(tag: str) -> Product | None:
    """Return whose server an image has by its name, None where the name does not tell."""
    return _OFFICIAL.get(tag.partition("@")[0].rpartition(":")[0].rpartition("/")[2])


def image_version(tag: str, environment: list[str] | tuple[str, ...] = ()) -> Version | None:
    """Return what an image has by its environment, else by its tag; None where only running it tells."""
    for entry in environment:
        name, _, value = entry.partition("=")
        if name in _VARIABLES and (found := _leading_numbers(value)) is not None:
            return Version(_VARIABLES[name], found)
    maker, numbers = image_product(tag), _leading_numbers(tag.rpartition(":")[2])
    if maker is None or numbers is None or numbers == _AMBIGUOUS:
        return None
    return Version(maker, numbers)


def asked_version(said: str) -> Version | str:
    """Return what a server said to be there, else why it is refused."""
    version = read_version(said)
    if version is None:
        return f"its version is not understood: {said.strip()!r}"
    return version.refusal or version


def _leading_numbers(text: str) -> tuple[int, ...] | None:
    found = _NUMBERS.match(text)
    return None if found is None else tuple(int(one) for one in found[1].split("."))


MEBIBYTE = 1024 * 1024

_NAME = re.compile(r"[a-z][a-z0-9_.]*")
_SIZE = re.compile(r"(\d+)([KMGT]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 1024, "M": MEBIBYTE, "G": 1024 * MEBIBYTE, "T": MEBIBYTE * MEBIBYTE}
_OWN = {
    "innodb_redo_log_capacity": "redo_capacity",
    "innodb_buffer_pool_size": "buffer_pool",
    "innodb_io_capacity": "io_capacity",
    "innodb_io_capacity_max": "io_capacity_max",
}
"""Parameters of mysqld that a spec has as numbers, because others calculate with them."""

_TAKEN = frozenset(
    [
        *("datadir", "tmpdir", "socket", "port", "bind_address"),
        *("pid_file", "init_file", "user", "secure_file_priv"),
    ]
)
"""Parameters that the lab needs for itself."""


_FILES = frozenset(["innodb_log_file_size", "innodb_log_files_in_group"])


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How a throw-away server is started.

    Attributes:
        redo_capacity: ``innodb_redo_log_capacity``, or what the redo log's files are together, bytes.
        buffer_pool: ``innodb_buffer_pool_size``, bytes.
        io_capacity: C at start, pages/s.
        io_capacity_max: M at start, pages/s.
        monitors: turn on the InnoDB counters that the loop needs.
        extra: further mysqld arguments; they win over ours.
    """

    redo_capacity: int = 100 * MEBIBYTE
    buffer_pool: int = 2048 * MEBIBYTE
    io_capacity: int = 10_000
    io_capacity_max: int = 20_000
    monitors: bool = True
    extra: tuple[str, ...] = ()

    def arguments(self, flavour: Flavour = Flavour.MYSQL) -> list[str]:
        """Return the mysqld arguments, without paths and addresses."""
        arguments = [
            *TRAITS[flavour].switches,
            "--innodb-flush-method=O_DIRECT",
            *redo_arguments(flavour, self.redo_capacity),
            f"--innodb-buffer-pool-size={self.buffer_pool}",
            f"--innodb-io-capacity={self.io_capacity}",
            f"--innodb-io-capacity-max={self.io_capacity_max}",
        ]
        if self.monitors:
            arguments.append("--innodb-monitor-enable=module_log,module_buffer")
        return [*arguments, *self.extra]

    def with_parameters(self, parameters: Mapping[str, str]) -> ServerSpec:
        """Return this spec with mysqld's parameters by name, such as ``innodb_flush_method``; they win.

        Args:
            parameters: name, with dashes or underscores, to value; "" for one without a value.

        Raises:
            LabServerError: a name that is none, that the lab needs for itself, or a size that is none.
        """
        spec = self
        for given, value in parameters.items():
            name = given.strip().removeprefix("--").replace("-", "_").lower()
            if _NAME.fullmatch(name) is None:
                raise LabServerError(
                    f"server parameter {given!r}: no name of one; write it as innodb_flush_method=fsync"
                )
            if name in _TAKEN:
                raise LabServerError(f"server parameter {name}: the lab sets it by itself; leave it out")
            if name in _FILES:
                raise LabServerError(
                    f"server parameter {name}: the lab works it out where the server has it; give the size of"
                    " the whole redo log as innodb_redo_log_capacity"
                )
            if name in _OWN:
                spec = _with_size(spec, name, value)
            else:
                argument = "--" + name.replace("_", "-") + (f"={value}" if value else "")
                spec = replace(spec, extra=(*spec.extra, argument))
        return spec


def _with_size(spec: ServerSpec, name: str, value: str) -> ServerSpec:
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise LabServerError(f"server parameter {name}={value}: must be a whole number, such as 512M")
    size = int(found[1]) * _UNITS[found[2].upper()]
    changed: dict[str, int] = {_OWN[name]: size}
    return replace(spec, **changed)  # type: ignore[arg-type] # the four of _OWN are all numbers


SCHEMA = "innobrim_lab"


@dataclass(frozen=True, slots=True)
class Account:
    """A login; for a throw-away server the password is drawn anew every time."""

    user: str
    password: str = field(default_factory=lambda: secrets.token_hex(12), repr=False)


def account_statements(admin: Account, daemon: Account, flavour: Flavour = Flavour.MYSQL) -> str:
    """Return the statements, one a line, that create both accounts and the load's schema.

    They can be run again. A server that makes its data directory reads no grants before it is told to.
    """
    traits = TRAITS[flavour]
    lines = ["FLUSH PRIVILEGES;"] if flavour in (Flavour.MYSQL_56, Flavour.MARIADB) else []
    lines.append(f"CREATE DATABASE IF NOT EXISTS {SCHEMA};")
    if not traits.create_user:
        lines += ["DELETE FROM mysql.user WHERE user = '';", "FLUSH PRIVILEGES;"]  # they hide ours
    for account, privileges, option in (
        (admin, "ALL", " WITH GRANT OPTION"),
        (daemon, traits.privileges, ""),
    ):
        for host in ("%", "localhost"):
            login, secret = f"'{account.user}'@'{host}'", f" IDENTIFIED BY '{account.password}'"
            if traits.create_user:
                lines.append(f"CREATE USER IF NOT EXISTS {login}{secret};")
                secret = ""
            lines.append(f"GRANT {privileges} ON *.* TO {login}{secret}{option};")
            if account is daemon:
                lines.append(f"GRANT SELECT ON performance_schema.* TO {login};")
    return "\n".join(lines) + "\n"
