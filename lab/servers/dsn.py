"""Where a server of the user's own is and who we are there, from one word and never with a password in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec.structs import replace

from lab.servers.spec import LabServerError
from tuner.config.credentials import read_credentials
from tuner.config.errors import ConfigError
from tuner.config.schema import ServerSection
from tuner.servers.endpoint import Endpoint

SCHEME = "mysql://"
SHAPE = "write mysql://USER@HOST:PORT, mysql://USER@/PATH/TO/SOCKET, or the path of the socket"
PASSWORD_PLACES = "INNOBRIM_PASSWORD, MYSQL_PWD or an option file"  # noqa: S105 - no password
_WITH_PASSWORD = re.compile(r"[a-z]+://[^@]*:[^@]*@", re.IGNORECASE)

Ask = Callable[[str], str]
"""Asks a person for a password; gets the question."""


class DsnError(LabServerError):
    """Words that name no server; nothing was tried."""


def parse_dsn(
    text: str, *, environ: Mapping[str, str], defaults_file: str | None = None, ask: Ask | None = None
) -> Endpoint:
    """Return the endpoint that a DSN names.

    The password comes from INNOBRIM_PASSWORD, the systemd credential, the option file, MYSQL_PWD, or from
    asking, in this order; the account from the DSN, else from the option file.

    Args:
        text: ``mysql://user@host:port/``, ``mysql://user@/path/to/socket`` or ``/path/to/socket``.
        environ: the environment.
        defaults_file: a MySQL option file with a ``[client]`` group.
        ask: asks for the password where no other place has one; None never asks.

    Raises:
        DsnError: it names no server, or has a password in it.
        LabServerError: the option file cannot be read.
    """
    where = _server(text, defaults_file)
    try:
        found = read_credentials(where, environ=environ)
    except ConfigError as error:
        raise LabServerError(str(error)) from error
    password = found.password or environ.get("MYSQL_PWD", "")
    endpoint = found.endpoint()
    if not password and ask is not None:
        password = ask(f"Password of {endpoint}")
    return replace(endpoint, password=password)


def _server(text: str, defaults_file: str | None) -> ServerSection:
    if _WITH_PASSWORD.match(text):
        raise DsnError(
            f"a password in a DSN can be seen by everybody; put it into {PASSWORD_PLACES}, and {SHAPE}"
        )
    if text.startswith("/"):
        return ServerSection(socket=text, defaults_file=defaults_file)
    if not text.startswith(SCHEME):
        raise DsnError(f"{text!r} names no server: {SHAPE}")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise DsnError(f"{text!r}: {error}; {SHAPE}") from error
    _nothing_else(text, parts)
    if "%00" in text:
        raise DsnError(f"{text!r} has a zero byte; {SHAPE}")
    user = unquote(parts.username) if parts.username else None
    if parts.hostname and "%2f" in parts.hostname.lower():
        raise DsnError(f"{text!r}: a path is not escaped; {SHAPE}")
    if parts.hostname:
        return ServerSection(host=parts.hostname, port=port, user=user, defaults_file=defaults_file)
    if len(parts.path) > 1:
        return ServerSection(socket=unquote(parts.path), user=user, defaults_file=defaults_file)
    raise DsnError(f"{text!r} has neither host nor socket: {SHAPE}")


def _nothing_else(text: str, parts: SplitResult) -> None:
    """Refuse what would be ignored."""
    if parts.query or parts.fragment:
        raise DsnError(f"{text!r}: nothing may follow the address; {SHAPE}")
    if parts.hostname and parts.path.strip("/"):
        schema = unquote(parts.path.strip("/"))
        raise DsnError(f"{text!r} names the schema {schema!r}; no schema is taken but one of our own")
