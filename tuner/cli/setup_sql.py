"""``innobrim setup-sql``: the statements that make an account which reads, and writes within bounds alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click
import msgspec
import pymysql

from tuner.cli.answer import Refused, Unreachable, Unusable, answering, say_json
from tuner.cli.options import LogSize, configuration, json_option, server_options
from tuner.cli.options import endpoint as where_from
from tuner.config.credentials import read_credentials, socket_there
from tuner.config.optionfile import written
from tuner.config.schema import Config
from tuner.records import Bounds, account_of, is_local
from tuner.servers.adapter import quoted
from tuner.servers.endpoint import Endpoint
from tuner.servers.port import ServerError, Unsupported
from tuner.servers.port import Unreachable as ServerUnreachable
from tuner.servers.providers import MARKS, provider_of
from tuner.servers.release import version_in, version_of
from tuner.servers.session import Session
from tuner.servers.setupsql import (
    Request,
    Step,
    comment,
    family_of,
    removal,
    requires_tls,
    script,
    setup,
    superfluous,
)
from tuner.servers.values import text
from tuner.servers.writing import DEFINER
from tuner.system.printable import printable

UNPROTECTED = (
    "the account would have no password: give the daemon's (INNOBRIM_PASSWORD, or an option file by "
    "--defaults-file), or have one drawn and written to an option file by --new-password FILE"
)
UNPRINTABLE = "has letters that are not to be seen, such as the end of a line, and goes into no statement"


@click.command("setup-sql")
@server_options
@click.option(
    "--server-version",
    metavar="VERSION",
    help="What SELECT VERSION() or a client's banner says, such as 8.0.46 or 10.11.18-MariaDB [default: ask "
    "the server, without an address over mysqld's unix socket where there is one].",
)
@click.option(
    "--account",
    "accounts",
    metavar="USER@HOST",
    multiple=True,
    help="The daemon's account, also as SHOW GRANTS writes it; again for each host that one comes from "
    "[default: at localhost].",
)
@click.option(
    "--new-password",
    metavar="FILE",
    help="Draw a password and write it to this new option file (mode 0600), for server.defaults_file. An "
    "account that is there gets it as well.",
)
@click.option(
    "--no-require-ssl",
    is_flag=True,
    help="Accounts for other machines without REQUIRE SSL, where the server has no TLS: the password then "
    "crosses the network unencrypted.",
)
@click.option("--replica", is_flag=True, help="For a replica alone: nothing of it goes into the binary log.")
@click.option(
    "--direct", is_flag=True, help="The privilege to set every global variable, instead of a procedure."
)
@click.option(
    "--low-water-mark",
    is_flag=True,
    help="MariaDB: a procedure for innodb_max_dirty_pages_pct_lwm as well, 0 or 0.001, "
    "which low_water_mark = true needs.",
)
@click.option(
    "--grow-redo-to",
    type=LogSize(),
    metavar="SIZE",
    help="A procedure as well that makes the redo log larger, up to SIZE, which redo.grow_to needs.",
)
@click.option("--remove", is_flag=True, help="What undoes it.")
@json_option
def setup_sql(
    config_path: str | None,
    *,
    server_version: str | None,
    accounts: tuple[str, ...],
    new_password: str | None,
    no_require_ssl: bool,
    replica: bool,
    direct: bool,
    low_water_mark: bool,
    grow_redo_to: int | None,
    remove: bool,
    as_json: bool,
    **server_flags: object,
) -> None:
    """Print the SQL for an account that reads, and a procedure with bounds as its only way to write.

    The bounds are loop.min_io_capacity_max and loop.max_io_capacity_max. An administrator runs the SQL, once,
    and again where they change; a primary's replicas get it by replication. The command itself sets nothing.
    The password in it is the one that the daemon is configured with.

    Example: innobrim setup-sql --server-version 8.0.46 | mysql -u root -p
    """
    with answering(as_json=as_json):
        config = configuration(config_path, server_flags)
        if new_password is not None and not remove:
            config = _before(config, Path(new_password))
        found = as_root_would(config, where_from(config))
        said = _asked(found) if server_version is None else _given(server_version)
        version, managed = said["version"], provider_of(said, found.tcp_host)
        named = _accounts(found, accounts)
        if managed:
            _must_be_run_there(managed, () if remove else named, replica=replica)
        request = Request(
            version=version,
            accounts=named,
            password="" if remove else _password(config, found, new_password, named),
            definer_password=drawn(),
            bounds=bounds_of(config),
            renewed=new_password is not None,
            encrypted=not no_require_ssl,
            replica=replica,
            direct=direct,
            low_water=low_water_mark,
            grow_redo_to=grow_redo_to,
            managed=managed,
        )
        if found.tls == "off" and not remove:
            _must_be_let_in(request, "server.tls = off" if config.server.tls else _file_of(config))
        product = f"{_product(request.version)} {request.version}"
        parts = tuple(removal(request) if remove else setup(request))
    if as_json:
        say_json(_as_json(request, parts))
        return
    click.echo("\n".join(comment(line) for line in _head(request, product, remove=remove)))
    click.echo(script(iter(parts)), nl=False)
    if not (remove or direct or managed):
        click.echo("\n-- Where it could set every global variable before:")
        click.echo("\n".join(comment(f"{one};") for one in superfluous(request)))


def bounds_of(config: Config) -> Bounds:
    """Return the bounds that let through what the loop may want, and nothing else."""
    loop = config.loop
    return Bounds(
        lowest_io_capacity_max=loop.min_io_capacity_max,
        highest_io_capacity_max=loop.max_io_capacity_max,
        highest_io_capacity=loop.max_io_capacity_max // (loop.ratio or 1),
    )


def drawn() -> str:
    """Return a password that no policy of a server's refuses, of 256 random bits."""
    return f"{secrets.token_urlsafe(32)}-aA1"


def as_root_would(config: Config, found: Endpoint) -> Endpoint:
    """Return where the server is asked: by default where root, who runs the script, gets to it.

    Without any address mysql's own client goes to the unix socket: what listens on TCP port 3306 may be
    another server, or somebody's own. Where there is no socket it is TCP all the same.
    """
    if read_credentials(config.server, environ=os.environ).address_named:
        return found
    there = socket_there(os.environ)
    return found if there is None else msgspec.structs.replace(found, socket=there)


def _file_of(config: Config) -> str:
    return f"the option file {config.server.defaults_file or 'my.cnf of systemd'} without TLS"


def _must_be_let_in(request: Request, by: str) -> None:
    """Exit 2 where a daemon that does without TLS, by what ``by`` says, could not use the accounts."""
    for one in request.accounts:
        if requires_tls(request, one):
            raise Unusable(
                f"--account {one}: is let in over TLS alone, and {by} has the daemon do without: "
                "turn that on, or say --no-require-ssl, by which the password crosses the network in clear"
            )


def _must_be_run_there(provider: str, accounts: tuple[str, ...], *, replica: bool) -> None:
    """Exit 2 where a managed server refuses the script, or nobody can use the account that it makes."""
    if replica:
        raise Unusable(
            f"--replica: {provider} lets no account leave the binary log out: "
            "make the account on the primary, and the replicas get it"
        )
    for one in filter(is_local, accounts):
        user = one.rpartition("@")[0]
        raise Unusable(
            f"{one}: nobody comes to {provider} from the server's own machine: say as whom the daemon comes "
            f"there, by --account {user}@ADDRESS, or {user}@% for every address"
        )


def _accounts(found: Endpoint, given: tuple[str, ...]) -> tuple[str, ...]:
    if not given and found.socket is None and not is_local(f"{found.user}@{found.host}"):
        raise Unusable(
            f"server.host = {found.host} is another machine: say as whom the daemon comes there, by "
            f"--account {found.user}@ADDRESS"
        )
    return tuple(map(_account, given)) or (_account(f"{found.user}@localhost", "server.user"),)


def _account(written: str, source: str = "--account") -> str:
    try:
        account = account_of(written)
    except ValueError as error:
        raise Unusable(f"{source} {printable(written)}: {error}") from error
    if account.startswith(f"{DEFINER}@"):
        raise Unusable(
            f"{source} {written}: {DEFINER} is the procedures' own account; the daemon has another one"
        )
    return account


def _before(config: Config, new: Path) -> Config:
    """Return the configuration without the option file that is only about to be made."""
    named = config.server.defaults_file
    if named is None or Path(named).absolute() != new.absolute() or os.path.lexists(new):
        return config
    return msgspec.structs.replace(config, server=msgspec.structs.replace(config.server, defaults_file=None))


def _password(config: Config, found: Endpoint, new: str | None, accounts: tuple[str, ...]) -> str:
    """Return the accounts' password; a new one is kept in a file that only its owner can read."""
    source = read_credentials(config.server, environ=os.environ).password_from
    if new is None:
        if not found.password.isprintable():
            raise Unusable(
                f"{source}: the password {UNPRINTABLE}: choose another one, or --new-password FILE draws one"
            )
        if not found.password:
            raise Unusable(UNPROTECTED)
        return found.password
    if found.password:
        raise Unusable(
            f"--new-password {new}: the daemon has its password from {source} already: leave --new-password "
            "out, and the SQL is made with that one. For another one, take that away first: the account is "
            "then given the new one"
        )
    user, *others = dict.fromkeys(one.rpartition("@")[0] for one in accounts)
    if others:
        raise Unusable(f"--new-password {new}: a file for one user, and not for {', '.join([user, *others])}")
    made = drawn()
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"[client]\nuser={written(user)}\npassword={made}\n")
    except OSError as error:
        raise Unusable(
            f"--new-password {new}: {error.strerror or error}; it must be a file that is not there yet"
        ) from error
    return made


def _given(banner: str) -> dict[str, str]:
    """Return the version that a person gave; exit 2 where it is none, or of no server that is supported."""
    try:
        version = version_in(banner)
        family_of(version)
    except (ValueError, Unsupported) as error:
        raise Unusable(f"--server-version: {error}") from error
    return {"version": version}


def _asked(endpoint: Endpoint) -> dict[str, str]:
    """Return what the server says of its version and, by name, of who manages it.

    Exit 1 where it says as its version what is none, 3 without an answer.
    """
    session = Session(endpoint)
    way_out = "--server-version says what it is without asking"
    try:
        version = version_in(version_of(text(session.query("SELECT VERSION()")[0][0])))
        family_of(version)
        marks = session.pairs(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({quoted(MARKS)})")
    except ServerUnreachable as error:
        raise Unreachable(f"{error}; {way_out}") from error
    except (ServerError, pymysql.MySQLError, ValueError, IndexError) as error:
        raise Refused(f"{endpoint}: {error}; {way_out}") from error
    finally:
        session.close()
    return {**marks, "version": version}


def _product(version: str) -> str:
    return "MariaDB" if family_of(version).name == "mariadb" else "MySQL or Percona Server"


def _head(request: Request, product: str, *, remove: bool) -> list[str]:
    """Return what a person reads before running it, line by line."""
    if remove:
        return [f"InnoBrim: takes its account and procedures away again from {product}.", *_where(request)]
    made = "an account that reads and may set global variables"
    provider, administrator = request.provider, "an administrator (root)"
    if provider:
        administrator = "the service's administrator"
        made = f"an account that reads, as {provider} takes no SET GLOBAL: advisory mode needs no more"
    elif not request.direct:
        made = f"an account that reads, and writes through a procedure alone: {request.bounds}, pages/s"
    kept = "keeps its password; in MySQL 5.6 it gets the one below"
    return [
        f"InnoBrim on {product}: {made}.",
        f"To be run by {administrator}, whole; it may be run again, as after other limits in the",
        f"configuration. An account that is there {'gets the new password' if request.renewed else kept}.",
        *_over_tls(request),
        *_where(request),
    ]


def _over_tls(request: Request) -> list[str]:
    if not any(requires_tls(request, one) for one in request.accounts):
        return []
    return [
        "Accounts for other machines are let in over TLS alone, so that no password goes in clear; where the",
        "server has no TLS: --no-require-ssl.",
    ]


def _where(request: Request) -> list[str]:
    if request.replica:
        return [
            "For a replica alone. With super_read_only = ON the server refuses it: turn that off meanwhile.",
        ]
    alone = "" if request.provider else " For a replica alone: --replica."
    return [f"On a primary: its replicas get all of it by replication.{alone}"]


def _as_json(request: Request, parts: tuple[Step, ...]) -> dict[str, object]:
    return {
        "accounts": request.accounts,
        "bounds": None if request.direct or request.provider else request.bounds,
        "parts": parts,
    }
