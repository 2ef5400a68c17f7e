"""Where the user says the daemon is: the options of the commands that speak to one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import click

from tuner.cli.options import configuration as configured
from tuner.config.schema import Config

OPTIONS = (
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


def options(function: Callable[..., None]) -> Callable[..., None]:
    """Add the connection's options and hand them over as one ``where``."""

    @functools.wraps(function)
    def command(**given: Any) -> None:  # noqa: ANN401 - click hands over every option
        where = Where(**{field.name: given.pop(field.name) for field in fields(Where)})
        if where.url is not None and where.api_socket is not None:
            raise click.UsageError("--url and --api-socket both name a daemon; give one of them")
        function(where, **given)

    for option in reversed(OPTIONS):
        command = option(command)
    return command


def configuration(where: Where, flags: Mapping[str, object] | None = None) -> Config:
    """Return the configuration that tells where the daemon lives.

    Args:
        where: what the command line says.
        flags: more from the command line, by option name; None values are left out.

    Raises:
        CommandError: it cannot be used.
    """
    return configured(where.config, {"state_directory": where.state_directory, **(flags or {})})
