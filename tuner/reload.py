"""A configuration read again while the daemon runs: what takes effect, and what needs a restart."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tuner.config.errors import ConfigError
from tuner.config.schema import Config
from tuner.logs import get_logger

AT_ONCE = frozenset({"daemon.on_stop"})
"""Keys beside the loop's that take effect without a restart."""

log = get_logger("innobrim")


def reread(old: Config, read: Callable[[], Config]) -> Config | None:
    """Return the configuration in force after a reload; None when the new one is refused whole.

    Args:
        old: what is in force.
        read: reads the files again; raises ConfigError.
    """
    try:
        new = read()
    except ConfigError as error:
        log.warning("configuration refused, the old one stays in force", reason=str(error))
        return None
    fixed = needs_restart(old, new)
    if fixed:
        log.warning("these changes need a restart of the daemon", keys=fixed)
    log.info("configuration reloaded")
    daemon = msgspec.structs.replace(old.daemon, on_stop=new.daemon.on_stop)
    return msgspec.structs.replace(old, loop=new.loop, schedule=new.schedule, daemon=daemon)


def needs_restart(old: Config, new: Config) -> list[str]:
    """Return the keys that differ and are only read at the start."""
    changed = []
    for section in ("server", "daemon", "api", "log"):
        before, after = getattr(old, section), getattr(new, section)
        changed += [
            f"{section}.{name}"
            for name in before.__struct_fields__
            if getattr(before, name) != getattr(after, name) and f"{section}.{name}" not in AT_ONCE
        ]
    return changed
