"""How a connection is encrypted; one TLS context for all that check no certificate."""

from __future__ import annotations

import functools
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pymysql.connections import Connection

if TYPE_CHECKING:
    _Connection = Connection[Any]
else:
    _Connection = Connection


class DriverConnection(_Connection):
    """The driver's connection, whose TLS context costs nothing.

    By itself, where encryption is only preferred, the driver makes a context at every attempt, before it
    connects, and loads every certificate authority of the system into it: 0.8 MiB and 20 ms for a check
    that it then turns off.
    """

    def _create_ssl_ctx(self, wanted: ssl.SSLContext | dict[str, Any]) -> ssl.SSLContext:
        return wanted if isinstance(wanted, ssl.SSLContext) else unchecked()


@functools.cache
def unchecked() -> ssl.SSLContext:
    """Return the context that encrypts and takes any certificate; always the same one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def required(authority: str | None) -> ssl.SSLContext:
    """Return the context of a connection that must be encrypted; the same one until the file changes.

    Args:
        authority: file of the certificate authority to check the server against; None takes any certificate.

    Raises:
        OSError: the file cannot be read or holds no certificate.
    """
    if authority is None:
        return unchecked()
    found = Path(authority).stat()
    return _checked(authority, (found.st_ino, found.st_mtime_ns, found.st_size))


@functools.lru_cache(maxsize=1)
def _checked(authority: str, _version: tuple[int, int, int]) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority)
