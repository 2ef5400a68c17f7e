"""Who we are to the server: an option file, a systemd credential or the environment.

Never the command line, where every process on the machine can read it.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from tuner.config.errors import ConfigError
from tuner.config.keys import PASSWORD_VARIABLE
from tuner.config.optionfile import OptionFileError, includes, read_options
from tuner.config.optiontls import MODES, FileTls, read_tls
from tuner.config.schema import ServerSection
from tuner.config.tlsfiles import must_hold_certificates
from tuner.servers.encryption import USUAL, TlsDetails

DEFAULT_USER = "innobrim"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3306
CREDENTIAL_PASSWORD = "mysql-password"  # noqa: S105 - the name of a systemd credential
CREDENTIAL_OPTIONS = "my.cnf"
GROUP = "client"
HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where and as whom to connect. Printing it never shows the password.

    Attributes:
        user: account.
        password: secret; empty for accounts without one (auth_socket).
        socket: path of the unix socket, or None.
        host: host name or address, used without a socket.
        port: TCP port.
        tls: how a TCP connection is encrypted, a word of ``MODES``.
        tls_ca: file of certificate authorities that the server is checked against, or None.
        tls_details: what else an option file says of encryption.
        public_key: the server's, PEM, as an option file names it; empty without one.
        password_from: what the password was read from, empty without one.
        warnings: one line each: files that others can read, directives not followed.
    """

    user: str
    password: str = field(repr=False)
    socket: str | None
    host: str
    port: int
    tls: str = "preferred"
    tls_ca: str | None = None
    tls_details: TlsDetails = USUAL
    public_key: str = field(default="", repr=False)
    password_from: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _OptionFile:
    path: str
    options: dict[str, str]
    warnings: list[str]
    tls: FileTls


def read_credentials(server: ServerSection, *, environ: Mapping[str, str]) -> Credentials:
    """Return where and as whom to connect.

    Password: ``INNOBRIM_PASSWORD``, else ``$CREDENTIALS_DIRECTORY/mysql-password``, else the
    option file (``server.defaults_file``, or ``$CREDENTIALS_DIRECTORY/my.cnf``). Everything
    else: what the configuration says, else the option file; less encryption than the option file asks for is
    an error, though.

    Raises:
        ConfigError: a file that is missing, unreadable or malformed, ``server.tls_ca`` among them; or what is
            said of encryption contradicts itself.
    """
    if server.tls_ca is not None:
        must_hold_certificates("server.tls_ca", server.tls_ca)
    file = _option_file(server, environ)
    options = file.options if file else {}
    password, source = _password(environ, file)
    socket, host, port = _address(server, file)
    tls = _encryption(server, file)
    return Credentials(
        user=server.user or options.get("user") or DEFAULT_USER,
        password=password,
        socket=socket,
        host=host,
        port=port,
        tls=tls.mode or "preferred",
        tls_ca=tls.authority,
        tls_details=tls.details,
        public_key=tls.public_key,
        password_from=source,
        warnings=tuple(file.warnings) if file else (),
    )


def _address(server: ServerSection, file: _OptionFile | None) -> tuple[str | None, str, int]:
    """Return socket, host and port; the configuration's socket or host overrules the option file's address.

    A port alone names no host and keeps the option file's, but not its socket.
    """
    options = file.options if file else {}
    if server.socket is not None or server.host is not None:
        return server.socket, server.host or DEFAULT_HOST, server.port or DEFAULT_PORT
    host = options.get("host") or DEFAULT_HOST
    if server.port is not None:
        return None, host, server.port
    return options.get("socket") or None, host, DEFAULT_PORT if file is None else _port(file)


def _encryption(server: ServerSection, file: _OptionFile | None) -> FileTls:
    """Return how a connection is encrypted: as the configuration says, and no less than the file asks for."""
    theirs = file.tls if file is not None else FileTls()
    if server.tls is None:
        return theirs
    ours = "verify_identity" if server.tls == "required" and server.tls_ca is not None else server.tls
    if theirs.mode is not None and MODES.index(ours) < MODES.index(theirs.mode):
        where = "" if file is None else f" in {file.path}"
        more = f'set tls = "{theirs.mode}", or take that out of the option file'
        raise ConfigError(
            [f"server.tls = {server.tls} contradicts {theirs.asked_by}{where}, which asks for more; {more}"]
        )
    details = theirs.details
    if server.tls_ca is not None:
        details = replace(details, authorities=None)
    authority = server.tls_ca or theirs.authority
    if ours.startswith("verify") and authority is None and details.authorities is None:
        what = "the file of the certificate authority to check the server against"
        raise ConfigError([f"server.tls = {ours} needs tls_ca, {what}, or ssl-ca in an option file"])
    return FileTls(ours, authority=authority, details=details, public_key=theirs.public_key)


def _password(environ: Mapping[str, str], file: _OptionFile | None) -> tuple[str, str]:
    given = environ.get(PASSWORD_VARIABLE)
    if given:
        return given, PASSWORD_VARIABLE
    path = _credential(environ, CREDENTIAL_PASSWORD)
    if path is not None:
        return _read(path).removesuffix("\n").removesuffix("\r"), f"systemd credential {CREDENTIAL_PASSWORD}"
    if file is not None and file.options.get("password"):
        return file.options["password"], file.path
    return "", ""


def _option_file(server: ServerSection, environ: Mapping[str, str]) -> _OptionFile | None:
    if server.defaults_file is not None:
        path = Path(server.defaults_file)
    elif (given := _credential(environ, CREDENTIAL_OPTIONS)) is not None:
        path = given
    else:
        return None
    text = _read(path)
    try:
        options = read_options(text, GROUP)
    except OptionFileError as error:
        raise ConfigError([f"{path}: {error}"]) from error
    warnings = [f"{path}: {line.split()[0]} is not followed" for line in includes(text)]
    if not any(options.get(name) for name in ("user", "password", "host", "socket")):
        warnings.append(f"{path}: no user, password, host or socket in a [{GROUP}] group")
    mode = path.stat().st_mode
    if options.get("password") and mode & (stat.S_IROTH | stat.S_IWOTH):
        warnings.append(
            f"{path}: other accounts can read or change it (mode {mode & 0o777:04o}); chmod 0640 or less"
        )
    tls = read_tls(str(path), options)
    return _OptionFile(str(path), options, [*warnings, *tls.warnings], tls)


def _credential(environ: Mapping[str, str], name: str) -> Path | None:
    """Return where systemd put a credential; None where it was given none of that name."""
    directory = environ.get("CREDENTIALS_DIRECTORY")
    if not directory:
        return None
    path = Path(directory, name)
    try:
        return path if path.exists() else None
    except OSError as error:
        raise ConfigError(
            [f"{path}: the credential cannot be seen: {error.strerror}; it is for the unit's User= alone"]
        ) from error


def _port(file: _OptionFile) -> int:
    text = file.options.get("port", "")
    if not text:
        return DEFAULT_PORT
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= HIGHEST_PORT):
        raise ConfigError([f"{file.path}: port = {text}: must be a whole number from 1 up to {HIGHEST_PORT}"])
    return int(text)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(
            [f"{path}: no such file; server.defaults_file names a MySQL option file"]
        ) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}; check its owner and mode"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not UTF-8 at byte {error.start}"]) from error
