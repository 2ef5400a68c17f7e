"""The Debian package on a machine of its own: what the service does from its first start to its purge.

Debian 12, systemd 252 as the first process, MariaDB 10.11 as a unit beside it, and MySQL 9.7 in another
container, over a socket that both see.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.servers.base import LabServer
from tests.daemon.receiver import SECRETS, Request, verified
from tests.real.machine import Machine, booted, parked
from tests.real.newer_mariadb import install_newer, make_newer
from tests.real.packaged import (
    ACCOUNT,
    CONFIGURATION,
    ORIGINAL,
    PASSWORD,
    WANTED,
    WATCHDOG,
    as_json,
    configure,
    install,
)
from tests.real.support import in_force, until
from tuner.records import Capacity

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]

TIGHT = Capacity(100, 200)

HOG = """\
import os
os.write(1, b"up\\n")
kept = [bytearray(os.urandom(1) * 2**24) for _ in range(64)]
"""
"""A gibibyte, written to."""

HOOKS = """
[[hook]]
name = "pager"
url = "http://127.0.0.1:9009/told"
on = ["mode"]

[[hook]]
name = "local"
command = ["/usr/bin/tee", "--append", "/var/lib/innobrim/told"]
on = ["mode"]
"""
RECEIVER = """\
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        with open("/run/received", "a") as file:
            print(json.dumps(["/told", headers, body]), file=file)
        self.send_response(204)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 9009), Handler).serve_forever()
"""
"""Somebody on the machine who is told, and keeps each request as a line."""


@pytest.fixture(scope="module")
def machine(package: Path, small: LabServer) -> Iterator[Machine]:
    """Yield the machine with the package installed, the account made and the load at work."""
    assert small.socket is not None
    volumes = {package.parent: "/packages", small.socket.parent: "/run/mysql97"}
    with booted(ORIGINAL, volumes) as found:
        found.sql(ACCOUNT)
        install(found, package.name)
        found.load()
        yield found


@pytest.fixture
def service(machine: Machine) -> Machine:
    """Return the machine with the service ready, active, and with a write of its own in force."""
    configure(machine)
    machine.run("systemctl reset-failed; systemctl start mariadb innobrim; systemctl reload innobrim")
    machine.load()
    if machine.status()["mode"] != "active":
        machine.run("innobrim mode active")
    machine.await_pair(WANTED)
    return machine


def own(machine: Machine) -> list[dict[str, object]]:
    """Return what the daemon logged itself, each line as the object that it is."""
    return [json.loads(one["MESSAGE"]) for one in machine.said() if one["MESSAGE"].startswith("{")]


def test_installing_starts_nothing(machine: Machine) -> None:
    """The package brings account, configuration, manual and completions; it neither starts nor enables."""
    assert machine.ask("systemctl is-enabled innobrim").text == "disabled"
    assert machine.run("getent passwd innobrim").endswith(":/var/lib/innobrim:/usr/sbin/nologin")
    assert machine.run("dpkg --verify innobrim | grep -v ' /etc/innobrim/' || true") == ""
    listed = machine.run("dpkg-query --show --showformat '${Conffiles}' innobrim")
    assert re.findall(r"/etc/\S+", listed) == ["/etc/innobrim/innobrim.toml", "/etc/innobrim/my.cnf"]
    assert machine.run("innobrim --version").startswith("innobrim, version ")
    manual = machine.run("zcat /usr/share/man/man1/innobrim.1.gz")
    assert ".SS innobrim park" in manual
    machine.run("bash -n /usr/share/bash-completion/completions/innobrim")
    asked = "COMP_WORDS='innobrim re' COMP_CWORD=1 _INNOBRIM_COMPLETE=bash_complete innobrim"
    assert "plain,restore" in machine.run(asked).split()


def test_every_dependency_has_its_notice(machine: Machine) -> None:
    """The copyright file names whatever is in the package's environment, each with its licence."""
    noticed = machine.run("grep '^Comment: ' /usr/share/doc/innobrim/copyright")
    carried = machine.run("ls -d /opt/innobrim/lib/python3*/site-packages/*.dist-info")
    names = {re.split(r"-\d", Path(line).name)[0].lower() for line in carried.split()} - {"innobrim"}

    assert len(names) > 10
    for name in names:
        assert re.search(
            rf"^Comment: {name.replace('_', '[-_.]')} \d", noticed, re.MULTILINE | re.IGNORECASE
        ), name
    assert "Comment: uPlot " in noticed


def test_ready_is_the_first_good_sample(service: Machine) -> None:
    """While mysqld is down the service is starting, and says why; it is ready once the server was read."""
    service.run("systemctl stop innobrim mariadb; systemctl start --no-block innobrim")
    until(
        lambda: "waiting for the server" in service.property("StatusText"),
        60.0,
        lambda: f"a status; {service.text()}",
    )
    assert service.property("ActiveState") == "activating"

    service.run("systemctl start mariadb")
    service.load()

    service.await_active()
    assert service.property("StatusText").startswith(("active; ", "advisory; "))
    assert service.property("NRestarts") == "0"


def test_a_hung_daemon_is_parked_for_and_started_again(service: Machine) -> None:
    """A daemon that stands still is killed by the watchdog; the unit parks in its place and restarts it."""
    configure(service, highest=TIGHT.io_capacity_max)
    service.run("systemctl reload innobrim")
    service.await_pair(TIGHT)
    before = service.pid()

    service.run(f"kill -STOP {before}")

    until(lambda: service.pid() not in {0, before}, 2 * WATCHDOG + 40.0, service.text)
    service.await_active()
    said = service.run("journalctl -q -u innobrim -o cat --no-pager")
    assert "Watchdog timeout" in said
    pair = parked(said.rpartition("Watchdog timeout")[2])
    assert pair is not None, said
    assert pair.io_capacity_max > TIGHT.io_capacity_max
    found = service.status()
    assert found["originals"] == as_json(ORIGINAL)
    assert "foreign_change" not in [hold["code"] for hold in found["holds"]]


def test_a_reload_keeps_process_and_state(service: Machine) -> None:
    """A reload takes the new configuration over without a restart, and knows the originals as before."""
    before, originals = service.pid(), service.status()["originals"]
    configure(service, highest=900)

    service.run("systemctl reload innobrim")

    service.await_pair(Capacity(450, 900))
    assert service.pid() == before
    assert service.status()["originals"] == originals


@pytest.mark.parametrize("on_stop", ["park", "leave"])
def test_a_stop_leaves_what_the_policy_says(service: Machine, on_stop: str) -> None:
    """Stopped, the daemon parks or leaves as configured, ends in order, and nothing is written after it."""
    configure(service, on_stop=on_stop, highest=TIGHT.io_capacity_max)
    service.run("systemctl reload innobrim")
    service.await_pair(TIGHT)

    service.run("systemctl stop innobrim")

    left = service.in_force()
    assert (left == TIGHT) == (on_stop == "leave")
    assert left.io_capacity_max >= TIGHT.io_capacity_max
    assert service.property("Result") == "success"
    (said,) = [line["left"] for line in own(service)[-3:] if line["event"] == "stopped"]
    assert str(said).startswith(str(left))
    assert "the last daemon ended in order" in service.text()


def test_a_restart_of_mysqld_is_survived(service: Machine) -> None:
    """Over a restart of mysqld the daemon stays, takes the originals anew, and writes again."""
    before = service.pid()
    assert service.in_force() == WANTED

    service.run("systemctl restart mariadb")
    service.load()

    service.await_pair(WANTED, 90.0)
    assert service.pid() == before
    assert service.status()["originals"] == as_json(ORIGINAL)


def test_an_upgrade_of_mysqld_is_survived(service: Machine) -> None:
    """MariaDB's packages replace mysqld on its data: the daemon stays, learns the version, and writes again.

    Shown are the packages' own stop, exchange and start, and another version number; the program is the
    same but for that number, so nothing is shown of what a real release changes.
    """
    before, mysqld = service.pid(), service.pid("mariadb")
    kept = service.sql("SELECT @@datadir, @@server_uid, COUNT(*) FROM innobrim_test.busy")
    version = make_newer(service)
    assert service.in_force() == WANTED

    said = install_newer(service)
    service.load()

    assert service.pid("mariadb") not in {0, mysqld}, said
    assert service.sql("SELECT VERSION()").startswith(f"{version}-MariaDB")
    assert service.sql("SELECT @@datadir, @@server_uid, COUNT(*) FROM innobrim_test.busy") == kept
    service.await_pair(WANTED, 90.0)
    found = service.status()
    assert service.pid() == before
    assert found["server"]["version"].startswith(version)
    assert found["mode"] == "active"
    assert found["originals"] == as_json(ORIGINAL)


def test_boot_and_shutdown_keep_the_order(service: Machine) -> None:
    """At boot the daemon comes after mysqld, at shutdown it goes before it, and parks while it still can."""
    service.run("systemctl enable innobrim 2>&1")
    before = service.run("date +@%s")
    service.reboot()
    service.await_active()
    started = int(service.property("ExecMainStartTimestampMonotonic"))
    assert started >= int(service.property("ActiveEnterTimestampMonotonic", "mariadb"))

    (last,) = [one for one in service.said(since=before) if '"event":"stopped"' in one["MESSAGE"]]
    assert ": parked" in last["MESSAGE"]
    (gone,) = [
        one for one in service.said("mariadb", before) if one["MESSAGE"].endswith(": Shutdown complete")
    ]
    assert int(gone["__REALTIME_TIMESTAMP"]) > int(last["__REALTIME_TIMESTAMP"])
    service.run("systemctl disable innobrim 2>&1")
    service.load()


@pytest.mark.parametrize("unit", ["innobrim.service", "innobrim@any.service"])
def test_the_sandbox_is_tight(machine: Machine, unit: str) -> None:
    """The judgement of systemd on the unit's exposure is 2.0 at most, of 10."""
    said = machine.run(f"systemd-analyze security --no-pager {unit} | tail -n 1")

    (score,) = re.findall(r"([\d.]+) OK", said)
    assert float(score) <= 2.0


def test_the_sandbox_is_in_force(service: Machine) -> None:
    """The process has no capability, few system calls, no way to write outside, no password in view."""
    pid = service.pid()
    status = dict(re.findall(r"^(\w+):\s+(\S+)", service.run(f"cat /proc/{pid}/status"), re.MULTILINE))

    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["Uid"] == service.run("id -u innobrim")
    inside = f"nsenter --target {pid} --mount --"
    for place in ("/usr", "/etc/innobrim", "/var/lib", "/tmp", "/var/lib/mysql"):  # noqa: S108 - not to be written to
        assert service.ask(f"{inside} touch {place}/try").code != 0, place
    assert service.ask("runuser -u innobrim -- cat /etc/innobrim/my.cnf").code != 0
    assert PASSWORD not in service.run(
        f"tr '\\0' '\\n' </proc/{pid}/environ; cat /proc/{pid}/cmdline | tr '\\0' ' '"
    )


def test_hooks_tell_out_of_the_sandbox(service: Machine) -> None:
    """The unit lets a request out, signed with its credential, and a command write to the state directory."""
    service.write("/etc/innobrim/hook-pager", SECRETS[0], "0600")
    unit = "/etc/systemd/system/innobrim.service.d/hook.conf"
    service.write(unit, "[Service]\nLoadCredential=hook-pager:/etc/innobrim/hook-pager")
    service.write("/run/receiver.py", RECEIVER)
    service.run("systemd-run --unit=receiver /usr/bin/python3 /run/receiver.py")
    service.run(f"cat >>/etc/innobrim/innobrim.toml <<'END'\n{HOOKS}\nEND\nsystemctl daemon-reload")
    service.run("systemctl restart innobrim")
    service.await_active()

    service.run("innobrim mode advisory")

    def told(path: str) -> str:
        return until(lambda: service.ask(f"grep -h mode.changed {path} 2>/dev/null").text, 60.0, service.text)

    received, written = told("/run/received"), told("/var/lib/innobrim/told")
    path, headers, body = json.loads(received)
    assert verified(Request(path, headers, body.encode()), SECRETS[0])
    assert json.loads(written) == json.loads(body)
    assert json.loads(body)["data"]["mode"] == "advisory"
    service.run(f"systemctl stop receiver; rm {unit}; innobrim mode active")


def test_the_limits_hold(service: Machine) -> None:
    """A process of the service that takes all memory is ended, and the loop goes on; the rest is in force."""
    pid = service.pid()
    group = "/system.slice/innobrim.service"
    groups = "/sys/fs/cgroup"
    read = service.run(
        f"cat {groups}/memory{group}/memory.limit_in_bytes {groups}/cpu{group}/cpu.cfs_quota_us "
        f"{groups}/cpu{group}/cpu.cfs_period_us {groups}/cpu{group}/cpu.shares {groups}/pids{group}/pids.max "
        f"/proc/{pid}/oom_score_adj"
    ).split()
    memory, quota, period, shares, tasks, score = map(int, read)
    assert memory == 320 * 2**20
    assert quota == period
    assert shares == 1024 * 20 // 100
    assert tasks == 128
    assert score == 900
    assert service.property("IOWeight") == "10"

    service.write("/run/hog.py", HOG)
    join = f"echo 0 >{groups}/memory{group}/cgroup.procs; echo {score} >/proc/self/oom_score_adj"
    hog = service.ask(f"sh -c '{join}; exec /usr/bin/python3 /run/hog.py'")

    assert hog.text.startswith("up")
    assert hog.code in {-9, 137}, hog
    ticks = service.status()["tick"]
    until(lambda: service.status()["tick"] > ticks, 60.0, service.text)
    assert service.pid() == pid


def test_the_journal_is_structured(service: Machine) -> None:
    """Each line that the daemon logged is one object, with syslog's priority on the entry."""
    entries = [one for one in service.said() if one["MESSAGE"].startswith("{")]

    levels = {"debug": "7", "info": "6", "warning": "4", "error": "3"}
    assert {"starting", "started"} <= {json.loads(one["MESSAGE"])["event"] for one in entries}
    assert all(one["PRIORITY"] == levels[json.loads(one["MESSAGE"])["level"]] for one in entries)
    assert all(one["_SYSTEMD_UNIT"] == "innobrim.service" for one in entries)


def test_another_instance_beside_mysql(service: Machine, small: LabServer) -> None:
    """innobrim@NAME looks after a second server, over a socket, with state and login of its own."""
    text = CONFIGURATION.format(
        socket=f"/run/mysql97/{small.socket.name if small.socket else ''}",
        on_stop="park",
        state="/var/lib/innobrim-second",
        mode="advisory",
        highest=WANTED.io_capacity_max,
    )
    login = small.daemon
    before = in_force(small)
    service.write("/etc/innobrim/second.toml", text)
    service.write(
        "/etc/innobrim/second.cnf", f'[client]\nuser={login.user}\npassword="{login.password}"', "0600"
    )

    service.run("chmod 0711 /run/mysql97; systemctl --no-block start innobrim@second")
    service.await_active("innobrim@second")

    found = service.status("--config", "/etc/innobrim/second.toml")
    assert found["server"]["version"].startswith("9.7.")
    assert found["mode"] == "advisory"
    assert service.status()["server"]["version"].startswith("10.11.")
    assert service.pid("innobrim@second") not in {0, service.pid()}
    service.run("systemctl stop innobrim@second")
    assert in_force(small) == before


@pytest.mark.parametrize("asked", [False, True], ids=["as it is", "restoring"])
def test_a_purge_restores_only_where_asked(service: Machine, package: Path, *, asked: bool) -> None:
    """A purge leaves a parked setting, or the originals where debconf says so; on disk nothing of ours."""
    answer = str(asked).lower()
    service.run(f"echo innobrim innobrim/restore-on-removal boolean {answer} | debconf-set-selections")
    mysqld = service.pid("mariadb")

    said = service.run("DEBIAN_FRONTEND=noninteractive dpkg --purge innobrim 2>&1")

    left = service.in_force()
    assert (left == ORIGINAL) == asked, said
    if not asked:
        assert left.io_capacity_max >= WANTED.io_capacity_max
    assert service.pid("mariadb") == mysqld
    gone = (
        "/var/lib/innobrim /opt/innobrim /etc/innobrim/innobrim.toml /etc/innobrim/my.cnf /usr/bin/innobrim"
    )
    assert service.ask(f"ls -d {gone} 2>/dev/null").text == ""
    install(service, package.name)
    service.run(f"mariadb -e 'SET GLOBAL innodb_io_capacity_max={ORIGINAL.io_capacity_max}'")
    service.run(f"mariadb -e 'SET GLOBAL innodb_io_capacity={ORIGINAL.io_capacity}'")
