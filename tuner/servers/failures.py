"""Why there is no connection, or no answer, and what would help."""

from __future__ import annotations

import re
import shlex
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CLIENT, ER

from tuner.records import is_account, is_local, login
from tuner.servers.endpoint import Endpoint
from tuner.servers.passwords import CACHING, CHECKED_TLS, CLEAR, EXTRA, PasswordKeptError
from tuner.servers.release import LONGEST, release_of
from tuner.servers.resolver import UnresolvedError
from tuner.system.printable import shortened

LOST = 2013
"""The driver's number for a connection that ended, or gave no answer in time."""

ABORTED = 1184
DENIED = 1045
BY_SYSTEM = 1698
NOT_READY = 1047
COUNTED = frozenset({DENIED, 3955, 4150})
"""Logins that failed, by which servers may lock the account, and what they say then (MySQL, MariaDB)."""

_HOST = ", with the host that the account is made for"
_RENEW = (
    "the password has expired: as an administrator, set it once more and for good, by ALTER USER {account} "
    f"IDENTIFIED BY '…' PASSWORD EXPIRE NEVER{_HOST}"
)
_UNLOCK = f"the account is locked: as an administrator, ALTER USER {{account}} ACCOUNT UNLOCK{_HOST}"
_UNBLOCK = (
    "too many logins failed: correct the password; then, as an administrator, ALTER USER {account} ACCOUNT "
    f"UNLOCK{_HOST}, on MariaDB FLUSH PRIVILEGES"
)
FIXES: Mapping[int, str] = {
    1040: "raise max_connections, or close connections that nobody needs",
    NOT_READY: "a Galera node that is in no working cluster takes no statement: SHOW STATUS LIKE 'wsrep_%' "
    "there; it is read again as soon as it is back",
    1044: "check user and password",
    1053: "mysqld is on its way down: wait until it has started again",
    1129: "TRUNCATE TABLE performance_schema.host_cache on the server lets this host in again",
    1130: "create the account for this host, or for '%'",
    1203: "end sessions of this account that nobody needs, or raise max_user_connections",
    1226: "end sessions of this account that nobody needs, or raise the limit named here: ALTER USER "
    f"{{account}} WITH MAX_USER_CONNECTIONS, MAX_QUERIES_PER_HOUR or MAX_CONNECTIONS_PER_HOUR …{_HOST}",
    1251: "give the account mysql_native_password or caching_sha2_password",
    1524: "load that plugin into the server, or give the account another one",
    BY_SYSTEM: "the account goes by the operating system's user (auth_socket, unix_socket): run this as that "
    "user over the unix socket, or give the account a password",
    2026: "turn TLS on in the server, or ask for less: server.tls, or ssl-mode in the option file",
    2059: "the driver does not know this plugin: give the account mysql_native_password, "
    "caching_sha2_password or ed25519",
    **dict.fromkeys((1820, 1862), _RENEW),  # a session that may do nothing else, and a refused login
    **dict.fromkeys((3118, 4151), _UNLOCK),  # MySQL's number and MariaDB's
    **dict.fromkeys((3955, 4150), _UNBLOCK),  # likewise
    3032: "the server is offline for everybody but administrators: SET GLOBAL offline_mode = OFF there",
}
"""What helps against an error that the server answers with, by number, where no more is known."""

WITHOUT_ONE = (
    "no password was given: put it into an option file (server.defaults_file), a systemd credential named "
    "mysql-password, INNOBRIM_PASSWORD, or a file that INNOBRIM_PASSWORD_FILE names; a unit's own login is "
    "its alone: --defaults-file /etc/innobrim/my.cnf takes the same"
)
ED25519 = (
    "pip install 'PyMySQL[ed25519]' where innobrim is installed, or give the account another plugin, such as "
    "mysql_native_password"
)
DECOY = (
    "or there is no such account for the host that we come from, where MariaDB asks by another account's "
    "plugin: innobrim setup-sql makes one"
)
SLOW_REFUSAL = ": PAM takes some seconds to refuse a wrong password"
RENEW_OURS = (
    "ssl-cert and ssl-key in the option file must be one that has not expired, of an authority in the "
    "server's ssl_ca"
)
UNKNOWN = "the server is there, and refuses this: its error log may say why"

_USER_AND_HOST = re.compile(r"'([^']*)'@'([^']*)'")

TOO_OLD = frozenset({"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "WRONG_SSL_VERSION"})
"""OpenSSL's reasons for two ends without a version of TLS in common."""

NO_TLS_RECORD = "WRONG_VERSION_NUMBER"
"""OpenSSL's reason for what is no TLS: MySQL with yaSSL says "Bad handshake" in its own protocol."""

FIRST, SINCE_TLS_12 = (5,), (5, 7, 28)
"""Releases between which a MySQL may have yaSSL, which ends with TLS 1.1."""

_NOT_TAKEN = re.compile(r"ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA)")
"""OpenSSL's reasons for what the server says of the client's certificate."""

OTHER_NAME = frozenset({62, 64})
"""OpenSSL's numbers for a certificate of another host name, and of another address."""

UNENCRYPTED = (
    'on the server\'s own machine the unix socket, or tls = "off" on 127.0.0.1 (ssl-mode = DISABLED in an '
    "option file), which elsewhere sends all but the password readable for everybody on the way"
)

LIBRARIES: Mapping[str, str] = {
    "cryptography": f"use {CHECKED_TLS}, or install the extra: {EXTRA}; {CACHING} needs neither over the "
    "unix socket",
    "pynacl": ED25519,
    "unexpected packet during authentication": "give the account one method alone, where it has a second "
    "factor (ALTER USER … DROP 2 FACTOR), or PAM a second question",
}
"""What helps against what the driver cannot do for the account's plugin, by its words."""

CUT_SHORT = frozenset({ER.QUERY_TIMEOUT, ER.STATEMENT_TIMEOUT, ER.QUERY_INTERRUPTED, ER.LOCK_WAIT_TIMEOUT})
"""The server's errors for a statement that took too long: MySQL's time limit, MariaDB's, a KILL, a lock."""

WITHOUT_PRIVILEGE = frozenset(
    {
        *(ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR, ER.COLUMNACCESS_DENIED_ERROR),
        ER.SPECIFIC_ACCESS_DENIED_ERROR,
    }
)
"""The server's errors for looking at what the account may not."""

LOCAL_INFILE = "Received LOAD_LOCAL packet"
"""What the driver says where a server asks for a file, which it then refuses."""

FOREIGN = "what listens there does not speak MySQL's protocol"
HANGS = "see what holds the server up"
ASK_SOCKET = "SELECT @@socket on the server says where it is"


def is_refusal(error: BaseException) -> bool:
    """Tell a refused statement from a broken connection (client errors are 2000 to 2999)."""
    number = error_number(error) if isinstance(error, pymysql.MySQLError) else 0
    return number != 0 and not 2000 <= number < 3000  # noqa: PLR2004 - see above


def cause(endpoint: Endpoint, connection: Connection[Any] | None, error: Exception) -> tuple[str, str]:
    """Return why there is no connection, and what would help; the latter is empty where nobody knows."""
    if connection is None or connection.host_info == "Not connected":
        return _unreached(endpoint, error)
    if not hasattr(connection, "server_capabilities"):
        return _ungreeted(endpoint, error)
    return _not_let_in(endpoint, connection, error)


def _not_let_in(endpoint: Endpoint, connection: Connection[Any], error: Exception) -> tuple[str, str]:
    """Say why a server that greeted did not become one that answers."""
    unencrypted = _handshake_cause(endpoint, connection, error)
    library = next((fix for words, fix in LIBRARIES.items() if words in str(error)), "")
    if isinstance(error, PasswordKeptError):
        words, fix = error.found, error.fix
    elif unencrypted is not None:
        words, fix = unencrypted
    elif library:
        words, fix = in_words(error), library
    elif isinstance(error.__context__, TimeoutError):
        slow = getattr(connection, "method", "") in CLEAR
        words = why_no_answer(error)
        fix = f"{HANGS}, or raise server.timeout" + (SLOW_REFUSAL if slow else "")
    else:
        words, fix = why_no_answer(error), _answered(endpoint, connection, error)
    asked = isinstance(error, PasswordKeptError) or error_number(error) == BY_SYSTEM or fix == ED25519
    return words, f"{fix}; {DECOY}" if asked and "mariadb" in _version(connection).lower() else fix


def _answered(endpoint: Endpoint, connection: Connection[Any] | None, error: Exception) -> str:
    """Return what helps against an answer of the server's, which is there and need not be started."""
    number = error_number(error)
    encrypted = endpoint.socket is None and bool(getattr(connection, "_secure", False))
    fix = refusal(endpoint, number, in_words(error), encrypted=encrypted)
    return fix or (UNKNOWN if is_refusal(error) else "")


def _unreached(endpoint: Endpoint, error: Exception) -> tuple[str, str]:
    system = error.__context__
    if endpoint.socket is not None and isinstance(system, OSError):
        return _socket_cause(Path(endpoint.socket), system)
    if isinstance(error, UnicodeError):
        return f"{endpoint.host!r} is no host name", "correct the host name"
    if isinstance(system, socket.gaierror):
        return in_words(error), "correct the host name"
    if isinstance(system, UnresolvedError):
        return in_words(error), "see what holds name resolution up, give an address, or raise server.timeout"
    if isinstance(system, TimeoutError):
        return in_words(error), "start the server, let it through the firewall, or correct host and port"
    return in_words(error), "start the server, or correct host and port"


def _socket_cause(path: Path, error: OSError) -> tuple[str, str]:
    if isinstance(error, FileNotFoundError):
        return "no such socket", ASK_SOCKET
    if isinstance(error, PermissionError):
        return "permission denied", "run this as a user who may enter its directory and write to it"
    if not isinstance(error, ConnectionRefusedError):
        return error.strerror or str(error), ASK_SOCKET
    if path.is_socket():
        return "nobody listens there", f"start the server; {ASK_SOCKET}"
    return f"is a {'directory' if path.is_dir() else 'file'}, not a socket", ASK_SOCKET


def _ungreeted(endpoint: Endpoint, error: Exception) -> tuple[str, str]:
    """Say why something listens and sent no greeting that the driver understood."""
    number = error_number(error)
    if number not in (0, LOST):
        return in_words(error), _answered(endpoint, None, error)
    fix = ASK_SOCKET if endpoint.socket else "correct host and port"
    if isinstance(error.__context__, TimeoutError):
        silent = f"no greeting within {endpoint.timeout:g} s"
        return f"{silent}: a server that hangs or has too much to do, or {FOREIGN}", f"{HANGS}; else {fix}"
    if number == LOST:
        return f"{FOREIGN}, or is a proxy whose server is down", fix
    return FOREIGN, fix


def error_number(error: BaseException) -> int:
    """Return the error's number; 0 where it has none."""
    number = error.args[0] if error.args else 0
    return number if isinstance(number, int) else 0


def in_words(error: BaseException) -> str:
    """Return the error as one short line, whose words the server may have chosen."""
    number = error_number(error)
    text = shortened(str(error.args[1]) if len(error.args) > 1 else str(error) or type(error).__name__)
    return f"{text} (error {number})" if number else text


def why_no_answer(error: BaseException) -> str:
    """Return in words why an answer was none, whatever the driver failed with at it."""
    if LOCAL_INFILE in str(error):
        return "the server asked for a file of this machine (LOCAL INFILE); it gets none"
    if isinstance(error, pymysql.MySQLError | OSError):
        return in_words(error)
    return f"an answer that is none: {type(error).__name__}: {in_words(error)}"


def _handshake_cause(
    endpoint: Endpoint, connection: Connection[Any], error: BaseException
) -> tuple[str, str] | None:
    """Return why there is no encryption, and what would help; None where something else went wrong."""
    system = error.__context__
    if isinstance(system, ssl.SSLCertVerificationError):
        return _unverified(system)
    version = _version(connection)
    yassl = FIRST < release_of(version) < SINCE_TLS_12
    if isinstance(system, ssl.SSLError) and (
        system.reason in TOO_OLD or (yassl and system.reason == NO_TLS_RECORD)
    ):
        return _too_old(endpoint, version)
    ours = endpoint.tls_details.certificate
    if isinstance(system, ssl.SSLError) and ours and (why := _NOT_TAKEN.search(system.reason or "")):
        return (
            f"the server does not take our certificate {ours}: {why[1].lower().replace('_', ' ')}",
            RENEW_OURS,
        )
    ended = isinstance(system, ConnectionError) and _under_way(connection)
    if not ended and not isinstance(system, ssl.SSLError):
        return None
    fix = "see that it has TLS 1.2, a key that OpenSSL takes today, and no need of a client certificate"
    return f"encryption with this server ({version}) failed: {system}", f"{fix}; or {UNENCRYPTED}"


def _version(connection: Connection[Any]) -> str:
    return shortened(getattr(connection, "server_version", ""), LONGEST)


def _unverified(error: ssl.SSLCertVerificationError) -> tuple[str, str]:
    words = f"the server's certificate is not taken: {error.verify_message}"
    if error.verify_code in OTHER_NAME:
        return words, (
            'connect by a name that it holds, or check all but the name: tls = "verify_ca" in [server] '
            "(ssl-mode = VERIFY_CA in an option file)"
        )
    return words, "correct server.tls_ca (ssl-ca in an option file), or the server's certificate"


def _too_old(endpoint: Endpoint, version: str) -> tuple[str, str]:
    details = endpoint.tls_details
    wanted = details.lowest.removeprefix("TLSv")
    if details.lowest != details.highest:
        wanted += f" or {details.highest.removeprefix('TLSv')}"
        offers = "it offers TLS 1.0 or 1.1 alone"
    else:
        offers = f"and tls-version in the option file asks for {details.lowest}"
    return (
        f"this server ({version}) does not speak TLS {wanted}: {offers}",
        f"upgrade the server, MySQL to 5.6.46, 5.7.28 or later; or {UNENCRYPTED}",
    )


def _under_way(connection: Connection[Any]) -> bool:
    """Tell whether encryption had begun and not come about."""
    offered = getattr(connection, "server_capabilities", 0) & CLIENT.SSL
    return bool(offered and connection.ssl and not getattr(connection, "_secure", False))


def refusal(endpoint: Endpoint, number: int, words: str, *, encrypted: bool = True) -> str:
    """Return what helps against an error that the server answers with; empty where nobody knows.

    Args:
        endpoint: who asked.
        number: of the error.
        words: of the error, which are the server's, and can be anything.
        encrypted: the connection is; a unix socket's never is.
    """
    account = _account(endpoint, words)
    if number == DENIED:
        return _denied(endpoint, account, encrypted=encrypted)
    if number == ABORTED and "init_connect" in words:
        return (
            "the statements in the server's init_connect fail for this account: mend them (SELECT "
            "@@GLOBAL.init_connect), or grant it what they need"
        )
    return FIXES.get(number, "").format(account=login(account))


def _denied(endpoint: Endpoint, account: str, *, encrypted: bool) -> str:
    if not endpoint.password:
        return WITHOUT_ONE
    host = account.rpartition("@")[2]
    made = f"innobrim setup-sql --account {shlex.quote(account)}"
    fix = "check user and password"
    if endpoint.socket is None and is_local(account) and not host.startswith("localhost"):
        fix += (
            f"; the server takes us for {host} and not for localhost (skip_name_resolve): where the account "
            f"is at localhost, give server.socket, or make one for that address: {made}"
        )
    elif endpoint.socket is None and host not in {"localhost", "…"}:
        fix += f", and that there is an account for {host}: {made}"
    ours = endpoint.tls_details.certificate
    if not encrypted:
        wants, lacks = "TLS (REQUIRE SSL)", ", and this connection has none"
    elif ours is None:
        wants, lacks = "a certificate of ours (REQUIRE X509)", ": ssl-cert and ssl-key in an option file"
    else:
        wants, lacks = f"another certificate than {ours} (REQUIRE SUBJECT, ISSUER)", ""
    return f"{fix}; an account that requires {wants} is refused so as well{lacks}"


def _account(endpoint: Endpoint, words: str) -> str:
    """Return the account that the server means, ``user@host``, as far as it says one fit for a statement.

    The name is the one that we log in with: the server's words tell only as what host we come.
    """
    user = endpoint.user if is_account(f"{endpoint.user}@localhost") else "…"
    found = _USER_AND_HOST.search(words)
    host = found[2] if found is not None and is_account(f"{user}@{found[2]}") else "…"
    return f"{user}@{host}"
