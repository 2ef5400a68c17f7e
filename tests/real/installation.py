"""The daemon as a child process and the other commands beside it, as a user would start them."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

from lab.bench.daemon import PROGRAM, environment
from lab.servers.base import LabServer
from lab.servers.spec import Account
from tests.real.support import until
from tuner.journal.reader import trace
from tuner.journal.tables import JournalError
from tuner.records import TickRecord

COMMAND_LIMIT = 150.0
END_LIMIT = 10.0


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=5.0)
        self._path = path

    def connect(self) -> None:
        """Connect, to be closed whether that works or not."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a daemon ended: exit code, and seconds after it was asked to."""

    code: int
    seconds: float


class Innobrim:
    """One installation: a configuration file, a state directory, and the daemon as a user would start it.

    Attributes:
        program: the command that ``run`` is added to; another one where the daemon is to be held back.
    """

    program: Sequence[str] = (PROGRAM,)

    def __init__(
        self,
        server: LabServer,
        directory: Path,
        *,
        account: Account | None = None,
        port: int | None = None,
        api: bool = True,
    ) -> None:
        """Write login and configuration, advisory at first; nothing starts yet.

        Args:
            server: where the daemon goes.
            directory: an empty one, for all its files.
            account: login, the server's daemon account by default.
            port: TCP port where that is not the server's own.
            api: serve the API, on a unix socket.
        """
        self._server = server
        self._login = account or server.daemon
        self._port = port or server.port
        self._api = api
        self._process: subprocess.Popen[bytes] | None = None
        self.state = directory / "state"
        self.state.mkdir(parents=True)
        self.config = directory / "innobrim.toml"
        self._log = directory / "log"
        self._options = directory / "client.cnf"
        server.option_file(self._options, self._login)
        self.configure()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.alive():
            self.kill()

    def configure(self, *, extra: str = "", tls: str = "preferred", **loop: object) -> None:
        """Write the configuration file anew, with these keys of ``[loop]`` and ``extra`` lines at its end."""
        lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in loop.items())
        nowhere = "" if self._api else 'socket = "-"\n'
        authority = self._server.authority if tls == "preferred" else None
        known = "" if authority is None else f'tls_ca = "{authority}"\n'
        self.config.write_text(
            f'[server]\nhost = "{self._server.host}"\nport = {self._port}\n'
            f'tls = "{"verify_ca" if known else tls}"\n{known}'
            f'defaults_file = "{self._options}"\n'
            f'[daemon]\nstate_directory = "{self.state}"\n'
            f"[api]\nport = 0\n{nowhere}"
            f"[loop]\n{lines}{extra}",
            encoding="utf-8",
        )

    def start(self, *flags: str) -> Self:
        """Start the daemon and return at once."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*self.program, "run", "--config", str(self.config), *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
            )
        return self

    @property
    def pid(self) -> int:
        """Return the daemon's process id."""
        assert self._process is not None
        return self._process.pid

    def hang_up(self) -> None:
        """Ask for the configuration to be read again."""
        self._signal(signal.SIGHUP)

    def terminate(self) -> Ended:
        """Ask the daemon to end and return how it did."""
        began = time.monotonic()
        self._signal(signal.SIGTERM)
        return Ended(self.wait(END_LIMIT), time.monotonic() - began)

    def kill(self) -> None:
        """End the daemon without a chance to do anything."""
        self._signal(signal.SIGKILL)
        self.wait(END_LIMIT)

    def freeze(self) -> None:
        """Stop the process where it is."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process run on."""
        self._signal(signal.SIGCONT)

    def alive(self) -> bool:
        """Return whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def wait(self, limit: float) -> int:
        """Return the exit code, within so many seconds."""
        assert self._process is not None
        try:
            return self._process.wait(limit)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"still running after {limit:.0f} s:\n{self.log()}") from error

    def running(self) -> None:
        """Return when the daemon runs.

        Raises:
            AssertionError: it ended; the message has its log.
        """
        assert self._process is not None
        assert self._process.poll() is None, f"ended with {self._process.returncode}:\n{self.log()}"

    def command(self, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command with the same configuration file."""
        return innobrim(name, *arguments, "--config", str(self.config))

    def administer(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command with the administrator's login and this state directory, beside the daemon."""
        options = self.config.with_name("admin.cnf")
        login = self._server.option_file(options, self._server.admin)
        where = ("--host", self._server.host, "--port", str(self._port), "--defaults-file", str(login))
        return innobrim(*words, *where, "--state-directory", str(self.state))

    def status(self) -> dict[str, Any] | None:
        """Return what ``GET /v1/status`` says; None before the API answers."""
        self.running()
        try:
            return self.ask("GET", "/v1/status")
        except (OSError, http.client.HTTPException):
            return None

    def change_mode(self, mode: str) -> None:
        """Ask for another mode over the API."""
        assert self.asked("PUT", "/v1/mode", {"mode": mode})

    def asked(self, method: str, path: str, body: object = None) -> bool:
        """Ask for something over the API; return whether it was accepted, False where nobody answers."""
        try:
            return self.ask(method, path, body) is not None
        except (OSError, http.client.HTTPException):
            return False

    def await_status(
        self, accept: Callable[[dict[str, Any]], bool], limit: float, what: str
    ) -> dict[str, Any]:
        """Return the first status that is accepted."""

        def look() -> dict[str, Any] | None:
            found = self.status()
            return found if found is not None and accept(found) else None

        return until(look, limit, lambda: f"{what}; the daemon said:\n{self.log()}")

    def await_ticks(self, count: int) -> dict[str, Any]:
        """Return the status after so many further ticks."""
        now = until(self.status, 60.0, "a status")["tick"]
        return self.await_status(
            lambda found: found["tick"] >= now + count, 2.0 * count + 10.0, f"{count} ticks"
        )

    def await_own_write(self, limit: float = 60.0, *, before: int = 0) -> dict[str, Any]:
        """Return the status once the loop has written more often than before, by its journal."""

        def wrote() -> bool:
            self.running()
            return len(self.records("set", "emergency")) > before

        until(
            wrote,
            limit,
            lambda: f"a write of the loop's own; the daemon said:\n{self.log()}",
        )
        return self.await_ticks(1)

    def records(self, *kinds: str, run: int | None = None) -> list[TickRecord]:
        """Return the ticks on disk, of these kinds of decision or all; they get there within 5 seconds."""
        try:
            found = [item for item in trace(self.state, run) if isinstance(item, TickRecord)]
        except JournalError as error:
            if "no journal" in str(error) or "no tick" in str(error):
                return []
            raise
        return [record for record in found if not kinds or record.decision.kind.value in kinds]

    def events(self) -> list[str]:
        """Return the codes of all events on disk, in order."""
        return [event.code for record in self.records() for event in record.events]

    def resident(self) -> int:
        """Return resident memory, bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))

    def cpu_seconds(self) -> float:
        """Return the processor time used so far, seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def log(self) -> str:
        """Return all that the daemon has said."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any] | None:
        """Return the API's answer, None where it is no success; OSError where nobody listens."""
        with contextlib.closing(UnixConnection(self.state / "api.sock")) as connection:
            connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        return dict(json.loads(content)) if answer.status == HTTPStatus.OK else None

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


Install = Callable[..., Innobrim]
"""Makes an installation beside the server."""


def innobrim(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return what it said."""
    return subprocess.run(  # noqa: S603 - our own program
        [PROGRAM, *arguments],
        capture_output=True,
        text=True,
        timeout=COMMAND_LIMIT,
        check=False,
        env=environment(),
    )
