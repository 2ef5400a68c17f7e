"""The logins of a throw-away server, and the statements that make them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

SCHEMA = "innobrim_lab"


@dataclass(frozen=True, slots=True)
class Account:
    """A login; for a throw-away server the password is drawn anew every time."""

    user: str
    password: str = field(default_factory=lambda: secrets.token_hex(12), repr=False)


def account_statements(admin: Account, daemon: Account) -> str:
    """Return the statements, one a line, that create both accounts and the load's schema."""
    lines = [f"CREATE DATABASE IF NOT EXISTS {SCHEMA};"]
    for account in (admin, daemon):
        lines += [
            f"CREATE USER IF NOT EXISTS '{account.user}'@'{host}' IDENTIFIED BY '{account.password}';"
            for host in ("%", "localhost")
        ]
    for host in ("%", "localhost"):
        lines += [
            f"GRANT ALL ON *.* TO '{admin.user}'@'{host}' WITH GRANT OPTION;",
            f"GRANT PROCESS, SYSTEM_VARIABLES_ADMIN ON *.* TO '{daemon.user}'@'{host}';",
            f"GRANT SELECT ON performance_schema.* TO '{daemon.user}'@'{host}';",
        ]
    return "\n".join(lines) + "\n"
