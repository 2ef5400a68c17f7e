"""Where a server is and who we are there: the configuration, an option file, a credential, the environment.

A password comes from an option file, a systemd credential, a file of its own or the environment. Never from
the command line, where every process on the machine can read it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tuner.config.keys import IDENTITY_VARIABLE, PASSWORD_FILE_VARIABLE, PASSWORD_VARIABLE
from tuner.config.optionfile import OptionFileError, includes, read_options
from tuner.config.schema import UTF_16, ConfigError, ServerSection
from tuner.config.tls import MODES, FileTls, read_tls, require_certificates
from tuner.servers import endpoint
from tuner.servers.endpoint import Endpoint
from tuner.system.files import changeable, read_whole

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3306
HIGHEST_PORT = 65535

LOCAL = "localhost"
"""The one name of a host that means the unix socket to mysql's own programs, in these letters."""

SOCKET_VARIABLE = "MYSQL_UNIX_PORT"
"""Where mysql's own programs take the socket from, where nothing else names it."""

SECRETS = Path("/run/secrets")
"""Where Docker, Podman and Compose mount secrets, readable for every account of the container."""

MOUNTS = Path("/proc/self/mountinfo")
IN_MEMORY = frozenset({"tmpfs", "ramfs"})

LONGEST = 4096
"""Bytes of a line that can be a password."""

_WANTED = "it must be a file whose first line is the password, readable by the account that runs this command"
_OCTAL = re.compile(r"\\([0-7]{3})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
DEFAULT_USER = "innobrim"
CREDENTIAL_PASSWORD = "mysql-password"  # noqa: S105 - the name of a systemd credential
CREDENTIAL_OPTIONS = "my.cnf"
GROUP = "client"

TLS_GROUPS = (GROUP, "client-server", "client-mariadb")
"""Groups that MariaDB's clients read as one. Of the two that MySQL's pass over, encryption alone counts."""


def socket_there(environ: Mapping[str, str]) -> str | None:
    """Return the unix socket where nothing else names one; None where there is none."""
    return environ.get(SOCKET_VARIABLE) or endpoint.usual_socket()


def _address(
    server: ServerSection, file: _OptionFile, environ: Mapping[str, str]
) -> tuple[str | None, str, int, bool]:
    """Return socket, host and port, and whether the socket is only guessed; a socket goes before the others.

    The configuration's socket or host overrules the option file's address. A port alone in the configuration
    names no host and keeps the option file's, but not its socket: that is TCP. Of the file alone, as with
    mysql's own programs: no host, or ``localhost``, is the unix socket, at whatever port, unless
    ``protocol = tcp``; another host is TCP, whatever socket stands beside it. Only a file that has no address
    at all leaves it to the default, which is TCP.
    """
    options = file.options
    host = options.get("host") or ""
    if server.socket is not None or server.host is not None:
        return server.socket, server.host or DEFAULT_HOST, server.port or DEFAULT_PORT, False
    if server.port is not None:
        return None, host or DEFAULT_HOST, server.port, False
    written = options.get("protocol", "")
    protocol = written.lower()
    if protocol not in {"", "default", "tcp", "socket"}:
        raise ConfigError([f"{file.path}: protocol = {written}: must be tcp or socket"])
    port = _port(options.get("port", ""), file.path)
    remote = host not in {"", LOCAL}
    if protocol == "socket" and remote:
        why = f"protocol = socket and host = {host}: leave one out, as the socket is this machine's"
        raise ConfigError([f"{file.path}: {why}"])
    socket = options.get("socket")
    if protocol == "tcp" or remote or not (socket or host or protocol == "socket"):
        return None, host or DEFAULT_HOST, port, False
    named = socket or environ.get(SOCKET_VARIABLE)
    return named or endpoint.usual_socket() or endpoint.SOCKETS[0], DEFAULT_HOST, port, not named


def _port(text: str, file: str) -> int:
    if not text:
        return DEFAULT_PORT
    plain = text.isascii() and text.isdigit() and len(text) <= len(str(HIGHEST_PORT))
    if not (plain and 0 < int(text) <= HIGHEST_PORT):
        raise ConfigError([f"{file}: port = {text}: must be a whole number from 1 up to {HIGHEST_PORT}"])
    return int(text)


def password_in(path: Path) -> str:
    """Return the first line of a file, without its end; bytes that are no UTF-8 stay what they are.

    Others may read it only where it is a mounted secret: below ``/run/secrets``, or on a read-only file
    system in memory, as Kubernetes mounts one. Nobody else sees that, and its mode is not the operator's.

    Raises:
        ConfigError: it cannot be read, is empty, no regular file, or one that others may read or change.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe would wait for whoever writes to it
    except OSError as error:
        raise _refused(path, f"{(error.strerror or str(error)).lower()}; {_WANTED}") from error
    try:
        _must_be_ours(path, os.fstat(handle).st_mode)
        line = os.read(handle, LONGEST + 2).partition(b"\n")[0].removesuffix(b"\r")
    finally:
        os.close(handle)
    if not line:
        raise _refused(path, "its first line is empty; it must be the password")
    if len(line) > LONGEST:
        raise _refused(path, f"its first line is longer than {LONGEST} bytes; it must be the password")
    return line.decode("utf-8", "surrogateescape")


def _must_be_ours(path: Path, mode: int) -> None:
    shown = f"(mode {stat.S_IMODE(mode):04o}); chmod 0640 or less"
    if not stat.S_ISREG(mode):
        raise _refused(path, f"no regular file; {_WANTED}")
    if mode & stat.S_IWOTH:
        raise _refused(path, f"other accounts can change it {shown}")
    if mode & stat.S_IROTH and not is_mounted_secret(path):
        raise _refused(path, f"other accounts can read it {shown}")


def is_mounted_secret(path: Path) -> bool:
    """Tell whether a file is one that a container runtime mounted as a secret."""
    real = Path(os.path.realpath(path))
    if SECRETS in real.parents:
        return True
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    return on_read_only_memory(real, mounts)


def on_read_only_memory(path: Path, mounts: str) -> bool:
    """Tell whether a file lies on a file system in memory that is mounted read-only.

    Args:
        path: without symbolic links.
        mounts: as /proc/self/mountinfo has them.
    """
    in_memory, longest = False, -1
    for line in mounts.split("\n"):
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if not dash or len(fields) < 6:  # noqa: PLR2004 - see proc_pid_mountinfo(5)
            continue
        point = Path(_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields[4]))
        if (point == path or point in path.parents) and len(point.parts) >= longest:
            longest = len(point.parts)
            in_memory = after.split(" ")[0] in IN_MEMORY and "ro" in fields[5].split(",")
    return in_memory


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError([f"{PASSWORD_FILE_VARIABLE} = {path}: {why}"])


def identity_of(environ: Mapping[str, str]) -> str:
    """Return the name that a person gave the server; empty where nobody did.

    Raises:
        ConfigError: it is none; the message says what one is.
    """
    given = environ.get(IDENTITY_VARIABLE, "")
    if given and not _NAME.fullmatch(given):
        wanted = "1 to 64 letters, digits and . _ -, of which the first is a letter or a digit"
        raise ConfigError([f"{IDENTITY_VARIABLE} = {given[:80]!r}: must be {wanted}"])
    return given


class Credentials(Endpoint, frozen=True):
    """Where and as whom to connect, and how that is known. Printing it never shows the password.

    Attributes:
        password_from: what the password was read from, empty without one.
        address_named: configuration or option file say where the server is; else it is the default.
        warnings: one line each: files that others can read, directives not followed.
    """

    password_from: str = ""
    address_named: bool = True
    warnings: tuple[str, ...] = ()


class _OptionFile(Struct):
    """An option file, or all that there is without one."""

    path: str = ""
    options: dict[str, str] = msgspec.field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    tls: FileTls = msgspec.field(default_factory=FileTls)


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
        require_certificates("server.tls_ca", server.tls_ca)
    file = _option_file(server, environ)
    password, source = _password(environ, file)
    socket, host, port, guessed = _address(server, file, environ)
    tls = _encryption(server, file)
    own = any(one is not None for one in (server.socket, server.host, server.port))
    return Credentials(
        user=server.user or file.options.get("user") or DEFAULT_USER,
        password=password,
        socket=socket,
        host=host,
        port=port,
        socket_guessed=guessed,
        timeout=server.timeout,
        tls=tls.mode or "preferred",
        tls_ca=tls.authority,
        tls_details=tls.details,
        public_key=tls.public_key,
        password_from=source,
        address_named=own or any(file.options.get(one) for one in ("host", "socket", "port", "protocol")),
        warnings=file.warnings,
    )


def _encryption(server: ServerSection, file: _OptionFile) -> FileTls:
    """Return how a connection is encrypted: as the configuration says, and no less than the file asks for."""
    theirs = file.tls
    if server.tls is None:
        return theirs
    ours = "verify_identity" if server.tls == "required" and server.tls_ca is not None else server.tls
    if theirs.mode is not None and MODES.index(ours) < MODES.index(theirs.mode):
        both = f"server.tls = {server.tls} contradicts {theirs.asked_by} in {file.path}"
        instead = f'set tls = "{theirs.mode}", or take that out of the option file'
        raise ConfigError([f"{both}, which asks for more; {instead}"])
    details = theirs.details if server.tls_ca is None else replace(theirs.details, authorities=None)
    authority = server.tls_ca or theirs.authority
    if ours.startswith("verify") and authority is None and details.authorities is None:
        what = "the file of the certificate authority to check the server against"
        raise ConfigError([f"server.tls = {ours} needs tls_ca, {what}, or ssl-ca in an option file"])
    return FileTls(ours, authority=authority, details=details, public_key=theirs.public_key)


def _password(environ: Mapping[str, str], file: _OptionFile) -> tuple[str, str]:
    """Return the password and where it is from; empty where nothing has one."""
    given, path_given = environ.get(PASSWORD_VARIABLE), environ.get(PASSWORD_FILE_VARIABLE)
    if given and path_given:
        raise ConfigError(
            [f"{PASSWORD_VARIABLE} and {PASSWORD_FILE_VARIABLE} both give a password; set one of them"]
        )
    if given:
        return given, PASSWORD_VARIABLE
    if path_given:
        return password_in(Path(path_given)), f"{PASSWORD_FILE_VARIABLE} = {path_given}"
    path = credential(environ, CREDENTIAL_PASSWORD)
    if path is not None:
        return _read(path).removesuffix("\n").removesuffix("\r"), f"systemd credential {CREDENTIAL_PASSWORD}"
    password = file.options.get("password", "")
    return password, file.path if password else ""


def _option_file(server: ServerSection, environ: Mapping[str, str]) -> _OptionFile:
    path = Path(server.defaults_file) if server.defaults_file else credential(environ, CREDENTIAL_OPTIONS)
    if path is None:
        return _OptionFile()
    text = _read(path)
    mode = path.stat().st_mode
    if why := changeable(path):
        raise ConfigError([f"{path}: {why}"])
    try:
        options = read_options(text, GROUP)
        encryption = read_options(text, *TLS_GROUPS)
    except OptionFileError as error:
        raise ConfigError([f"{path}: {error}"]) from error
    for name in ("user", "host", "socket"):
        try:
            options.get(name, "").encode()
        except UnicodeEncodeError as error:
            raise ConfigError([f"{path}: {name} is not UTF-8; it must be"]) from error
    warnings = [f"{path}: {line.split()[0]} is not followed" for line in includes(text)]
    if not any(options.get(name) for name in ("user", "password", "host", "socket")):
        warnings.append(f"{path}: no user, password, host or socket in a [{GROUP}] group")
    if options.get("password") and mode & stat.S_IROTH and not is_mounted_secret(path):
        warnings.append(f"{path}: other accounts can read it (mode {mode & 0o777:04o}); chmod 0640 or less")
    tls = read_tls(str(path), encryption)
    return _OptionFile(str(path), options, (*warnings, *tls.warnings), tls)


def credential(environ: Mapping[str, str], name: str) -> Path | None:
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


def _read(path: Path) -> str:
    try:
        content = read_whole(path)
    except FileNotFoundError as error:
        raise ConfigError(
            [f"{path}: no such file; server.defaults_file names a MySQL option file"]
        ) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}; check its owner and mode"]) from error
    except ValueError as error:
        raise ConfigError([f"{path}: has a zero byte; no path has one"]) from error
    if content.startswith(UTF_16):
        raise ConfigError([f"{path}: UTF-16; save it as UTF-8"])
    return content.decode("utf-8", "surrogateescape")
