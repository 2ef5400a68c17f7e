"""Runs a daemon with its API beside a busy simulated server, active and with budgets: PORT DIRECTORY."""

from __future__ import annotations

import sys

from lab.demo import simulated_server
from tuner.cli.run import make_api
from tuner.config.schema import ApiSection, Config, DaemonSection, HookTable
from tuner.daemon.board import Board
from tuner.daemon.daemon import Daemon
from tuner.settings import Mode, Settings
from tuner.system.clock import SystemClock
from tuner.system.systemd import Notifier

AN_HOUR = 3600.0
"""Seconds of a budget that a person has set, so that its series are there."""


def main(port: int, directory: str) -> None:
    """Run until SIGTERM."""
    config = Config(
        loop=Settings(mode=Mode.ACTIVE, max_recovery_seconds=AN_HOUR, max_shutdown_seconds=AN_HOUR),
        daemon=DaemonSection(state_directory=directory),
        api=ApiSection(port=port),
        hook=(HookTable("local", command=("/bin/true",)),),
    )
    clock, board = SystemClock(), Board()
    Daemon(
        config,
        simulated_server(clock, seed=1),
        clock,
        board=board,
        notifier=Notifier({}),
        reload=lambda: config,
        api=make_api(config, board, configuration=lambda: config),
    ).run()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
