"""``innobrim run``: the daemon."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tuner.board import ApiFailure, Board
from tuner.cli.exits import NO, USAGE
from tuner.cli.options import configuration, endpoint, fail, reread, server_options
from tuner.cli.serve import make_api
from tuner.clock import SystemClock
from tuner.daemon import Daemon
from tuner.logs import configure_logs
from tuner.servers.mysql import MySQLServer
from tuner.servers.port import ServerError
from tuner.settings import Mode
from tuner.systemd import Notifier


@click.command()
@server_options
@click.option("--active", is_flag=True, help="Write to the server. Without it nothing is ever written.")
@click.option("--set-point", type=float, help="Age ratio to hold; default: derived from the load.")
@click.option("--policy", type=click.Choice(["feedforward", "pid", "fixed"]), help="Decision law.")
@click.option("--api-port", type=int, help="TCP port of API and page; 0 for the unix socket only.")
@click.option("--no-api", is_flag=True, help="Serve no API at all.")
def run(
    config_path: str | None,
    *,
    active: bool,
    set_point: float | None,
    policy: str | None,
    api_port: int | None,
    no_api: bool,
    **server_flags: object,
) -> None:
    """Watch a server, and in active mode hold its checkpoint age.

    Advisory by default: it says what it would do and writes nothing. SIGHUP reads the configuration
    again, SIGTERM leaves a parked setting and ends.

    Example: innobrim run --socket /run/mysqld/mysqld.sock --user innobrim --active
    """
    flags = {
        **server_flags,
        "loop.mode": "active" if active else None,
        "loop.set_point": set_point,
        "loop.policy": policy,
        "api.port": api_port,
        "api.enabled": False if no_api else None,
    }
    config = configuration(config_path, flags)
    configure_logs(level=config.log.level, style=config.log.format)
    directory = Path(config.daemon.state_directory)
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o750)
    except OSError as error:
        fail(f"the state directory {directory} cannot be made: {error.strerror}", USAGE)
    clock = SystemClock()
    server = MySQLServer(endpoint(config), clock)
    board = Board()
    state: list[Daemon] = []

    def on_mode(mode: Mode) -> None:
        server.claims_writer = mode is Mode.ACTIVE
        server.enables_counters = config.daemon.enable_counters and mode is Mode.ACTIVE

    on_mode(config.loop.mode)
    api = make_api(config, board, configuration=lambda: state[0].config) if config.api.enabled else None
    daemon = Daemon(
        config,
        server,
        clock,
        board=board,
        notifier=Notifier(os.environ),
        reload=lambda: reread(config_path, flags),
        on_mode=on_mode,
        api=api,
    )
    state.append(daemon)
    try:
        daemon.run()
    except ApiFailure as error:
        fail(str(error), USAGE)
    except ServerError as error:
        fail(str(error), NO)
