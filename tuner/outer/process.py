"""The optimiser's process seen from the daemon: pipes that never block, and lines of a bounded length."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tuner.outer.messages import LONGEST

COMMAND = (sys.executable, "-P", "-m", "tuner.outer")

ROOT = str(Path(__file__).parents[2])
"""Where the program lies: an installed one is on nobody's path (docs/decisions/wheel.md)."""

KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV")
"""All of the environment that the child gets: a password in it is none of its business."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

END_SECONDS = 0.3
"""How long a child may take to end once its input has; then it is killed."""


class ProcessError(Exception):
    """The child is of no use any more; the message says why."""


class Process:
    """One child with its two pipes."""

    def __init__(self, command: Sequence[str] = COMMAND, *, environ: Mapping[str, str] = os.environ) -> None:
        """Start it.

        Raises:
            ProcessError: that failed.
        """
        kept = {name: environ[name] for name in KEPT if name in environ}
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, kept.get("PYTHONPATH"))))
        try:
            self._child = subprocess.Popen(  # noqa: S603 - our own program
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=kept | dict.fromkeys(THREADS, "1"),
                cwd="/",
                start_new_session=True,  # Ctrl-C is for the daemon, which ends it in order
            )
        except OSError as error:
            raise ProcessError(f"cannot be started: {error}") from error
        assert self._child.stdin is not None  # noqa: S101 - pipes, as asked for
        assert self._child.stdout is not None  # noqa: S101 - the same
        self._to, self.output = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._to, False)
        os.set_blocking(self.output, False)
        self._rest = b""

    def write(self, line: bytes) -> None:
        """Send a line.

        Raises:
            ProcessError: it does not go through at once.
        """
        try:
            written = os.write(self._to, line)
        except OSError as error:
            raise ProcessError(f"takes no question: {error}") from error
        if written < len(line):
            raise ProcessError("takes no question: its pipe is full")

    def lines(self) -> list[bytes]:
        """Return the lines that have come.

        Raises:
            ProcessError: it has ended, or a line is too long.
        """
        try:
            got = os.read(self.output, LONGEST)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ProcessError(f"cannot be read: {error}") from error
        if not got:
            raise ProcessError(self._how_it_ended())
        *whole, self._rest = (self._rest + got).split(b"\n")
        if len(self._rest) > LONGEST:
            raise ProcessError(f"sent a line of more than {LONGEST} bytes")
        return whole

    def end(self) -> None:
        """End it: close its input, and kill it where that does not do."""
        for pipe in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _how_it_ended(self) -> str:
        try:
            code = self._child.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
