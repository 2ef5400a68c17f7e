"""``innobrim run``: the daemon."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from msgspec.structs import replace

from tuner.cli.answer import Unusable
from tuner.cli.options import PolicyChoice, configuration, endpoint, entered, server_options, socket_path
from tuner.config.checks import unencrypted
from tuner.config.credentials import identity_of
from tuner.config.hooks import hook_faults, unsigned
from tuner.config.schema import Config, ConfigError
from tuner.core.leaving.lowwater import may_be_written
from tuner.core.state import State
from tuner.daemon.board import ApiFailure, Board, PortTaken
from tuner.daemon.daemon import Api, Daemon
from tuner.records import TickRecord
from tuner.servers.endpoint import Endpoint
from tuner.servers.server import RealServer
from tuner.settings import Mode, as_formerly
from tuner.system.allocator import hold_little
from tuner.system.clock import SystemClock
from tuner.system.logs import configure_logs, get_logger
from tuner.system.systemd import Notifier
from tuner.system.version import program_version

ANOTHER_PORT = "set api.port, or --api-port, to a free one, or to 0 for the unix socket only"

log = get_logger("innobrim")


def _no_mode(context: click.Context, _param: click.Parameter, mode: str | None) -> None:
    """Say which flags choose the mode where a key's name was tried."""
    if mode is not None:
        raise click.UsageError(f"--mode {mode}: say --active or --advisory", context)


@click.command()
@server_options
@click.option(
    "--active/--advisory",
    "active",
    default=None,
    help="Write to the server, or never; default: loop.mode of the configuration, which is advisory.",
)
@click.option("--mode", hidden=True, expose_value=False, callback=_no_mode)
@click.option("--set-point", type=float, help="Age ratio to hold; default: derived from the load.")
@click.option("--policy", type=PolicyChoice(), help="How innodb_io_capacity_max is chosen.")
@click.option("--api-port", type=int, help="TCP port of API and page; 0 for the unix socket only.")
@click.option("--no-api", is_flag=True, help="Serve no API at all.")
@click.option(
    "--insecure-api",
    is_flag=True,
    help='With api.tls = "off": serve other machines without encryption, and let them read without a token.',
)
def run(
    config_path: str | None,
    *,
    active: bool | None,
    set_point: float | None,
    policy: str | None,
    api_port: int | None,
    no_api: bool,
    insecure_api: bool,
    **server_flags: object,
) -> None:
    """Watch a server, and in active mode keep its age at the set-point.

    Without --active, or mode = "active" in the configuration, it is advisory: it says what it would do and
    writes nothing. SIGHUP reads the configuration again. SIGTERM writes a parked setting and ends.

    Example: innobrim run --socket /run/mysqld/mysqld.sock --user innobrim --active
    """
    flags = {
        **server_flags,
        "loop.mode": None if active is None else "active" if active else "advisory",
        "loop.set_point": set_point,
        "loop.policy": policy,
        "api.port": 0 if no_api else api_port,
        "api.socket": "-" if no_api else None,
    }
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is a daemon to reload: the default ends it
    config = configuration(config_path, flags)
    hold_little()  # before the log's thread, the first one
    configure_logs(level=config.log.level, style=config.log.format)
    config = _at_home(_with_hooks(config))
    where = endpoint(
        config
    )  # before the state directory's account is taken on, which may not read root's files
    with entered(config.daemon.state_directory, shared=True):
        _serve(config, where, config_path, flags, insecure_api=insecure_api)


def permit(server: RealServer, state: State, record: TickRecord | None, *, enable_counters: bool) -> None:
    """Let a connection do what the state calls for; an active daemon turns counters on, where one may."""
    active = state.mode is Mode.ACTIVE
    server.claims_writer = active
    server.enables_counters = enable_counters and active and not state.facts.managed
    server.watches_latency = record is not None and record.restore is not None
    server.writes_low_water = may_be_written(state)


def _serve(
    config: Config,
    where: Endpoint,
    config_path: str | None,
    flags: dict[str, object],
    *,
    insecure_api: bool,
) -> None:
    """Set the daemon up and run it to its end; exit with what is in the way."""
    insecure = _serves_plainly(config, insecure_api=insecure_api)
    directory = Path(config.daemon.state_directory)
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o750)
    except OSError as error:
        raise Unusable(
            f"the state directory {directory} cannot be made: {error.strerror}; "
            "name one that this account may write to with --state-directory"
        ) from error
    clock = SystemClock()
    board = Board(watched=config.api.enabled)
    server = RealServer(where, clock, name=identity_of(os.environ), beat=board.pulse.beat)
    state: list[Daemon] = []

    server.writes_low_water = config.loop.low_water_mark  # until the daemon knows what stands
    api = None
    if config.api.enabled:
        api = make_api(config, board, configuration=lambda: state[0].config, insecure=insecure)

    logins = [where]

    def another() -> RealServer:
        """Return a connection of its own for a step of redo.grow_to, under the same identity."""
        return RealServer(logins[-1], clock, name=identity_of(os.environ))

    def reload() -> Config:
        new = _reread(config_path, flags)
        logins[:] = [_with_password(where, new)]
        server.use_password(logins[-1].password)
        return new

    daemon = Daemon(
        config,
        server,
        clock,
        board=board,
        notifier=Notifier(os.environ),
        reload=reload,
        api=api,
        connect=another,
        watch=partial(permit, server, enable_counters=config.daemon.enable_counters),
    )
    state.append(daemon)
    log.info(
        "starting",
        version=program_version(),
        server=str(where),
        mode=config.loop.mode.value,
        limits=f"{config.loop.min_io_capacity_max} to {config.loop.max_io_capacity_max} pages/s",
        state_directory=str(directory),
        api=_addresses(config),
    )
    if former := as_formerly(config.loop):
        log.info(former)
    try:
        daemon.run()
    except PortTaken as error:
        from tuner.cli.client import port_taken  # noqa: PLC0415 - a daemon that starts carries no client

        raise Unusable(port_taken(error, way=ANOTHER_PORT)) from error
    except ApiFailure as error:
        raise Unusable(str(error)) from error


def make_api(
    config: Config,
    board: Board,
    *,
    configuration: Callable[[], Config],
    insecure: bool = False,
    speed: float = 1.0,
) -> Api:
    """Return the HTTP side, ready to start; it is imported only where it is wanted.

    Args:
        config: the configuration at the start.
        board: the seam to the loop.
        configuration: returns the configuration in force.
        insecure: other machines may be served without TLS, and read without a token.
        speed: seconds on the loop's clock in one real second, for a simulated server.

    Raises:
        Unusable: the tokens cannot be read or made.
    """
    from api.access import Access  # noqa: PLC0415 - a daemon without API must not carry it
    from api.app import create_app  # noqa: PLC0415 - the same
    from api.daemon import About  # noqa: PLC0415 - the same
    from api.server import ApiServer, Certificate  # noqa: PLC0415 - the same
    from api.tokens import TokenError, Tokens, prepare  # noqa: PLC0415 - the same

    try:
        tokens = Tokens(prepare(config.daemon.state_directory))
    except TokenError as error:
        raise Unusable(str(error)) from error
    about = About(
        version=program_version(),
        interval=config.daemon.interval,
        started=time.time(),
        configuration=configuration,
        speed=speed,
    )
    api = config.api
    access = Access(
        tokens, names=frozenset({api.address, *api.names}), open_reading=insecure or not api.public
    )
    app = create_app(board, access=access, about=about)
    return ApiServer(
        app,
        api.address,
        api.port,
        socket_path(config),
        certificate=None if api.certificate is None else Certificate(api.certificate),
        insecure=insecure,
    )


def _serves_plainly(config: Config, *, insecure_api: bool) -> bool:
    """Tell whether other machines are served without encryption; exit 2 where only one place says so."""
    plain = unencrypted(config)
    if plain and not insecure_api:
        raise Unusable(plain)
    if plain:
        log.warning(
            "the API is served to other machines without encryption, and reading without a token",
            address=config.api.address,
        )
    return bool(plain)


def _with_hooks(config: Config) -> Config:
    """Return a configuration whose hooks can be used; say of each whose requests are not signed.

    Raises:
        ConfigError: a hook's command or secret cannot be used.
    """
    if faults := tuple(hook_faults(config.hook, environ=os.environ)):
        raise ConfigError(faults)
    for line in unsigned(config.hook, environ=os.environ):
        log.warning(line)
    return config


def _at_home(config: Config) -> Config:
    """Return the configuration with the state directory as a full path, which says whose it is."""
    directory = str(Path(config.daemon.state_directory).absolute())
    return replace(config, daemon=replace(config.daemon, state_directory=directory))


def _addresses(config: Config) -> list[str]:
    if not config.api.enabled:
        return []
    socket = socket_path(config)
    found = [] if socket is None else [f"unix socket {socket}"]
    if config.api.port:
        scheme = "http" if config.api.certificate is None else "https"
        address = f"[{config.api.address}]" if ":" in config.api.address else config.api.address
        found.append(f"{scheme}://{address}:{config.api.port}, tokens: innobrim token list")
    return found


def _with_password(where: Endpoint, config: Config) -> Endpoint:
    """Return where and as whom to connect, with the password as it is written now."""
    try:
        found = endpoint(config, noted=lambda _: None)
    except ConfigError as error:
        log.warning("the password cannot be read again, the old one stays", reason=str(error))
        return where
    return replace(where, password=found.password)


def _reread(config_path: str | None, flags: dict[str, object]) -> Config:
    """Return the configuration as it is now; say where the command line keeps it from taking effect."""
    found = _at_home(_with_hooks(configuration(config_path, flags, noted=log.warning)))
    try:
        alone = _at_home(configuration(config_path, {}, noted=lambda _: None))
    except ConfigError:
        return found
    for dotted in sorted(name for name, value in flags.items() if "." in name and value is not None):
        section, _, name = dotted.partition(".")
        written = getattr(getattr(alone, section), name)
        in_force = getattr(getattr(found, section), name)
        if written != in_force:
            log.warning("a flag of the command line beats the file", key=dotted, file=written, flag=in_force)
    return found
