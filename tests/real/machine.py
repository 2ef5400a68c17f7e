"""A Debian in a container, systemd its first process and MariaDB a unit, for the package to live in."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import docker
from docker.errors import DockerException, ImageNotFound

from lab.servers.container import LABEL, OWNER, remove_containers
from lab.servers.owner import mine
from lab.servers.spec import LabServerError
from tests.real.fixtures import missing
from tests.real.support import until
from tuner.records import Capacity

IMAGE, NEWER_DEBIAN = "innobrim/systemd:252", "innobrim/systemd:257"
"""Debian 12, and 13."""

BOOT_LIMIT = 60.0

PROVEN_WITHIN = 150.0
"""Where the redo log is hardly filled, the flush law takes a minute of zeros to be proven."""
COMMAND_LIMIT = 120.0

SCHEMA = "innobrim_test"
"""Where the load's table and procedure are."""

_ENTRY = r"""
set -eu
grep -qE '^[0-9a-f]{32}$' /etc/machine-id || { rm -f /etc/machine-id; systemd-machine-id-setup; }
mkdir -p /var/log/journal
for group in /sys/fs/cgroup/*/; do mount -o remount,rw,bind "$group"; done
for unit in systemd-logind.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
  e2scrub_all.timer fstrim.timer mariadb.socket mariadb-extra.socket; do
  ln -sf /dev/null "/etc/systemd/system/$unit"
done
printf '%s' "$MARIADB" >/etc/mysql/mariadb.conf.d/99-test.cnf
mount --make-rshared /
exec /lib/systemd/systemd --unit=multi-user.target SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1
"""
"""Control groups are read-only at first, and systemd makes its own in them. It has a process of its own mount
credentials, which others see only where mounts are shared, as they are on any machine. A newer systemd boots
with the first kind of control groups only where the kernel's command line, here its own, says so."""

_MARIADB = """\
[mariadbd]
innodb_log_file_size = 24M
innodb_buffer_pool_size = 256M
innodb_io_capacity = {io_capacity}
innodb_io_capacity_max = {io_capacity_max}
innodb_flush_log_at_trx_commit = 2
innodb_max_dirty_pages_pct_lwm = 0.001
innodb_monitor_enable = module_log,module_buffer
"""

_ROWS = 300_000

_LOAD = f"""
CREATE DATABASE {SCHEMA};
USE {SCHEMA};
CREATE TABLE busy (id INT PRIMARY KEY, filler CHAR(250) NOT NULL) CHARACTER SET latin1;
INSERT INTO busy SELECT seq, REPEAT('a', 250) FROM seq_1_to_{_ROWS};
DELIMITER //
CREATE PROCEDURE work()
BEGIN
  DECLARE one INT;
  LOOP
    SET one = 1 + FLOOR({_ROWS} * RAND());
    UPDATE busy SET filler = REPEAT(CHAR(97 + FLOOR(26 * RAND())), 250) WHERE id = one;
    DO SLEEP(0.001);
  END LOOP;
END//
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command on the machine said, and how it ended."""

    code: int
    text: str


class Machine:
    """A machine that boots, runs units, and is shut down in order.

    Attributes:
        original: the pair that its MariaDB starts with.
    """

    def __init__(self, original: Capacity, volumes: Mapping[Path, str], image: str = IMAGE) -> None:
        """Prepare, without starting anything.

        Args:
            original: C and M of its MariaDB's own configuration.
            volumes: directories here to where they are there.
            image: which Debian.

        Raises:
            LabServerError: no Docker daemon answers, or it has no such image.
        """
        self.original = original
        self._image = image
        self._name = f"innobrim-machine-{uuid4().hex[:12]}"
        self._volumes = {str(here): {"bind": there, "mode": "rw"} for here, there in volumes.items()}
        try:
            self._client = docker.from_env(timeout=int(COMMAND_LIMIT))
            self._client.images.get(image)
        except ImageNotFound as error:
            raise LabServerError(f"image {image}: make servers makes it") from error
        except DockerException as error:
            raise LabServerError(f"no Docker daemon answers: {error}") from error

    def __enter__(self) -> Self:
        remove_containers(self._client)
        mariadb = _MARIADB.format(
            io_capacity=self.original.io_capacity, io_capacity_max=self.original.io_capacity_max
        )
        self._container = self._client.containers.run(
            self._image,
            ["-c", _ENTRY],
            entrypoint="sh",
            name=self._name,
            labels={LABEL: "1", OWNER: mine()},
            detach=True,
            environment={"container": "docker", "MARIADB": mariadb},
            tmpfs={"/run": "", "/run/lock": "", "/tmp": ""},  # noqa: S108 - the machine's own
            volumes=self._volumes,
            stop_signal="SIGRTMIN+3",
            cgroupns="private",
            cap_add=["SYS_ADMIN", "SYS_PTRACE"],
            security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        )
        self.await_boot()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(DockerException):
            self._container.remove(force=True, v=True)
        self._client.close()

    def await_boot(self) -> None:
        """Return when the machine is up, but for what starts after that."""
        until(
            lambda: self.ask("systemctl is-active multi-user.target").text == "active",
            BOOT_LIMIT,
            lambda: f"a machine that is up; it said:\n{self._container.logs().decode(errors='replace')}",
        )

    def reboot(self) -> None:
        """Shut down in order, and return when the machine is up again."""
        self._container.stop(timeout=60)
        self._container.start()
        self.await_boot()

    def ask(self, command: str) -> Said:
        """Run a shell command as root and return what it said on both streams, whatever its end.

        By the command line: the SDK loses what a command says before the SDK listens.
        """
        done = subprocess.run(  # noqa: S603 - our own commands
            ["docker", "exec", self._name, "sh", "-c", command],  # noqa: S607 - the user's own docker
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=COMMAND_LIMIT,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode(errors="replace").strip())

    def run(self, command: str) -> str:
        """Run a shell command as root that has to succeed; return what it said."""
        said = self.ask(command)
        assert said.code == 0, f"{command}: exit {said.code}\n{said.text}"
        return said.text

    def write(self, path: str, text: str, mode: str = "0644") -> None:
        """Put a file there, root's."""
        self.run(f"install -D -m {mode} /dev/stdin {path} <<'END'\n{text}\nEND")

    def sql(self, statement: str) -> str:
        """Have the machine's own MariaDB carry out a statement; return rows, one a line."""
        return self.run(f"mariadb -NBe {shlex.quote(statement)}")

    def in_force(self) -> Capacity:
        """Return C and M as MariaDB has them."""
        words = self.sql("SELECT @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max").split()
        return Capacity(int(words[0]), int(words[1]))

    def property(self, name: str, unit: str = "innobrim") -> str:
        """Return one property of a unit."""
        return self.run(f"systemctl show --value -p {name} {shlex.quote(unit)}")

    def pid(self, unit: str = "innobrim") -> int:
        """Return the main process of a unit as the machine numbers it; 0 where there is none."""
        return int(self.property("MainPID", unit))

    def status(self, *words: str) -> dict[str, Any]:
        """Return what ``innobrim status`` says."""
        found: dict[str, Any] = json.loads(self.run(f"innobrim status --json {' '.join(words)} 2>/dev/null"))
        return found

    def said(self, unit: str = "innobrim", since: str = "@0") -> list[dict[str, Any]]:
        """Return the entries of the system's journal that a unit's own processes made, oldest first.

        By time, as all boots of a container have the same number, its kernel's.
        """
        text = self.run(f"journalctl -q --since={since} -u {shlex.quote(unit)} -o json --no-pager")
        found = [json.loads(line) for line in text.splitlines()]
        return [one for one in found if one.get("_COMM") not in {"systemd", None}]

    def text(self, unit: str = "innobrim") -> str:
        """Return all that the journal has on a unit, for a person to read."""
        return self.ask(
            f"journalctl -q -u {shlex.quote(unit)} -o short-monotonic --no-pager | tail -n 60"
        ).text

    def await_active(self, unit: str = "innobrim", limit: float = 60.0) -> None:
        """Return when a unit is ready."""
        until(
            lambda: self.ask(f"systemctl is-active {shlex.quote(unit)}").text == "active",
            limit,
            lambda: f"{unit} active; the journal has:\n{self.text(unit)}",
        )

    def await_pair(self, wanted: Capacity, limit: float = PROVEN_WITHIN) -> None:
        """Return when this pair is in force."""
        until(
            lambda: self.in_force() == wanted,
            limit,
            lambda: f"{wanted} in force, there is {self.in_force()}; the journal has:\n{self.text()}",
        )

    def load(self) -> None:
        """Have the load at work: some hundred rows a second, each on another page."""
        if self.ask("systemctl is-active load").text == "active":
            return
        if not self.sql(f"SHOW DATABASES LIKE '{SCHEMA}'"):
            self.run(f"mariadb <<'END'\n{_LOAD}\nEND")
        self.run(f"systemd-run --quiet --collect --unit=load mariadb -e 'CALL {SCHEMA}.work()'")

    def idle(self) -> None:
        """Have no load."""
        self.ask("systemctl stop load")


@contextlib.contextmanager
def booted(original: Capacity, volumes: Mapping[Path, str], image: str = IMAGE) -> Iterator[Machine]:
    """Yield such a machine, whose MariaDB answers; skip where there can be none."""
    try:
        found = Machine(original, volumes, image)
    except LabServerError as error:
        missing(str(error))
    with found:
        until(lambda: found.ask("mariadb -e 'DO 1'").code == 0, 60.0, "MariaDB")
        yield found


def parked(text: str) -> Capacity | None:
    """Return the pair that a line says was parked at."""
    found = re.search(r"parked at (\d+)/(\d+)", text)
    return None if found is None else Capacity(int(found[1]), int(found[2]))
