"""A throw-away MySQL from a mysqld on this machine: own directory, loopback port, unix socket."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from lab.servers.base import LabServerError, ServerSpec, account_statements
from lab.servers.controlgroup import CGROUPS, group_of, hierarchy
from lab.servers.disk import block_device
from lab.servers.owner import bases, ending_with_us, new_directory, new_group, remove_groups
from lab.servers.ports import free_port
from lab.servers.throttle import NoLimitError, Place, Throttle
from lab.servers.throttled import ThrottledServer


def _base_directory() -> Path:
    """Return where throw-away data goes: the first temporary directory on a real disk."""
    candidates = bases()
    for candidate in candidates:
        if candidate.is_dir() and os.access(candidate, os.W_OK) and block_device(candidate) is not None:
            return candidate
    return candidates[0]


class LocalMySQL(ThrottledServer):
    """MySQL 8.0.30 or later as a child process; it dies with the thread that started it."""

    def __init__(self, program: str = "mysqld", spec: ServerSpec | None = None) -> None:
        """Prepare, without starting anything; ``program`` is mysqld's name or path."""
        super().__init__(spec)
        self.program = program
        self._directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._group: Path | None = None
        self._member = 0
        self._throttle = Throttle(self._place)

    def start(self) -> None:
        """Initialise on the first start, then start mysqld; data and disk limit stay over ``kill``."""
        if self._directory is None:
            remove_groups(hierarchy())
            self._directory = new_directory(_base_directory())
            atexit.register(self.stop)
            (self._directory / "tmp").mkdir()
            self.socket = self._directory / "s"
            self.port = free_port()
            self._initialise(self._directory)
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *ending_with_us(),
                    *self._paths(self._directory),
                    f"--socket={self.socket}",
                    "--bind-address=127.0.0.1",
                    f"--port={self.port}",
                    *self.spec.arguments(),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._throttle.again()

    def stop(self) -> None:
        """End mysqld and remove its directory."""
        atexit.unregister(self.stop)
        with contextlib.suppress(LabServerError, subprocess.TimeoutExpired):
            self.kill()
        if self._group is not None:
            with contextlib.suppress(OSError):
                self._group.rmdir()
            self._group = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None

    def kill(self) -> None:
        """SIGKILL mysqld and return when it is gone."""
        process = self._running()
        process.kill()
        process.wait(30.0)

    def pause(self) -> None:
        """Freeze the server."""
        self._running().send_signal(signal.SIGSTOP)

    def unpause(self) -> None:
        """Let it run on."""
        self._running().send_signal(signal.SIGCONT)

    def alive(self) -> bool:
        """Return whether mysqld runs."""
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """Return the last 30 lines of mysqld's error log."""
        if self._directory is None or not (self._directory / "log").exists():
            return ""
        lines = (self._directory / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-30:])

    def data_directory(self) -> Path | None:
        """Return the data directory."""
        return None if self._directory is None else self._directory / "data"

    def _place(self) -> Place:
        process = self._running()
        device = block_device(self._directory) if self._directory is not None else None
        if device is None:
            raise NoLimitError(f"no block device is known behind {self._directory}")
        try:
            if self._group is None:
                if hierarchy() != CGROUPS / "blkio":
                    (hierarchy() / "cgroup.subtree_control").write_text("+io\n", encoding="ascii")
                self._group = new_group(hierarchy())
            if process.pid != self._member:
                (self._group / "cgroup.procs").write_text(f"{process.pid}\n", encoding="ascii")
                self._member = process.pid
        except OSError as error:
            raise NoLimitError(f"a control group of mysqld's own needs root ({error})") from error
        group = group_of(process.pid)
        if group is None or group.directory != self._group:
            raise NoLimitError(f"mysqld did not get into its own control group {self._group}")
        return group, device

    def _initialise(self, directory: Path) -> None:
        accounts = directory / "accounts.sql"
        accounts.touch(mode=0o600)
        accounts.write_text(account_statements(self.admin, self.daemon), encoding="utf-8")
        try:
            done = subprocess.run(
                [
                    *ending_with_us(),
                    *self._paths(directory),
                    "--initialize-insecure",
                    f"--init-file={accounts}",
                ],
                capture_output=True,
                text=True,
                timeout=120.0,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LabServerError(f"{self.program} --initialize-insecure failed: {error}") from error
        if done.returncode != 0:
            raise LabServerError(f"{self.program} --initialize-insecure failed:\n{done.stderr[-2000:]}")

    def _paths(self, directory: Path) -> list[str]:
        root = ["--user=root"] if os.geteuid() == 0 else []
        return [
            self.program,
            "--no-defaults",
            *root,
            f"--datadir={directory / 'data'}",
            f"--tmpdir={directory / 'tmp'}",
            f"--pid-file={directory / 'pid'}",
            "--secure-file-priv=NULL",
        ]

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise LabServerError("mysqld is not started")
        return self._process
