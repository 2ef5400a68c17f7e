"""An account: as people and servers write it, and as a statement names it."""

from __future__ import annotations

import ipaddress
import re

LONGEST_USER = 128
"""Letters of a name at most, in MariaDB; MySQL takes 32."""

_PART = r"'(?:[^']|'')*'|`(?:[^`]|``)*`|\"(?:[^\"]|\"\")*\""
_WRITTEN = re.compile(rf"(?P<user>{_PART}|[^@'`\"]+)@(?P<host>{_PART}|[^@'`\"\s]+)")
_HOST = re.compile(r"[A-Za-z0-9_.:%/-]{1,255}")
"""A name, an address, one with a netmask, or a pattern with % or _."""


def account_of(written: str) -> str:
    """Return an account as ``user@host``, from how people or ``SHOW GRANTS`` write it.

    Args:
        written: ``u@h``, or with either part in quotes of any kind.

    Raises:
        ValueError: it is none, or has letters that no statement should be made of.
    """
    found = _WRITTEN.fullmatch(written)
    user, host = ("", "") if found is None else (_plain(found["user"]), _plain(found["host"]))
    if not is_account(f"{user}@{host}"):
        raise ValueError(f"{written!r} is no account; an account is USER@HOST, such as innobrim@10.0.0.5")
    return f"{user}@{host}"


def is_account(account: str) -> bool:
    """Tell whether ``user@host`` is an account that a statement can be made of, whoever says it.

    A name has nothing in it that ends a line or steers a terminal, nor the one letter, a backslash, that
    quotes cannot hold under every character set and mode of a session.
    """
    user, _, host = account.rpartition("@")
    plain = user.isprintable() and "\\" not in user and user == user.strip()
    return 0 < len(user) <= LONGEST_USER and plain and _HOST.fullmatch(host) is not None


def is_local(account: str) -> bool:
    """Tell whether an account is for this machine alone, where a password crosses no network."""
    host = account.rpartition("@")[2]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() in {"localhost", "localhost.localdomain"}


def grant(privileges: str, account: str, on: str = "*.*") -> str:
    """Return the statement that gives an account, ``user@host``, a privilege."""
    return f"GRANT {privileges} ON {on} TO {login(account)}"


def revoke(privileges: str, account: str) -> str:
    """Return the statement that takes a privilege on ``*.*`` from an account, ``user@host``."""
    return f"REVOKE {privileges} ON *.* FROM {login(account)}"


def login(account: str) -> str:
    """Return an account, ``user@host``, as a statement names it."""
    user, _, host = account.rpartition("@")
    return f"{literal(user)}@{literal(host)}"


def literal(name: str) -> str:
    """Return a string as a statement has it, where a backslash escapes."""
    escaped = name.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _plain(part: str) -> str:
    """Return a part of an account without its quotes."""
    quote = part[0]
    return part[1:-1].replace(quote * 2, quote) if quote in "'`\"" else part
