"""The daemon as a child process, as a user would start it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from lab.servers.base import LabServer
from lab.servers.owner import PREFIX, ending_with_us, sign
from lab.servers.spec import LabServerError
from tuner.journal.reader import last_record
from tuner.journal.tables import JournalError
from tuner.records import DecisionKind, Reason, TickRecord
from tuner.settings import Mode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

STOP_LIMIT = 10.0
PROGRAM = str(Path(sys.executable).with_name("innobrim"))

ON_COURSE = {Reason.WITHIN_BAND, Reason.DEAD_BAND}
"""The daemon's reasons for leaving M where it is: its law looked, and has little or nothing to correct."""

BAND = 0.05
"""So far from the set-point an age ratio is held, and not on its way."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one daemon process holds at a moment.

    Attributes:
        pid: process id.
        resident: memory, bytes.
        files: open file descriptors.
        threads: threads.
        processor: processor time so far, seconds.
    """

    pid: int
    resident: int
    files: int
    threads: int
    processor: float = 0.0


class DaemonProcess:
    """``innobrim run --active`` beside a throw-away server; parked and gone on exit.

    Attributes:
        state: its state directory, with the journal.
        stop_seconds: how long it took to end after SIGTERM; None until it has ended.
    """

    def __init__(self, server: LabServer, **loop: object) -> None:
        """Prepare a daemon for a server, with further keys of ``[loop]``, without starting anything."""
        self._program: Sequence[str] = (PROGRAM,)
        self._flags: Sequence[str] = ("--active",)
        self._server = server
        self._loop = loop
        self._directory = tempfile.TemporaryDirectory(prefix=f"{PREFIX}daemon-")
        place = Path(self._directory.name)
        sign(place)
        self._config, self._log, self._login = (
            place / name for name in ("innobrim.toml", "log", "client.cnf")
        )
        self._process: subprocess.Popen[bytes] | None = None
        self.state = place / "state"
        self.stop_seconds: float | None = None

    def __enter__(self) -> Self:
        self.state.mkdir(parents=True, exist_ok=True)
        self._server.option_file(self._login)
        self.configure()
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self.signal(signal.SIGCONT)
            self.terminate()
        self._directory.cleanup()

    def configure(self, **loop: object) -> None:
        """Write the configuration file, with these keys of ``[loop]`` besides or instead."""
        self._config.write_text(self.configuration(**loop), encoding="utf-8")

    def configuration(self, **loop: object) -> str:
        """Return the TOML file."""
        return "".join(
            f"[{table}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
            for table, keys in self.tables(**loop).items()
        )  # JSON of plain ASCII is TOML as well

    def tables(self, **loop: object) -> dict[str, dict[str, object]]:
        """Return the file's tables: active, without an API, state and login in a directory of its own."""
        server = self._server
        address: dict[str, object] = {"host": server.host, "port": server.port}
        if server.socket is not None:
            address = {"socket": str(server.socket)}
        return {
            "server": {**address, "user": server.daemon.user, "defaults_file": str(self._login)},
            "loop": {"mode": "active", **self._loop, **loop},
            "daemon": {"state_directory": str(self.state)},
            "api": {"port": 0, "socket": "-"},
        }

    def start(self) -> None:
        """Start the process and return at once; it parks and ends when the calling thread ends."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*ending_with_us("TERM"), *self._program, "run", *self._flags, "--config", str(self._config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(),
            )

    def signal(self, number: signal.Signals) -> None:
        """Send the process a signal; nothing happens where it has ended."""
        if self._process is not None:
            self._process.send_signal(number)

    def terminate(self) -> int:
        """Ask the process to end, by force after 10 s, and return its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_LIMIT)
        self.stop_seconds = time.monotonic() - began
        return process.returncode

    def kill(self) -> None:
        """End the process without a chance to do anything."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(STOP_LIMIT)

    def running(self) -> bool:
        """Return whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def holding(self) -> bool:
        """Return whether the daemon's journal says that M is right as it stands; reading it costs little."""
        try:
            return holding(last_record(self.state))
        except JournalError:
            return False

    def check(self) -> None:
        """Return when the daemon runs.

        Raises:
            LabServerError: it ended; the message has the end of its log.
        """
        if not self.running():
            code = None if self._process is None else self._process.returncode
            raise LabServerError(f"innobrim run ended with {code}:\n{self.log()}")

    def footprint(self) -> Footprint | None:
        """Return what the process holds, None where it is not there."""
        if self._process is None:
            return None
        place = Path(f"/proc/{self._process.pid}")
        try:
            status = (place / "status").read_text(encoding="utf-8")
            ticks = (place / "stat").read_text(encoding="utf-8").rsplit(") ", 1)[1].split()[11:13]
            files = sum(1 for _ in (place / "fd").iterdir())
        except OSError:
            return None
        values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if "VmRSS" not in values:
            return None
        return Footprint(
            pid=self._process.pid,
            resident=int(values["VmRSS"].split()[0]) * 1024,
            files=files,
            threads=int(values["Threads"]),
            processor=sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"),
        )

    def log(self) -> str:
        """Return the last 30 lines of the daemon's log."""
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-30:])


def holding(record: TickRecord | None) -> bool:
    """Return whether a daemon says in its newest tick that M is right as it stands, at its set-point.

    For one whose first M was right already, and which therefore never moves it.
    """
    if record is None or record.mode is not Mode.ACTIVE or record.holds or record.estimate is None:
        return False
    decision = record.decision
    return (
        decision.kind is DecisionKind.KEEP
        and decision.reason in ON_COURSE
        and decision.set_point is not None
        and abs(record.estimate.age_ratio - decision.set_point) <= BAND
    )


def environment() -> dict[str, str]:
    """Return the environment without what would configure a daemon from outside."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("INNOBRIM_") and name not in {"NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY"}
    }
