"""``innobrim token``: who may use the API over TCP, and for what."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path

import click
from msgspec import Struct

from api.tokens import (
    ANONYMOUS,
    NAME,
    Register,
    Role,
    TokenError,
    let_anonymous_read,
    load,
    make,
    prepare,
    revoke,
)
from tuner.cli.answer import Group, Refused, Unusable, answering, say, say_json
from tuner.cli.options import (
    Duration,
    config_option,
    configuration,
    entered,
    json_option,
    state_option,
    with_options,
)
from tuner.cli.wording import columns

LONGEST = 3650 * 86_400
NO_TOKEN = "reading over TCP on loopback needs no token"  # noqa: S105 - a sentence about tokens


class Listed(Struct, frozen=True):
    """One line of the list.

    Attributes:
        name: of the token.
        role: what it is good for.
        made: Unix time; None for anonymous.
        expires: Unix time, None for never.
        expired: its time is over.
    """

    name: str
    role: Role
    made: float | None
    expires: float | None
    expired: bool


@click.group(cls=Group)
def token() -> None:
    """Make, list and revoke the tokens that the API takes over TCP.

    Only hashes are stored, in the state directory. A running daemon takes a change over within a second.
    The unix socket needs no token.

    Example: innobrim token make grafana --role read
    """


_options = with_options(config_option, state_option, json_option)


def _place(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which daemon's tokens are meant, and hand over its state directory."""

    @wraps(function)
    def command(
        *, config_path: str | None, state_directory: str | None, as_json: bool, **given: object
    ) -> None:
        with answering(as_json=as_json, means={TokenError: Refused}):
            directory = _directory(config_path, state_directory)
            with entered(directory):
                function(directory, as_json=as_json, **given)

    return _options(command)


@token.command("make")
@click.argument("name")
@click.option(
    "--role", type=click.Choice([role.value for role in Role]), required=True, help="What it is good for."
)
@click.option(
    "--expires",
    metavar="TIME",
    type=Duration(LONGEST),
    help="How long it lives, such as 90d; default: for ever.",
)
@_place
def make_token(directory: Path, *, name: str, role: str, expires: float | None, as_json: bool) -> None:
    """Make a token and print it, once: it is stored nowhere.

    "read" may look at everything, "operate" may change things too. The name is what the audit events say.
    The name anonymous stands for whoever has no token, and may be given the role read alone.

    Example: innobrim token make oncall --role operate --expires 90d
    """
    prepare(directory)
    if name == ANONYMOUS:
        if role != Role.READ or expires is not None:
            raise click.UsageError(f"{ANONYMOUS} may have --role read, without --expires")
        let_anonymous_read(directory, allowed=True)
        _say({"name": name, "role": role}, NO_TOKEN, as_json=as_json)
        return
    ends = None if expires is None else time.time() + expires
    secret = make(directory, name, Role(role), expires=ends)
    _say({"name": name, "role": role, "expires": ends, "token": secret}, secret, as_json=as_json)
    if not as_json:
        until = "" if ends is None else f" until {_shown(ends)}"
        say(f"{name} may {role}{until}; this is the only time that the token is shown", err=True)


@token.command("list")
@_place
def list_tokens(directory: Path, *, as_json: bool) -> None:
    """List who may use the API over TCP, by name and role.

    Example: innobrim token list
    """
    found = tuple(_listed(load(directory / NAME), wall=time.time()))
    if as_json:
        say_json({"tokens": found})
        return
    rows = [("name", "role", "made", "expires")]
    for one in found:
        until = (
            "never" if one.expires is None else _shown(one.expires) + (" (expired)" if one.expired else "")
        )
        rows.append((one.name, one.role.value, "-" if one.made is None else _shown(one.made), until))
    say(*columns(rows, indent=""))


@token.command("revoke")
@click.argument("name")
@_place
def revoke_token(directory: Path, *, name: str, as_json: bool) -> None:
    """Take a token back; whoever has it is refused within a second.

    "revoke anonymous" closes reading without a token, which is open on loopback otherwise.

    Example: innobrim token revoke grafana
    """
    said = "reading over TCP needs a token from now on, on loopback too; the probes need none"
    if name == ANONYMOUS:
        let_anonymous_read(directory, allowed=False)
    else:
        revoke(directory, name)
        said = f"{name} is revoked"
    _say({"name": name, "revoked": True}, said, as_json=as_json)


def _directory(config_path: str | None, state_directory: str | None) -> Path:
    """Return the state directory, which the daemon's first start makes.

    Raises:
        Unusable: it is not there, or not for this account.
    """
    config = configuration(config_path, {"state_directory": state_directory})
    directory = Path(config.daemon.state_directory)
    try:
        directory.stat()
    except OSError as error:
        raise Unusable(
            f"the state directory {directory} cannot be used: {error.strerror}; --state-directory or "
            "--config says where it is"
        ) from error
    return directory


def _listed(register: Register, *, wall: float) -> Iterable[Listed]:
    if register.anonymous:
        yield Listed(ANONYMOUS, Role.READ, made=None, expires=None, expired=False)
    for one in register.tokens:
        yield Listed(one.name, one.role, one.made, one.expires, one.expired(wall))


def _say(found: dict[str, object], words: str, *, as_json: bool) -> None:
    if as_json:
        say_json(found)
    else:
        say(words)


def _shown(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
