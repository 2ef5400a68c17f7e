"""What is left in force after a daemon was killed, once the unit's command for that has run."""

from __future__ import annotations

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from lab.servers.base import LabServer
from tests.real.installation import Innobrim, Install, innobrim
from tests.real.killer import KNOB, Killer
from tests.real.proxy import Proxy
from tests.real.support import Work, in_force, pair, remember, under_load
from tuner.core.writes.plan import on_the_way
from tuner.records import Capacity

pytestmark = pytest.mark.real

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "innobrim.service"
BEFORE, TIGHT = Capacity(1000, 2000), Capacity(100, 200)


def stop_post(daemon: Innobrim) -> subprocess.CompletedProcess[str]:
    """Run the unit's ExecStopPost as it is there, with this installation's program and configuration."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keeps capitals, as documented
    parser.read(UNIT)
    _, _, words = parser["Service"]["ExecStopPost"].partition(" /opt/innobrim/bin/innobrim ")
    return innobrim(*words.split(), "--config", str(daemon.config))


def parked_by(done: subprocess.CompletedProcess[str]) -> Capacity:
    """Return the pair that a command says it parked at."""
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.match(r"parked at (\d+)/(\d+) on ", done.stdout)
    assert said is not None, done.stdout + done.stderr
    return Capacity(int(said[1]), int(said[2]))


def test_the_unit_parks_what_a_killed_daemon_left(server: LabServer, work: Work, install: Install) -> None:
    """Killed while M is tight, the daemon is followed by a park; the next one knows pair and originals."""
    under_load(server, work, BEFORE)
    daemon = install()
    daemon.configure(
        mode="active", policy="fixed", fixed_io_capacity_max=TIGHT.io_capacity_max, step_factor=10, ratio=2
    )
    daemon.start()
    daemon.await_own_write()
    daemon.kill()
    assert in_force(server) == TIGHT

    parked = parked_by(stop_post(daemon))

    assert in_force(server) == parked
    assert parked.io_capacity_max > TIGHT.io_capacity_max
    again = stop_post(daemon)
    assert (again.returncode, again.stdout) == (0, "nothing to park: the last daemon ended in order\n")

    daemon.configure(mode="active", policy="fixed", fixed_io_capacity_max=parked.io_capacity_max, ratio=2)
    daemon.start()
    now = daemon.await_status(lambda now: now["tick"] > 1, 20.0, "the first ticks of the next start")
    assert pair(now["originals"]) == BEFORE
    assert "foreign_change" not in [hold["code"] for hold in now["holds"]]
    assert daemon.terminate().code == 0
    assert "the last daemon ended in order" in stop_post(daemon).stdout


def test_a_pair_between_two_sets_is_parked(server: LabServer, work: Work, tmp_path: Path) -> None:
    """Killed within its first write, noted on disk or not, a daemon is stood in for all the same."""
    under_load(server, work, BEFORE)
    remember(server, server.daemon)
    killer = Killer()
    with Proxy(server.port, killer) as proxy, Innobrim(server, tmp_path / "one", port=proxy.port) as daemon:
        daemon.configure(
            tls="off",
            mode="active",
            policy="fixed",
            fixed_io_capacity_max=TIGHT.io_capacity_max,
            step_factor=10,
            ratio=2,
        )
        daemon.start()
        killer.aim(daemon.pid, 2)
        daemon.wait(60.0)
        assert [one for one in proxy.passed if KNOB.match(one)] == killer.seen[:1]
        left = in_force(server)
        assert left in on_the_way(BEFORE, TIGHT)[:1]

        parked = parked_by(stop_post(daemon))

        assert in_force(server) == parked
        assert parked.io_capacity_max == 2 * parked.io_capacity >= left.io_capacity_max
