"""How a connection is encrypted, and what the server is checked against; contexts are made once."""

from __future__ import annotations

import contextlib
import functools
import ssl
from pathlib import Path

from msgspec import Struct

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""The versions of TLS that are spoken here, oldest first, by MySQL's names."""

WITHOUT_CERTIFICATE = ":!aNULL:!eNULL"
"""Taken off every list of ciphers: with these no certificate would be sent, and so none checked."""

FEW = 4
"""Authorities that one server can have: the present one and the next, each with one between."""


class TlsDetails(Struct, frozen=True):
    """What an option file may say of TLS beside the authority.

    Attributes:
        authorities: directory of certificate authorities by their hash, as ``openssl rehash`` makes it.
        certificate: file of our own certificate, PEM.
        key: file of its key; None where the certificate's file has it.
        ciphers: OpenSSL's list for TLS 1.2; empty for the usual ones.
        lowest: oldest version of TLS, a key of ``VERSIONS``.
        highest: newest version of TLS, a key of ``VERSIONS``.
    """

    authorities: str | None = None
    certificate: str | None = None
    key: str | None = None
    ciphers: str = ""
    lowest: str = "TLSv1.2"
    highest: str = "TLSv1.3"


USUAL = TlsDetails()


def required(authority: str | None, details: TlsDetails = USUAL, *, host_name: bool = True) -> ssl.SSLContext:
    """Return the context of a connection that must be encrypted; the same one until a file changes.

    Args:
        authority: file of the certificate authority to check the server against.
        details: what else is asked for; without an authority here or there any certificate is taken.
        host_name: the certificate must be for the host's name as well.

    Raises:
        OSError: a file cannot be read or holds no certificate.
    """
    files = (authority, details.authorities, details.certificate, details.key)
    return _made(authority, details, host_name, tuple(map(_version, files)))


def signed_for_anybody(authority: str | None, directory: str | None) -> bool:
    """Tell whether others than the server's owner can have a certificate of these authorities.

    Those of the system are public, and who names more than a few names those of a whole provider.

    Args:
        authority: file of certificate authorities.
        directory: of them by their hash.
    """
    named, system = (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) for _ in range(2))
    files = [Path(authority)] if authority is not None else []
    files += sorted(Path(directory).glob("????????.*")) if directory is not None else []
    for file in files:
        with contextlib.suppress(OSError):  # the connection says which file it cannot use
            named.load_verify_locations(cafile=file)
        if len(named.get_ca_certs()) > FEW:
            return True
    system.load_default_certs()
    public = set(system.get_ca_certs(binary_form=True))
    return not public.isdisjoint(named.get_ca_certs(binary_form=True))


def _version(path: str | None) -> tuple[int, int, int] | None:
    """Return what tells a file from the one that takes its place."""
    if path is None:
        return None
    found = Path(path).stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


@functools.lru_cache(maxsize=1)
def _made(authority: str | None, details: TlsDetails, host_name: bool, _versions: object) -> ssl.SSLContext:  # noqa: FBT001 - a cache's key
    if authority is None and details.authorities is None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context = ssl.create_default_context(cafile=authority, capath=details.authorities)
        context.check_hostname = host_name
        context.verify_flags &= (
            ~ssl.VERIFY_X509_STRICT
        )  # MySQL's own authorities do not say what their key is for
    context.minimum_version = VERSIONS[details.lowest]
    context.maximum_version = VERSIONS[details.highest]
    if details.ciphers:
        context.set_ciphers(details.ciphers + WITHOUT_CERTIFICATE)
    if details.certificate is not None:
        context.load_cert_chain(details.certificate, details.key, password=_nobody_is_asked)
    return context


def _nobody_is_asked() -> str:
    """Return no passphrase: OpenSSL would ask for one on the terminal."""
    return ""
