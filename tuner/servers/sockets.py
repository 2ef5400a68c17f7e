"""Where a unix socket is that nothing names."""

from __future__ import annotations

import stat
from pathlib import Path

SOCKETS = (
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/run/mysql/mysql.sock",
)
"""Where servers have it as they are built: Debian's, Red Hat's, SUSE's.

MySQL's own builds have it in /tmp: there any account can make one while the server is down, and would get
what is only for the server. Such a socket has to be named.
"""


def guessed() -> str | None:
    """Return the first socket that is there now and that not everybody can have made; None without one."""
    return next((path for path in SOCKETS if _is_servers(Path(path))), None)


def _is_servers(path: Path) -> bool:
    try:
        real = path.resolve()
        return real.is_socket() and not real.parent.stat().st_mode & stat.S_IWOTH
    except OSError:
        return False
