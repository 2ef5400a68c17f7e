"""docs/install.md and docs/first-hour.md, line by line, on a fresh Debian 12 with systemd and MariaDB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.real.machine import Machine, booted
from tests.real.support import until
from tuner.records import Capacity

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
ORIGINAL = Capacity(200, 2000)
VERIFIED_LIMIT = 240.0

_TYPED = re.compile(r"^( *)```sh\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


def typed(page: str) -> str:
    """Return what a page has the package's users type, in order: its blocks of ``sh``."""
    blocks = _TYPED.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))
    return "".join(dedent(block) for _, block in blocks)


@pytest.fixture(scope="module")
def fresh(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Yield a machine on which nobody has done anything yet, the package in /root."""
    folder = tmp_path_factory.mktemp("typed")
    for page in ("install.md", "first-hour.md"):
        (folder / page).write_text(typed(page), encoding="utf-8")
    with booted(ORIGINAL, {package.parent: "/packages", folder: "/typed"}) as found:
        found.run(f"cp /packages/{package.name} /root/")
        yield found


def follow(machine: Machine, page: str) -> None:
    """Type a page's lines, each of which must succeed as it stands."""
    machine.run(f"cd /root && bash -eux -o pipefail /typed/{page} 2>&1")


def test_the_page_leads_to_a_daemon_that_watches(fresh: Machine) -> None:
    """After its last line the service watches, starts at boot, and may write in bounds alone."""
    follow(fresh, "install.md")

    assert fresh.status()["mode"] == "advisory"
    assert fresh.property("ActiveState") == "active"
    assert fresh.property("UnitFileState") == "enabled"
    assert "innobrim.set_global" in fresh.run("innobrim check --defaults-file /etc/innobrim/my.cnf")


def test_the_first_hour_leads_to_active_mode(fresh: Machine) -> None:
    """After its last line the service is active, and under load nothing holds it."""
    follow(fresh, "first-hour.md")

    assert fresh.status()["mode"] == "active"
    fresh.load()
    until(lambda: not fresh.status()["holds"], VERIFIED_LIMIT, fresh.text)


def test_active_mode_lasts(fresh: Machine) -> None:
    """What the last step wrote into the file is in force after a restart of the service as well."""
    fresh.run("systemctl restart innobrim")

    assert fresh.status()["mode"] == "active"
