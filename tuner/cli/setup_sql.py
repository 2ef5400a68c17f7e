"""``innobrim setup-sql``: the statements that make an account which reads, and writes within bounds alone."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
from pathlib import Path

import click
import msgspec

from tuner.cli.errors import answering
from tuner.cli.exits import UNREACHABLE
from tuner.cli.options import configuration, fail, server_options, usage
from tuner.cli.options import endpoint as where_from
from tuner.cli.saying import say_json
from tuner.config.credentials import read_credentials
from tuner.config.schema import Config
from tuner.records import Bounds
from tuner.servers.connect import Endpoint, Session, text
from tuner.servers.port import ServerError, Unsupported
from tuner.servers.procedure import DEFINER
from tuner.servers.setupsql import Asked, Part, family_of, removal, script, setup, superfluous

ACCOUNT = re.compile(r"[^@]+@[^@\s]+")
UNPROTECTED = (
    "the account would have no password: give the daemon's (INNOBRIM_PASSWORD, or an option file by "
    "--defaults-file), or have one drawn and written to an option file by --new-password FILE"
)
LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain"})


@click.command("setup-sql")
@server_options
@click.option(
    "--server-version",
    metavar="VERSION",
    help="What SELECT VERSION() says, such as 8.0.46 or 10.11.18-MariaDB [default: ask the server].",
)
@click.option(
    "--account",
    "accounts",
    metavar="USER@HOST",
    multiple=True,
    help="The daemon's account; again for each host that one comes from [default: at localhost].",
)
@click.option(
    "--new-password",
    metavar="FILE",
    help="Draw a password and write it to this new option file (mode 0600), for server.defaults_file.",
)
@click.option("--replica", is_flag=True, help="For a replica alone: nothing of it goes into the binary log.")
@click.option(
    "--direct", is_flag=True, help="The privilege to set every global variable, instead of a procedure."
)
@click.option(
    "--low-water-mark",
    is_flag=True,
    help="MariaDB: a procedure for innodb_max_dirty_pages_pct_lwm as well, 0 or 0.001, "
    "which the policy bayes-low-water needs.",
)
@click.option("--remove", is_flag=True, help="What undoes it.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of a script.")
def setup_sql(
    config_path: str | None,
    *,
    server_version: str | None,
    accounts: tuple[str, ...],
    new_password: str | None,
    replica: bool,
    direct: bool,
    low_water_mark: bool,
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
        found = where_from(config)
        asked = Asked(
            version=server_version or _version(found),
            accounts=_accounts(found, accounts),
            password="" if remove else _password(config, found, new_password),
            definer_password=drawn(),
            bounds=bounds_of(config),
            replica=replica,
            direct=direct,
            low_water=low_water_mark,
        )
        try:
            product = f"{_product(asked.version)} {asked.version}"
            parts = tuple(removal(asked) if remove else setup(asked))
        except Unsupported as error:
            usage(f"--server-version: {error}")
    if as_json:
        say_json(_told(asked, parts))
        return
    click.echo("\n".join(f"-- {line}" for line in _head(asked, product, remove=remove)))
    click.echo(script(iter(parts)), nl=False)
    if not (remove or direct or family_of(asked.version).managed):
        click.echo("\n-- Where it could set every global variable before:")
        click.echo("\n".join(f"-- {one};" for one in superfluous(asked)))


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


def _accounts(found: Endpoint, given: tuple[str, ...]) -> tuple[str, ...]:
    for one in given:
        if ACCOUNT.fullmatch(one) is None or one.startswith(f"{DEFINER}@"):
            usage(f"--account {one}: must be USER@HOST, such as innobrim@10.0.0.5, and not {DEFINER}")
    if not given and found.socket is None and not _is_here(found.host):
        usage(
            f"server.host = {found.host} is another machine: say as whom the daemon comes there, by "
            f"--account {found.user}@ADDRESS"
        )
    return given or (f"{found.user}@localhost",)


def _before(config: Config, new: Path) -> Config:
    """Return the configuration without the option file that is only about to be made."""
    named = config.server.defaults_file
    if named is None or Path(named).absolute() != new.absolute() or os.path.lexists(new):
        return config
    return msgspec.structs.replace(config, server=msgspec.structs.replace(config.server, defaults_file=None))


def _password(config: Config, found: Endpoint, new: str | None) -> str:
    """Return the account's password; a new one is kept in a file that only its owner can read."""
    if new is None:
        return found.password or usage(UNPROTECTED)
    if found.password:
        source = read_credentials(config.server, environ=os.environ).password_from
        usage(
            f"--new-password {new}: the daemon has its password from {source} already: leave --new-password "
            "out, and the SQL is made with that one. For another one, take that away first, and give the "
            "account the new one by ALTER USER as well: one that is there keeps its password"
        )
    made = drawn()
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"[client]\nuser={found.user}\npassword={made}\n")
    except OSError as error:
        usage(f"--new-password {new}: {error.strerror or error}; it must be a file that is not there yet")
    return made


def _is_here(host: str) -> bool:
    if host.lower() in LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _version(endpoint: Endpoint) -> str:
    session = Session(endpoint)
    try:
        return text(session.query("SELECT VERSION()")[0][0])
    except ServerError as error:
        fail(f"{error}; --server-version says what it is without asking", UNREACHABLE)
    finally:
        session.close()


def _product(version: str) -> str:
    return "MariaDB" if family_of(version).name == "mariadb" else "MySQL or Percona Server"


def _head(asked: Asked, product: str, *, remove: bool) -> list[str]:
    """Return what a person reads before running it, line by line."""
    if remove:
        return [f"InnoBrim: takes its account and procedures away again from {product}.", *_where(asked)]
    made = "an account that reads and may set global variables"
    provider = family_of(asked.version).managed
    if provider:
        made = f"an account that reads, as {provider} takes no SET GLOBAL: advisory mode needs no more"
    elif not asked.direct:
        made = f"an account that reads, and writes through a procedure alone: {asked.bounds}, pages/s"
    return [
        f"InnoBrim on {product}: {made}.",
        "To be run by an administrator (root), whole; it may be run again, as after other limits in the",
        "configuration. An account that is there keeps its password; in MySQL 5.6 it gets the one below.",
        *_where(asked),
    ]


def _where(asked: Asked) -> list[str]:
    if asked.replica:
        return [
            "For a replica alone. With super_read_only = ON the server refuses it: turn that off meanwhile.",
        ]
    return ["On a primary: its replicas get all of it by replication. For a replica alone: --replica."]


def _told(asked: Asked, parts: tuple[Part, ...]) -> dict[str, object]:
    return {
        "accounts": asked.accounts,
        "bounds": None if asked.direct or family_of(asked.version).managed else asked.bounds,
        "parts": parts,
    }
