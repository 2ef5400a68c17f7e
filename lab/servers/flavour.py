"""What differs between the servers that the lab starts, wherever one runs: in a container or right here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

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
