"""The daemon as a child process, as a user would start it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lab.servers.base import LabServer, LabServerError

if TYPE_CHECKING:
    from types import TracebackType

STOP_LIMIT = 10.0


def configuration(server: LabServer, directory: Path) -> str:
    """Return the daemon's TOML file: active, no API, state and login in ``directory``."""
    quoted = {
        name: json.dumps(str(value))  # a JSON string of plain ASCII is a TOML string as well
        for name, value in {
            "host": server.host,
            "user": server.daemon.user,
            "login": directory / "client.cnf",
            "state": directory / "state",
        }.items()
    }
    return (
        f"[server]\nhost = {quoted['host']}\nport = {server.port}\n"
        f"user = {quoted['user']}\ndefaults_file = {quoted['login']}\n"
        '[loop]\nmode = "active"\n'
        f"[daemon]\nstate_directory = {quoted['state']}\n"
        '[api]\nport = 0\nsocket = "-"\n'
    )


class Daemon:
    """``innobrim run --active`` beside a throw-away server; parked and gone on exit.

    Attributes:
        stop_seconds: how long it took to end after SIGTERM; None until it has ended.
    """

    def __init__(self, server: LabServer) -> None:
        self._server = server
        self._directory = tempfile.TemporaryDirectory(prefix="innobrim-prove-")
        self._process: subprocess.Popen[bytes] | None = None
        self.stop_seconds: float | None = None

    def __enter__(self) -> Self:
        directory = Path(self._directory.name)
        (directory / "state").mkdir()
        self._server.option_file(directory / "client.cnf")
        config = directory / "innobrim.toml"
        config.write_text(configuration(self._server, directory), encoding="utf-8")
        with (directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(Path(sys.executable).with_name("innobrim")), "run", "--active", "--config", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is not None:
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_LIMIT)
            self.stop_seconds = time.monotonic() - began
        self._directory.cleanup()

    def check(self) -> None:
        """Return when the daemon runs.

        Raises:
            LabServerError: it ended; the message has the end of its log.
        """
        if self._process is None or self._process.poll() is not None:
            code = None if self._process is None else self._process.returncode
            raise LabServerError(f"innobrim run ended with {code}:\n{self.log()}")

    def resident(self) -> int | None:
        """Return the daemon's resident memory, bytes, None where that is not known."""
        if self._process is None:
            return None
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return None
        found = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
        return int(found[0]) * 1024 if found else None

    def log(self) -> str:
        """Return the last 30 lines of the daemon's log."""
        lines = (
            (Path(self._directory.name) / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        )
        return "\n".join(lines[-30:])
