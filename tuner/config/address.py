"""Where a server is, by the configuration and by an option file as mysql's own programs read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tuner.config.errors import ConfigError
from tuner.config.schema import ServerSection
from tuner.servers import endpoint

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3306
HIGHEST_PORT = 65535

LOCAL = "localhost"
"""The one name of a host that means the unix socket to mysql's own programs, in these letters."""

SOCKET_VARIABLE = "MYSQL_UNIX_PORT"
"""Where mysql's own programs take the socket from, where nothing else names it."""


class Address(NamedTuple):
    """Where a server is.

    Attributes:
        socket: path of the unix socket, which goes before host and port; None where it is TCP.
        host: name or address.
        port: TCP port.
        guessed: nothing names the socket: where it is can be another place at the next connection.
    """

    socket: str | None
    host: str
    port: int
    guessed: bool = False


def socket_there(environ: Mapping[str, str]) -> str | None:
    """Return the unix socket where nothing else names one; None where there is none."""
    return environ.get(SOCKET_VARIABLE) or endpoint.guessed()


def address_of(
    server: ServerSection, options: Mapping[str, str], *, file: str, environ: Mapping[str, str]
) -> Address:
    """Return where the server is; the configuration's socket or host overrules the option file's address.

    A port alone in the configuration names no host and keeps the option file's, but not its socket: that is
    TCP. Of the file alone, as with mysql's own programs: no host, or ``localhost``, is the unix socket, at
    whatever port, unless ``protocol = tcp``; another host is TCP, whatever socket stands beside it. Only a
    file that has no address at all leaves it to the default, which is TCP.

    Args:
        server: of the configuration.
        options: of the option file; empty without one.
        file: its path, for messages.
        environ: may name the socket.

    Raises:
        ConfigError: a port or protocol that is none, or two of them that contradict each other.
    """
    host = options.get("host") or ""
    if server.socket is not None or server.host is not None:
        return Address(server.socket, server.host or DEFAULT_HOST, server.port or DEFAULT_PORT)
    if server.port is not None:
        return Address(None, host or DEFAULT_HOST, server.port)
    protocol = _protocol(options, file)
    port = _port(options.get("port", ""), file)
    remote = host not in {"", LOCAL}
    if protocol == "socket" and remote:
        said = f"protocol = socket and host = {host}: leave one out, as the socket is this machine's"
        raise ConfigError([f"{file}: {said}"])
    if protocol == "tcp" or remote:
        return Address(None, host or DEFAULT_HOST, port)
    socket = options.get("socket")
    if socket or host or protocol == "socket":
        named = socket or environ.get(SOCKET_VARIABLE)
        return Address(
            named or endpoint.guessed() or endpoint.SOCKETS[0], DEFAULT_HOST, port, guessed=not named
        )
    return Address(None, DEFAULT_HOST, port)


def names_address(server: ServerSection, options: Mapping[str, str]) -> bool:
    """Tell whether configuration or option file say anything of where the server is."""
    said = any(one is not None for one in (server.socket, server.host, server.port))
    return said or any(options.get(one) for one in ("host", "socket", "port", "protocol"))


def _protocol(options: Mapping[str, str], file: str) -> str:
    said = options.get("protocol", "")
    protocol = said.lower()
    if protocol not in {"", "default", "tcp", "socket"}:
        raise ConfigError([f"{file}: protocol = {said}: must be tcp or socket"])
    return "" if protocol == "default" else protocol


def _port(text: str, file: str) -> int:
    if not text:
        return DEFAULT_PORT
    plain = text.isascii() and text.isdigit() and len(text) <= len(str(HIGHEST_PORT))
    if not (plain and 0 < int(text) <= HIGHEST_PORT):
        raise ConfigError([f"{file}: port = {text}: must be a whole number from 1 up to {HIGHEST_PORT}"])
    return int(text)
