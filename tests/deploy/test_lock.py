"""What the packages install: pinned, with hashes, and what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "deploy" / "requirements.lock"

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def pins() -> dict[str, str]:
    """Return each pinned version by name."""
    return {canonicalize_name(name): version for name, version, _ in _PIN.findall(LOCK.read_text())}


def test_every_dependency_is_pinned_to_a_version_that_is_allowed() -> None:
    """The lock has each of our dependencies, at a version that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = pins()

    for line in project["dependencies"]:
        wanted = Requirement(line)
        version = found.get(canonicalize_name(wanted.name))
        assert version is not None, f"{wanted.name} is not in {LOCK.name}: make lock"
        assert wanted.specifier.contains(version), f"{wanted} and {version}: make lock"


def test_nothing_goes_without_a_hash() -> None:
    """Every line of the lock is a pin with hashes, or one of these; no other index is named."""
    lines = [line for line in LOCK.read_text().splitlines() if line and not line.startswith(("#", "    "))]

    assert len(lines) == len(pins()) > 10
    assert "://" not in LOCK.read_text()
