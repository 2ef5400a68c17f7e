"""What a server of the lab is started with: sizes, and further parameters of mysqld."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lab.servers.flavour import TRAITS, Flavour, redo_arguments

MEBIBYTE = 1024 * 1024

_NAME = re.compile(r"[a-z][a-z0-9_.]*")
_SIZE = re.compile(r"(\d+)([KMGT]?)", re.IGNORECASE)
_UNITS = {"": 1, "K": 1024, "M": MEBIBYTE, "G": 1024 * MEBIBYTE, "T": MEBIBYTE * MEBIBYTE}
_OWN = {
    "innodb_redo_log_capacity": "redo_capacity",
    "innodb_buffer_pool_size": "buffer_pool",
    "innodb_io_capacity": "io_capacity",
    "innodb_io_capacity_max": "io_capacity_max",
}
"""Parameters of mysqld that a spec has as numbers, because others calculate with them."""

_TAKEN = frozenset(
    [
        *("datadir", "tmpdir", "socket", "port", "bind_address"),
        *("pid_file", "init_file", "user", "secure_file_priv"),
    ]
)
"""Parameters that the lab needs for itself."""


_FILES = frozenset(["innodb_log_file_size", "innodb_log_files_in_group"])


class LabServerError(Exception):
    """A server that could not be had, or not be used so; the message says what was tried and what it said."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How a throw-away server is started.

    Attributes:
        redo_capacity: ``innodb_redo_log_capacity``, or what the redo log's files are together, bytes.
        buffer_pool: ``innodb_buffer_pool_size``, bytes.
        io_capacity: C at start, pages/s.
        io_capacity_max: M at start, pages/s.
        monitors: turn on the InnoDB counters that the loop needs.
        extra: further mysqld arguments; they win over ours.
    """

    redo_capacity: int = 100 * MEBIBYTE
    buffer_pool: int = 2048 * MEBIBYTE
    io_capacity: int = 10_000
    io_capacity_max: int = 20_000
    monitors: bool = True
    extra: tuple[str, ...] = ()

    def arguments(self, flavour: Flavour = Flavour.MYSQL) -> list[str]:
        """Return the mysqld arguments, without paths and addresses."""
        arguments = [
            *TRAITS[flavour].switches,
            "--innodb-flush-method=O_DIRECT",
            *redo_arguments(flavour, self.redo_capacity),
            f"--innodb-buffer-pool-size={self.buffer_pool}",
            f"--innodb-io-capacity={self.io_capacity}",
            f"--innodb-io-capacity-max={self.io_capacity_max}",
        ]
        if self.monitors:
            arguments.append("--innodb-monitor-enable=module_log,module_buffer")
        return [*arguments, *self.extra]

    def with_parameters(self, parameters: Mapping[str, str]) -> ServerSpec:
        """Return this spec with mysqld's parameters by name, such as ``innodb_flush_method``; they win.

        Args:
            parameters: name, with dashes or underscores, to value; "" for one without a value.

        Raises:
            LabServerError: a name that is none, that the lab needs for itself, or a size that is none.
        """
        spec = self
        for given, value in parameters.items():
            name = given.strip().removeprefix("--").replace("-", "_").lower()
            if _NAME.fullmatch(name) is None:
                raise LabServerError(
                    f"server parameter {given!r}: no name of one; write it as innodb_flush_method=fsync"
                )
            if name in _TAKEN:
                raise LabServerError(f"server parameter {name}: the lab sets it by itself; leave it out")
            if name in _FILES:
                raise LabServerError(
                    f"server parameter {name}: the lab works it out where the server has it; give the size of"
                    " the whole redo log as innodb_redo_log_capacity"
                )
            if name in _OWN:
                spec = _with_size(spec, name, value)
            else:
                argument = "--" + name.replace("_", "-") + (f"={value}" if value else "")
                spec = replace(spec, extra=(*spec.extra, argument))
        return spec


def _with_size(spec: ServerSpec, name: str, value: str) -> ServerSpec:
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise LabServerError(f"server parameter {name}={value}: must be a whole number, such as 512M")
    size = int(found[1]) * _UNITS[found[2].upper()]
    changed: dict[str, int] = {_OWN[name]: size}
    return replace(spec, **changed)  # type: ignore[arg-type] # the four of _OWN are all numbers
