"""What a mysqld outside the system's own folders needs to run: its libraries, and its messages."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

_MESSAGES = "english/errmsg.sys"


class Installation:
    """The folder that a mysqld lies in."""

    def __init__(self, program: str) -> None:
        """Look at nothing yet; ``program`` is mysqld's name or path."""
        self._program = program

    def environment(self) -> dict[str, str]:
        """Return our environment, with libraries beside mysqld to be found before the system's."""
        folder = self._folder()
        if folder is None or not any(folder.glob("lib*.so*")):
            return dict(os.environ)
        paths = [str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(paths)}

    def arguments(self) -> list[str]:
        """Return where its messages are, if beside it or in a folder beside its folder; else it knows."""
        folder = self._folder()
        if folder is not None:
            for share in (folder / "share", folder.parent / "share"):
                if (share / _MESSAGES).is_file():
                    return [f"--lc-messages-dir={share}"]
        return []

    def version(self, seconds: float) -> str:
        """Return what ``--version`` says.

        Raises:
            OSError: it cannot be run.
            TimeoutExpired: it does not answer within so many seconds.
        """
        done = subprocess.run(
            [self._program, "--version"],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return done.stdout or done.stderr

    def _folder(self) -> Path | None:
        found = shutil.which(self._program)
        return None if found is None else Path(found).resolve().parent
