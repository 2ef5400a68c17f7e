"""The compose file's services up together from local images; no image of Grafana is at hand."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

import httpx
import pytest

from tests.deploy.composed import BASE, HERE, MYSQL_BASE, Composed, composer
from tests.real.fixtures import missing
from tests.real.support import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

SOON = 180.0
"""Seconds until a scrape every 15 seconds, and a start that reads the server, show on a busy machine."""


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    """Yield the services once Docker has started them."""
    if shutil.which("docker") is None or composer() is None:
        missing("docker with compose: make servers")
    for image in (BASE, MYSQL_BASE):
        if subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode:  # noqa: S603, S607 - the user's own
            missing(f"image {image}: make servers")
    with Composed(tmp_path_factory.mktemp("compose")) as found:
        yield found


def value(composed: Composed, expression: str) -> float | None:
    """Return what Prometheus has for an expression; None where it has nothing, or does not answer."""
    try:
        answer = httpx.get(f"{composed.prometheus}/api/v1/query", params={"query": expression}, timeout=10.0)
    except httpx.TransportError:
        return None
    found = answer.json()["data"]["result"]
    return float(found[0]["value"][1]) if found else None


def test_prometheus_shows_data_of_the_server(composed: Composed) -> None:
    """All services become healthy, and Prometheus has readings of the server that the daemon took."""
    until(lambda: {composed.health(one) for one in HERE} == {"healthy"}, SOON, composed.log)
    until(lambda: value(composed, "innobrim_up") == 1.0, SOON, composed.log)

    assert value(composed, 'up{job="innobrim",instance="db1"}') == 1.0
    assert (value(composed, "innobrim_ticks_total") or 0.0) > 0.0
    assert value(composed, 'innobrim_server_info{version=~"9.7.*"}') == 1.0


def test_it_is_advisory_and_may_write_through_the_procedure_alone(composed: Composed) -> None:
    """Nobody asked for active mode: it only watches. What it could write with is the bounded procedure."""
    until(lambda: composed.health("innobrim") == "healthy", SOON, composed.log)
    status = json.loads(composed.inside("innobrim", "innobrim", "status", "--json").stdout)
    checked = composed.inside("innobrim", "innobrim", "check")

    assert status["mode"] == "advisory"
    assert "innobrim.set_global" in checked.stdout, checked.stdout + checked.stderr


def test_the_container_is_confined(composed: Composed) -> None:
    """It is not root, has no capability, and can write to its state directory alone."""
    found = composed.container("innobrim")
    root = composed.inside("innobrim", "touch", "/opt/innobrim/x")
    state = composed.inside("innobrim", "touch", "/var/lib/innobrim/x")

    assert composed.inside("innobrim", "id", "-u").stdout.strip() == "8633"
    assert found["HostConfig"]["ReadonlyRootfs"]
    assert found["HostConfig"]["CapDrop"] == ["ALL"]
    assert root.returncode != 0
    assert state.returncode == 0, state.stderr


def test_a_daemon_that_is_replaced_goes_on(composed: Composed) -> None:
    """Stopped and started again, as for another image: nobody has to help, and Prometheus follows."""
    composed.compose("restart", "--timeout", "60", "innobrim", limit=180.0)
    until(lambda: composed.health("innobrim") == "healthy", SOON, composed.log)
    found = composed.inside("innobrim", "innobrim", "status", "--json")

    assert found.returncode == 0, found.stdout + found.stderr
    assert json.loads(found.stdout)["mode"] == "advisory"
    until(lambda: value(composed, "changes(innobrim_ticks_total[30s])"), SOON, composed.log)
