"""An account as ``innobrim setup-sql`` makes it: it reads, and writes through the procedure alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from msgspec.structs import replace

from lab.servers.base import LabServer
from lab.servers.spec import Account
from tuner.cli.setup_sql import drawn
from tuner.records import Bounds
from tuner.servers.setupsql import Request, removal, setup

BOUNDS = Bounds(lowest_io_capacity_max=200, highest_io_capacity_max=20_000, highest_io_capacity=10_000)
"""Other ones than the loop's own limits, so that it shows whose they are."""


def asked(server: LabServer, account: Account, bounds: Bounds = BOUNDS) -> Request:
    """Return what is made on a server for an account that comes from anywhere."""
    return Request(
        version=str(server.query("SELECT VERSION()")[0][0]),
        accounts=(f"{account.user}@%",),
        password=account.password,
        definer_password=drawn(),
        bounds=bounds,
    )


def guard(
    server: LabServer,
    account: Account,
    bounds: Bounds = BOUNDS,
    *,
    pause: float = 0.0,
    low_water: bool = False,
    grow_redo_to: int | None = None,
) -> Account:
    """Make such an account with its procedures, or these anew, and return its login.

    Args:
        server: where.
        account: the login.
        bounds: of the procedure.
        pause: that it makes between its check and its SET, seconds, so that others get in between.
        low_water: with the procedure for MariaDB's low-water mark.
        grow_redo_to: with the procedure that grows the redo log, up to so many bytes.
    """
    slowly = f"    DO SLEEP({pause});\n    SET GLOBAL " if pause else "    SET GLOBAL "
    wanted = replace(asked(server, account, bounds), low_water=low_water, grow_redo_to=grow_redo_to)
    made = (one for part in setup(wanted) for one in part.statements)
    run(server, (one.replace("    SET GLOBAL ", slowly) for one in made))
    return account


def unguard(server: LabServer, account: Account) -> None:
    """Take both away again."""
    run(server, (one for part in removal(asked(server, account)) for one in part.statements))


def run(server: LabServer, statements: Iterable[str]) -> None:
    """Run statements in one session, as a script does."""
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        for one in statements:
            cursor.execute(one)
