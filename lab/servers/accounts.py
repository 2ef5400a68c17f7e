"""The logins of a throw-away server, and the statements that make them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from lab.servers.flavour import TRAITS, Flavour

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
    lines = ["FLUSH PRIVILEGES;"] if flavour in _TOLD else []
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


_TOLD = (Flavour.MYSQL_56, Flavour.MARIADB)
