"""The compose file's services from local images: no registry is needed, and none is asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from tests.cli.support import free_port
from tests.deploy.support import ROOT, tool

FILE = ROOT / "deploy" / "compose" / "compose.yaml"
BASE = "innobrim/systemd:252"
MYSQL_BASE = "innobrim/mysql:9.7"
HERE = ("mysqld", "innobrim", "prometheus")
"""What can be started without a registry. Of Grafana there is neither an image here nor a package for one."""

BUILD_LIMIT = 900.0
UP_LIMIT = 400.0
COMMAND_LIMIT = 90.0

# What the official image's entry does with the same mounts and command: it makes the data directory, runs the
# SQL of /docker-entrypoint-initdb.d on a server without TCP, and then starts the one that stays.
_MYSQL_ENTRY = """\
set -eu
shift
DATA=/var/lib/mysql/db FIRST=/tmp/first.sock
start() { exec mysqld --no-defaults --user=root --datadir="$DATA" --mysqlx=OFF "$@"; }
if [ ! -f /var/lib/mysql/ready ]; then
  rm -rf "$DATA"
  mysqld --no-defaults --initialize-insecure --user=root --datadir="$DATA"
  (start --skip-networking --socket="$FIRST") &
  until mysqladmin --no-defaults --socket="$FIRST" --user=root ping >/dev/null 2>&1; do sleep 0.5; done
  for file in /docker-entrypoint-initdb.d/*.sql; do
    mysql --no-defaults --socket="$FIRST" --user=root <"$file"
  done
  mysql --no-defaults --socket="$FIRST" --user=root --execute=SHUTDOWN
  wait
  touch /var/lib/mysql/ready
fi
start --socket=/var/run/mysqld/mysqld.sock "$@"
"""
_MYSQL = f"""\
FROM {MYSQL_BASE}
COPY entry.sh /entry.sh
RUN mkdir -p /var/lib/mysql /var/lib/mysql-files /run/mysqld
ENTRYPOINT ["sh", "/entry.sh"]
CMD ["mysqld"]
"""
_PROMETHEUS = f"""\
FROM {BASE}
COPY prometheus promtool /usr/bin/
RUN install -d -o 65534 -g 65534 /prometheus
"""


class Composed:
    """One project of its own, with ports of its own; gone with all its volumes at the end."""

    def __init__(self, folder: Path) -> None:
        """Prepare; ``folder`` is an empty one for what images are made from."""
        self._folder = folder
        self._project = f"innobrim-compose-{uuid4().hex[:8]}"
        self._images = {name: f"{self._project}-{name}:local" for name in HERE}
        self.prometheus = f"http://127.0.0.1:{(port := free_port())}"
        self._environment = os.environ | {
            "INNOBRIM_IMAGE": self._images["innobrim"],
            "MYSQL_IMAGE": self._images["mysqld"],
            "PROMETHEUS_IMAGE": self._images["prometheus"],
            "MYSQL_VERSION": "9.7.4",
            "PROMETHEUS_PORT": str(port),
            "INNOBRIM_PORT": str(free_port()),
        }

    def __enter__(self) -> Self:
        """Make the images, and start all services that can be had here."""
        try:
            self._build()
            self.compose("up", "-d", *HERE, limit=UP_LIMIT)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._run([*self._compose(), "down", "--volumes", "--timeout", "60"], UP_LIMIT)
        self._run(["docker", "image", "rm", "--force", *self._images.values()], COMMAND_LIMIT)

    def compose(self, *arguments: str, limit: float = COMMAND_LIMIT) -> str:
        """Run a command of compose and return what it said.

        Raises:
            AssertionError: it failed; the message has what it said, and the services' own last words.
        """
        done = self._run([*self._compose(), *arguments], limit)
        assert done.returncode == 0, done.stdout + done.stderr + self.log()
        return done.stdout

    def inside(self, service: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a program in the container of a service."""
        return self._run([*self._compose(), "exec", "-T", service, *command], COMMAND_LIMIT)

    def container(self, service: str) -> dict[str, Any]:
        """Return what Docker knows of the container of a service."""
        (name,) = self.compose("ps", "-q", service).split()
        done = self._run(["docker", "inspect", name], COMMAND_LIMIT)
        found: dict[str, Any] = json.loads(done.stdout)[0]
        return found

    def health(self, service: str) -> str:
        """Return how Docker finds a service: starting, healthy or unhealthy."""
        return str(self.container(service)["State"]["Health"]["Status"])

    def log(self) -> str:
        """Return the last lines of every service."""
        return self._run([*self._compose(), "logs", "--no-color", "--tail", "40"], COMMAND_LIMIT).stdout

    def _build(self) -> None:
        python = ROOT / ".venv" / "bin"
        own = os.environ | {"BASE": BASE, "TAG": self._images["innobrim"]}
        if not python.exists():
            own["BIN"] = str(Path(shutil.which("python") or "python").parent)
        built = self._run([str(ROOT / "deploy" / "container" / "build.sh")], BUILD_LIMIT, own)
        assert built.returncode == 0, built.stdout + built.stderr
        self._image("mysqld", _MYSQL, {"entry.sh": _MYSQL_ENTRY})
        self._image("prometheus", _PROMETHEUS, {}, [tool("prometheus"), tool("promtool")])

    def _image(
        self, service: str, dockerfile: str, files: dict[str, str], programs: Sequence[str] = ()
    ) -> None:
        """Make the image of one service from what is on this machine."""
        folder = self._folder / service
        folder.mkdir()
        for name, content in {"Dockerfile": dockerfile, **files}.items():
            (folder / name).write_text(content, encoding="utf-8")
        for program in programs:
            shutil.copy(program, folder)
        build = ["docker", "build", "--quiet", "--network", "none", "--tag", self._images[service]]
        done = self._run([*build, str(folder)], BUILD_LIMIT)
        assert done.returncode == 0, done.stdout + done.stderr

    def _compose(self) -> list[str]:
        return [*(composer() or ()), "-p", self._project, "-f", str(FILE)]

    def _run(
        self, command: list[str], limit: float, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own commands
            command,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            env=environment or self._environment,
        )


@cache
def composer() -> list[str] | None:
    """Return the command of compose that is here: Docker's plugin or Debian 12's program; else None."""
    for found in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(found[0]) is None:
            continue
        asked = [*found, "version"]
        answer = subprocess.run(asked, capture_output=True, check=False, timeout=COMMAND_LIMIT)  # noqa: S603 - ours
        if answer.returncode == 0:
            return found
    return None
