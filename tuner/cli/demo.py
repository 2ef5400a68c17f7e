"""``innobrim demo``: see the loop at work on a server of your own, a throw-away one, or a simulated one."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
from msgspec.structs import replace

from api.server import tcp_socket
from lab import demo as show
from lab.servers.base import LabServer
from lab.servers.choose import Family, choose, is_image, server_named
from lab.servers.spec import LabServerError
from lab.workloads.sysbench import sysbench
from tuner.cli.answer import NO, Refused, Unreachable, Unusable, answering, say
from tuner.cli.client import port_taken
from tuner.cli.options import SOCKET_NAME, WholeNumber
from tuner.cli.run import make_api
from tuner.config.credentials import read_credentials
from tuner.config.schema import ApiSection, Config, DaemonSection, LogSection, ServerSection
from tuner.core.state import State
from tuner.daemon.board import ApiFailure, Board, PortTaken
from tuner.daemon.daemon import Daemon
from tuner.records import Command, Sample, TickRecord
from tuner.servers.endpoint import Endpoint
from tuner.servers.port import Server
from tuner.servers.server import RealServer
from tuner.settings import Mode, Settings
from tuner.system.clock import Clock, SystemClock
from tuner.system.logs import configure_logs
from tuner.system.systemd import Notifier
from tuner.without_daemon import restore_offline

HOST = "127.0.0.1"
BEFORE_SECONDS = 30.0
SETTLED = 0.7
"""Share of the first phase, its end, that is compared: at its beginning the estimates begin."""

AFTER_SECONDS = 60.0
LINE_SECONDS = 5.0
SIMULATED_LINE_SECONDS = 20.0
DEFAULT_SECONDS = {"real": 240, "simulated": 60}
CHOSEN: Mapping[str, Family] = {"auto": "mysql", "mysql": "mysql", "mariadb": "mariadb"}
"""Words for which the best server that can be had here is taken."""


@click.command()
@click.option(
    "--server",
    "words",
    metavar="auto|simulated|mysql|mariadb|NAME|IMAGE|PATH",
    default="auto",
    show_default=True,
    help="auto: a real MySQL where one can be had without installing anything, else the simulated one."
    " NAME: one that make servers made, such as mysql-8.0.31; IMAGE: such as mysql:8.4; PATH: of a mysqld or"
    " mariadbd.",
)
@click.option(
    "--dsn",
    metavar="mysql://USER@HOST:PORT",
    help="A server of your own; it is WRITTEN to, and restored at the end.",
)
@click.option("--yes", is_flag=True, help="Do not ask before writing to the server named by --dsn.")
@click.option("--seconds", type=WholeNumber(60, 86_400), help="How long, in real seconds.")
@click.option("--port", type=WholeNumber(1, 65_535), default=8633, show_default=True, help="Port of the API.")
def demo(words: str, *, dsn: str | None, yes: bool, seconds: int | None, port: int) -> None:
    """Show the loop at work: the default setting for a while, then InnoBrim, then both side by side.

    Example: innobrim demo --server simulated --seconds 60

    Example: innobrim demo --server mysql-8.0.31
    """
    configure_logs(level="error", style="auto")
    with (
        answering(means={LabServerError: Unreachable, ApiFailure: Unusable}),
        contextlib.ExitStack() as stack,
    ):
        if dsn is not None and words != "auto":
            raise Unusable("--dsn names a server of your own, --server one to throw away: give one of them")
        try:
            tcp_socket(HOST, port, public=False).close()  # before minutes are spent on a server
            if dsn is not None:
                stack.enter_context(_own(dsn, yes=yes, seconds=seconds, port=port))
            elif words == "simulated" or (server := _server(words)) is None:
                _simulated(seconds or DEFAULT_SECONDS["simulated"], port)
            else:
                _real(stack.enter_context(show.real_server(server, say)), seconds=seconds, port=port)
        except PortTaken as error:
            raise Unusable(port_taken(error, way="name a free one with --port")) from error


def _server(words: str) -> LabServer | None:
    """Return the throw-away server that is asked for, not started yet; None where the simulated one may do.

    Raises:
        Unusable: words that name no server.
        Refused: none of the family can be had here.
        LabServerError: the one that is named cannot be had.
    """
    family = CHOSEN.get(words)
    if family is None:
        try:
            is_image(words)
        except LabServerError as error:
            raise Unusable(f"--server: {error}, or say auto, simulated, mysql or mariadb") from error
        sysbench()
        server = server_named(words, say=say)
        say(f"server: {words}")
        return server
    choice = choose(family=family)
    for refusal in choice.refusals:
        say(f"not taken: {refusal}")
    name = "MariaDB" if family == "mariadb" else "MySQL"
    if choice.name:
        say(f"server: {name}, because {choice.why}")
        return choice.server()
    if words != "auto":
        raise Refused(f"no real {name} can be had here: {choice.why}")
    say(f"no real {name} can be had here ({choice.why}); taking the simulated one")
    return None


def _real(server: LabServer, *, seconds: int | None, port: int) -> None:
    clock = SystemClock()
    board = Board()
    real = RealServer(server.endpoint(server.daemon), clock, beat=board.pulse.beat)
    real.claims_writer = True
    real.facts()  # a server that the loop cannot log in to is said now, and not waited for
    seconds = seconds or DEFAULT_SECONDS["real"]
    _present(real, clock, board, seconds=seconds, port=port, speed=1.0, check=partial(_check, server))


def _check(server: LabServer, directory: Path) -> str:
    """Return the command that checks a throw-away server, whose login is put into the directory."""
    login = server.option_file(directory / "login.cnf")
    return f"innobrim check --host {server.host} --port {server.port} --defaults-file {login}"


def _simulated(seconds: int, port: int) -> None:
    say("server: simulated MySQL 9.7")
    click.secho(
        f"TIME RUNS {show.SIMULATED_SPEED:.0f} TIMES AS FAST, here, on the page and in what commands say.",
        bold=True,
    )
    clock = show.ScaledClock(show.SIMULATED_SPEED)
    server = show.simulated_server(clock, seed=1)
    speed = show.SIMULATED_SPEED
    _present(server, clock, Board(), seconds=seconds, port=port, speed=speed, ticked=clock.ticked)


@contextlib.contextmanager
def _own(dsn: str, *, yes: bool, seconds: int | None, port: int) -> Iterator[None]:
    """Run beside the user's own server under its own load, after asking; put the originals back."""
    endpoint = parse_dsn(dsn, environ=os.environ)
    click.secho(f"THIS WRITES innodb_io_capacity AND innodb_io_capacity_max ON {endpoint}.", bold=True)
    say("It starts no load of its own; the values found are put back at the end.")
    if not yes and not click.confirm("Go on?"):
        sys.exit(NO)
    clock = SystemClock()
    board = Board()
    server = RealServer(endpoint, clock, beat=board.pulse.beat)
    server.claims_writer = True
    facts = server.facts()
    if facts.disabled_counters or facts.absent_counters:
        raise Refused(f"{facts.without_counters}; see: innobrim check")
    reading = server.read()
    originals = getattr(reading, "capacity", None)
    if originals is None:
        raise Unreachable(f"no sample: {getattr(reading, 'reason', '')}")
    try:
        _present(server, clock, board, seconds=seconds or DEFAULT_SECONDS["real"], port=port, speed=1.0)
        yield
    finally:
        say("putting the originals back")
        again = RealServer(endpoint, clock)
        again.watches_latency = True
        restore_offline(again, originals, say=say)
        again.close()


def parse_dsn(text: str, *, environ: Mapping[str, str]) -> Endpoint:
    """Return the endpoint that a DSN names; the password comes from the environment or an option file there.

    Args:
        text: ``mysql://user@host:port/``, ``mysql://user@/path/to/socket`` or ``/path/to/socket``.
        environ: the environment.

    Raises:
        Unusable: it names no server, or has a password in it.
        ConfigError: the credentials cannot be read.
    """
    shape = "write mysql://USER@HOST:PORT, mysql://USER@/PATH/TO/SOCKET, or the path of the socket"
    if re.match("[a-z]+://[^@]*:[^@]*@", text, re.IGNORECASE):
        places = "INNOBRIM_PASSWORD or MYSQL_PWD"
        raise Unusable(f"--dsn: a password in it can be seen by everybody; put it into {places}, and {shape}")
    try:
        parts = urlsplit(f"mysql://{text}" if text.startswith("/") else text)
        port, host, path = parts.port, parts.hostname, unquote(parts.path)
    except ValueError as error:
        raise Unusable(f"--dsn {text!r}: {error}; {shape}") from error
    beyond = parts.query or parts.fragment or (host and (path.strip("/") or "%" in host))
    if parts.scheme != "mysql" or beyond or not (host or path[1:]) or "%00" in text:
        raise Unusable(f"--dsn {text!r} names no server: {shape}")
    where = ServerSection(
        socket=None if host else path,
        host=host,
        port=port,
        user=unquote(parts.username) if parts.username else None,
    )
    found = read_credentials(where, environ=environ)
    return replace(found, password=found.password or environ.get("MYSQL_PWD", ""))


def _present(
    server: Server,
    clock: Clock,
    board: Board,
    *,
    seconds: int,
    port: int,
    speed: float,
    ticked: Callable[[], None] = lambda: None,
    check: Callable[[Path], str] | None = None,
) -> None:
    """Run a daemon in the foreground: advisory, then active; print the table and the summary.

    Args:
        server: looked at and written to.
        clock: its time, and the daemon's.
        board: where the mode is asked for.
        seconds: how long, real time.
        port: of the API.
        speed: how many times as fast the clock runs.
        ticked: told of each tick.
        check: what puts a login into a directory and returns the command that checks the server with it.
    """
    before, after = show.Phase(), show.Phase()
    began = clock.monotonic()
    table = show.Table(say, clock, every=LINE_SECONDS if speed == 1.0 else SIMULATED_LINE_SECONDS)
    asked: list[bool] = []
    untouched = BEFORE_SECONDS * (speed**0.5)

    def watch(_state: State, record: TickRecord | None) -> None:
        if record is None:
            return
        ticked()
        if record.tick.number == 1:  # by now the API is served
            say(f"page: http://{HOST}:{port}/   token: {directory}/token   API: /docs")
            socket = f"--api-socket {directory}/{SOCKET_NAME}"
            tried = [f"innobrim status {socket}", f"innobrim drain --wait {socket}"]
            tried += [] if check is None else [check(Path(directory))]
            say(*map("{} {}".format, ("try:", "    ", "    "), tried))
        table.show(record)
        if record.mode is Mode.ACTIVE:
            after.take(record)
        elif not after.records:
            before.records.append(record)
        if not asked and record.tick.now - began >= untouched:
            asked.append(True)
            board.submit(Command(name="mode", who="demo", value=Mode.ACTIVE.value))

    with tempfile.TemporaryDirectory(prefix="innobrim-demo-") as directory:
        config = Config(
            loop=Settings(),
            daemon=DaemonSection(state_directory=directory, interval=1.0),
            api=ApiSection(port=port),
            log=LogSection(level="error"),
        )
        daemon = Daemon(
            config,
            server,
            clock,
            board=board,
            notifier=Notifier({}),
            reload=lambda: config,
            api=make_api(config, board, configuration=lambda: config, speed=speed),
            watch=watch,
            speed=speed,
        )
        daemon.run(until=began + seconds * speed)
    _conclude(before, after, seconds=untouched * SETTLED)


def _conclude(before: show.Phase, after: show.Phase, *, seconds: float) -> None:
    """Print what the last seconds of both phases have in common, and what they have not."""
    first = next((one.tick.reading for one in before.records), None)
    untouched = before.last(seconds)
    steered = after.last(AFTER_SECONDS)
    left = show.figures(untouched)
    right = show.figures(steered)
    if left is None or right is None:
        say("too short for a summary")
        return
    default = "as it was"
    if first is not None and isinstance(first, Sample):
        default = str(first.capacity)
    say("")
    for text in show.summary(left, right, default=default, steered=after.records):
        say(text)
    for moved in filter(None, (show.caution(untouched, default), show.caution(steered, "InnoBrim"))):
        say(moved)
    if after.over:
        say(f"InnoBrim's figures end before {after.over}: what came then was asked for by somebody")
