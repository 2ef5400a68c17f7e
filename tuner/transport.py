"""Who can be at the other end of the connection to the server, as a line of ``innobrim check``."""

from __future__ import annotations

from tuner.preconditions import Line
from tuner.servers.endpoint import Endpoint, signed_for_anybody
from tuner.servers.passwords import CHECKED_TLS

NAME = "connection"


def connection_line(endpoint: Endpoint) -> Line:
    """Return whether whoever answers is known to be the server; a warning where it is not.

    Args:
        endpoint: where the server is; its host is taken as written, and not looked up.
    """
    if endpoint.socket is not None:
        return Line(NAME, "ok", f"over the unix socket {endpoint.socket}: it stays on this machine")
    if endpoint.tls.startswith("verify"):
        return _checked(endpoint)
    lacks = "without TLS" if endpoint.tls == "off" else "without a certificate authority"
    return Line(
        NAME,
        "warning",
        f"over TCP to {endpoint.host} {lacks}: whoever answers in its place is unnoticed; an account with "
        "caching_sha2_password gets in while the server has it in its cache, and not after a restart",
        f"use the unix socket, or {CHECKED_TLS}",
    )


def _checked(endpoint: Endpoint) -> Line:
    name = "the host name and all" if endpoint.tls == "verify_identity" else "all but the host name"
    file, directory = endpoint.tls_ca, endpoint.tls_details.authorities
    said = f"over TLS: the server's certificate is checked against {file or directory}, {name}"
    if endpoint.tls == "verify_identity" or not signed_for_anybody(file, directory):
        return Line(NAME, "ok", said)
    return Line(
        NAME,
        "warning",
        f"{said}; others can have a certificate of these authorities, answer in the server's place, and are "
        "given the password",
        'set tls = "verify_identity" in [server] (ssl-mode = VERIFY_IDENTITY in an option file), or name the '
        "authority that signs for this server alone",
    )
