"""The certificate that the API is served with over TCP, read anew when the daemon is told to reload."""

from __future__ import annotations

import logging
import ssl
import stat
from pathlib import Path

from api.sockets import ApiServerError

_LOG = logging.getLogger("innobrim.api")


class Certificate:
    """A certificate chain and its key, in one file or two."""

    def __init__(self, files: str) -> None:
        """Take note of the files.

        Args:
            files: ``CERT:KEY``, or one file that has both; PEM.
        """
        certificate, _, key = files.partition(":")
        self._certificate = Path(certificate)
        self._key = Path(key or certificate)

    def context(self) -> ssl.SSLContext:
        """Return a context for new connections, with the files as they are now; TLS 1.2 at least.

        Raises:
            ApiServerError: a file cannot be read, is no certificate or key, or the two are no pair.
        """
        for path, what in ((self._certificate, "certificate"), (self._key, "key")):
            try:
                with path.open("rb") as file:
                    file.read(1)
            except OSError as error:
                raise ApiServerError(
                    f"api.tls: the {what} {path} cannot be read: {error.strerror}"
                ) from error
        if self._key.stat().st_mode & stat.S_IRWXO:
            _LOG.warning("api.tls: the key %s can be read by every account; chmod 640", self._key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (OSError, ValueError) as error:
            raise ApiServerError(
                f"api.tls: {self._certificate} and {self._key} cannot be used: {error}; expected a "
                "certificate chain and its private key, PEM, without a password"
            ) from error
        return context


def _no_password() -> str:
    """Fail instead of asking at the terminal."""
    raise ValueError("the key is protected by a password")
