"""Where a server is, who we are there, and how the connection is encrypted; contexts are made once."""

from __future__ import annotations

import contextlib
import functools
import ssl
import stat
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tuner.servers.port import Unreachable
from tuner.system.files import require_plain

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
"""The versions of TLS that are spoken here, oldest first, by MySQL's names."""

WITHOUT_CERTIFICATE = ":!aNULL:!eNULL"
"""Taken off every list of ciphers: with these no certificate would be sent, and so none checked."""

FEW = 4
"""Authorities that one server can have: the present one and the next, each with one between."""

SOCKETS = (
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/run/mysql/mysql.sock",
)
"""Where servers have it as they are built: Debian's, Red Hat's, SUSE's.

MySQL's own builds have it in /tmp: there any account can make one while the server is down, and would get
what is only for the server. Such a socket has to be named.
"""


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
            require_plain(file)
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
    found = require_plain(path)
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


def usual_socket() -> str | None:
    """Return the first socket that is there now and that not everybody can have made; None without one."""
    return next((path for path in SOCKETS if _is_servers(Path(path))), None)


def _is_servers(path: Path) -> bool:
    try:
        real = path.resolve()
        return real.is_socket() and not real.parent.stat().st_mode & stat.S_IWOTH
    except OSError:
        return False


class Endpoint(Struct, frozen=True):
    """Where a server is and who we are there.

    Attributes:
        socket: path of the unix socket; preferred over host and port.
        host: name or address.
        port: TCP port.
        user: account.
        password: never shown.
        tls: off, preferred, required, verify_ca or verify_identity; required with an authority is the last.
        tls_ca: certificate authority to check the server against.
        tls_details: what an option file says of TLS besides.
        public_key: the server's, PEM, for methods that want the password itself; empty where it is not known.
        timeout: seconds to find the host, connect and log in, and for each statement's whole answer.
        socket_guessed: nothing names the socket: it is looked for at each connection.
    """

    user: str
    password: str = ""
    socket: str | None = None
    host: str = "127.0.0.1"
    port: int = 3306
    tls: str = "preferred"
    tls_ca: str | None = None
    timeout: float = 1.0
    tls_details: TlsDetails = USUAL
    public_key: str = ""
    socket_guessed: bool = False

    @property
    def tcp_host(self) -> str:
        """Return the host that connections go to; empty where they go to the socket."""
        return self.host if self.socket is None else ""

    def __repr__(self) -> str:
        """Return the endpoint without its password."""
        return f"Endpoint({self})"

    def __str__(self) -> str:
        """Return user and address, as DBAs write them."""
        return f"{self.user}@{self.socket or f'{self.host}:{self.port}'}"


def at_address(endpoint: Endpoint, known: str) -> Endpoint:
    """Return who we are at the address that another endpoint's ``str`` names.

    Args:
        endpoint: of us.
        known: user and address.
    """
    address = known.rpartition("@")[2]
    if address.startswith("/"):
        return replace(endpoint, socket=address, socket_guessed=False)
    host, _, port = address.rpartition(":")
    return replace(endpoint, host=host, port=int(port))


def with_socket(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint with its socket where that is now; one that something names is there.

    Raises:
        Unreachable: there is none that is known to be the server's.
    """
    if not endpoint.socket_guessed:
        return endpoint
    there = usual_socket()
    if there is None:
        raise Unreachable(
            f"{endpoint}: no unix socket of a server: neither {' nor '.join(SOCKETS)} is one, in a directory "
            "that not everybody can write to",
            "start the server, or name its socket; SELECT @@socket on the server says where it is",
        )
    return replace(endpoint, socket=there)


def context_of(endpoint: Endpoint) -> ssl.SSLContext | None:
    """Return how the connection is encrypted; None where it is not.

    Raises:
        Unreachable: one of the files for it cannot be read.
    """
    if endpoint.socket is not None or endpoint.tls == "off":
        return None
    authority = None if endpoint.tls == "preferred" else endpoint.tls_ca
    try:
        return required(authority, endpoint.tls_details, host_name=endpoint.tls != "verify_ca")
    except OSError as error:
        named = f"server.tls_ca = {authority}" if authority else "the files for TLS"
        raise Unreachable(
            f"{endpoint}: {named}: {error.strerror or error}",
            "each must be a readable file of certificates (PEM)",
        ) from error
