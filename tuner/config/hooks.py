"""Reads the hooks of a configuration file; and looks at the commands and secrets that they name.

What a table says is looked at where the configuration is loaded, by whoever loads it. Commands and secrets
are for the daemon's account alone: they are looked at where a daemon starts or reloads, and at each delivery.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from tuner.config.credentials import credential, is_mounted_secret
from tuner.config.keys import HOOK, toml
from tuner.config.schema import ConfigError, Fault, HookTable, is_loopback
from tuner.config.tables import read_tables
from tuner.system.files import changeable, read_whole

MOST_HOOKS = 8
"""Each has a thread."""

MOST_SECRETS = 2
SECRET = "whsec_"  # noqa: S105 - how each begins, by the Standard Webhooks specification
SECRET_BYTES = range(24, 65)
"""How long a secret may be, by the same."""

HOW_TO = (
    f'{SECRET} and the base64 of 24 to 64 random bytes: echo "{SECRET}$(head -c 32 /dev/urandom | base64)"'
)


def read_hooks(place: str, tables: object) -> tuple[tuple[HookTable, ...], list[str], list[str]]:
    """Return the hooks as ``read_tables`` does."""
    made, problems, notes = read_tables(
        place, tables, HookTable, array=HOOK, values_wrong=_values_wrong, table_wrong=_table_wrong
    )
    if len(made) > MOST_HOOKS:
        problems.append(f"{place}: {len(made)} tables; there may be {MOST_HOOKS}")
    return made, problems, notes


def _values_wrong(here: str, values: Mapping[str, Any]) -> Iterator[str]:
    if (url := values.get("url")) is not None and (why := _url_wrong(url)):
        yield f"{here}.url = {toml(_without_secret(url))}: {why}"
    command = values.get("command")
    if command is not None and not (command and Path(command[0]).is_absolute()):
        why = "must begin with an absolute path, as no PATH is searched"
        yield f"{here}.command = {toml(command[:1])}: {why}"


def _url_wrong(url: str) -> str:
    """Return what is wrong with a URL; empty where nothing is."""
    wanted = "must be such as https://alerts.example.com/innobrim"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"{error}; {wanted}"
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0:
        return wanted
    if not url.isascii() or not url.isprintable() or " " in url or parts.fragment:
        return f"has a space, a fragment or a character that is no ASCII; {wanted}"
    if "@" in parts.netloc:
        return "has a user or password in it; leave them out, as a receiver knows its sender by the signature"
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        return "http:// is for a receiver on this machine alone, such as http://127.0.0.1:9000/; say https://"
    return ""


def _without_secret(url: str) -> str:
    """Return a URL without a user and a password, and without a path, which may be a secret."""
    before, at, after = url.rpartition("@")
    start = f"{before.partition('//')[0]}//…@" if at else ""
    return start + re.sub(r"^((?:\w+:)?(?://)?[^/?#]*)[/?#].+", r"\1/…", after)


def _table_wrong(here: str, table: HookTable) -> Iterator[str]:
    if (table.url is None) == (table.command is None):
        yield f"{here}: must have either url or command"
    if table.command is not None and table.secret_file is not None:
        yield f"{here}.secret_file: signs requests to a url; leave it out, as a command is not signed"


def shown(table: HookTable) -> str:
    """Return whom a hook tells, without the path of a URL, which may be a secret."""
    if table.url is not None:
        parts = urlsplit(table.url)
        return f"{parts.scheme}://{parts.netloc}"
    return (table.command or ("",))[0]


def without_secrets(table: HookTable) -> HookTable:
    """Return a hook as everybody may see it."""
    if table.url is not None:
        return replace(table, url=f"{shown(table)}/…")
    return replace(table, command=(shown(table), *("…" for _ in (table.command or ())[1:])))


def hook_faults(tables: Iterable[HookTable], *, environ: Mapping[str, str]) -> Iterator[Fault]:
    """Yield what keeps the account that runs this from running the commands, or from signing."""
    for table in tables:
        try:
            require_command(table)
            secrets_of(table, environ=environ)
        except ConfigError as error:
            yield from error.faults


def unsigned(tables: Iterable[HookTable], *, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each hook whose requests are not signed."""
    for table in tables:
        if table.url is not None and not _secret_path(table, environ):
            credential_name = f"{HOOK}-{table.name}"
            yield (
                f'{HOOK} "{table.name}": its requests are not signed: '
                f"there is neither secret_file nor a systemd credential {credential_name}"
            )


def require_command(table: HookTable) -> None:
    """Refuse a hook's command that cannot be run, or that others can change.

    Raises:
        ConfigError: it is one; names the hook, the path and what would be right.
    """
    if table.command is None:
        return
    path = table.command[0]
    try:
        mode = Path(path).stat().st_mode
        why = changeable(path)
    except OSError as error:
        raise _refused(table, "command", path, (error.strerror or str(error)).lower()) from error
    if not stat.S_ISREG(mode):
        why = "no regular file; it must be a program"
    elif not why and not os.access(path, os.X_OK):
        why = (
            f"not executable for the account that runs this (mode {stat.S_IMODE(mode):04o}); chmod +x {path}"
        )
    if why:
        raise _refused(table, "command", path, why)


def secrets_of(table: HookTable, *, environ: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return what a hook's requests are signed with, as its file has it now; empty for a hook without.

    Raises:
        ConfigError: the file cannot be read, others can read or change it, or it has no secret in it.
    """
    path = _secret_path(table, environ)
    if path is None:
        return ()
    try:
        text = read_whole(path).decode("ascii", "replace")
        mode, why = path.stat().st_mode, changeable(path)
    except (OSError, ValueError) as error:
        raise _refused(table, "secret_file", path, str(getattr(error, "strerror", error)).lower()) from error
    if not why and mode & stat.S_IROTH and not is_mounted_secret(path):
        why = f"other accounts can read it (mode {stat.S_IMODE(mode):04o}); chmod 0640 or less"
    if why:
        raise _refused(table, "secret_file", path, why)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not 0 < len(lines) <= MOST_SECRETS:
        raise _refused(
            table, "secret_file", path, f"{len(lines)} lines; it must have one or two, each {HOW_TO}"
        )
    return tuple(_secret(table, path, number, line) for number, line in enumerate(lines, 1))


def _secret(table: HookTable, path: Path, number: int, line: str) -> bytes:
    try:
        found = base64.b64decode(line.removeprefix(SECRET), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if not line.startswith(SECRET) or len(found) not in SECRET_BYTES:
        raise _refused(table, "secret_file", path, f"line {number} is no secret; it must be {HOW_TO}")
    return found


def _secret_path(table: HookTable, environ: Mapping[str, str]) -> Path | None:
    if table.url is None:
        return None
    if table.secret_file is not None:
        return Path(table.secret_file)
    return credential(environ, f"{HOOK}-{table.name}")


def _refused(table: HookTable, key: str, value: object, why: str) -> ConfigError:
    said = f'{HOOK} "{table.name}": {key} = {value}: {why}'
    return ConfigError([Fault(said, key=f"{HOOK}.{key}", value=str(value))])
