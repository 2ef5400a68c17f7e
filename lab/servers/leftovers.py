"""Removing what crashed runs on this host left behind, whatever kind of server they had."""

from __future__ import annotations

import contextlib

from lab.servers.controlgroup import hierarchy
from lab.servers.owner import bases, remove_directories, remove_groups


def remove_leftovers() -> tuple[str, ...]:
    """Remove containers, volumes, directories and control groups whose run is gone; return what went.

    Each kind of server removes its own kind's before it starts; a bench calls this before all of them, as it
    may start no server, or one of another kind. What a bench left on a server of the user's own is put right
    by the next bench there.
    """
    counts = {
        "directory": sum(remove_directories(base) for base in set(bases())),
        "control group": remove_groups(hierarchy()),
        "container or volume": _containers(),
    }
    return tuple(f"removed {count} × {what} of crashed runs" for what, count in counts.items() if count)


def _containers() -> int:
    try:
        import docker  # noqa: PLC0415 - the extra lab may be missing
        from docker.errors import DockerException  # noqa: PLC0415 - the same

        from lab.servers import dockerhost  # noqa: PLC0415 - the same
    except ImportError:
        return 0
    with contextlib.suppress(DockerException):
        client = docker.from_env(timeout=10)
        with contextlib.closing(client):
            return dockerhost.remove_leftovers(client)
    return 0
