"""Options that several commands share, and what is made of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar, get_args

import click

from tuner.cli.errors import ENDS, Unusable
from tuner.cli.saying import say
from tuner.clock import Clock
from tuner.config.credentials import identity_of, read_credentials
from tuner.config.load import load_config
from tuner.config.schema import Config, ConfigError
from tuner.servers.endpoint import Endpoint
from tuner.servers.mysql import MySQLServer
from tuner.settings import REMOVED_POLICIES, PolicyName
from tuner.statedir import as_caller

F = TypeVar("F", bound=Callable[..., object])

SERVER_FLAGS = {
    "socket": "server.socket",
    "host": "server.host",
    "port": "server.port",
    "user": "server.user",
    "defaults_file": "server.defaults_file",
    "state_directory": "daemon.state_directory",
}


def server_options(command: F) -> F:
    """Add the options that say which server is meant."""
    for option in reversed(
        (
            click.option("--config", "config_path", metavar="FILE", help="Configuration file (TOML)."),
            click.option("--socket", metavar="PATH", help="mysqld's unix socket."),
            click.option("--host", help="Host name or address of the server."),
            click.option("--port", type=int, help="TCP port of the server."),
            click.option(
                "--user", help="Account; the password comes from an option file or INNOBRIM_PASSWORD."
            ),
            click.option("--defaults-file", metavar="FILE", help="MySQL option file with a [client] group."),
            click.option("--state-directory", metavar="DIR", help="Where journal and token live."),
        )
    ):
        command = option(command)
    return command


def stand_in_options(command: F) -> F:
    """Add the options that say which server is meant where no daemon says it."""
    for option in reversed(
        (
            click.option("--host", help="Without a daemon: host name or address of the server."),
            click.option("--port", type=int, help="Without a daemon: TCP port of the server."),
            click.option("--socket", metavar="PATH", help="Without a daemon: mysqld's unix socket."),
            click.option("--user", help="Without a daemon: account of the server."),
            click.option(
                "--defaults-file",
                metavar="FILE",
                help="Without a daemon: MySQL option file with a [client] group.",
            ),
        )
    ):
        command = option(command)
    return command


def configuration(config_path: str | None, flags: Mapping[str, object]) -> Config:
    """Return the configuration from file, environment and flags; exit 2 with the reason where it is wrong.

    Args:
        config_path: the file, None for the default one.
        flags: option values by option name or dotted key; None values are left out.
    """
    try:
        return reread(config_path, flags, noted=warn)
    except ConfigError as error:
        usage(str(error))


def reread(
    config_path: str | None, flags: Mapping[str, object], *, noted: Callable[[str], object] = lambda _: None
) -> Config:
    """Return the configuration as ``configuration`` does.

    Args:
        config_path: the file, None for the default one.
        flags: option values by option name or dotted key; None values are left out.
        noted: told in a line of each value that should be written otherwise.

    Raises:
        ConfigError: it is wrong.
    """
    dotted = {SERVER_FLAGS.get(name, name): value for name, value in flags.items() if value is not None}
    return load_config(config_path, environ=os.environ, flags=dotted, noted=noted)


def endpoint(config: Config, noted: Callable[[str], object] | None = None) -> Endpoint:
    """Return where and as whom to connect; exit 2 where the credentials cannot be read.

    Args:
        config: the configuration.
        noted: told each warning about the option file; None prints them.
    """
    try:
        found = read_credentials(config.server, environ=os.environ)
    except ConfigError as error:
        usage(str(error))
    for warning in found.warnings:
        (noted or warn)(warning)
    return found


def real_server(config: Config, clock: Clock) -> MySQLServer:
    """Return the server that the configuration names; its credentials are read as whoever runs this."""
    with as_caller():
        where = endpoint(config)
    return MySQLServer(where, clock, name=server_name())


def server_name() -> str:
    """Return the name that a person gave the server, empty without one; exit 2 where it is none."""
    try:
        return identity_of(os.environ)
    except ConfigError as error:
        usage(str(error))


class PolicyChoice(click.Choice[str]):
    """A policy's name; one that is gone is answered with what to write instead."""

    def __init__(self) -> None:
        """Take what can be asked for."""
        super().__init__(get_args(PolicyName))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's signature
        """Return the name."""
        if instead := REMOVED_POLICIES.get(value):
            self.fail(f"{value}: {instead}", param, ctx)
        return super().convert(value, param, ctx)


class WholeNumber(click.IntRange):
    """A whole number from a lowest one on; another value is refused with what would be right."""

    def __init__(self, lowest: int, highest: int | None = None) -> None:
        """Take the bounds, both allowed."""
        super().__init__(min=lowest, max=highest)
        self._bounds = f"from {lowest:,}" + ("" if highest is None else f" to {highest:,}")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's signature
        """Return the number."""
        try:
            number: int = super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{str(value)!r} must be a whole number {self._bounds}", param, ctx)
        return number


def warn(message: str) -> None:
    """Say on standard error what a person should know, and go on."""
    say(f"warning: {message}", err=True)


def usage(message: str) -> NoReturn:
    """Say what is wrong and exit 2."""
    raise Unusable(message)


def fail(message: str, code: int) -> NoReturn:
    """Say why and exit with that code, which is not 0."""
    raise ENDS[code](message)
