"""What a Docker daemon is asked whatever the server: commands that run once, and what crashed runs left."""

from __future__ import annotations

import contextlib

import docker
from docker.errors import APIError, ContainerError

from lab.servers.owner import mine, orphaned

LABEL = "innobrim.lab"
OWNER = "innobrim.owner"
RUN_SECONDS = 60.0


def remove_leftovers(client: docker.DockerClient) -> int:
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
