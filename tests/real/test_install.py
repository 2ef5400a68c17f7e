"""docs/install.md, line by line, on a fresh Debian 12 with systemd and MariaDB."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.machine import Machine, booted
from tests.real.support import until
from tuner.records import Capacity

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

ROOT = Path(__file__).parents[2]
ORIGINAL = Capacity(200, 2000)
VERIFIED_LIMIT = 240.0

_TYPED = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)


def typed() -> str:
    """Return what the page has people type, in order."""
    return "".join(_TYPED.findall((ROOT / "docs" / "install.md").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def fresh(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Yield a machine on which nobody has done anything yet, the package in /root."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "lines").write_text(typed(), encoding="utf-8")
    with booted(ORIGINAL, {package.parent: "/packages", folder: "/typed"}) as found:
        found.run(f"cp /packages/{package.name} /root/")
        yield found


def test_the_page_leads_to_active_mode(fresh: Machine) -> None:
    """Each line succeeds as it stands; then the service is active, within bounds, and may write."""
    fresh.run("cd /root && bash -eux /typed/lines 2>&1")
    status = fresh.status()

    assert status["mode"] == "active"
    assert fresh.property("ActiveState") == "active"
    assert fresh.property("UnitFileState") == "enabled"
    assert "innobrim.set_global" in fresh.run("innobrim check --defaults-file /etc/innobrim/my.cnf")

    fresh.load()
    until(lambda: not fresh.status()["holds"], VERIFIED_LIMIT, fresh.text)


def test_active_mode_lasts(fresh: Machine) -> None:
    """What the last step wrote into the file is in force after a restart of the service as well."""
    fresh.run("systemctl restart innobrim")

    assert fresh.status()["mode"] == "active"
