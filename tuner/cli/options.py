"""Options that several commands share, the values that they take, and what is made of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

import click

from tuner.cli.answer import Unusable, say
from tuner.config.credentials import Credentials, identity_of, read_credentials
from tuner.config.load import load_config
from tuner.config.schema import Config
from tuner.core.ages import EXPECTED, PATTERN, bytes_of
from tuner.records import Facts
from tuner.servers.endpoint import Endpoint, at_address
from tuner.servers.server import RealServer
from tuner.settings import REMOVED_POLICIES, PolicyName
from tuner.system.amounts import MEBIBYTE
from tuner.system.clock import Clock
from tuner.system.statedir import as_caller, as_owner

SERVER_FLAGS = {
    "socket": "server.socket",
    "host": "server.host",
    "port": "server.port",
    "user": "server.user",
    "defaults_file": "server.defaults_file",
    "state_directory": "daemon.state_directory",
}


Command = TypeVar("Command", bound=Callable[..., object])


def with_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds options, in this order in the help."""

    def added(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added


config_option = click.option("--config", "config_path", metavar="FILE", help="Configuration file (TOML).")
state_option = click.option(
    "--state-directory", metavar="DIR", help="Where the daemon keeps journal, socket and tokens."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def _server(place: str) -> tuple[Callable[[Any], Any], ...]:
    account = "ccount; the password comes from an option file or INNOBRIM_PASSWORD."
    return (
        click.option("--socket", metavar="PATH", help=f"{place}mysqld's unix socket."),
        click.option("--host", help=f"{place}{'host' if place else 'Host'} name or address of the server."),
        click.option("--port", type=int, help=f"{place}TCP port of the server."),
        click.option("--user", help=f"{place}{'a' if place else 'A'}{account}"),
        click.option(
            "--defaults-file", metavar="FILE", help=f"{place}MySQL option file with a [client] group."
        ),
    )


server_options = with_options(config_option, *_server(""), state_option)
"""Which server is meant."""

stand_in_options = with_options(*_server("Without a daemon: "))
"""Which server is meant where no daemon says it."""


def configuration(
    config_path: str | None, flags: Mapping[str, object], *, noted: Callable[[str], object] | None = None
) -> Config:
    """Return the configuration from file, environment and flags.

    Args:
        config_path: the file, None for the default one.
        flags: option values by option name or dotted key; None values are left out.
        noted: told in a line of each value that should be written otherwise; None prints them.

    Raises:
        ConfigError: it is wrong.
    """
    dotted = {SERVER_FLAGS.get(name, name): value for name, value in flags.items() if value is not None}
    return load_config(config_path, environ=os.environ, flags=dotted, noted=noted or warn)


def endpoint(config: Config, noted: Callable[[str], object] | None = None) -> Credentials:
    """Return where and as whom to connect.

    Args:
        config: the configuration.
        noted: told each warning about the option file; None prints them.

    Raises:
        ConfigError: the credentials cannot be read.
    """
    found = read_credentials(config.server, environ=os.environ)
    for warning in found.warnings:
        (noted or warn)(warning)
    return found


def real_server(
    config: Config, clock: Clock, *, last: Facts | None = None, say: Callable[[str], None] = say
) -> RealServer:
    """Return the server that the configuration names; its credentials are read as whoever runs this.

    Args:
        config: the configuration.
        clock: whose time it is.
        last: of the server that a daemon was at, which is meant where nothing names one.
        say: told then which that is.

    Raises:
        ConfigError: credentials, or the name that a person gave the server, cannot be used.
    """
    with as_caller():
        found = endpoint(config)
    where: Endpoint = found
    if last is not None and not found.address_named:
        where = at_address(found, last.endpoint)
        say(f"no server is named: asking where the daemon found its own, {where}")
    return RealServer(where, clock, name=identity_of(os.environ))


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

    def __init__(self, lowest: int, highest: int | None = None, unit: str = "") -> None:
        """Take the bounds, both allowed, and the unit in words."""
        super().__init__(min=lowest, max=highest)
        self._bounds = f"from {lowest:,}" + ("" if highest is None else f" to {highest:,}") + unit

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


def refuse_given(context: click.Context, allowed: Collection[str], why: str) -> None:
    """End where an option that is not allowed is on the command line; ``why`` stands behind its name."""
    for param in context.command.params:
        name = str(param.name)
        source = context.get_parameter_source(name)
        if name not in allowed and source is click.core.ParameterSource.COMMANDLINE:
            raise Unusable(f"{param.opts[0]}{why}")


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


class CheckpointAge(click.ParamType[str]):
    """A checkpoint age such as 64M, 2G or 10%; handed on as it was typed, for the daemon knows S."""

    name = "age"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's signature
        """Return the text."""
        text = str(value).strip()
        if not re.fullmatch(PATTERN, text):
            self.fail(f"{value!r} is no age: write {EXPECTED}", param, ctx)
        return text


LARGEST_LOG = 512 * 2**30
"""Of MySQL and MariaDB, bytes."""


class LogSize(click.ParamType[int]):
    """A size of a redo log such as 512M, 2G or 1.5G: whole MiB, as MySQL takes it; bytes as an int."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's signature
        """Return bytes."""
        text = str(value).strip()
        try:
            size = 0 if text.endswith("%") else bytes_of(text, redo_capacity=LARGEST_LOG)
        except ValueError:
            size = 0
        if size < MEBIBYTE or size % MEBIBYTE:
            self.fail(f"{value!r} is no size: write whole MiB up to 512G, such as 512M or 2G", param, ctx)
        return size


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


SOCKET_NAME = "api.sock"


def socket_path(config: Config) -> str | None:
    """Return where the API's unix socket is; None where the configuration wants none."""
    if config.api.socket == "-":
        return None
    return config.api.socket or str(Path(config.daemon.state_directory) / SOCKET_NAME)
