"""A throw-away server in a container, its data on a volume so that a disk limit applies to it."""

from __future__ import annotations

import atexit
import contextlib
import shutil
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import docker
from docker.errors import APIError, ContainerError, DockerException, NotFound

from lab.servers.base import LabServer, free_port
from lab.servers.disk import NoLimitError, Place, block_device, group_of, write_line
from lab.servers.owner import mine, new_directory, orphaned
from lab.servers.spec import MYSQL, Kind, LabServerError, ServerSpec, account_statements

if TYPE_CHECKING:
    from docker.models.containers import Container

LABEL = "innobrim.lab"
OWNER = "innobrim.owner"
RUN_SECONDS = 60.0


def remove_containers(client: docker.DockerClient) -> int:
    """Remove containers and volumes that crashed runs on this host left behind; return how many."""
    removed = 0
    for container in client.containers.list(all=True, ignore_removed=True, filters={"label": f"{LABEL}=1"}):
        if orphaned(container.labels.get(OWNER, "")):
            with contextlib.suppress(APIError):
                container.remove(force=True, v=True)
                removed += 1
    for volume in client.volumes.list(filters={"label": f"{LABEL}=1"}):
        if orphaned((volume.attrs or {}).get("Labels", {}).get(OWNER, "")):
            with contextlib.suppress(APIError):
                volume.remove()
                removed += 1
    return removed


def run_once(
    client: docker.DockerClient, image: str, command: list[str], *, controllers: bool = False
) -> bytes:
    """Run one command in a container of its own and return what it wrote; nothing is left of it.

    Args:
        client: the Docker daemon.
        image: the container's image.
        command: program and arguments.
        controllers: let it write to the control groups of the daemon's machine.

    Raises:
        DockerException: it could not be run, or failed.
        OSError: it did not end in time.
    """
    container = client.containers.run(
        image,
        command[1:],
        entrypoint=command[:1],
        labels={LABEL: "1", OWNER: mine()},
        detach=True,
        privileged=controllers,
        volumes={"/sys/fs/cgroup": {"bind": "/sys/fs/cgroup", "mode": "rw"}} if controllers else {},
    )
    try:
        status = int(container.wait(timeout=RUN_SECONDS)["StatusCode"])
        said: bytes = container.logs()
        if status != 0:
            raise ContainerError(container, status, command, image, said[-500:].decode(errors="replace"))
        return said
    finally:
        container.remove(force=True, v=True)  # an official image declares a volume


PLAIN_IMAGE = "innobrim/mysql:9.7"

AUTHORITY = "/data/db/ca.pem"
"""Where MySQL puts the certificate authority that it makes for itself; MariaDB makes none."""

# The same for an official image and for a plain one: the entrypoint is ours, so no image's own is relied on.
_ENTRY = """
set -eu
MYSQLD=$1 DATA=/data/db ACCOUNTS=/data/accounts.sql GUARD=
shift
first_start() {{
{first_start}
}}
mkdir -p /var/lib/mysql-files /run/mysqld
if [ ! -f /data/ready ]; then
  rm -rf "$DATA"
  printf '%s' "$LAB_ACCOUNTS" >"$ACCOUNTS"
  first_start --no-defaults --user=root --datadir="$DATA"
  touch /data/ready
fi
exec "$MYSQLD" --no-defaults --user=root --datadir="$DATA" --bind-address=0.0.0.0 --socket=/run/lab/s "$@"
"""


class ContainerServer(LabServer):
    """A server of any kind in a container on 127.0.0.1.

    Example:
        with ContainerServer() as server:
            server.limit_write_iops(1200)
    """

    def __init__(
        self,
        image: str = PLAIN_IMAGE,
        spec: ServerSpec | None = None,
        kind: Kind = MYSQL,
    ) -> None:
        """Prepare, without starting anything.

        Args:
            image: an official image, or any with ``sh`` and the server on its path.
            spec: how mysqld is started.
            kind: what is in the image.

        Raises:
            LabServerError: no Docker daemon answers.
        """
        super().__init__(spec, kind)
        self.image = image
        self._name = f"innobrim-lab-{uuid4().hex[:12]}"
        self._container: Container | None = None
        self._sockets: Path | None = None
        self._made_for = self.spec
        try:
            self._client = docker.from_env(timeout=60)
            root = str(self._client.info()["DockerRootDir"])
        except DockerException as error:
            raise LabServerError(f"no Docker daemon answers: {error}") from error
        self._root = Path(root)

    def start(self) -> None:
        """Start the container; a second start after ``kill`` keeps data, port, accounts and limit.

        With another ``spec`` it is a new container, as one keeps its command.
        """
        if self._container is None:
            remove_containers(self._client)
            atexit.register(self.stop)
            self.port = free_port()
            self._sockets = new_directory(Path(tempfile.gettempdir()))
            self._run(self._sockets)
        elif self._made_for == self.spec:
            self._container.start()
        elif self._sockets is not None:
            self._container.remove()
            self._run(self._sockets)
        self._throttle.again()

    def _run(self, sockets: Path) -> None:
        """Make and start a container on the volume, which is made where there is none."""
        labels = {LABEL: "1", OWNER: mine()}
        again = ["--init-file=/data/accounts.sql"] if self.kind.accounts_at_start else []
        self._made_for = self.spec
        try:
            self._client.volumes.create(self._name, labels=labels)
            self._container = self._client.containers.run(
                self.image,
                [
                    *("-c", _ENTRY.format(first_start=self.kind.first_start), "sh", self.kind.program),
                    *again,
                    *self.spec.arguments(self.kind),
                ],
                entrypoint="sh",
                user="0:0",
                name=self._name,
                labels=labels,
                detach=True,
                environment={"LAB_ACCOUNTS": account_statements(self.admin, self.daemon, self.kind)},
                volumes={
                    self._name: {"bind": "/data", "mode": "rw"},
                    str(sockets): {"bind": "/run/lab", "mode": "rw"},
                },
                ports={"3306/tcp": ("127.0.0.1", self.port)},
            )
        except DockerException as error:
            self.stop()
            raise LabServerError(f"container from image {self.image} did not start: {error}") from error

    def stop(self) -> None:
        """Remove container and volume; what a second Ctrl-C cuts short is done at exit."""
        with contextlib.suppress(DockerException, OSError):
            self._client.containers.get(self._name).remove(force=True, v=True)
        with contextlib.suppress(DockerException, OSError):
            self._client.volumes.get(self._name).remove()
        if self._sockets is not None:
            shutil.rmtree(self._sockets, ignore_errors=True)
            self._sockets = None
        self._container = None
        self._client.close()
        atexit.unregister(self.stop)

    def wait_ready(self, seconds: float = 120.0) -> None:
        """Return when the server answers; its unix socket and authority are known from then on."""
        super().wait_ready(seconds)
        if self._sockets is None:
            return
        if (self._sockets / "s").is_socket():
            self.socket = self._sockets / "s"
        status, found = self._running().exec_run(["cat", AUTHORITY])
        if status == 0 and isinstance(found, bytes) and self.authority is None:
            self.authority = self._sockets / "ca.pem"
            self.authority.write_bytes(found)

    def signal(self, number: signal.Signals) -> None:
        self._running().kill(number.name)

    def alive(self) -> bool:
        if self._container is None:
            return False
        try:
            self._container.reload()
        except NotFound:
            return False
        return self._container.status in {"created", "running", "paused"}

    def log(self, lines: int = 30, *, stamped: bool = False) -> str:
        if self._container is None:
            return ""
        with contextlib.suppress(DockerException):
            return self._container.logs(tail=lines, timestamps=stamped).decode(errors="replace")
        return ""

    def data_place(self) -> Path:
        return self._root

    def _place(self) -> Place:
        container = self._running()
        container.reload()
        pid = int(container.attrs["State"]["Pid"])
        device = block_device(self._root)
        if device is None:
            raise NoLimitError(f"no block device is known behind {self._root}")
        group = group_of(pid)
        if group is None or str(container.id) not in str(group.directory):
            # with a Docker daemon in another machine the number is of some other process here
            raise NoLimitError("the container's control group cannot be seen from here")
        return group, device

    def _write_limit(self, file: Path, line: str) -> None:
        """Write to the controller; through the daemon's privileges for a caller without root's.

        Raises:
            OSError: refused both ways.
        """
        try:
            write_line(file, line)
        except PermissionError:
            command = ["sh", "-c", 'printf "%s\\n" "$1" > "$2"', "sh", line, str(file)]
            try:
                run_once(self._client, self.image, command, controllers=True)
            except DockerException as error:
                raise OSError(f"it needs root, and a privileged container was refused: {error}") from error

    def _running(self) -> Container:
        if self._container is None:
            raise LabServerError("the container is not started")
        return self._container
