"""Who we are to the server: an option file, a systemd credential or the environment.

Never the command line, where every process on the machine can read it.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from tuner.config.address import address_of, names_address
from tuner.config.errors import ConfigError
from tuner.config.keys import PASSWORD_FILE_VARIABLE, PASSWORD_VARIABLE
from tuner.config.optionfile import OptionFileError, includes, read_options
from tuner.config.optiontls import MODES, FileTls, read_tls
from tuner.config.passwordfile import password_in
from tuner.config.schema import ServerSection
from tuner.config.tlsfiles import must_hold_certificates
from tuner.servers.endpoint import USUAL, Endpoint, TlsDetails

DEFAULT_USER = "innobrim"
CREDENTIAL_PASSWORD = "mysql-password"  # noqa: S105 - the name of a systemd credential
CREDENTIAL_OPTIONS = "my.cnf"
GROUP = "client"
TLS_GROUPS = (GROUP, "client-server", "client-mariadb")
"""Groups that MariaDB's clients read as one. Of the two that MySQL's pass over, encryption alone counts."""


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
        socket_guessed: nothing names the socket; it is looked for at each connection.
        address_named: configuration or option file say where the server is; else it is the default.
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
    socket_guessed: bool = False
    address_named: bool = True
    warnings: tuple[str, ...] = ()

    def endpoint(self, *, timeout: float = 1.0) -> Endpoint:
        """Return where and as whom to connect.

        Args:
            timeout: of the endpoint, seconds.
        """
        return Endpoint(
            user=self.user,
            password=self.password,
            socket=self.socket,
            socket_guessed=self.socket_guessed,
            host=self.host,
            port=self.port,
            tls=self.tls,
            tls_ca=self.tls_ca,
            tls_details=self.tls_details,
            public_key=self.public_key,
            timeout=timeout,
        )


@dataclass(slots=True)
class _OptionFile:
    path: str
    options: dict[str, str]
    warnings: list[str]
    tls: FileTls


def read_credentials(server: ServerSection, *, environ: Mapping[str, str]) -> Credentials:
    """Return where and as whom to connect.

    Password: ``INNOBRIM_PASSWORD``, or the first line of the file that ``INNOBRIM_PASSWORD_FILE`` names, else
    ``$CREDENTIALS_DIRECTORY/mysql-password``, else the option file (``server.defaults_file``, or
    ``$CREDENTIALS_DIRECTORY/my.cnf``). Everything else: what the configuration says, else the option file;
    less encryption than the option file asks for is an error, though. A password's bytes that are no UTF-8
    are what ``surrogateescape`` makes of them.

    Raises:
        ConfigError: a file that is missing, unreadable or malformed, ``server.tls_ca`` among them; or what is
            said of encryption contradicts itself.
    """
    if server.tls_ca is not None:
        must_hold_certificates("server.tls_ca", server.tls_ca)
    file = _option_file(server, environ)
    options = file.options if file else {}
    password, source = _password(environ, file)
    address = address_of(server, options, file=file.path if file else "", environ=environ)
    tls = _encryption(server, file)
    return Credentials(
        user=server.user or options.get("user") or DEFAULT_USER,
        password=password,
        socket=address.socket,
        host=address.host,
        port=address.port,
        socket_guessed=address.guessed,
        tls=tls.mode or "preferred",
        tls_ca=tls.authority,
        tls_details=tls.details,
        public_key=tls.public_key,
        password_from=source,
        address_named=names_address(server, options),
        warnings=tuple(file.warnings) if file else (),
    )


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
    given, path_given = environ.get(PASSWORD_VARIABLE), environ.get(PASSWORD_FILE_VARIABLE)
    if given and path_given:
        raise ConfigError(
            [f"{PASSWORD_VARIABLE} and {PASSWORD_FILE_VARIABLE} both give a password; set one of them"]
        )
    if given:
        return given, PASSWORD_VARIABLE
    if path_given:
        return password_in(Path(path_given)), f"{PASSWORD_FILE_VARIABLE} = {path_given}"
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
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) and mode & stat.S_IWOTH:
        said = f"other accounts can change it (mode {stat.S_IMODE(mode):04o}); chmod 0640 or less"
        raise ConfigError([f"{path}: {said}; mysql's own programs ignore such a file"])
    try:
        options = read_options(text, GROUP)
        encryption = read_options(text, *TLS_GROUPS)
    except OptionFileError as error:
        raise ConfigError([f"{path}: {error}"]) from error
    for name in ("user", "host", "socket"):
        if not _is_text(options.get(name, "")):
            raise ConfigError([f"{path}: {name} is not UTF-8; it must be"])
    warnings = [f"{path}: {line.split()[0]} is not followed" for line in includes(text)]
    if not any(options.get(name) for name in ("user", "password", "host", "socket")):
        warnings.append(f"{path}: no user, password, host or socket in a [{GROUP}] group")
    if options.get("password") and mode & stat.S_IROTH:
        warnings.append(f"{path}: other accounts can read it (mode {mode & 0o777:04o}); chmod 0640 or less")
    tls = read_tls(str(path), encryption)
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


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError as error:
        raise ConfigError(
            [f"{path}: no such file; server.defaults_file names a MySQL option file"]
        ) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}; check its owner and mode"]) from error
    except ValueError as error:
        raise ConfigError([f"{path}: has a zero byte; no path has one"]) from error
