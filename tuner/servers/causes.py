"""Why there is no connection, or no answer, and what would help."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER

from tuner.printable import shortened
from tuner.servers.handshake import handshake_cause
from tuner.servers.passwords import PasswordKeptError
from tuner.servers.refusals import ED25519, UNKNOWN, refusal
from tuner.servers.resolve import UnresolvedError

if TYPE_CHECKING:
    from tuner.servers.connect import Endpoint

LOST = 2013
"""The driver's number for a connection that ended, or gave no answer in time."""

FIXES: Mapping[int, str] = {
    1040: "raise max_connections, or close connections that nobody needs",
    1129: "TRUNCATE TABLE performance_schema.host_cache on the server lets this host in again",
    2026: "turn TLS on in the server, or ask for less: server.tls, or ssl-mode in the option file",
}
"""What helps against an error of connecting, by number."""

LIBRARIES: Mapping[str, str] = {
    "cryptography": "use the unix socket, a server with TLS, or install the extra: "
    "pip install 'innobrim[rsa]'",
    "pynacl": ED25519,
}
"""What helps where the driver lacks a library for the account's plugin, by what it says of it."""

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


def is_refusal(error: pymysql.MySQLError) -> bool:
    """Tell a refused statement from a broken connection (client errors are 2000 to 2999)."""
    number = error_number(error)
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
    if isinstance(error, PasswordKeptError):
        return error.found, error.fix
    if (unencrypted := handshake_cause(endpoint, connection, error)) is not None:
        return unencrypted
    if fix := next((fix for library, fix in LIBRARIES.items() if library in str(error)), ""):
        return in_words(error), fix
    words = unanswered(error)
    if isinstance(error.__context__, TimeoutError):
        return words, f"{HANGS}, or raise server.timeout"
    return words, _answered(endpoint, connection, error)


def _answered(endpoint: Endpoint, connection: Connection[Any] | None, error: Exception) -> str:
    """Return what helps against an answer of the server's, which is there and need not be started."""
    number = error_number(error)
    encrypted = endpoint.socket is not None or bool(getattr(connection, "_secure", False))
    fix = FIXES.get(number) or refusal(endpoint, number, in_words(error), encrypted=encrypted)
    sent = isinstance(error, pymysql.MySQLError) and number != 0 and not 2000 <= number < 3000  # noqa: PLR2004 - as above
    return fix or (UNKNOWN if sent else "")


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


def unanswered(error: BaseException) -> str:
    """Return in words why an answer was none, whatever the driver failed with at it."""
    if LOCAL_INFILE in str(error):
        return "the server asked for a file of this machine (LOCAL INFILE); it gets none"
    if isinstance(error, pymysql.MySQLError | OSError):
        return in_words(error)
    return f"an answer that is none: {type(error).__name__}: {in_words(error)}"
