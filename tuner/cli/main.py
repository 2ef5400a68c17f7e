"""``innobrim``: one command each, imported only when it is asked for."""

from __future__ import annotations

import errno
import importlib
import sys

import click

from tuner.cli.answer import NO, USAGE, Group, complain

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a file says that takes no more."""

STEERING = ("drain", "mode", "override", "park", "pause", "restore", "resume")
ALONE = (
    "advise bench check config demo doctor fleet hosted policies record redo replay report run schedule "
    "setup-sql simulate status token trial watch why"
)
COMMANDS = {
    **{name: f"tuner.cli.{name.replace('-', '_')}" for name in ALONE.split()},
    **dict.fromkeys(STEERING, "tuner.cli.steering"),
}
"""The module of each command."""


class LazyGroup(Group):
    """A group whose commands are imported when used, so that the daemon carries no bench."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return every command's name."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Import one command; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        found = getattr(importlib.import_module(COMMANDS[cmd_name]), cmd_name.replace("-", "_"))
        if not isinstance(found, click.Command):
            raise TypeError(f"{COMMANDS[cmd_name]}.{cmd_name} is not a command")
        return found


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="innobrim", prog_name="innobrim")
def cli() -> None:
    """Keep InnoDB's redo log as full as is safe, by setting innodb_io_capacity and innodb_io_capacity_max.

    Nothing is written unless the mode is active: by run --active, or by mode in the configuration.

    Example: innobrim check --socket /run/mysqld/mysqld.sock
    """


def main() -> None:
    """Run the command line; the exit code is 0 fine, 1 "no", 2 usage, 3 not reachable, 4 time was up."""
    try:
        cli.main(prog_name="innobrim", standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(USAGE)
    except OSError as error:
        if error.errno not in FULL:
            raise
        complain(f"cannot write: {error.strerror}; make room where the output goes, or send it elsewhere")
        sys.exit(NO)
