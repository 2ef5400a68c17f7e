"""The sysbench command line, and what goes beside it: our scripts' folder and the password."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from lab.servers.base import SCHEMA, LabServer, LabServerError
from lab.servers.owner import ending_with_us

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lab.workloads.load import Load

SCRIPTS = Path(__file__).parent
ZIPF_EXPONENT = 0.8
"""The default of ``--rand-zipfian-exp`` in sysbench after 1.0, so that its numbers can be compared."""

_QUOTES = ('"', "'")


def sysbench() -> str:
    """Return where sysbench is.

    Raises:
        LabServerError: it is not installed.
    """
    program = shutil.which("sysbench")
    if program is None:
        raise LabServerError("sysbench is not on PATH: install the package sysbench")
    return program


def command(server: LabServer, load: Load, action: str, *extra: str) -> list[str]:
    """Return the sysbench command line for ``prepare``, ``run`` or ``cleanup``, without the password.

    Raises:
        LabServerError: sysbench is not installed.
    """
    where = (
        [f"--mysql-socket={server.socket}"]
        if server.socket
        else [f"--mysql-host={server.host}", f"--mysql-port={server.port}"]
    )
    return [
        *ending_with_us(),  # no load outlives its bench
        sysbench(),
        str(SCRIPTS / f"{load.kind}.lua"),
        *where,
        f"--mysql-user={server.admin.user}",
        f"--mysql-db={SCHEMA}",
        f"--tables={load.tables}",
        f"--table-size={load.rows}",
        *_keys(load),
        "--db-ps-mode=disable",
        *extra,
        action,
    ]


def environment() -> dict[str, str]:
    """Return our environment, with our scripts' modules to be found before any other."""
    return {**os.environ, "LUA_PATH": f"{SCRIPTS}/?.lua;;"}


@contextlib.contextmanager
def password_option(server: LabServer) -> Iterator[int]:
    """Yield a descriptor to be passed on, which sysbench can read the password from as a configuration file.

    On the command line every user of the machine could read it; in a file it would outlive a killed bench.

    Raises:
        LabServerError: the password has characters that sysbench's configuration files cannot hold.
    """
    password = server.admin.password
    quote = next((one for one in _QUOTES if one not in password), None)
    if quote is None or "\n" in password:
        raise LabServerError(
            f"the password of {server.admin.user} cannot be handed to sysbench: it holds a line break or both"
            " kinds of quotes; give the account another password"
        )
    reading, writing = os.pipe()
    try:
        os.write(writing, f"mysql-password={quote}{password}{quote}\n".encode())
        os.close(writing)
        yield reading
    finally:
        os.close(reading)


def _keys(load: Load) -> list[str]:
    if load.distribution == "zipf":
        return ["--rand-type=uniform", f"--zipf-exponent={ZIPF_EXPONENT}"]
    return [f"--rand-type={load.distribution}"]
