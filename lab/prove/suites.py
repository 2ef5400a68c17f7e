"""The bench's suites as parts of the proof: an hour each, gone on with where they stopped."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.bench.daemon import PROGRAM
from lab.bench.folder import ASKED
from lab.servers.base import LabServerError

DIRECTORY = Path("bench")
"""Where the suites lie, under the directory of results."""

BUDGET_MINUTES = 55
"""No row begins that would end later; starting a server and writing the page take the rest of the hour."""

UNFINISHED = 4
"""Exit code of a bench whose time was up."""

END_SECONDS = 120.0
"""What a bench that was told to end has for removing its server."""


def command(suite: str, results: Path, image: str) -> list[str]:
    """Return what carries an hour of a suite out: the begin of it, or the next part.

    Args:
        suite: its name.
        results: directory of all results.
        image: container image of the server; a suite that was begun keeps its own.
    """
    directory = results / DIRECTORY / suite
    begun = (directory / ASKED).exists()
    how = ["--resume", str(directory)]
    if not begun:
        how = ["--suite", suite, "--server", image, "--output", str(directory)]
    return [PROGRAM, "bench", *how, "--time", f"{BUDGET_MINUTES}m"]


def run(suite: str, results: Path, image: str) -> bool:
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
