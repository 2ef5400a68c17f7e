"""What the packages install: pinned, with hashes, and what pyproject.toml asks for."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "deploy" / "requirements.lock"
BUILD_LOCK = ROOT / "deploy" / "build.lock"

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def pins(lock: Path = LOCK) -> dict[str, str]:
    """Return each pinned version by name."""
    return {canonicalize_name(name): version for name, version, _ in _PIN.findall(lock.read_text())}


def test_every_dependency_is_pinned_to_a_version_that_is_allowed() -> None:
    """The lock has each of our dependencies, at a version that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = pins()

    for line in project["dependencies"]:
        wanted = Requirement(line)
        version = found.get(canonicalize_name(wanted.name))
        assert version is not None, f"{wanted.name} is not in {LOCK.name}: make lock"
        assert wanted.specifier.contains(version), f"{wanted} and {version}: make lock"


@pytest.mark.parametrize(("lock", "least"), [(LOCK, 10), (BUILD_LOCK, 3)])
def test_nothing_goes_without_a_hash(lock: Path, least: int) -> None:
    """Every line of a lock is a pin with hashes, or one of these; no other index is named."""
    lines = [line for line in lock.read_text().splitlines() if line and not line.startswith(("#", "    "))]

    assert len(lines) == len(pins(lock)) > least
    assert "://" not in lock.read_text()


def test_the_build_backend_is_the_one_that_is_locked() -> None:
    """What pyproject.toml builds with is one version, and the one whose hash is known."""
    (wanted,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    found = Requirement(wanted)

    assert str(found.specifier) == f"=={pins(BUILD_LOCK)[canonicalize_name(found.name)]}"


def test_our_own_wheel_is_made_with_the_locked_backend_alone() -> None:
    """Every package builds by deploy/wheel.sh, which checks hashes and lets pip fetch nothing else."""
    scripts = {path: path.read_text() for path in sorted((ROOT / "deploy").rglob("*.sh"))}
    wheel = scripts.pop(ROOT / "deploy" / "wheel.sh")

    assert "--require-hashes" in wheel
    assert "--no-build-isolation" in wheel
    assert not [path for path, text in scripts.items() if re.search(r"\bwheel --", text)]
    assert sum("deploy/wheel.sh" in text for text in scripts.values()) == 3


@pytest.mark.parametrize(
    "base", ["", "python:3.11-slim-bookworm", "python@sha256:abc", "debian:12@sha1:" + "0" * 40]
)
def test_an_image_whose_base_is_no_digest_is_not_built(base: str) -> None:
    """A tag may be another image tomorrow: without a digest nothing is built, and what would do is said."""
    build = ROOT / "deploy" / "container" / "build.sh"
    ended = subprocess.run(  # noqa: S603 - ours
        ["/bin/bash", build],
        env={"PATH": "/usr/bin:/bin", "BASE": base},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert ended.returncode == 1
    assert "sha256" in ended.stderr
    assert re.search(r"^ARG BASE$", (build.parent / "Dockerfile").read_text(), re.MULTILINE)


def test_an_image_of_ours_that_is_not_here_is_asked_for_nowhere(tmp_path: Path) -> None:
    """Anybody may have our images' names in a registry: without one on this machine nothing is built."""
    docker, asked = tmp_path / "docker", tmp_path / "asked"
    docker.write_text(f'#!/bin/sh\necho "$*" >> {asked}\ntest "$1" = version\n')
    docker.chmod(0o755)
    ended = subprocess.run(  # noqa: S603 - ours
        ["/bin/bash", ROOT / "deploy" / "container" / "build.sh"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "BASE": "innobrim/systemd:252", "BIN": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert ended.returncode == 1
    assert "innobrim/systemd:252" in ended.stderr
    assert "make servers" in ended.stderr
    assert asked.read_text().splitlines() == ["version", "image inspect innobrim/systemd:252"]
