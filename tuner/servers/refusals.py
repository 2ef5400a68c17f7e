"""What helps where a server answers and does not let the account in, or lets it do nothing."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tuner.records import is_account, login

if TYPE_CHECKING:
    from tuner.servers.connect import Endpoint

ABORTED = 1184
DENIED = 1045
EXPIRED = frozenset({1820, 1862})
"""A session that may only set its password, and a login that is refused for it."""

LOCKED = frozenset({3118, 4151})
"""MySQL's number and MariaDB's."""

BLOCKED = frozenset({3955, 4150})
"""After too many failed logins; MySQL's number and MariaDB's."""

FIXES: Mapping[int, str] = {
    1044: "check user and password",
    1053: "mysqld is on its way down: wait until it has started again",
    1130: "create the account for this host, or for '%'",
    1203: "end sessions of this account that nobody needs, or raise max_user_connections",
    1226: "end sessions of this account that nobody needs, or raise its MAX_USER_CONNECTIONS",
    1251: "give the account mysql_native_password or caching_sha2_password",
    1524: "load that plugin into the server, or give the account another one",
    1698: "the account goes by the operating system's user (auth_socket, unix_socket): run this as that user "
    "over the unix socket, or give the account a password",
    2059: "the driver does not know this plugin: give the account mysql_native_password, "
    "caching_sha2_password or ed25519",
    3032: "the server is offline for everybody but administrators: SET GLOBAL offline_mode = OFF there",
}
"""What helps against an error that the server answers with, by number, where no more is known."""

WITHOUT_ONE = (
    "no password was given: put it into an option file (server.defaults_file), a systemd credential named "
    "mysql-password, INNOBRIM_PASSWORD, or a file that INNOBRIM_PASSWORD_FILE names"
)
ED25519 = (
    "pip install 'PyMySQL[ed25519]' where innobrim is installed, or give the account another plugin, such as "
    "mysql_native_password"
)
UNKNOWN = "the server is there, and refuses this: its error log may say why"

_USER_AND_HOST = re.compile(r"'([^']*)'@'([^']*)'")


def refusal(endpoint: Endpoint, number: int, words: str, *, encrypted: bool = True) -> str:
    """Return what helps against an error that the server answers with; empty where nobody knows.

    Args:
        endpoint: who asked.
        number: of the error.
        words: of the error, which are the server's, and can be anything.
        encrypted: the connection is, or crosses no network.
    """
    account = _account(endpoint, words)
    named = login(account)
    if number == DENIED:
        return _denied(endpoint, account, encrypted=encrypted)
    if number in EXPIRED:
        renewed = f"ALTER USER {named} IDENTIFIED BY '…' PASSWORD EXPIRE NEVER"
        return f"the password has expired: as an administrator, set it once more and for good, by {renewed}"
    if number in LOCKED:
        return f"the account is locked: as an administrator, ALTER USER {named} ACCOUNT UNLOCK"
    if number in BLOCKED:
        unlocked = f"ALTER USER {named} ACCOUNT UNLOCK, on MariaDB FLUSH PRIVILEGES"
        return f"too many logins failed: correct the password; then, as an administrator, {unlocked}"
    if number == ABORTED and "init_connect" in words:
        return (
            "the statements in the server's init_connect fail for this account: mend them (SELECT "
            "@@GLOBAL.init_connect), or grant it what they need"
        )
    return FIXES.get(number, "")


def _denied(endpoint: Endpoint, account: str, *, encrypted: bool) -> str:
    if not endpoint.password:
        return WITHOUT_ONE
    host = account.rpartition("@")[2]
    made = f"innobrim setup-sql --account {shlex.quote(account)}"
    fix = "check user and password"
    if endpoint.socket is None and _is_loopback(host):
        fix += (
            f"; the server takes us for {host} and not for localhost (skip_name_resolve): where the account "
            f"is at localhost, give server.socket, or make one for that address: {made}"
        )
    elif endpoint.socket is None and host not in {"localhost", "…"}:
        fix += f", and that there is an account for {host}: {made}"
    if not encrypted:
        fix += (
            "; an account that requires TLS (REQUIRE SSL) is refused so as well, and this connection has none"
        )
    return fix


def _account(endpoint: Endpoint, words: str) -> str:
    """Return the account that the server means, ``user@host``, as far as it says one fit for a statement.

    The name is the one that we log in with: the server's words tell only as what host we come.
    """
    user = endpoint.user if is_account(f"{endpoint.user}@localhost") else "…"
    found = _USER_AND_HOST.search(words)
    host = found[2] if found is not None and is_account(f"{user}@{found[2]}") else "…"
    return f"{user}@{host}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
