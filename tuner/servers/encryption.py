"""How a connection is encrypted; one TLS context for all that check no certificate."""

from __future__ import annotations

import functools
import ssl
from pathlib import Path


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
