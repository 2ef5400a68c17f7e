"""Why encryption with a server did not come about, and what would help."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from pymysql.connections import Connection
from pymysql.constants import CLIENT

from tuner.printable import shortened
from tuner.servers.release import LONGEST

if TYPE_CHECKING:
    from tuner.servers.connect import Endpoint

TOO_OLD = frozenset({"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "WRONG_SSL_VERSION"})
"""OpenSSL's reasons for two ends without a version of TLS in common."""

OTHER_NAME = frozenset({62, 64})
"""OpenSSL's numbers for a certificate of another host name, and of another address."""

UNENCRYPTED = (
    'on the server\'s own machine the unix socket, or tls = "off" on 127.0.0.1 (ssl-mode = DISABLED in an '
    "option file), which elsewhere sends all but the password readable for everybody on the way"
)


def handshake_cause(
    endpoint: Endpoint, connection: Connection[Any], error: BaseException
) -> tuple[str, str] | None:
    """Return why there is no encryption, and what would help; None where something else went wrong."""
    system = error.__context__
    if isinstance(system, ssl.SSLCertVerificationError):
        return _unverified(system)
    version = shortened(getattr(connection, "server_version", ""), LONGEST)
    if isinstance(system, ssl.SSLError) and system.reason in TOO_OLD:
        return _too_old(endpoint, version)
    ended = isinstance(system, ConnectionError) and _under_way(connection)
    if not ended and not isinstance(system, ssl.SSLError):
        return None
    fix = "see that it has TLS 1.2, a key that OpenSSL takes today, and no need of a client certificate"
    return f"encryption with this server ({version}) failed: {system}", f"{fix}; or {UNENCRYPTED}"


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
