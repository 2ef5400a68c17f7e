"""What the tests of the packages share: configuration and account of the service, and how it is installed."""

from __future__ import annotations

from tests.real.machine import Machine
from tuner.records import Capacity

ORIGINAL, WANTED = Capacity(400, 800), Capacity(300, 600)
"""What the server starts with, and what the daemon is told to set."""

PASSWORD = "7d1f0c5a9be24d33"  # noqa: S105 - of a throw-away server
WATCHDOG = 30.0
"""Seconds; more than twice the slowest tick with the time-out below."""

CONFIGURATION = """\
[server]
socket = "{socket}"
timeout = 0.5
[daemon]
on_stop = "{on_stop}"
state_directory = "{state}"
[api]
port = 0
[loop]
mode = "{mode}"
policy = "fixed"
fixed_io_capacity_max = {highest}
ratio = 2
step_factor = 10.0
dwell_seconds = 2.0
max_changes_per_hour = 600
"""
OPTIONS = f'[client]\nuser = innobrim\npassword = "{PASSWORD}"'
ACCOUNT = f"""
CREATE OR REPLACE USER innobrim@localhost IDENTIFIED BY '{PASSWORD}';
GRANT PROCESS, SUPER ON *.* TO innobrim@localhost;
"""


def install(machine: Machine, name: str) -> str:
    """Install the package as an administrator would, with nothing asked."""
    return machine.run(f"DEBIAN_FRONTEND=noninteractive dpkg --install /packages/{name} 2>&1")


def configure(
    machine: Machine, *, on_stop: str = "park", highest: int = WANTED.io_capacity_max, mode: str = "active"
) -> None:
    """Write what the service goes by, and give it a watchdog that a test can wait for."""
    text = CONFIGURATION.format(
        socket="/run/mysqld/mysqld.sock",
        on_stop=on_stop,
        state="/var/lib/innobrim",
        mode=mode,
        highest=highest,
    )
    machine.write("/etc/innobrim/innobrim.toml", text)
    machine.write("/etc/innobrim/my.cnf", OPTIONS, "0600")
    machine.write("/etc/systemd/system/innobrim.service.d/test.conf", f"[Service]\nWatchdogSec={WATCHDOG:g}")
    machine.run("systemctl daemon-reload")


def as_json(pair: Capacity) -> dict[str, int]:
    """Return a pair as a status has it."""
    return {"io_capacity": pair.io_capacity, "io_capacity_max": pair.io_capacity_max}
