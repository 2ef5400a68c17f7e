"""What ``make release`` refuses before it builds anything."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = Path("deploy/release/build.sh")
WHEELS = Path("deploy/wheels.sh")
LOCK = Path("deploy/requirements.lock")
CHANGES = "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-12-01\n\nIt holds.\n\n## 1.2.2\n"


def git(tree: Path, *words: str) -> None:
    """Run git there, as somebody."""
    who = ("-c", "user.name=Publisher", "-c", "user.email=publisher@innobrim.invalid")
    subprocess.run(["git", *who, *words], cwd=tree, check=True, capture_output=True)  # noqa: S603, S607 - as everywhere


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a checkout of version 1.2.3 whose commit has no tag yet."""
    (tmp_path / BUILD).parent.mkdir(parents=True)
    for file in (BUILD, WHEELS, LOCK):
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGES, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "Everything")
    return tmp_path


def refused(tree: Path, **variables: str) -> str:
    """Return why no release is made of it; nothing was built."""
    done = subprocess.run(  # noqa: S603 - our own script
        [str(tree / BUILD)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "BIN": str(Path(sys.executable).parent), **variables},
    )
    assert done.returncode == 1, done.stdout
    assert not (tree / "dist").exists()
    return done.stderr


def test_a_commit_without_a_tag_is_no_release(tree: Path) -> None:
    """The version comes from a tag; where there is none, the one to set is said."""
    assert "git tag -s v1.2.3" in refused(tree)


def test_a_tag_of_another_version_is_refused(tree: Path) -> None:
    """The tag and the version that the program prints are the same, or nothing is built."""
    git(tree, "tag", "v1.3.0")

    said = refused(tree)
    assert "v1.3.0" in said
    assert "pyproject.toml says version 1.2.3" in said


@pytest.mark.parametrize("tag", ["v1.2", "v1.2.3rc1", "version-1.2.3"])
def test_a_tag_of_another_form_is_refused(tree: Path, tag: str) -> None:
    """Only vX.Y.Z is a release."""
    git(tree, "tag", tag)

    assert "v1.2.3" in refused(tree)


def test_a_commit_with_two_versions_is_refused(tree: Path) -> None:
    """Nobody has to guess which of two tags a release is."""
    git(tree, "tag", "v1.2.3")
    git(tree, "tag", "v1.2.4")

    assert "v1.2.3 v1.2.4" in refused(tree)


@pytest.mark.parametrize("file", ["pyproject.toml", "new.py"])
def test_a_changed_tree_is_refused(tree: Path, file: str) -> None:
    """What is in no commit is in no release, and the files are named, also where git hides new ones."""
    git(tree, "tag", "v1.2.3")
    git(tree, "config", "status.showUntrackedFiles", "no")
    with (tree / file).open("a", encoding="utf-8") as changed:
        changed.write("# changed\n")

    assert file in refused(tree)


@pytest.mark.parametrize("changes", ["## Unreleased\n\nIt holds.\n", "## 1.2.3\n\n## 1.2.2\n\nIt holds.\n"])
def test_a_version_without_a_word_in_the_changelog_is_refused(tree: Path, changes: str) -> None:
    """A release says what it changes, in a section of its own that is not empty."""
    (tree / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    git(tree, "commit", "--quiet", "--all", "--message", "Other words")
    git(tree, "tag", "v1.2.3")

    assert "CHANGELOG.md has no section '## 1.2.3'" in refused(tree)


def test_a_key_that_cannot_sign_is_refused(tree: Path, tmp_path: Path) -> None:
    """A release that was to be signed is not made unsigned."""
    git(tree, "tag", "v1.2.3")
    empty = tmp_path.parent / "gnupg"
    empty.mkdir(mode=0o700)

    assert "RELEASE_KEY=nobody@innobrim.invalid" in refused(
        tree, RELEASE_KEY="nobody@innobrim.invalid", GNUPGHOME=str(empty)
    )


def test_a_wheel_that_one_processor_lacks_is_named(
    tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A release that would have no package for arm64 is not begun, and says for want of which wheel."""
    index = tmp_path_factory.mktemp("index")
    wheel = index / "compiled-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        about = "Metadata-Version: 2.1\nName: compiled\nVersion: 1.0\n"
        archive.writestr("compiled-1.0.dist-info/METADATA", about)
        archive.writestr("compiled-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (tree / LOCK).write_text(f"compiled==1.0 --hash=sha256:{digest}\n", encoding="utf-8")
    git(tree, "commit", "--quiet", "--all", "--message", "Another lock")
    git(tree, "tag", "v1.2.3")

    said = refused(tree, SUITES="bookworm", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(index))
    assert "No matching distribution found for compiled==1.0" in said
    assert "no package for bookworm on arm64" in said


def test_a_processor_by_another_name_is_refused(tree: Path) -> None:
    """ARCHES takes Debian's names, and says so."""
    git(tree, "tag", "v1.2.3")

    said = refused(tree, SUITES="bookworm", ARCHES="aarch64")
    assert "architecture aarch64: expected amd64 or arm64" in said
