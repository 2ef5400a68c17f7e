"""A throw-away server from a mysqld on this machine: own directory, loopback port, unix socket."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
from pathlib import Path

from lab.servers.base import LabServer, free_port, write_private
from lab.servers.disk import CGROUPS, NoLimitError, Place, block_device, group_of, hierarchy
from lab.servers.owner import (
    bases,
    ending_with_parent,
    ending_with_us,
    new_directory,
    new_group,
    remove_groups,
)
from lab.servers.spec import MYSQL, Kind, LabServerError, ServerSpec, account_statements

_MESSAGES = "english/errmsg.sys"


class Installation:
    """The folder that a mysqld lies in."""

    def __init__(self, program: str) -> None:
        self._program = program

    def environment(self) -> dict[str, str]:
        """Return our environment, with libraries that came with mysqld to be found before the system's."""
        folder, share = self._folder(), self._share()
        if folder is None or share is None:
            return dict(os.environ)
        lib = folder.parent / "lib"
        own = [folder, *([lib, lib / "private"] if share.parent == folder.parent else [])]
        paths = [str(one) for one in own if any(one.glob("lib*.so*"))]
        paths += filter(None, [os.environ.get("LD_LIBRARY_PATH")])
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(paths)} if paths else dict(os.environ)

    def arguments(self) -> list[str]:
        """Return where its messages are, if beside it or in a folder beside its folder; else it knows."""
        share = self._share()
        return [] if share is None else [f"--lc-messages-dir={share}"]

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

    def _share(self) -> Path | None:
        folder = self._folder()
        places = () if folder is None else (folder / "share", folder.parent / "share")
        return next((one for one in places if (one / _MESSAGES).is_file()), None)

    def _folder(self) -> Path | None:
        found = shutil.which(self._program)
        return None if found is None else Path(found).resolve().parent


def _base_directory() -> Path:
    """Return where throw-away data goes: the first temporary directory on a real disk."""
    candidates = bases()
    for candidate in candidates:
        if candidate.is_dir() and os.access(candidate, os.W_OK) and block_device(candidate) is not None:
            return candidate
    return candidates[0]


class LocalServer(LabServer):
    """A server of any kind as a child process; it dies with the thread that started it."""

    def __init__(self, program: str = "mysqld", spec: ServerSpec | None = None, kind: Kind = MYSQL) -> None:
        """Prepare, without starting anything; ``program`` is the name or path of mysqld or mariadbd."""
        super().__init__(spec, kind)
        self.program = program
        self._installation = Installation(program)
        self._directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._group: Path | None = None
        self._member = 0

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
                    self.program,
                    *self._paths(self._directory),
                    f"--socket={self.socket}",
                    "--bind-address=127.0.0.1",
                    f"--port={self.port}",
                    *self._accounts_again(self._directory),
                    *self.spec.arguments(self.kind),
                ],
                env=self._installation.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._throttle.again()

    def stop(self) -> None:
        """End mysqld and remove its directory; what a second Ctrl-C cuts short is done at exit."""
        with contextlib.suppress(LabServerError):
            self.kill()
        if self._group is not None:
            with contextlib.suppress(OSError):
                self._group.rmdir()
            self._group = None
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None
        atexit.unregister(self.stop)

    def wait_ready(self, seconds: float = 120.0) -> None:
        """Return when the server answers; the authority that it made for itself is known from then on."""
        super().wait_ready(seconds)
        made = None if self._directory is None else self._directory / "data" / "ca.pem"
        if made is not None and made.is_file():
            self.authority = made

    def signal(self, number: signal.Signals) -> None:
        self._running().send_signal(number)

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self, lines: int = 30, *, stamped: bool = False) -> str:  # noqa: ARG002 - the server alone stamps them
        if self._directory is None or not (self._directory / "log").exists():
            return ""
        written = (self._directory / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(written[-lines:])

    def data_place(self) -> Path:
        return self._directory or _base_directory()

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
        accounts = write_private(
            directory / "accounts.sql", account_statements(self.admin, self.daemon, self.kind)
        )
        try:
            done = subprocess.run(
                [
                    *ending_with_us(),
                    *("sh", "-euc", self.kind.first_start, "sh"),
                    *self._paths(directory),
                ],
                env={
                    **self._installation.environment(),
                    "MYSQLD": self.program,
                    "DATA": str(directory / "data"),
                    "ACCOUNTS": str(accounts),
                    "GUARD": " ".join(ending_with_parent()),
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120.0,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LabServerError(f"{self.program} made no data directory: {error}") from error
        if done.returncode != 0:
            raise LabServerError(
                f"{self.program} made no data directory:\n{(done.stdout + done.stderr)[-2000:]}"
            )

    def _paths(self, directory: Path) -> list[str]:
        root = ["--user=root"] if os.geteuid() == 0 else []
        return [
            "--no-defaults",
            *root,
            f"--datadir={directory / 'data'}",
            f"--tmpdir={directory / 'tmp'}",
            f"--pid-file={directory / 'pid'}",
            *self.kind.no_files,
            *self._installation.arguments(),
        ]

    def _accounts_again(self, directory: Path) -> list[str]:
        return [f"--init-file={directory / 'accounts.sql'}"] if self.kind.accounts_at_start else []

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise LabServerError("mysqld is not started")
        return self._process
