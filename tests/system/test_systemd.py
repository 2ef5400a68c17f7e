"""What the service manager is told, and the unit it runs us by."""

from __future__ import annotations

import configparser
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tuner.config.checks import worst_tick_seconds
from tuner.config.schema import Config
from tuner.system.systemd import Notifier, watchdog_seconds
from tuner.without_daemon import LIMIT_SECONDS

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "innobrim.service"
TEMPLATE = UNIT.with_name("innobrim@.service")
NEWER = UNIT.with_name("newer-systemd.conf")


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Return a service manager's end of the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "notify"))
        end.settimeout(5.0)
        yield end


def heard(end: socket.socket) -> dict[str, str]:
    """Return one message's assignments."""
    return dict(line.split("=", 1) for line in end.recv(4096).decode().splitlines())


def test_what_is_sent_arrives(manager: socket.socket) -> None:
    """Ready, alive, reloading, stopping, each with its assignments; a status is one plain line."""
    notifier = Notifier({"NOTIFY_SOCKET": str(manager.getsockname())})

    assert notifier.ready("mode=active\nage=61%")
    assert heard(manager) == {"READY": "1", "STATUS": "mode=active age=61%"}
    assert notifier.alive("age=62%\x1b[2J")
    assert heard(manager) == {"WATCHDOG": "1", "STATUS": "age=62%?[2J"}
    assert notifier.alive("age=62%")
    assert heard(manager) == {"WATCHDOG": "1", "STATUS": "age=62%"}
    assert notifier.reloading()
    told = heard(manager)
    assert told["RELOADING"] == "1"
    assert int(told["MONOTONIC_USEC"]) > 0
    assert notifier.stopping("parked")
    assert heard(manager) == {"STOPPING": "1", "STATUS": "parked"}
    notifier.close()
    assert not notifier.alive("gone")


def test_a_reload_does_not_end_start_up(manager: socket.socket) -> None:
    """A SIGHUP while the server is waited for leaves the service starting, until it is ready indeed."""
    notifier = Notifier({"NOTIFY_SOCKET": str(manager.getsockname())})

    assert notifier.alive("waiting")
    assert heard(manager) == {"WATCHDOG": "1", "STATUS": "waiting"}
    assert not notifier.reloading()
    assert not notifier.ready("reloaded")
    assert notifier.alive("waiting")
    assert heard(manager) == {"WATCHDOG": "1", "STATUS": "waiting"}
    assert notifier.ready("up")
    assert heard(manager) == {"READY": "1", "STATUS": "up"}
    assert notifier.reloading()
    assert heard(manager)["RELOADING"] == "1"
    assert notifier.ready("reloaded")
    assert heard(manager) == {"READY": "1", "STATUS": "reloaded"}
    notifier.close()


def test_ready_is_said_again_where_the_manager_was_deaf(manager: socket.socket) -> None:
    """Without READY=1 a service starts for ever; where a full socket lost it, the next message has it."""
    notifier = Notifier({"NOTIFY_SOCKET": str(manager.getsockname())})
    sent = 0
    while notifier.alive("x" * 1000):
        sent += 1
    assert not notifier.ready("up")
    assert not notifier.alive("up")
    for _ in range(sent):
        assert "READY" not in heard(manager)

    assert notifier.alive("up")
    assert heard(manager) == {"READY": "1", "WATCHDOG": "1", "STATUS": "up"}
    assert notifier.alive("up")
    assert heard(manager) == {"WATCHDOG": "1", "STATUS": "up"}
    notifier.close()


def test_an_abstract_socket_is_found() -> None:
    """A leading @ stands for the abstract name space."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        name = f"innobrim-test-{os.getpid()}"
        end.bind("\0" + name)
        end.settimeout(5.0)
        notifier = Notifier({"NOTIFY_SOCKET": "@" + name})

        assert notifier.ready("up")
        assert heard(end)["READY"] == "1"
        notifier.close()


def test_a_deaf_manager_costs_nothing(manager: socket.socket) -> None:
    """A full socket, a missing one and none at all: no wait, no error."""
    notifier = Notifier({"NOTIFY_SOCKET": str(manager.getsockname())})
    while notifier.alive("x" * 1000):
        pass
    notifier.close()

    assert not Notifier({}).ready("up")
    lost = Notifier({"NOTIFY_SOCKET": "/nowhere/at/all"})
    assert not lost.ready("up")
    lost.close()


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "15000000"}, 15.0),
        ({"WATCHDOG_USEC": "15000000", "WATCHDOG_PID": "77"}, 15.0),
        ({"WATCHDOG_USEC": "15000000", "WATCHDOG_PID": "78"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_watchdog_is_ours_or_not_there(environ: dict[str, str], seconds: float | None) -> None:
    """Only a watchdog that watches this very process counts."""
    assert watchdog_seconds(environ, pid=77) == seconds


@pytest.fixture
def unit() -> configparser.ConfigParser:
    """Return the unit that we ship."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keeps capitals, as documented
    parser.read(UNIT)
    return parser


def test_the_unit_keeps_the_timing_inequality(unit: configparser.ConfigParser) -> None:
    """With default time-outs, the slowest tick is below half of the watchdog's time."""
    seconds = unit["Service"]["WatchdogSec"]

    assert worst_tick_seconds(Config()) < float(seconds) / 2
    guide = " ".join((UNIT.parents[2] / "docs" / "guide.md").read_text(encoding="utf-8").split())
    assert f"{worst_tick_seconds(Config()):g} s against `WatchdogSec={seconds}`" in guide


def test_the_unit_says_what_the_daemon_relies_on(unit: configparser.ConfigParser) -> None:
    """A static account, a state directory, reload by SIGHUP, and a child's death that is not ours."""
    service = unit["Service"]

    assert service["Type"] == "notify"
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"
    assert service["Restart"] == "on-failure"
    assert service["User"] == service["Group"] == service["StateDirectory"] == "innobrim"
    assert service["OOMPolicy"] == "continue"
    assert "MALLOC_ARENA_MAX=1" in service["Environment"]
    assert Config().daemon.state_directory == "/var/lib/" + service["StateDirectory"]
    assert "TMPDIR=/var/lib/innobrim" in service["Environment"]
    assert unit["Unit"]["After"] == "multi-user.target"
    assert "DynamicUser" not in service


def test_the_unit_parks_after_a_crash(unit: configparser.ConfigParser) -> None:
    """A daemon that was killed is followed by a park, which has its time and whose failure stops nothing."""
    service = unit["Service"]
    command = service["ExecStopPost"]

    assert command.startswith("-+/usr/bin/nsenter --target=1 --mount -- /usr/bin/setpriv --reuid=innobrim ")
    assert "--no-new-privs --inh-caps=-all --bounding-set=-all" in command
    assert command.endswith(f" {service['ExecStart'].removesuffix('run')}park --if-crashed")
    assert "CREDENTIALS_DIRECTORY=%t/credentials/%n " in command, "where LoadCredential puts the login"
    assert LIMIT_SECONDS + worst_tick_seconds(Config()) < float(service["TimeoutStopSec"])


def test_the_template_differs_by_its_name_alone() -> None:
    """innobrim@NAME is the same service with files, state and login of its own: what differs names %i."""
    single, several = UNIT.read_text(), TEMPLATE.read_text()
    ours = [line for line in several.splitlines() if "%i" not in line and "NAME" not in line]

    assert set(ours) <= set(single.splitlines())
    for there, here in (
        ("innobrim run --config /etc/innobrim/%i.toml", "innobrim run"),
        ("park --if-crashed --config /etc/innobrim/%i.toml", "park --if-crashed"),
        ("Directory=innobrim-%i", "Directory=innobrim"),
        ("/var/lib/innobrim-%i", "/var/lib/innobrim"),
        ("/etc/innobrim/%i.cnf", "/etc/innobrim/my.cnf"),
        ("/etc/innobrim/%i.password", "/etc/innobrim/mysql-password"),
        (" (%i)\n", "\n"),
        (" mysql@%i.service mysqld@%i.service mariadb@%i.service\n", "\n"),
    ):
        assert there in several
        several = several.replace(there, here)
    assert "\n".join(line for line in several.splitlines() if "NAME" not in line) == single.rstrip("\n")


def test_newer_systemd_backs_off(unit: configparser.ConfigParser) -> None:
    """Where systemd can, a reload waits for its end, and restarts come ever further apart, without end."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # keeps capitals, as documented
    parser.read(NEWER)

    assert parser["Service"]["Type"] == "notify-reload"
    assert parser["Service"]["ExecReload"] == "", "SIGHUP would come twice"
    assert parser["Service"]["RestartMaxDelaySec"] == "5min"
    assert parser["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Service"]["RestartSec"] == "5"


@pytest.mark.parametrize("name", ["innobrim.service", "innobrim@.service"])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, name: str) -> None:
    """``systemd-analyze verify`` has nothing to say, once the programme is where the unit says."""
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is missing (Debian package: systemd)")
    copy = tmp_path / name.replace("@.", "@one.")
    copy.write_text(UNIT.with_name(name).read_text().replace("/opt/innobrim/bin/innobrim", sys.executable))
    command = [tool, "verify", "--man=no", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own unit

    ours = [line for line in (done.stdout + done.stderr).splitlines() if "innobrim" in line]
    assert ours == []
    assert done.returncode == 0


@pytest.mark.parametrize("name", ["innobrim.service", "innobrim@.service"])
def test_systemd_calls_the_exposure_low(name: str) -> None:
    """The judgement of systemd on the sandbox is 2.0 at most, of 10."""
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is missing (Debian package: systemd)")
    command = [tool, "security", "--offline=true", "--no-pager", "--threshold=20", str(UNIT.with_name(name))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own unit

    assert done.returncode == 0, done.stdout.splitlines()[-1:]


def test_the_service_cannot_hurt_the_server(unit: configparser.ConfigParser) -> None:
    """Processor, memory, disk and tasks are bounded; out of memory, the kernel takes us before mysqld."""
    service = unit["Service"]

    assert int(service["CPUWeight"]) < 100
    assert int(service["IOWeight"]) < 100
    assert service["MemoryMax"] == "320M"
    assert service["TasksMax"]
    assert 600 < int(service["OOMScoreAdjust"]) < 1000
