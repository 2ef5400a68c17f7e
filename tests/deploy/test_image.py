"""The container image and the compose file, as far as they can be judged without Docker."""

from __future__ import annotations

import configparser
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.server import ApiServer, Certificate
from tests.api.factory import application, put_certificate
from tests.cli.support import free_port
from tests.deploy.support import ROOT
from tuner.config.schema import Config
from tuner.daemon.board import Board

DOCKERFILE = (ROOT / "deploy" / "container" / "Dockerfile").read_text(encoding="utf-8")
STATE = Config().daemon.state_directory


def asked_by_docker(state: Path) -> int:
    """Return the exit code of the image's health check, with the state directory there."""
    found = re.search(r"^HEALTHCHECK .*? CMD (\[.*?\])$", DOCKERFILE.replace("\\\n", " "), re.MULTILINE)
    assert found is not None
    program, *words = json.loads(found[1])
    assert program == "python3"
    here = [word.replace(STATE, str(state)) for word in words]
    command = [sys.executable, *here]
    return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode  # noqa: S603 - ours


@pytest.fixture
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a state directory whose path is short enough for a unix socket."""
    return tmp_path_factory.mktemp("s")


@pytest.fixture
def served(state: Path, tmp_path: Path) -> Iterator[None]:
    """Serve the API with TLS, on another port than the default one; the daemon has just started."""
    certificate = Certificate(put_certificate("one", tmp_path))
    serving = ApiServer(
        application(Board()), "127.0.0.1", free_port(), state / "api.sock", certificate=certificate
    )
    serving.start()
    yield
    assert serving.stop(timeout=10.0)


def test_health_does_not_depend_on_port_or_encryption(state: Path, served: None) -> None:
    """A daemon that waits for its server is healthy, whatever its TCP port is and speaks."""
    assert served is None
    assert asked_by_docker(state) == 0


def test_a_daemon_that_is_gone_is_not_healthy(state: Path) -> None:
    """Where nothing answers the container is unhealthy."""
    assert asked_by_docker(state) == 1


def test_the_container_is_bound_as_the_unit_is() -> None:
    """Memory, processor and the score out of memory are those of the systemd unit."""
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # keeps capitals, as documented
    unit.read(ROOT / "deploy" / "systemd" / "innobrim.service")
    limits = unit["Service"]
    text = (ROOT / "deploy" / "compose" / "compose.yaml").read_text(encoding="utf-8")
    service: dict[str, Any] = yaml.safe_load(text)["services"]["innobrim"]

    assert service["mem_limit"].upper() == limits["MemoryMax"]
    assert f"{service['cpus']:.0%}" == limits["CPUQuota"]
    assert service["cpu_shares"] == 1024 * int(limits["CPUWeight"]) // 100
    assert service["oom_score_adj"] == int(limits["OOMScoreAdjust"])
