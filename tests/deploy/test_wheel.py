"""The wheel: one folder of ours, all of the product, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("policies", "tuner", "api", "lab")

pytestmark = pytest.mark.real  # the backend is fetched once, as the packages' own build does

CHILD = """
from innobrim import HERE
import sys; sys.path.insert(0, str(HERE))
from tuner.optimiser.supervisor import started
print(started().communicate(b'')[0].decode())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel as the packages build it."""
    folder = tmp_path_factory.mktemp("wheel")
    environ = {**os.environ, "BIN": str(Path(sys.executable).parent)}
    environ.pop("PYTHONPATH", None)
    subprocess.run([ROOT / "deploy" / "wheel.sh", folder], env=environ, check=True)  # noqa: S603 - our own script
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with the wheel alone."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, with_pip=True)
    pip = (place / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
    subprocess.run([*pip, wheel], check=True)  # noqa: S603 - what was just made
    return place / "bin"


def said(command: list[str | Path]) -> str:
    """Return what a command prints that has this environment's dependencies besides, away from the tree."""
    environ = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    done = subprocess.run(command, cwd="/", env=environ, check=True, capture_output=True, text=True)  # noqa: S603 - ours
    return done.stdout


def test_it_has_one_folder_with_the_whole_product(wheel: Path) -> None:
    """Nothing lands beside innobrim/, no file of the four rooms is missing, no test or generator is in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    tracked = subprocess.run(  # noqa: S603 - names of our own folders
        ["git", "ls-files", "--", *ROOMS],  # noqa: S607 - as everywhere
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    ours = {name for name in names if ".dist-info/" not in name}

    assert {f"innobrim/{name}" for name in tracked} | {"innobrim/__init__.py"} == ours


def test_the_command_finds_its_rooms_and_files(installed: Path) -> None:
    """Scenario files and commands are found where nothing but the entry point says where they lie."""
    assert "steady-1200iops" in said([installed / "innobrim", "simulate", "--list"])
    assert "innobrim, version" in said([installed / "innobrim", "--version"])


def test_nothing_of_ours_has_a_general_name(installed: Path) -> None:
    """Another program of the same environment never imports our ``api`` by accident."""
    look = "import importlib.util; print([importlib.util.find_spec(one) for one in %r])"

    assert said([installed / "python", "-c", look % (ROOMS,)]).strip() == str([None] * len(ROOMS))


def test_the_optimisers_process_starts(installed: Path) -> None:
    """The child process finds the program that its parent runs from."""
    assert '"number":0' in said([installed / "python", "-c", CHILD])
