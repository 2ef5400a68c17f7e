"""The load's tables: made anew, and dropped."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from lab.servers.base import LabServer, LabServerError
from lab.workloads.command import command, environment, password_option
from lab.workloads.load import Load

if TYPE_CHECKING:
    from collections.abc import Sequence

DROP_SECONDS = 60.0


def prepare(server: LabServer, load: Load, *, seconds: float = 300.0) -> None:
    """Create and fill the load's tables, in the place of any that are there; lift any disk limit before.

    One thread fills a table (``tpcc``: a warehouse).

    Raises:
        LabServerError: sysbench failed or took longer than so many seconds.
    """
    discard(server, load)
    threads = 1 if load.kind == "many_indexes" else load.tables
    _finish(server, load, "prepare", [f"--threads={threads}"], seconds)


def discard(server: LabServer, load: Load, *, seconds: float = DROP_SECONDS) -> None:
    """Drop the load's tables where they are there.

    Raises:
        LabServerError: sysbench failed or took longer than so many seconds.
    """
    _finish(server, load, "cleanup", [], seconds)


def _finish(server: LabServer, load: Load, action: str, extra: Sequence[str], seconds: float) -> None:
    server.query("SELECT 1")  # fills the server's password cache, so that sysbench needs no key exchange
    with password_option(server) as descriptor:
        try:
            done = subprocess.run(
                command(server, load, action, f"--config-file=/dev/fd/{descriptor}", *extra),
                capture_output=True,
                text=True,
                timeout=seconds,
                check=False,
                env=environment(),
                pass_fds=(descriptor,),
            )
        except subprocess.TimeoutExpired as error:
            raise LabServerError(
                f"sysbench {action} of {load.script} took longer than {seconds:.0f} s"
            ) from error
    # A thread that fails in a command of several threads leaves the exit status at 0.
    if done.returncode != 0 or "FATAL:" in done.stdout:
        said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        raise LabServerError(f"sysbench {action} of {load.script} failed:\n{said}")
