"""How each kind of server that the lab starts is started, with which settings and accounts."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

MEBIBYTE = 1024 * 1024


class LabServerError(Exception):
    """A server that could not be had, or not be used so; the message says what was tried and what it said."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Servers that are started, filled and ended alike, and how.

    Attributes:
        name: how it is called.
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

    name: str
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

MYSQL = Kind(
    "mysql",
    redo_files=0,
    switches=("--mysqlx=OFF", "--skip-log-bin"),
    privileges="PROCESS, SYSTEM_VARIABLES_ADMIN",
    first_start='$GUARD "$MYSQLD" "$@" --initialize-insecure --init-file="$ACCOUNTS"',
    tls=True,
    log_table=True,
    no_files=("--secure-file-priv=NULL",),
)
"""MySQL and Percona Server from 8.0.30 on."""

MYSQL_80 = Kind(
    "mysql-8.0",
    switches=("--mysqlx=OFF", "--skip-log-bin", "--skip-name-resolve"),
    accounts_at_start=True,
    tls=True,
    no_files=("--secure-file-priv=NULL",),
)
"""MySQL and Percona Server 8.0 before 8.0.30."""

MYSQL_57 = replace(MYSQL_80, name="mysql-5.7", switches=("--skip-log-bin", "--skip-name-resolve"), tls=False)
"""Some builds of MySQL 5.7 have no TLS; their passwords need none."""

MYSQL_56 = Kind("mysql-5.6", first_start=_BOOTSTRAP_56, create_user=False, shutdown_statement=False)
MARIADB = Kind("mariadb", program="mariadbd", redo_files=1, first_start=_INSTALL_MARIADB)
"""MariaDB from 10.5 on."""

KINDS = (MYSQL, MYSQL_80, MYSQL_57, MYSQL_56, MARIADB)


def redo_arguments(kind: Kind, capacity: int) -> list[str]:
    """Return the arguments for a redo log of so many bytes; several files get whole MiB each."""
    files = kind.redo_files
    if files == 0:
        return [f"--innodb-redo-log-capacity={capacity}"]
    if files == 1:
        return [f"--innodb-log-file-size={capacity}"]
    size = capacity // files // MEBIBYTE * MEBIBYTE
    return [f"--innodb-log-file-size={size}", f"--innodb-log-files-in-group={files}"]


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

    def arguments(self, kind: Kind = MYSQL) -> list[str]:
        """Return the mysqld arguments, without paths and addresses."""
        arguments = [
            *kind.switches,
            "--innodb-flush-method=O_DIRECT",
            *redo_arguments(kind, self.redo_capacity),
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


def account_statements(admin: Account, daemon: Account, kind: Kind = MYSQL) -> str:
    """Return the statements, one a line, that create both accounts and the load's schema.

    They can be run again. A server that makes its data directory reads no grants before it is told to.
    """
    lines = ["FLUSH PRIVILEGES;"] if kind in (MYSQL_56, MARIADB) else []
    lines.append(f"CREATE DATABASE IF NOT EXISTS {SCHEMA};")
    if not kind.create_user:
        lines += ["DELETE FROM mysql.user WHERE user = '';", "FLUSH PRIVILEGES;"]  # they hide ours
    for account, privileges, option in (
        (admin, "ALL", " WITH GRANT OPTION"),
        (daemon, kind.privileges, ""),
    ):
        for host in ("%", "localhost"):
            login, secret = f"'{account.user}'@'{host}'", f" IDENTIFIED BY '{account.password}'"
            if kind.create_user:
                lines.append(f"CREATE USER IF NOT EXISTS {login}{secret};")
                secret = ""
            lines.append(f"GRANT {privileges} ON *.* TO {login}{secret}{option};")
            if account is daemon:
                lines.append(f"GRANT SELECT ON performance_schema.* TO {login};")
    return "\n".join(lines) + "\n"
