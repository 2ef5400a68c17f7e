"""The Ansible role, from a bare Debian 12 with systemd and MariaDB to advisory, to active, and back out."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.fixtures import missing
from tests.real.machine import PROVEN_WITHIN, Machine, booted
from tests.real.support import until
from tuner.records import Capacity

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
ROLE = ROOT / "deploy" / "ansible"
ANSIBLE = ROOT / ".cache" / "ansible" / "bin" / "python"  # its scripts name the folder that they were made in
ORIGINAL, WANTED = Capacity(400, 800), 600
RUN_LIMIT = 400.0

SSH = """\
#!/bin/sh
# As Ansible calls ssh: a command for the shell is last. Whatever the host, it is the container.
for command; do :; done
exec docker exec -i {container} sh -c "$command"
"""
INVENTORY = """\
databases:
  hosts: {{db1: , db2: }}
  vars:
    ansible_ssh_executable: {ssh}
    ansible_ssh_transfer_method: piped
    ansible_python_interpreter: /usr/bin/python3
    ansible_become: false
    innobrim_min_io_capacity_max: 200
    innobrim_max_io_capacity_max: 20000
    innobrim_deb: {package}
"""
ACTIVE = """\
innobrim_mode: active
innobrim_advisory_minutes: 0
innobrim_settings:
  loop: {policy: fixed, fixed_io_capacity_max: 600, dwell_seconds: 2, step_factor: 10.0}
"""

LISTED = r"""
find /etc /opt /root /usr /var/cache /var/lib -xdev \
  \( -path /var/lib/mysql -o -path /root/.ansible \) -prune -o ! -type d -printf '%p %s %T@\n' | sort
mariadb -NBe 'SELECT user FROM mysql.user; SHOW DATABASES'
"""
"""What a run could change: files, and the accounts of the server."""

LEFT = r"""
find / -xdev \( -path /packages -o -path /root/.ansible -o -path /var/lib/mysql \) \
  -prune -o -iname '*innobrim*' -print
dpkg-query --show innobrim 2>/dev/null
mariadb -NBe "SELECT user FROM mysql.user WHERE user LIKE 'innobrim%'"
"""


@dataclass(frozen=True, slots=True)
class Played:
    """What a run of the playbook said, and how it ended."""

    code: int
    text: str

    @property
    def hosts(self) -> dict[str, dict[str, int]]:
        """Return the figures of the recap by host; a host that was not begun is not in it."""
        lines = re.findall(r"^(\w+) +: (ok=.*)$", self.text, re.MULTILINE)
        return {
            host: {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", said)}
            for host, said in lines
        }

    @property
    def changed(self) -> int:
        """Return how many tasks changed the first host, or would."""
        return self.hosts["db1"]["changed"]


def playbook(*words: str, inventory: Path, code: int = 0) -> Played:
    """Run the example's playbook, which has to end like this."""
    if not ANSIBLE.exists():
        missing(f"{ANSIBLE}: make setup gets it")
    done = subprocess.run(  # noqa: S603 - our own role
        [ANSIBLE, "-m", "ansible", "playbook", "--inventory", inventory, "site.yml", *words],
        cwd=ROLE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_LIMIT,
        check=False,
        env=os.environ
        | {
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_HOST_KEY_CHECKING": "0",
            "LC_ALL": "C.UTF-8",
        },
    )
    assert (done.returncode != 0) == (code != 0), done.stdout
    return Played(done.returncode, done.stdout)


class Site:
    """A machine, and an inventory with its name on it twice."""

    def __init__(self, machine: Machine, folder: Path, package: Path) -> None:
        self.machine = machine
        self.said: list[str] = []
        self._inventory = folder / "inventory.yml"
        ssh = folder / "ssh"
        ssh.write_text(SSH.format(container=machine._name))
        ssh.chmod(0o755)
        self._inventory.write_text(INVENTORY.format(ssh=ssh, package=package))

    def play(self, *words: str, hosts: str = "db1", code: int = 0) -> Played:
        """Run the playbook for some hosts, and keep what it said."""
        played = playbook(f"--limit={hosts}", *words, inventory=self._inventory, code=code)
        self.said.append(played.text)
        return played


@pytest.fixture(scope="module")
def site(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Yield a machine on which nobody has done anything yet."""
    folder = tmp_path_factory.mktemp("ansible")
    with booted(ORIGINAL, {package.parent: "/packages"}) as machine:
        yield Site(machine, folder, package)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("innobrim_mode=activ", "must be one of: advisory, active, got: activ"),
        ("innobrim_max_io_capacity_max=plenty", "cannot be converted to an int"),
        ("innobrim_max_io_capacity_max=150", "the first at most the second"),
        ("innobrim_mod=active", "innobrim_mod: the role has no such variable"),
        ("innobrim_apt_repository=deb", "give one of the two"),
        ('{"innobrim_settings": {"loop": {"mode": "active"}}}', "set innobrim_mode instead"),
    ],
)
def test_wrong_values_are_refused(given: str, said: str) -> None:
    """A wrong value ends the run of the example before a host is asked, with what would be right."""
    played = playbook("--extra-vars", given, inventory=ROLE / "inventory.yml", code=2)

    assert said in " ".join(played.text.split())


def test_check_mode_changes_nothing(site: Site) -> None:
    """On a bare host check mode shows the configuration, counts the changes, and makes none."""
    before = site.machine.run(LISTED)

    played = site.play("--check", "--diff")

    assert "+max_io_capacity_max = 20000" in played.text
    assert played.changed >= 5
    assert site.machine.run(LISTED) == before


def test_active_mode_needs_advisory_mode_first(site: Site) -> None:
    """A bare host is not made active, is left as it is, and no further host is begun."""
    before = site.machine.run(LISTED)

    played = site.play("--extra-vars", "innobrim_mode=active", hosts="db1,db2", code=2)

    assert "no InnoBrim watches this host" in " ".join(played.text.split())
    assert list(played.hosts) == ["db1"]
    assert site.machine.run(LISTED) == before


def test_a_replica_gets_no_account_of_its_own_unasked(site: Site) -> None:
    """On a read-only server the account would be an errant transaction: it is refused, with both ways out."""
    site.machine.sql("SET GLOBAL read_only = 1")
    before = site.machine.run(LISTED)

    played = site.play(hosts="db1,db2", code=2)

    said = " ".join(played.text.split())
    assert "it would be an errant transaction" in said
    assert "copy its /etc/innobrim/my.cnf" in said
    assert "innobrim_replica = true" in said
    assert list(played.hosts) == ["db1"]
    assert site.machine.run(LISTED) == before
    site.machine.sql("SET GLOBAL read_only = 0")


def test_a_bare_host_becomes_advisory(site: Site) -> None:
    """One run leads to a service that watches, and starts at boot; the next one changes nothing."""
    site.play("-vvv")

    assert site.machine.status()["mode"] == "advisory"
    assert site.machine.property("UnitFileState") == "enabled"
    assert site.play().changed == 0


def test_a_replica_with_its_primarys_account_is_left_as_it_is(site: Site) -> None:
    """Where account and login are there already, a read-only server passes, and nothing changes."""
    site.machine.sql("SET GLOBAL read_only = 1")

    assert site.play().changed == 0
    site.machine.sql("SET GLOBAL read_only = 0")


def test_no_password_is_printed(site: Site) -> None:
    """Not even the most talkative run has the password that was drawn."""
    (password,) = re.findall(r"password=(\S+)", site.machine.run("cat /etc/innobrim/my.cnf"))

    assert "Have the server carry out what innobrim setup-sql prints" in "".join(site.said)
    assert not any(password in text for text in site.said)


def test_active_mode_waits_for_enough_of_advisory_mode(site: Site) -> None:
    """A daemon that has watched for less than an hour is not made active."""
    played = site.play("--extra-vars", "innobrim_mode=active", code=2)

    assert "innobrim_advisory_minutes = 60 asks for more" in " ".join(played.text.split())
    assert site.machine.status()["mode"] == "advisory"


@pytest.fixture
def active(tmp_path: Path) -> str:
    """Return what has the role make a host active."""
    wanted = tmp_path / "active.yml"
    wanted.write_text(ACTIVE)
    return f"--extra-vars=@{wanted}"


def test_advisory_becomes_active(site: Site, active: str) -> None:
    """Under load the daemon goes on as the same process, and writes."""
    site.machine.load()
    until(lambda: not site.machine.status()["holds"], PROVEN_WITHIN, site.machine.text)
    before = site.machine.pid()

    site.play(active)

    assert site.machine.pid() == before
    assert site.machine.status()["mode"] == "active"
    until(lambda: site.machine.in_force().io_capacity_max == WANTED, PROVEN_WITHIN, site.machine.text)


def test_a_held_host_stops_the_rollout(site: Site, active: str) -> None:
    """Where somebody else set a value the run says so, and what ends the hold; no further host is begun."""
    site.machine.sql("SET GLOBAL innodb_io_capacity_max = 700")

    played = site.play(active, "--extra-vars=innobrim_ready_seconds=6", hosts="db1,db2", code=2)

    assert "the daemon is held by foreign_change" in " ".join(played.text.split())
    assert "innobrim resume" in played.text
    assert list(played.hosts) == ["db1"]
    site.machine.run("innobrim resume")


def test_a_key_of_the_start_restarts(site: Site) -> None:
    """Only a key that the daemon reads at its start costs a restart; advisory again, it is parked."""
    before = site.machine.pid()

    site.play("--extra-vars", '{"innobrim_settings": {"api": {"port": 0}}}')

    assert site.machine.pid() not in {0, before}
    assert site.machine.status()["mode"] == "advisory"


def test_absent_leaves_nothing(site: Site) -> None:
    """The originals are back, no file, package or account is left, and another run changes nothing."""
    site.play("--extra-vars", "innobrim_state=absent")

    assert site.machine.in_force() == ORIGINAL
    assert site.machine.run(f"{LEFT} true") == ""
    assert site.play("--extra-vars", "innobrim_state=absent").changed == 0
