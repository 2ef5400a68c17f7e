"""Options that several commands share, the values that they take, and what is made of them."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar, get_args

import click

from tuner.cli.answer import ENDS, Unusable, answering, say
from tuner.clock import Clock
from tuner.config.credentials import identity_of, read_credentials
from tuner.config.load import load_config
from tuner.config.schema import Config, ConfigError
from tuner.core.ages import EXPECTED, PATTERN
from tuner.servers.endpoint import Endpoint
from tuner.servers.mysql import MySQLServer
from tuner.settings import REMOVED_POLICIES, PolicyName
from tuner.statedir import as_caller, as_owner

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


LOWEST_M = 100
HIGHEST_M = 4_000_000_000
"""Which io_capacity_max an override may ask for, pages/s."""

MOST_SEEDS = 1000

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


class Duration(click.ParamType[float]):
    """A time such as 30s, 10m, 2h or 1h30m, above 0; seconds as a float."""

    name = "duration"

    def __init__(self, longest: float) -> None:
        """Take the longest time allowed, seconds."""
        self._longest = longest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's signature
        """Return seconds."""
        if isinstance(value, float):
            return value
        text = str(value).strip().lower()
        if not _DURATION.fullmatch(text):
            self.fail(f"{value!r} is no duration: write 30s, 10m, 2h, 1d or 1h30m", param, ctx)
        parts = _PART.findall(text)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
        if not 0 < seconds <= self._longest:
            unit = parts[0][1]
            most = f"{self._longest / _UNITS[unit]:.10g}{unit}"
            self.fail(f"{value!r} must be above 0{unit} and at most {most}", param, ctx)
        return seconds


class PagesPerSecond(click.ParamType[int]):
    """A whole number of pages a second, inside bounds."""

    name = "pages/s"

    def __init__(self, lowest: int, highest: int) -> None:
        """Take the bounds, both allowed."""
        self._lowest, self._highest = lowest, highest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's signature
        """Return pages/s."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} must be a whole number of pages/s, such as 4000", param, ctx)
        if not self._lowest <= number <= self._highest:
            bounds = f"from {self._lowest} up to {self._highest:,} pages/s"
            self.fail(f"{value!r} must be {bounds}", param, ctx)
        return number


class Seeds(click.ParamType[tuple[str, int]]):
    """A number of seeds, for all scenarios or with a name and ``=`` in front for one."""

    name = "seeds"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, int]:
        """Return the scenario's name, empty for all, and the number."""
        name, named, number = str(value).rpartition("=")
        if (
            bool(named) is not bool(name.strip())
            or not number.isdecimal()
            or not 1 <= int(number) <= MOST_SEEDS
        ):
            self.fail(
                f"{value!r}: write a whole number from 1 to {MOST_SEEDS}, or one for a scenario: daily=5",
                param,
                ctx,
            )
        return name, int(number)


class CheckpointAge(click.ParamType[str]):
    """A checkpoint age such as 64MiB, 2G or 10%; handed on as it was typed, for the daemon knows S."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's signature
        """Return the text."""
        text = str(value).strip()
        if not re.fullmatch(PATTERN, text):
            self.fail(f"{value!r} is no age: write {EXPECTED}", param, ctx)
        return text


DAEMON_OPTIONS = (
    click.option("--config", metavar="FILE", help="Configuration file of the daemon."),
    click.option(
        "--state-directory", metavar="DIR", help="Where the daemon keeps socket, token and journal."
    ),
    click.option(
        "--api-socket", metavar="PATH", help="The daemon's unix socket [default: in its state directory]."
    ),
    click.option("--url", metavar="URL", help="Its API over TCP, for example http://127.0.0.1:8633."),
    click.option("--token-file", metavar="FILE", help="Token for TCP [default: in its state directory]."),
    click.option(
        "--ca-file", metavar="FILE", help="Whom to trust for https, PEM [default: the system, and api.tls]."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
)


@dataclass(frozen=True, slots=True)
class Where:
    """Where the user says the daemon is; None leaves it to the configuration.

    Attributes:
        url: of the API over TCP.
        api_socket: path of its unix socket.
        token_file: path of the token.
        ca_file: certificates to trust for https besides the system's.
        config: path of the configuration file.
        state_directory: where the daemon keeps socket, token and journal.
    """

    url: str | None
    api_socket: str | None
    token_file: str | None
    config: str | None
    state_directory: str | None
    ca_file: str | None = None

    @property
    def named(self) -> str:
        """The option that names one certain daemon, for which nothing may stand in; empty where none does."""
        return "--url" if self.url is not None else "--api-socket" if self.api_socket is not None else ""


def daemon_options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the connection's options and hand them over as one ``where``."""

    @functools.wraps(function)
    def command(**given: Any) -> None:  # noqa: ANN401 - click hands over every option
        where = Where(**{field.name: given.pop(field.name) for field in fields(Where)})
        if where.url is not None and where.api_socket is not None:
            raise click.UsageError("--url and --api-socket both name a daemon; give one of them")
        with answering(as_json=given["as_json"]):
            function(where, **given)

    for option in reversed(DAEMON_OPTIONS):
        command = option(command)
    return command


def daemon_configuration(where: Where, flags: Mapping[str, object] | None = None) -> Config:
    """Return the configuration that tells where the daemon lives.

    Args:
        where: what the command line says.
        flags: more from the command line, by option name; None values are left out.

    Raises:
        CommandError: it cannot be used.
    """
    return configuration(where.config, {"state_directory": where.state_directory, **(flags or {})})


GivenP = ParamSpec("GivenP")
FoundT = TypeVar("FoundT")


@contextmanager
def entered(directory: str | Path, *, shared: bool = False) -> Iterator[None]:
    """Use a state directory as ``as_owner`` has it.

    Raises:
        Unusable: it is one that root must not use.
    """
    with ExitStack() as account:
        try:
            account.enter_context(as_owner(directory, shared=shared))
        except OSError as error:
            raise Unusable(
                f"the state directory {directory} is not used: {error.strerror or error}"
            ) from error
        yield


def in_state_directory(
    function: Callable[Concatenate[Config, GivenP], FoundT],
) -> Callable[Concatenate[Config, GivenP], FoundT]:
    """Have a function do what it does as the owner of the configuration's state directory."""

    @wraps(function)
    def inside(config: Config, /, *args: GivenP.args, **kwargs: GivenP.kwargs) -> FoundT:
        with entered(config.daemon.state_directory):
            return function(config, *args, **kwargs)

    return inside
