"""What is said where the API's port is taken: by whom, and what to do."""

from __future__ import annotations

from tuner.board import PortTaken


def port_taken(error: PortTaken, *, way: str) -> str:
    """Return what happened and how to go on.

    Args:
        error: which address and port.
        way: how this command is given another port.
    """
    from tuner.cli.whose import daemon_at  # noqa: PLC0415 - only a daemon that cannot start needs a client

    host = f"[{error.host}]" if ":" in error.host else error.host
    theirs = daemon_at(f"http://{host}:{error.port}")
    if theirs:
        found = f"the InnoBrim of the state directory {theirs!r}; each on a host needs a port of its own"
    else:
        found = f"another program (as root: ss -ltnp 'sport = :{error.port}' says which)"
    return f"port {error.port} on {error.host} is taken by {found}: {way}"
