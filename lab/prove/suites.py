"""The bench's suites as parts of the proof: an hour each, gone on with where they stopped."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.bench.daemon import PROGRAM
from lab.bench.folder import ASKED, go_on
from lab.bench.order import turns
from lab.bench.plan import PlanError
from lab.servers.base import LabServerError
from lab.servers.container import PLAIN_IMAGE

DIRECTORY = Path("bench")
"""Where the suites lie, under the directory of results."""

BUDGET_MINUTES = 55
"""No row begins that would end later; starting a server and writing the page take the rest of the hour."""

SERVERS = {
    "plant-mariadb": "innobrim/mariadb:11.8",
    "plant-mysql56": "./.cache/mysql-5.6.24/mysqld",
}
"""Suites that need another server than the others; ``lab/setup/servers.sh`` makes both."""

UNFINISHED = 4
"""Exit code of a bench whose time was up."""

END_SECONDS = 120.0
"""What a bench that was told to end has for removing its server."""


def command(suite: str, results: Path, image: str | None) -> list[str]:
    """Return what carries an hour of a suite out: the begin of it, or the next part.

    Args:
        suite: its name.
        results: directory of all results.
        image: container image of the server, None for the suite's own; one that was begun keeps what it has.
    """
    directory = results / DIRECTORY / suite
    begun = (directory / ASKED).exists()
    how = ["--resume", str(directory)]
    if not begun:
        server = image or SERVERS.get(suite, PLAIN_IMAGE)
        how = ["--suite", suite, "--server", server, "--output", str(directory)]
    return [PROGRAM, "bench", *how, "--time", f"{BUDGET_MINUTES}m"]


def finished(suite: str, results: Path) -> bool:
    """Tell whether every row of a suite is there.

    Raises:
        LabServerError: its directory cannot be read.
    """
    directory = results / DIRECTORY / suite
    if not (directory / ASKED).exists():
        return False
    try:
        asked, ledger = go_on(directory)
    except PlanError as error:
        raise LabServerError(str(error)) from error
    for plan in asked.plans:
        rows = [row for row in ledger.rows if row["variant"] == plan.variant]
        absent = [row["contender"] for row in rows if row["stage"] == "left out"]
        done = {(row["block"], row["contender"]) for row in rows if row["stage"] == "block"}
        wanted = {(turn.block, turn.contender.name) for turn in turns(plan, asked.seed, absent)}
        if wanted - done:
            return False
    return True


def run(suite: str, results: Path, image: str | None) -> bool:
    """Carry out the next hour of a suite; returns whether all of it is finished.

    Raises:
        LabServerError: the bench failed; it has said why.
    """
    words = command(suite, results, image)
    bench = subprocess.Popen(words)
    try:
        code = bench.wait()
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt):
            bench.terminate()  # Ctrl-C reaches it by itself, and a second signal would stop its cleaning up
        bench.wait(END_SECONDS)
        raise
    if code not in {0, UNFINISHED}:
        raise LabServerError(f"{' '.join(words)} ended with {code}")
    return code == 0
